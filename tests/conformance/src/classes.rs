//! Storage classes and archives.

use crate::request::{Answer, Request};
use crate::story::{Server, Setup, Story, Tried, copy, put, text, versions_below, yes};

async fn put_in<S: Server>(bucket: &Tried<'_, S>, key: &str, name: &'static str) -> Answer {
    let mut request = put(key, "1");
    if let Request::Put { class, .. } = &mut request {
        *class = Some(name);
    }
    bucket.call(request).await
}

pub(crate) async fn a_storage_class_is_kept<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    bucket.put("standard", "1").await;
    let head = bucket.head("standard").await;
    story.see("STANDARD isn't said in a head", head.class.is_none(), true);
    let mut kept = Vec::new();
    for class in [
        "STANDARD_IA",
        "ONEZONE_IA",
        "INTELLIGENT_TIERING",
        "GLACIER_IR",
        "GLACIER",
        "DEEP_ARCHIVE",
    ] {
        put_in(&bucket, class, class).await;
        let head = bucket.head(class).await.class;
        let listed = bucket.call(versions_below(class)).await;
        let listed = listed
            .items
            .iter()
            .find(|item| item.key == class)
            .and_then(|item| item.class.clone());
        if head.as_deref() == Some(class) && listed == head {
            kept.push(class);
        }
    }
    let all = "STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING GLACIER_IR GLACIER DEEP_ARCHIVE";
    story.see("those that are kept, in heads and listings", kept.join(" "), all);
    let read = text(&bucket.get("GLACIER_IR").await);
    story.see("instant retrieval is read like any other", read, "1");
}

pub(crate) async fn archived_bytes_cannot_be_read_or_copied<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let data = put_in(&bucket, "a", "GLACIER").await;
    bucket.delete("a").await;
    let which = || ("a", data.id());
    story.see(
        "a get",
        bucket.get(which()).await.said(),
        "403 InvalidObjectState",
    );
    story.see(
        "a copy",
        bucket.call(copy(which(), "a")).await.said(),
        "403 InvalidObjectState",
    );
    story.see("a head", bucket.head(which()).await.said(), "ok");
    let restore = async || bucket.call(Request::Restore(which().into())).await.said();
    story.see("it is restored", restore().await, "ok");
    story.see(
        "and again meanwhile",
        restore().await,
        "409 RestoreAlreadyInProgress",
    );
    let head = bucket.head(which()).await.restore;
    story.see(
        "a head tells that it is under way",
        yes(head.as_deref() == Some("ongoing-request=\"true\"")),
        "yes",
    );
    story.see("the versions", bucket.stack("a").await, "M* 1");
}

pub(crate) async fn what_is_not_archived_cannot_be_restored<S: Server>(story: &mut Story<'_, S>) {
    let bucket = story.bucket(Setup::Versioned).await;
    let data = bucket.put("a", "1").await;
    let restored = bucket.call(Request::Restore(("a", data.id()).into())).await;
    let status = restored.error.map_or(200, |(status, _)| status);
    story.see("a version in STANDARD", status, 403);
    let marker = bucket.delete("a").await;
    let restored = bucket.call(Request::Restore(("a", marker.id()).into())).await;
    story.see("a marker is refused", yes(restored.error.is_some()), "yes");
}
