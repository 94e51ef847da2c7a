//! Listings as the SDK asks for them.

use std::sync::{Arc, Mutex};

use aws_sdk_s3::config::interceptors::AfterDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use stayput_conformance::{Answer, Item, ItemKind, Request};

use super::{answer, size};
use crate::server::Bucket;

/// The body of an answer: the SDK sorts versions and markers into two lists, and their order is in the body only.
#[derive(Clone, Debug, Default)]
struct Seen(Arc<Mutex<String>>);

#[dyn_dispatch_hint]
impl Intercept for Seen {
    fn name(&self) -> &'static str {
        "Seen"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let body = context.response().body().bytes().unwrap_or_default();
        *self.0.lock().unwrap() = String::from_utf8_lossy(body).into_owned();
        Ok(())
    }
}

impl Seen {
    fn in_order(
        &self,
        mut versions: impl Iterator<Item = Item>,
        mut markers: impl Iterator<Item = Item>,
    ) -> Vec<Item> {
        let body = self.0.lock().unwrap();
        let mut rows = Vec::new();
        for element in body.split('<') {
            if element.starts_with("Version>") {
                rows.extend(versions.next());
            } else if element.starts_with("DeleteMarker>") {
                rows.extend(markers.next());
            }
        }
        assert!(
            versions.next().is_none() && markers.next().is_none(),
            "rows that aren't in the answer: {body}"
        );
        rows
    }
}

fn prefix_item(prefix: Option<&str>) -> Item {
    Item {
        kind: ItemKind::Prefix,
        key: prefix.unwrap_or_default().to_owned(),
        version: None,
        is_latest: false,
        size: 0,
        class: None,
    }
}

pub(super) async fn list(bucket: &Bucket, request: Request) -> Answer {
    let (client, name) = (&bucket.client, &bucket.name);
    match request {
        Request::List {
            prefix,
            by_directory,
            after,
            at_most,
        } => {
            let list = client
                .list_objects_v2()
                .bucket(name)
                .prefix(prefix)
                .max_keys(at_most.into());
            let list = list
                .set_delimiter(by_directory.then(|| "/".to_owned()))
                .set_start_after(after);
            answer(list.send().await, |output| {
                let objects = output.contents().iter().map(|object| Item {
                    kind: ItemKind::Data,
                    key: object.key().unwrap_or_default().to_owned(),
                    version: None,
                    is_latest: true,
                    size: size(object.size()),
                    class: object.storage_class().map(|class| class.as_str().to_owned()),
                });
                let prefixes = output.common_prefixes().iter().map(|of| prefix_item(of.prefix()));
                Answer {
                    items: objects.chain(prefixes).collect(),
                    next: output
                        .next_continuation_token()
                        .map(|token| (token.to_owned(), None)),
                    ..Answer::default()
                }
            })
        }
        Request::ListVersions {
            prefix,
            by_directory,
            after,
            at_most,
        } => {
            let list = client
                .list_object_versions()
                .bucket(name)
                .prefix(prefix)
                .max_keys(at_most.into());
            let (key, version) = after.map_or((None, None), |(key, version)| (Some(key), version));
            let list = list
                .set_delimiter(by_directory.then(|| "/".to_owned()))
                .set_key_marker(key)
                .set_version_id_marker(version);
            let seen = Seen::default();
            let sent = list.customize().interceptor(seen.clone()).send().await;
            answer(sent, |output| {
                let versions = output.versions().iter().map(|of| Item {
                    kind: ItemKind::Data,
                    key: of.key().unwrap_or_default().to_owned(),
                    version: of.version_id().map(str::to_owned),
                    is_latest: of.is_latest().unwrap_or(false),
                    size: size(of.size()),
                    class: of.storage_class().map(|class| class.as_str().to_owned()),
                });
                let markers = output.delete_markers().iter().map(|of| Item {
                    kind: ItemKind::Marker,
                    key: of.key().unwrap_or_default().to_owned(),
                    version: of.version_id().map(str::to_owned),
                    is_latest: of.is_latest().unwrap_or(false),
                    size: 0,
                    class: None,
                });
                let prefixes = output.common_prefixes().iter().map(|of| prefix_item(of.prefix()));
                let items = seen.in_order(versions, markers);
                Answer {
                    items: items.into_iter().chain(prefixes).collect(),
                    next: output
                        .next_key_marker()
                        .filter(|_| output.is_truncated() == Some(true))
                        .map(|key| (key.to_owned(), output.next_version_id_marker().map(str::to_owned))),
                    ..Answer::default()
                }
            })
        }
        other => panic!("{other:?} is no listing"),
    }
}
