//! What the ports say and do on real servers, which aren't all alike: `README.md` beside this file has the table of what differs.

use std::time::Duration;

use aws_sdk_s3::types::{
    BucketVersioningStatus, DeleteMarkerReplication, DeleteMarkerReplicationStatus, Destination,
    ExpirationStatus, LifecycleExpiration, LifecycleRule, LifecycleRuleAndOperator, LifecycleRuleFilter,
    NoncurrentVersionExpiration, ReplicationConfiguration, ReplicationRule, ReplicationRuleFilter,
    ReplicationRuleStatus, Tag,
};
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{Expiration, LifecycleConfiguration};
use stayput_aws::clock::SystemClock;
use stayput_aws::copies::Copies;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::{Permit, Source, Unhiding, copy_metadata};
use stayput_core::version::{KeyHistory, VersionId, VersionKind};
use stayput_guard::port::{
    Clock, CopyOnCondition, Journal, PortErrorKind, Reading, RemoveMarker, VersionsOf,
};

use crate::server::{Bucket, Server, on_servers};

on_servers! {
    [MiniStack, Ceph, SeaweedFs]
    a_hidden_object_comes_back_with_its_own_metadata_and_ours;
    nothing_is_copied_onto_what_is_visible;
    a_visible_version_is_copied_onto_itself_and_onto_nothing_else;
    markers_go_and_the_version_below_them_is_visible_as_it_was;
    listings_are_whole_beyond_one_page_of_a_thousand;
    keys_are_listed_as_they_are_written;
    what_isnt_there_is_not_found_whatever_it_is;
    a_body_is_read_up_to_the_limit_and_by_its_version;
    tags_are_kept_whatever_the_server_does_with_them;
    versioning_is_read_in_its_three_states;
    lifecycle_rules_are_read_with_all_their_conditions;
    the_journal_keeps_documents_by_name_below_its_prefix;
}

on_servers! {
    [MiniStack, SeaweedFs]
    who_we_are_is_asked_at_sts;
}

on_servers! {
    [MiniStack]
    a_head_says_whether_an_object_was_replicated;
}

/// Letters that one layer or another encodes, decodes or splits at.
const SPECIAL: [&str; 5] = [
    "a b/ü%20x+y",
    "job/shared/100% 日本?versionId=1&x#y",
    "p//q",
    "tab\tand\nline",
    "~'()*!$,;=@:[]",
];

/// SeaweedFS takes two slashes for one.
fn special(server: Server) -> impl Iterator<Item = &'static str> {
    SPECIAL
        .into_iter()
        .filter(move |key| server != Server::SeaweedFs || !key.contains("//"))
}

/// A permit for the newest data version of a key.
pub(crate) fn permit(at: ObjectLocation, history: &KeyHistory) -> Permit {
    let newest = history.data_versions().next().expect("a data version");
    let VersionKind::Data { size, etag, .. } = &newest.kind else {
        unreachable!()
    };
    let source = Source {
        version: newest.id.clone(),
        size: *size,
        etag: etag.clone(),
        first_written: newest.last_modified,
        restored_before: 0,
    };
    Permit::by_a_person(at, source)
}

async fn a_hidden_object_comes_back_with_its_own_metadata_and_ours(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    for key in special(server) {
        let written = bucket.put(key, b"state").await;
        let marker = bucket.delete(key).await;
        let missing = reading.head(&bucket.at(key), None).await.unwrap_err();
        assert_eq!(missing.kind, PortErrorKind::NotFound, "{key}");

        let history = bucket.history(&reading, key).await;
        let hidden = history.hidden().unwrap_or_else(|| panic!("{key}: {history:?}"));
        assert_eq!(hidden.above_data.id, marker, "{key}");
        // Nothing was asked of the server, so nothing is believed of it.
        let copies = Copies::new(&bucket.connection, None, 100);
        let copied = copies
            .copy_on_condition(&permit(bucket.at(key), &history))
            .await
            .unwrap();
        assert!(!copied.condition_honoured);

        let body = reading.body(&bucket.at(key), None, 100).await.unwrap();
        assert_eq!(body.bytes, b"state", "{key}");
        assert_eq!(body.head.metadata_value("owner"), Some("team"));
        assert_eq!(body.head.metadata_value(copy_metadata::COUNT), Some("1"));
        assert_eq!(
            body.head.metadata_value(copy_metadata::SOURCE_VERSION),
            Some(written.as_str())
        );
        // Ceph doesn't tell.
        assert_eq!(copied.version.is_none(), server == Server::Ceph, "{key}");
        if copied.version.is_some() {
            assert_eq!(body.head.version, copied.version, "{key}");
        }
        let visible = bucket
            .client
            .head_object()
            .bucket(&bucket.name)
            .key(key)
            .send()
            .await
            .unwrap();
        assert_eq!(visible.content_type(), Some("application/x-flink"));
        // Marker and first version are still there: nothing was removed.
        assert_eq!(bucket.history(&reading, key).await.entries().len(), 3, "{key}");
    }
}

async fn a_visible_version_is_copied_onto_itself_and_onto_nothing_else(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    let copies = Copies::new(&bucket.connection, None, 100);
    let written = bucket.put("k", b"state").await;
    let of = |history: &KeyHistory| {
        let hidden = permit(bucket.at("k"), history);
        Permit::to_repair_by_a_person(bucket.at("k"), hidden.source().clone())
    };
    let first = of(&bucket.history(&reading, "k").await);
    copies.copy_on_condition(&first).await.unwrap();
    let history = bucket.history(&reading, "k").await;
    let ids: Vec<_> = history.data_versions().map(|v| v.id.clone()).collect();
    assert_eq!(ids.len(), 2, "{history:?}");
    assert_eq!(ids[1], written, "the source stays");
    let body = reading.body(&bucket.at("k"), None, 100).await.unwrap();
    assert_eq!(body.bytes, b"state");
    assert_eq!(body.head.metadata_value("owner"), Some("team"));
    assert_eq!(
        body.head.metadata_value(copy_metadata::SOURCE_VERSION),
        Some(written.as_str())
    );

    // Neither onto the copy, nor onto what somebody else wrote, nor onto a marker.
    for step in ["the copy", "somebody else's", "a marker"] {
        match step {
            "somebody else's" => drop(bucket.put("k", b"somebody else's").await),
            "a marker" => drop(bucket.delete("k").await),
            _ => {}
        }
        let before = bucket.history(&reading, "k").await;
        let refused = copies.copy_on_condition(&first).await.unwrap_err();
        assert_eq!(refused.kind, PortErrorKind::Precondition, "{step}: {refused}");
        assert_eq!(bucket.history(&reading, "k").await, before, "{step}");
    }
}

async fn markers_go_and_the_version_below_them_is_visible_as_it_was(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    let copies = Copies::new(&bucket.connection, None, 100);
    for key in special(server) {
        let written = bucket.put(key, b"state").await;
        let before = bucket.history(&reading, key).await;
        bucket.delete(key).await;
        let history = bucket.history(&reading, key).await;
        let permit = permit(bucket.at(key), &history);
        let rules = LifecycleConfiguration::default();
        let unhiding = Unhiding::of(&permit, &history, Some(&rules), SystemClock.now()).unwrap();
        // That it is gone already is no failure.
        for _ in 0..2 {
            for marker in unhiding.markers() {
                copies.remove_marker(marker).await.unwrap();
            }
        }
        let after = bucket.history(&reading, key).await;
        assert_eq!(after, before, "{key}");
        let head = reading.head(&bucket.at(key), None).await.unwrap();
        assert_eq!(head.version.as_ref(), Some(&written), "{key}");
    }
}

async fn nothing_is_copied_onto_what_is_visible(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    bucket.put("k", b"first").await;
    bucket.delete("k").await;
    let permit = permit(bucket.at("k"), &bucket.history(&reading, "k").await);
    bucket.put("k", b"somebody else's").await;

    // With a control prefix the server is asked, and its answer is not believed to be more than it is.
    let copies = Copies::new(&bucket.connection, Some(bucket.at("control/")), 100);
    let refused = copies.copy_on_condition(&permit).await.unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::Precondition, "{refused}");
    let body = reading.body(&bucket.at("k"), None, 100).await.unwrap();
    assert_eq!(body.bytes, b"somebody else's");
    assert_eq!(bucket.history(&reading, "k").await.entries().len(), 3);

    // A later copy of what is hidden still works, and says whether the condition was honoured.
    bucket.delete("k").await;
    let copied = copies.copy_on_condition(&permit).await.unwrap();
    assert_eq!(copied.condition_honoured, server.honours_the_condition());
    let body = reading.body(&bucket.at("k"), None, 100).await.unwrap();
    assert_eq!(body.bytes, b"first");
    assert!(
        reading
            .list(&bucket.name, "control/", false)
            .await
            .unwrap()
            .objects
            .len()
            == 1,
        "the probe leaves one object and asks once"
    );
}

async fn listings_are_whole_beyond_one_page_of_a_thousand(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    const KEYS: usize = 1_040;
    for n in 0..KEYS {
        bucket.put(&format!("job/shared/{n:04}"), b"x").await;
    }
    let listing = reading.list(&bucket.name, "job/", false).await.unwrap();
    assert_eq!(listing.objects.len(), KEYS);
    assert!(listing.objects.is_sorted_by(|a, b| a.key < b.key));
    assert_eq!(
        reading.list(&bucket.name, "job/", true).await.unwrap().prefixes,
        ["job/shared/"]
    );

    // Two versions and a marker of one key across the border of the page, and more keys after it.
    bucket.put("job/shared/0999", b"newer").await;
    bucket.delete("job/shared/0999").await;
    let of = |pages, after_key| VersionsOf {
        bucket: &bucket.name,
        prefix: "job/",
        by_directory: false,
        after_key,
        pages,
    };
    let all = reading.versions(of(None, None)).await.unwrap();
    assert_eq!(all.entries.len(), KEYS + 2);
    assert!(!all.truncated);
    assert!(all.entries.is_sorted_by(|a, b| a.key <= b.key));
    let of_one: Vec<_> = all
        .entries
        .iter()
        .filter(|e| e.key == "job/shared/0999")
        .collect();
    assert_eq!(of_one.len(), 3);
    assert_eq!(of_one[0].kind, VersionKind::Marker);
    assert_eq!(
        of_one.iter().map(|e| e.size()).collect::<Vec<_>>(),
        [None, Some(5), Some(1)]
    );
    assert_eq!(all.entries.iter().filter(|e| e.is_latest).count(), KEYS);

    let page = reading.versions(of(Some(1), None)).await.unwrap();
    assert_eq!((page.entries.len(), page.truncated), (1_000, true));
    let rest = reading.versions(of(None, Some("job/shared/1029"))).await.unwrap();
    let keys: Vec<&str> = rest.entries.iter().map(|e| e.key.as_str()).collect();
    assert_eq!(keys.first(), Some(&"job/shared/1030"));
    assert_eq!(keys.len(), 10);
}

async fn keys_are_listed_as_they_are_written(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    for key in special(server) {
        bucket.put(key, b"x").await;
    }
    let listing = reading.list(&bucket.name, "", false).await.unwrap();
    let keys: Vec<&str> = listing.objects.iter().map(|o| o.key.as_str()).collect();
    let mut expected: Vec<&str> = special(server).collect();
    expected.sort_unstable();
    assert_eq!(keys, expected);
    let listing = reading.list(&bucket.name, "a b/ü%", false).await.unwrap();
    assert_eq!(listing.objects.len(), 1);
    let directories = reading.list(&bucket.name, "", true).await.unwrap();
    let p = (server != Server::SeaweedFs).then_some("p/");
    let expected: Vec<&str> = ["a b/", "job/"].into_iter().chain(p).collect();
    assert_eq!(directories.prefixes, expected);
}

async fn what_isnt_there_is_not_found_whatever_it_is(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    bucket.put("k", b"x").await;
    let marker = bucket.delete("k").await;
    let none = VersionId::new("4a4a4a4a-0000-4000-8000-000000000000");
    let kinds = [
        reading.head(&bucket.at("absent"), None).await.map(drop),
        reading.head(&bucket.at("k"), None).await.map(drop),
        reading.head(&bucket.at("k"), Some(&none)).await.map(drop),
        reading.head(&bucket.at("k"), Some(&marker)).await.map(drop),
        reading.body(&bucket.at("absent"), None, 9).await.map(drop),
        reading.body(&bucket.at("k"), Some(&none), 9).await.map(drop),
        reading.body(&bucket.at("k"), Some(&marker), 9).await.map(drop),
        reading
            .list("stayput-aws-no-such-bucket", "", false)
            .await
            .map(drop),
        reading.versioning("stayput-aws-no-such-bucket").await.map(drop),
    ]
    .map(|answer| answer.map_err(|e| e.kind));
    assert_eq!(kinds, [Err(PortErrorKind::NotFound); 9]);
}

async fn a_body_is_read_up_to_the_limit_and_by_its_version(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    let large = vec![7_u8; 3 << 20];
    let first = bucket.put("k", &large).await;
    bucket.put("k", b"second").await;
    let size = large.len() as u64;
    let body = reading.body(&bucket.at("k"), Some(&first), size).await.unwrap();
    assert_eq!(body.head.version.as_ref(), Some(&first));
    assert!(body.bytes == large);
    let refused = reading
        .body(&bucket.at("k"), Some(&first), size - 1)
        .await
        .unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::TooLarge { size });
    assert_eq!(
        reading.head(&bucket.at("k"), Some(&first)).await.unwrap().size,
        size
    );
    bucket.put("empty", b"").await;
    assert!(
        reading
            .body(&bucket.at("empty"), None, 0)
            .await
            .unwrap()
            .bytes
            .is_empty()
    );
}

async fn versioning_is_read_in_its_three_states(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::unversioned(&url).await;
    let reading = S3::new(&bucket.connection);
    assert_eq!(reading.versioning(&bucket.name).await, Ok(Versioning::Never));
    bucket.put("k", b"x").await;
    let history = bucket.history(&reading, "k").await;
    assert!(history.current().is_some_and(|e| e.id.is_null()), "{history:?}");
    bucket.set_versioning(BucketVersioningStatus::Enabled).await;
    assert_eq!(reading.versioning(&bucket.name).await, Ok(Versioning::Enabled));
    bucket.set_versioning(BucketVersioningStatus::Suspended).await;
    assert_eq!(reading.versioning(&bucket.name).await, Ok(Versioning::Suspended));
}

async fn lifecycle_rules_are_read_with_all_their_conditions(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    assert!(reading.lifecycle(&bucket.name).await.unwrap().rules.is_empty());
    let and = LifecycleRuleAndOperator::builder()
        .prefix("checkpoints/")
        .tags(Tag::builder().key("tier").value("old").build().unwrap())
        .object_size_greater_than(1_024)
        .build();
    let rule = |id: &str| LifecycleRule::builder().id(id).status(ExpirationStatus::Enabled);
    let rules = [
        rule("old")
            .filter(LifecycleRuleFilter::builder().and(and).build())
            .expiration(LifecycleExpiration::builder().days(30).build())
            .build(),
        rule("noncurrent")
            .filter(LifecycleRuleFilter::builder().prefix("").build())
            .noncurrent_version_expiration(NoncurrentVersionExpiration::builder().noncurrent_days(7).build())
            .build(),
    ]
    .map(Result::unwrap);
    bucket.set_lifecycle(rules).await;
    let mut read = reading.lifecycle(&bucket.name).await.unwrap().rules;
    assert_eq!(read.len(), 2);
    // Ceph lists rules by name.
    read.sort_by(|a, b| b.id.cmp(&a.id));
    assert_eq!(read[0].id.as_deref(), Some("old"));
    assert_eq!(read[0].expiration, Some(Expiration::Days(30)));
    assert_eq!(read[0].filter.prefix, "checkpoints/");
    assert_eq!(read[0].filter.tags.len(), 1);
    // Ceph forgets about sizes: its rule takes small objects too.
    let size = (server != Server::Ceph).then_some(1_024);
    assert_eq!(read[0].filter.size_greater_than, size);
    assert_eq!(
        read[1].noncurrent_expiration.as_ref().map(|n| n.noncurrent_days),
        Some(7)
    );
}

async fn the_journal_keeps_documents_by_name_below_its_prefix(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    bucket.put("stayput-other/claims/1", b"not ours").await;
    let journal = S3Journal::new(&bucket.connection, bucket.at("stayput/"));
    assert_eq!(journal.read("claims/1", 1 << 20).await, Ok(None));
    journal.write("claims/1", b"{}".to_vec()).await.unwrap();
    journal.write("claims/1", b"{\"a\":1}".to_vec()).await.unwrap();
    journal.write("hidden/ab", b"".to_vec()).await.unwrap();
    assert_eq!(
        journal.read("claims/1", 1 << 20).await,
        Ok(Some(b"{\"a\":1}".to_vec()))
    );
    assert_eq!(journal.read("hidden/ab", 1 << 20).await, Ok(Some(Vec::new())));
    assert_eq!(journal.names("claims/").await, Ok(vec!["claims/1".to_owned()]));
    assert_eq!(journal.names("").await.map(|n| n.len()), Ok(2));
    let lost = S3Journal::new(
        &bucket.connection,
        ObjectLocation::new("stayput-aws-no-such-bucket", "x/"),
    );
    assert_eq!(
        lost.read("claims/1", 1 << 20).await.unwrap_err().kind,
        PortErrorKind::NotFound
    );
}

async fn who_we_are_is_asked_at_sts(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::unversioned(&url).await;
    let role = bucket.connection.own_role().await.unwrap();
    assert!(!role.is_empty() && !role.contains(':'), "{role}");
}

async fn tags_are_kept_whatever_the_server_does_with_them(server: Server) {
    let Some(url) = server.url() else { return };
    let bucket = Bucket::versioned(&url).await;
    let reading = S3::new(&bucket.connection);
    let put = bucket
        .client
        .put_object()
        .bucket(&bucket.name)
        .key("k")
        .body(b"state".to_vec().into())
        .metadata("owner", "team")
        .tagging("tier=hot&of=job%201");
    put.send().await.unwrap();
    bucket.delete("k").await;
    let permit = permit(bucket.at("k"), &bucket.history(&reading, "k").await);
    let copies = Copies::new(&bucket.connection, Some(bucket.at("control/")), 100);
    copies.copy_on_condition(&permit).await.unwrap();

    let tags = bucket.client.get_object_tagging().bucket(&bucket.name).key("k");
    let tags = tags.send().await.unwrap();
    let mut tags: Vec<(&str, &str)> = tags.tag_set().iter().map(|t| (t.key(), t.value())).collect();
    tags.sort_unstable();
    assert_eq!(tags, [("of", "job 1"), ("tier", "hot")]);
    let head = reading.head(&bucket.at("k"), None).await.unwrap();
    assert_eq!(head.metadata_value("owner"), Some("team"));
    // Where the copy can't say how often the key came back, its versions do.
    let count = (server != Server::Ceph).then_some("1");
    assert_eq!(head.metadata_value(copy_metadata::COUNT), count);
    let history = bucket.history(&reading, "k").await;
    let returns = history.current().and_then(|v| history.returns(&v.id));
    assert_eq!(returns.map(|r| r.times), Some(1));
    assert_eq!(
        returns.map(|r| r.first_written),
        Some(permit.source().first_written)
    );
}

async fn a_head_says_whether_an_object_was_replicated(server: Server) {
    let Some(url) = server.url() else { return };
    let (origin, replica) = (Bucket::versioned(&url).await, Bucket::versioned(&url).await);
    let rule = ReplicationRule::builder()
        .id("dr")
        .priority(1)
        .status(ReplicationRuleStatus::Enabled)
        .filter(ReplicationRuleFilter::builder().prefix("cp/").build())
        .delete_marker_replication(
            DeleteMarkerReplication::builder()
                .status(DeleteMarkerReplicationStatus::Enabled)
                .build(),
        )
        .destination(
            Destination::builder()
                .bucket(format!("arn:aws:s3:::{}", replica.name))
                .build()
                .unwrap(),
        )
        .build()
        .unwrap();
    let rules = ReplicationConfiguration::builder()
        .role("arn:aws:iam::000000000000:role/replication")
        .rules(rule)
        .build()
        .unwrap();
    let put = origin.client.put_bucket_replication().bucket(&origin.name);
    put.replication_configuration(rules).send().await.unwrap();
    origin.put("cp/replicated", b"state").await;
    replica.put("cp/written", b"state").await;
    let reading = S3::new(&replica.connection);
    for (key, came) in [("cp/replicated", true), ("cp/written", false)] {
        let at = ObjectLocation::new(&*replica.name, key);
        let mut head = reading.head(&at, None).await;
        for _ in 0..50 {
            if head.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            head = reading.head(&at, None).await;
        }
        assert_eq!(head.unwrap().replica, came, "{key}");
        assert_eq!(
            reading.body(&at, None, 100).await.unwrap().head.replica,
            came,
            "{key}"
        );
    }
    let at_origin = ObjectLocation::new(&*origin.name, "cp/replicated");
    assert!(
        !S3::new(&origin.connection)
            .head(&at_origin, None)
            .await
            .unwrap()
            .replica
    );
}
