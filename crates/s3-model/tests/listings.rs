//! Listings of objects and of versions: order, roll-up, key-marker and pages.

use s3_documents::bucket::Versioning;
use s3_model::{Model, ModelBucket};
use stayput_core::timestamp::Timestamp;
use stayput_guard::port::{Reading, VersionsOf};

const JOB: &str = "checkpoints/0cf48056f433820824e843f29c4ced40/";

fn world() -> (Model, ModelBucket) {
    let model = Model::new(Timestamp::parse("2026-11-28T10:00:00Z").unwrap());
    let bucket = model.create_bucket("flink-lab", Versioning::Enabled);
    (model, bucket)
}

fn below(prefix: &str) -> VersionsOf<'_> {
    VersionsOf {
        bucket: "flink-lab",
        prefix,
        by_directory: false,
        after_key: None,
        pages: None,
    }
}

#[tokio::test]
async fn directories_hold_what_is_visible_in_byte_order_which_is_not_that_of_the_ids() {
    let (model, bucket) = world();
    for id in [1, 2, 9, 10, 11, 100] {
        bucket.put(&format!("{JOB}chk-{id}/_metadata"), b"m");
        bucket.put(&format!("{JOB}chk-{id}/state"), b"s");
    }
    bucket.put(&format!("{JOB}shared/x"), b"s");
    bucket.delete(&format!("{JOB}chk-2/_metadata"));
    bucket.delete(&format!("{JOB}chk-2/state"));
    bucket.delete(&format!("{JOB}chk-9/_metadata"));

    let listing = model
        .list("flink-lab", &format!("{JOB}chk-"), true)
        .await
        .unwrap();
    let names: Vec<_> = listing
        .prefixes
        .iter()
        .map(|p| p.strip_prefix(JOB).unwrap())
        .collect();
    assert_eq!(names, ["chk-1/", "chk-10/", "chk-100/", "chk-11/", "chk-9/"]);
    assert!(listing.objects.is_empty());

    let all = model.list("flink-lab", JOB, false).await.unwrap();
    assert_eq!(all.objects.len(), 10);
    assert!(all.objects.is_sorted_by(|a, b| a.key < b.key));
}

#[tokio::test]
async fn objects_beside_directories_are_listed_and_a_directory_marker_is_an_object() {
    let (model, bucket) = world();
    for key in ["a", "a-b", "a/", "a/x", "a0", "b"] {
        bucket.put(key, b"");
    }
    let listing = model.list("flink-lab", "", true).await.unwrap();
    assert_eq!(
        listing.objects.iter().map(|o| o.key.as_str()).collect::<Vec<_>>(),
        ["a", "a-b", "a0", "b"]
    );
    assert_eq!(listing.prefixes, ["a/"]);
    let inside = model.list("flink-lab", "a/", true).await.unwrap();
    assert_eq!(
        inside.objects.iter().map(|o| o.key.as_str()).collect::<Vec<_>>(),
        ["a/", "a/x"]
    );
}

#[tokio::test]
async fn a_directory_without_a_name_is_one_like_any_other() {
    let (model, bucket) = world();
    for key in ["a//x", "a//y", "a/x", "a/y/z"] {
        bucket.put(key, b"");
    }
    let listing = model.list("flink-lab", "a/", true).await.unwrap();
    assert_eq!(listing.prefixes, ["a//", "a/y/"]);
    assert_eq!(listing.objects.len(), 1);
}

#[tokio::test]
async fn keys_are_ordered_by_their_bytes_in_utf8() {
    let (model, bucket) = world();
    // In UTF-16, as Java compares, U+1F600 would come before U+FF5E.
    for key in ["\u{1f600}/x", "\u{ff5e}/x", "é/x", "z/x"] {
        bucket.put(key, b"1");
    }
    let listing = model.list("flink-lab", "", true).await.unwrap();
    assert_eq!(listing.prefixes, ["z/", "é/", "\u{ff5e}/", "\u{1f600}/"]);
}

#[tokio::test]
async fn versions_show_hidden_directories_too() {
    let (model, bucket) = world();
    bucket.put(&format!("{JOB}chk-7/_metadata"), b"m");
    bucket.put(&format!("{JOB}chk-8/_metadata"), b"m");
    bucket.delete(&format!("{JOB}chk-8/_metadata"));
    let prefix = format!("{JOB}chk-");
    let listing = model
        .versions(VersionsOf {
            by_directory: true,
            ..below(&prefix)
        })
        .await
        .unwrap();
    assert_eq!(listing.prefixes, [format!("{JOB}chk-7/"), format!("{JOB}chk-8/")]);
    let visible = model.list("flink-lab", &prefix, true).await.unwrap();
    assert_eq!(visible.prefixes, [format!("{JOB}chk-7/")]);
}

#[tokio::test]
async fn a_key_marker_of_a_directory_goes_on_after_it_and_larger_ids_may_stand_before() {
    let (model, bucket) = world();
    for id in [8, 9, 10, 99, 100] {
        bucket.put(&format!("{JOB}chk-{id}/_metadata"), b"m");
        bucket.delete(&format!("{JOB}chk-{id}/_metadata"));
    }
    let prefix = format!("{JOB}chk-");
    let after = |marker: String| {
        let (model, prefix) = (&model, &prefix);
        async move {
            let of = VersionsOf {
                by_directory: true,
                after_key: Some(&marker),
                pages: Some(1),
                ..below(prefix)
            };
            let listing = model.versions(of).await.unwrap();
            assert!(!listing.truncated);
            listing
                .prefixes
                .iter()
                .map(|p| p.strip_prefix(JOB).unwrap().to_owned())
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        after(format!("{JOB}chk-8/")).await,
        ["chk-9/", "chk-99/"],
        "10 and 100 stand before 8"
    );
    assert_eq!(
        after(format!("{JOB}chk-10")).await,
        ["chk-10/", "chk-100/", "chk-8/", "chk-9/", "chk-99/"]
    );
    assert_eq!(after(format!("{JOB}chk-99/")).await, Vec::<String>::new());
    assert_eq!(model.requests("ListObjectVersions"), 3);
}

#[tokio::test]
async fn a_key_marker_passes_over_all_versions_of_that_key() {
    let (model, bucket) = world();
    for key in ["a", "b", "b", "c"] {
        bucket.put(key, b"1");
    }
    let listing = model
        .versions(VersionsOf {
            after_key: Some("a"),
            ..below("")
        })
        .await
        .unwrap();
    let keys: Vec<_> = listing
        .entries
        .iter()
        .map(|e| (e.key.as_str(), e.is_latest))
        .collect();
    assert_eq!(keys, [("b", true), ("b", false), ("c", true)]);
    let of_b = model
        .versions(VersionsOf {
            after_key: Some("b"),
            ..below("b")
        })
        .await
        .unwrap();
    assert!(of_b.entries.is_empty());
}

#[tokio::test]
async fn pages_hold_a_thousand_and_are_counted_singly() {
    let (model, bucket) = world();
    for n in 0..1000 {
        bucket.put(&format!("shared/{n:04}"), b"1");
    }
    assert_eq!(
        model
            .list("flink-lab", "shared/", false)
            .await
            .unwrap()
            .objects
            .len(),
        1000
    );
    assert_eq!(model.take_calls()[0].pages, 1, "exactly a thousand are one page");
    bucket.put("shared/1000", b"1");
    model.list("flink-lab", "shared/", false).await.unwrap();
    model.list("flink-lab", "nothing/", false).await.unwrap();
    let pages: Vec<_> = model.calls().iter().map(|c| c.pages).collect();
    assert_eq!(pages, [2, 1], "an empty answer is a page");
    assert_eq!(model.requests("ListObjectsV2"), 3);

    for n in 0..=1000 {
        bucket.delete(&format!("shared/{n:04}"));
    }
    let first = model
        .versions(VersionsOf {
            pages: Some(1),
            ..below("shared/")
        })
        .await
        .unwrap();
    assert_eq!((first.entries.len(), first.truncated), (1000, true));
    let last = first.entries.last().unwrap();
    assert_eq!((last.key.as_str(), last.is_latest), ("shared/0499", false));
    let three = model
        .versions(VersionsOf {
            pages: Some(3),
            ..below("shared/")
        })
        .await
        .unwrap();
    assert_eq!((three.entries.len(), three.truncated), (2002, false));
    let all = model.versions(below("shared/")).await.unwrap();
    assert_eq!(all, three);
    assert_eq!(model.requests("ListObjectVersions"), 1 + 3 + 3);
    assert!(
        model
            .list("flink-lab", "shared/", false)
            .await
            .unwrap()
            .objects
            .is_empty()
    );
}

#[tokio::test]
async fn a_page_that_rolls_up_counts_prefixes_not_the_keys_below() {
    let (model, bucket) = world();
    for directory in 0..5 {
        for n in 0..600 {
            bucket.put(&format!("{directory}/{n}"), b"1");
        }
    }
    let of = VersionsOf {
        by_directory: true,
        pages: Some(1),
        ..below("")
    };
    let listing = model.versions(of).await.unwrap();
    assert_eq!((listing.prefixes.len(), listing.truncated), (5, false));
    model.list("flink-lab", "", true).await.unwrap();
    assert_eq!(model.all_requests(), 2);
}
