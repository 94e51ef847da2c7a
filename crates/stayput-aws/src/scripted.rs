//! The ports against a server whose every answer is written down: what no local server can be made to say.

use std::time::Duration;

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::primitives::SdkBody;
use aws_sdk_s3::{Client, Config};
use aws_smithy_http_client::test_util::{ReplayEvent, StaticReplayClient};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Request;
use stayput_core::location::ObjectLocation;
use stayput_core::restoring::{MAX_SINGLE_COPY_BYTES, Permit, Source};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionId, VersionKind};
use stayput_guard::port::{CopyOnCondition, Journal, PortErrorKind, Reading, VersionsOf};

use crate::copies::Copies;
use crate::journal::S3Journal;
use crate::probe::Kind;
use crate::s3::S3;

mod long;

/// One answer.
struct Answer {
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
}

fn answer(status: u16, body: &'static str) -> Answer {
    Answer {
        status,
        headers: &[],
        body,
    }
}

fn error(status: u16, code: &'static str) -> Answer {
    let body = match code {
        "SlowDown" => {
            "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
        }
        "InternalError" => "<Error><Code>InternalError</Code><Message>Please try again.</Message></Error>",
        "PreconditionFailed" => "<Error><Code>PreconditionFailed</Code><Message>No.</Message></Error>",
        "ConditionalRequestConflict" => "<Error><Code>ConditionalRequestConflict</Code></Error>",
        "NoSuchKey" => "<Error><Code>NoSuchKey</Code></Error>",
        "NoSuchUpload" => "<Error><Code>NoSuchUpload</Code></Error>",
        "NoSuchBucket" => "<Error><Code>NoSuchBucket</Code></Error>",
        "InvalidObjectState" => "<Error><Code>InvalidObjectState</Code></Error>",
        "NoSuchLifecycleConfiguration" => "<Error><Code>NoSuchLifecycleConfiguration</Code></Error>",
        "KMS.DisabledException" => {
            "<Error><Code>KMS.DisabledException</Code><Message>key k is disabled</Message></Error>"
        }
        other => panic!("{other}"),
    };
    answer(status, body)
}

/// A server that gives these answers in turn, and a client of it that doesn't wait long before it tries again.
fn server(answers: Vec<Answer>) -> (StaticReplayClient, Client) {
    let events = answers.into_iter().map(|answer| {
        let mut response = aws_smithy_runtime_api::http::Response::new(
            answer.status.try_into().unwrap(),
            SdkBody::from(answer.body),
        );
        for (name, value) in answer.headers {
            response.headers_mut().insert(*name, *value);
        }
        ReplayEvent::new(Request::<SdkBody>::empty(), response)
    });
    let replay = StaticReplayClient::new(events.collect());
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("a", "b", None, None, "test"))
        .force_path_style(true)
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
        .http_client(replay.clone())
        .build();
    (replay, Client::from_conf(config))
}

fn header<'r>(request: &'r HttpRequest, name: &str) -> &'r str {
    request.headers().get(name).unwrap_or_default()
}

fn object() -> ObjectLocation {
    ObjectLocation::new("b", "a b/ü%20x+y")
}

fn permit(size: u64) -> Permit {
    Permit::by_a_person(
        object(),
        Source {
            version: VersionId::new("v/1+"),
            size,
            etag: "\"e\"".to_owned(),
            first_written: Timestamp::from_millis(0),
            restored_before: 0,
        },
    )
}

fn of<'a>(prefix: &'a str, pages: Option<u32>) -> VersionsOf<'a> {
    VersionsOf {
        bucket: "b",
        prefix,
        by_directory: false,
        after_key: None,
        pages,
    }
}

const HEAD: Answer = Answer {
    status: 200,
    headers: &[
        ("content-length", "3"),
        ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("etag", "\"e\""),
        ("content-type", "application/x-flink"),
        ("content-encoding", "identity"),
        ("cache-control", "no-store"),
        ("x-amz-meta-owner", "team"),
        ("x-amz-server-side-encryption", "aws:kms"),
        (
            "x-amz-server-side-encryption-aws-kms-key-id",
            "arn:aws:kms:eu-west-1:1:key/k",
        ),
    ],
    body: "",
};

const COPIED: Answer = Answer {
    status: 200,
    headers: &[("x-amz-version-id", "v2")],
    body: "<CopyObjectResult><ETag>\"e\"</ETag><LastModified>2026-01-01T00:00:00Z</LastModified></CopyObjectResult>",
};

fn honouring() -> Answer {
    error(412, "PreconditionFailed")
}

fn control() -> Option<ObjectLocation> {
    Some(ObjectLocation::new("ops", "stayput/"))
}

#[tokio::test]
async fn a_listing_that_repeats_its_token_ends_as_an_error_and_never_as_half_a_listing() {
    const PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>\
        <Contents><Key>k</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>";
    let (replay, client) = server(vec![answer(200, PAGE), answer(200, PAGE)]);
    let failure = S3::with(client).list("b", "", false).await.unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Transient);
    assert!(failure.to_string().contains("leads back"), "{failure}");
    assert_eq!(replay.actual_requests().count(), 2);

    const VERSIONS: &str = "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>\
        <NextVersionIdMarker>1</NextVersionIdMarker></ListVersionsResult>";
    let (_, client) = server(vec![answer(200, VERSIONS), answer(200, VERSIONS)]);
    let failure = S3::with(client).versions(of("", None)).await.unwrap_err();
    assert!(failure.to_string().contains("leads back"), "{failure}");
    // A caller that wants one page gets it, and is told that there are more.
    let (_, client) = server(vec![answer(200, VERSIONS)]);
    assert!(
        S3::with(client)
            .versions(of("", Some(1)))
            .await
            .unwrap()
            .truncated
    );
}

#[tokio::test]
async fn keys_with_characters_that_xml_cant_hold_come_through_url_encoding() {
    const PAGE: &str = "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>\
        <Contents><Key>a+b%2B%01%C3%BC</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>\
        <CommonPrefixes><Prefix>p%0A/</Prefix></CommonPrefixes></ListBucketResult>";
    let (replay, client) = server(vec![answer(200, PAGE)]);
    let listing = S3::with(client).list("b", "a b", true).await.unwrap();
    assert_eq!(listing.objects[0].key, "a b+\u{1}ü");
    assert_eq!(listing.prefixes, ["p\n/"]);
    let request = replay.actual_requests().next().unwrap();
    assert!(request.uri().contains("encoding-type=url"), "{}", request.uri());
}

#[tokio::test]
async fn a_marker_that_is_dated_before_what_it_hides_still_lies_on_top() {
    const PAGE: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <DeleteMarker><Key>k</Key><VersionId>m</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
        <Version><Key>k</Key><VersionId>v</VersionId><IsLatest>false</IsLatest><LastModified>2026-01-02T09:00:00Z</LastModified><Size>3</Size></Version>\
        </ListVersionsResult>";
    let (_, client) = server(vec![answer(200, PAGE)]);
    let entries = S3::with(client).versions(of("k", None)).await.unwrap().entries;
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].kind, VersionKind::Marker);
    assert!(entries[0].last_modified < entries[1].last_modified);
}

#[tokio::test]
async fn the_sdk_tries_again_by_itself_and_gives_up_after_the_third_time() {
    const EMPTY: &str = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let (replay, client) = server(vec![
        error(503, "SlowDown"),
        error(500, "InternalError"),
        answer(200, EMPTY),
    ]);
    assert!(S3::with(client).list("b", "", false).await.is_ok());
    assert_eq!(replay.actual_requests().count(), 3);
    let (_, client) = server((0..3).map(|_| error(503, "SlowDown")).collect());
    let failure = S3::with(client).list("b", "p/", false).await.unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Throttled);
    assert_eq!(
        failure.to_string(),
        "ListObjectsV2 on s3://b/p/: throttled (SlowDown: Please reduce your request rate.)"
    );
}

#[tokio::test]
async fn an_object_longer_than_allowed_isnt_read_and_a_promise_of_length_is_held_to() {
    fn body(length: &'static [(&'static str, &'static str)], body: &'static str) -> Answer {
        Answer {
            status: 200,
            headers: length,
            body,
        }
    }
    const LONG: &[(&str, &str)] = &[
        ("content-length", "9"),
        ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ];
    const ABSURD: &[(&str, &str)] = &[
        ("content-length", "4611686018427387904"),
        ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ];
    let read = async |answer: Answer, max: u64| {
        let (_, client) = server(vec![answer]);
        let read = S3::with(client).body(&object(), None, max).await;
        read.map(|body| body.bytes).map_err(|e| e.kind)
    };
    assert_eq!(
        read(body(LONG, "123456789"), 9).await.as_deref(),
        Ok(&b"123456789"[..])
    );
    assert_eq!(
        read(body(LONG, "123456789"), 8).await,
        Err(PortErrorKind::TooLarge { size: 9 })
    );
    // More or fewer bytes than promised: nobody can say which are the object's.
    assert_eq!(
        read(body(LONG, "12345"), 100).await,
        Err(PortErrorKind::Transient)
    );
    assert_eq!(
        read(body(LONG, "1234567890"), 100).await,
        Err(PortErrorKind::Transient)
    );
    // So much memory there isn't, and it isn't tried to be filled.
    let size = 4_611_686_018_427_387_904;
    assert_eq!(
        read(body(ABSURD, "1"), u64::MAX).await,
        Err(PortErrorKind::TooLarge { size })
    );
}

#[tokio::test]
async fn errors_keep_the_servers_words_and_archived_or_locked_bytes_are_told_apart() {
    for (said, kind) in [
        (error(403, "InvalidObjectState"), PortErrorKind::Archived),
        (error(400, "KMS.DisabledException"), PortErrorKind::Unreadable),
        (error(404, "NoSuchKey"), PortErrorKind::NotFound),
        (answer(405, ""), PortErrorKind::Unsupported),
        (
            Answer {
                status: 405,
                headers: &[("x-amz-delete-marker", "true")],
                body: "<Error><Code>MethodNotAllowed</Code></Error>",
            },
            PortErrorKind::NotFound,
        ),
        (answer(403, ""), PortErrorKind::Denied),
    ] {
        let (_, client) = server(vec![said]);
        let failure = S3::with(client).body(&object(), None, 9).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
    }
    let (_, client) = server(vec![error(400, "KMS.DisabledException")]);
    let failure = S3::with(client).body(&object(), None, 9).await.unwrap_err();
    assert_eq!(
        failure.detail.as_deref(),
        Some("KMS.DisabledException: key k is disabled")
    );
}

#[tokio::test]
async fn no_lifecycle_configuration_is_an_empty_one_and_being_refused_is_not() {
    let (_, client) = server(vec![error(404, "NoSuchLifecycleConfiguration")]);
    assert!(S3::with(client).lifecycle("b").await.unwrap().rules.is_empty());
    let (_, client) = server(vec![answer(403, "")]);
    assert_eq!(
        S3::with(client).lifecycle("b").await.unwrap_err().kind,
        PortErrorKind::Denied
    );
}

#[tokio::test]
async fn a_journal_without_its_bucket_is_no_empty_journal() {
    let (_, client) = server(vec![error(404, "NoSuchKey"), error(404, "NoSuchBucket")]);
    let journal = S3Journal::with(client, ObjectLocation::new("ops", "stayput/"));
    assert_eq!(journal.read("seen/1", 1 << 20).await, Ok(None));
    let failure = journal.read("seen/1", 1 << 20).await.unwrap_err();
    assert!(failure.to_string().contains("NoSuchBucket"), "{failure}");
}

#[tokio::test]
async fn a_copy_says_everything_again_that_its_directive_would_take_away() {
    let (replay, client) = server(vec![honouring(), HEAD, COPIED]);
    let copies = Copies::with(client, Kind::Aws, control(), 1000);
    let copied = copies.copy_on_condition(&permit(3)).await.unwrap();
    assert!(copied.condition_honoured);
    assert_eq!(copied.version, Some(VersionId::new("v2")));
    let requests: Vec<&HttpRequest> = replay.actual_requests().collect();
    let [probe, head, copy] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert!(probe.uri().contains("/ops/stayput/probe"), "{}", probe.uri());
    assert!(head.uri().contains("versionId=v%2F1%2B"), "{}", head.uri());
    for (name, value) in [
        ("if-none-match", "*"),
        ("x-amz-copy-source", "b/a%20b/%C3%BC%2520x%2By?versionId=v/1%2B"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-tagging-directive", "COPY"),
        ("x-amz-storage-class", "STANDARD"),
        ("content-type", "application/x-flink"),
        ("content-encoding", "identity"),
        ("cache-control", "no-store"),
        ("x-amz-server-side-encryption", "aws:kms"),
        (
            "x-amz-server-side-encryption-aws-kms-key-id",
            "arn:aws:kms:eu-west-1:1:key/k",
        ),
        ("x-amz-meta-owner", "team"),
        ("x-amz-meta-stayput-count", "1"),
        ("x-amz-meta-stayput-source-version", "v/1+"),
        ("x-amz-meta-stayput-source-last-modified", "1970-01-01T00:00:00Z"),
    ] {
        assert_eq!(header(copy, name), value, "{name}");
    }
}

#[tokio::test]
async fn an_error_inside_a_200_answer_is_an_error() {
    for (said, kind) in [
        (error(200, "InternalError"), PortErrorKind::Transient),
        (error(200, "SlowDown"), PortErrorKind::Throttled),
        // The connection broke off while the copy ran.
        (
            answer(200, "<?xml version=\"1.0\"?>\n   "),
            PortErrorKind::Transient,
        ),
        (answer(200, ""), PortErrorKind::Transient),
    ] {
        let status_and_body = (said.status, said.body);
        let again = (0..3).map(|_| answer(status_and_body.0, status_and_body.1));
        let (_, client) = server([honouring(), HEAD].into_iter().chain(again).collect());
        let failure = Copies::with(client, Kind::Aws, control(), 1000)
            .copy_on_condition(&permit(3))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert_eq!(failure.operation, "CopyObject");
    }
}

#[tokio::test]
async fn the_server_is_asked_once_whether_it_honours_the_condition() {
    let conflict = || error(409, "ConditionalRequestConflict");
    // The probe's object isn't there yet: it is put, and the copy onto it must fail.
    let (replay, client) = server(vec![
        error(404, "NoSuchKey"),
        answer(200, ""),
        honouring(),
        HEAD,
        error(412, "PreconditionFailed"),
        HEAD,
        conflict(),
    ]);
    let copies = Copies::with(client, Kind::Aws, control(), 1000);
    let first = copies.copy_on_condition(&permit(3)).await.unwrap_err();
    assert_eq!(first.kind, PortErrorKind::Precondition);
    let second = copies.copy_on_condition(&permit(3)).await.unwrap_err();
    assert_eq!(second.kind, PortErrorKind::Conflict);
    assert!(second.is_transient());
    assert_eq!(replay.actual_requests().count(), 7);
}

const HIDDEN: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
    <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified><Size>3</Size></Version>\
    </ListVersionsResult>";

const WRITTEN: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:01Z</LastModified><Size>3</Size></Version>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>theirs</VersionId><LastModified>2026-01-03T00:00:00Z</LastModified><Size>4</Size></Version>\
    <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified><Size>3</Size></Version>\
    </ListVersionsResult>";

const COPY_ON_TOP: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:01Z</LastModified><Size>3</Size></Version>\
    <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
    <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified><Size>3</Size></Version>\
    </ListVersionsResult>";

#[tokio::test]
async fn a_stranger_that_honours_the_condition_and_yet_covers_a_write_is_found_out() {
    let (replay, client) = server(vec![
        // The probe: this server refuses a copy onto what is visible.
        answer(200, ""),
        honouring(),
        COPIED,
        probed(&[("x-amz-tagging-count", "1")]),
        answer(200, HIDDEN),
        HEAD,
        COPIED,
        answer(200, WRITTEN),
        HEAD,
    ]);
    let failure = Copies::with(client, Kind::Other, control(), 1000)
        .copy_on_condition(&permit(3))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Unsupported);
    assert!(failure.to_string().contains("theirs"), "{failure}");
    assert_eq!(replay.actual_requests().count(), 9);
}

#[tokio::test]
async fn a_server_that_ignores_the_condition_gets_no_copy_onto_what_is_visible() {
    let (replay, client) = server(vec![COPIED, answer(200, WRITTEN)]);
    let failure = Copies::with(client, Kind::Aws, control(), 1000)
        .copy_on_condition(&permit(3))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Precondition);
    // The probe and one listing; no copy onto the key.
    assert_eq!(replay.actual_requests().count(), 2);
    assert!(
        replay
            .actual_requests()
            .all(|r| !header(r, "x-amz-copy-source").contains("a%20b"))
    );
}

#[tokio::test]
async fn on_a_server_that_ignores_the_condition_another_writer_is_noticed_and_named() {
    let (_, client) = server(vec![
        answer(200, HIDDEN),
        HEAD,
        COPIED,
        answer(200, WRITTEN),
        HEAD,
    ]);
    // Without a control prefix there is no place to ask in.
    let failure = Copies::with(client, Kind::Aws, None, 1000)
        .copy_on_condition(&permit(3))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Unsupported);
    assert!(failure.to_string().contains("theirs"), "{failure}");
}

#[tokio::test]
async fn on_a_server_that_ignores_the_condition_a_writer_who_came_last_has_won() {
    // The copy's own id isn't told, as some servers do: it is known by its bytes.
    let told_nothing = Answer {
        headers: &[],
        ..COPIED
    };
    let theirs_on_top = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>theirs</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:01Z</LastModified><Size>4</Size></Version>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>v2</VersionId><LastModified>2026-01-03T00:00:00Z</LastModified><ETag>&quot;e&quot;</ETag><Size>3</Size></Version>\
        <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified><Size>3</Size></Version>\
        </ListVersionsResult>";
    let (_, client) = server(vec![
        answer(200, HIDDEN),
        HEAD,
        told_nothing,
        answer(200, theirs_on_top),
        HEAD,
    ]);
    let failure = Copies::with(client, Kind::Other, None, 1000)
        .copy_on_condition(&permit(3))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Precondition, "{failure}");
    assert!(failure.to_string().contains("theirs"), "{failure}");
}

#[tokio::test]
async fn a_copy_that_another_stayput_made_too_is_nobody_elses_write() {
    let twice = |upper: &str| {
        format!(
            "<ListVersionsResult><IsTruncated>false</IsTruncated>\
             <Version><Key>a b/ü%20x+y</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:01Z</LastModified>{upper}</Version>\
             <Version><Key>a b/ü%20x+y</Key><VersionId>lost</VersionId><LastModified>2026-01-03T00:00:00Z</LastModified>{upper}</Version>\
             <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
             <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified><Size>3</Size></Version>\
             </ListVersionsResult>"
        )
        .leak()
    };
    // By its bytes; by what it says of itself, where encryption gives every copy another ETag.
    let ours = Answer {
        headers: &[
            ("content-length", "3"),
            ("last-modified", "Sat, 03 Jan 2026 00:00:00 GMT"),
            ("etag", "\"other\""),
            ("x-amz-meta-stayput-source-version", "v/1+"),
        ],
        ..HEAD
    };
    let by_bytes = (twice("<ETag>&quot;e&quot;</ETag><Size>3</Size>"), Vec::new());
    let by_metadata = (twice("<ETag>&quot;other&quot;</ETag><Size>3</Size>"), vec![ours]);
    for (after, heads) in [by_bytes, by_metadata] {
        let answers = [answer(200, HIDDEN), HEAD, COPIED, answer(200, after)];
        let (_, client) = server(answers.into_iter().chain(heads).collect());
        let copied = Copies::with(client, Kind::Other, None, 1000)
            .copy_on_condition(&permit(3))
            .await;
        let copied = copied.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(copied.version, Some(VersionId::new("v2")));
    }
}

#[tokio::test]
async fn a_copy_whose_answer_was_lost_is_looked_for_before_it_is_sent_again() {
    const MADE: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>lost</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:00Z</LastModified><ETag>&quot;e&quot;</ETag><Size>3</Size></Version>\
        <DeleteMarker><Key>a b/ü%20x+y</Key><VersionId>m</VersionId><LastModified>2026-01-02T00:00:00Z</LastModified></DeleteMarker>\
        </ListVersionsResult>";
    for (made, tries) in [(true, 1), (false, 2)] {
        let mut answers = vec![answer(200, HIDDEN), HEAD, error(500, "InternalError")];
        if made {
            answers.push(answer(200, MADE));
        } else {
            answers.extend([answer(200, HIDDEN), HEAD, COPIED, answer(200, HIDDEN)]);
        }
        let (replay, client) = server(answers);
        let copied = Copies::with(client, Kind::Other, None, 1000)
            .copy_on_condition(&permit(3))
            .await;
        // The guard looks then, and finds its own copy.
        let refused = copied.as_ref().err().map(|e| e.kind);
        assert_eq!(refused, made.then_some(PortErrorKind::Precondition), "{copied:?}");
        let copies = replay
            .actual_requests()
            .filter(|r| !header(r, "x-amz-copy-source").is_empty());
        assert_eq!(copies.count(), tries);
    }
}

/// The head of the probe's object, with one tag or none.
fn probed(tags: &'static [(&'static str, &'static str)]) -> Answer {
    Answer {
        status: 200,
        headers: tags,
        body: "",
    }
}

#[tokio::test]
async fn a_server_that_would_lose_the_tags_copies_them_with_the_objects_own_metadata() {
    const ONE: &[(&str, &str)] = &[("x-amz-tagging-count", "1")];
    const NONE: &[(&str, &str)] = &[("x-amz-tagging-count", "0")];
    const TAGGED: &[(&str, &str)] = &[
        ("content-length", "3"),
        ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("etag", "\"e\""),
        ("x-amz-meta-owner", "team"),
        ("x-amz-tagging-count", "2"),
    ];
    let untagged = HEAD.headers;
    for (of_probe, of_source, directive) in [
        (NONE, TAGGED, "COPY"),
        (ONE, TAGGED, "REPLACE"),
        (NONE, untagged, "REPLACE"),
    ] {
        // This server honours the condition, so a second copy shows what becomes of tags.
        let (replay, client) = server(vec![
            answer(200, ""),
            honouring(),
            COPIED,
            probed(of_probe),
            answer(200, HIDDEN),
            probed(of_source),
            COPIED,
            answer(200, COPY_ON_TOP),
        ]);
        let copied = Copies::with(client, Kind::Other, control(), 1000)
            .copy_on_condition(&permit(3))
            .await
            .unwrap();
        assert!(copied.condition_honoured);
        let requests: Vec<&HttpRequest> = replay.actual_requests().collect();
        assert_eq!(requests.len(), 8);
        assert_eq!(header(requests[0], "x-amz-tagging"), "stayput=probe");
        let copy = requests[6];
        assert_eq!(header(copy, "if-none-match"), "*");
        assert_eq!(header(copy, "x-amz-metadata-directive"), directive);
        assert_eq!(header(copy, "x-amz-tagging-directive"), "COPY");
        let ours = header(copy, "x-amz-meta-stayput-count");
        assert_eq!(ours, if directive == "REPLACE" { "1" } else { "" });
    }
}

#[tokio::test]
async fn what_one_request_cant_copy_is_refused_before_any_request() {
    let (replay, client) = server(Vec::new());
    let size = MAX_SINGLE_COPY_BYTES + 1;
    let failure = Copies::with(client, Kind::Aws, None, 1000)
        .copy_on_condition(&permit(size))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::TooLarge { size });
    assert_eq!(replay.actual_requests().count(), 0);
}

#[tokio::test]
async fn a_visible_version_is_copied_onto_itself_between_two_looks_and_only_if_it_matches() {
    const VISIBLE: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-01T00:00:00Z</LastModified>\
        <ETag>\"e\"</ETag><Size>3</Size><StorageClass>GLACIER</StorageClass></Version></ListVersionsResult>";
    const REPAIRED: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest><LastModified>2026-01-03T00:00:00Z</LastModified>\
        <ETag>\"e\"</ETag><Size>3</Size></Version>\
        <Version><Key>a b/ü%20x+y</Key><VersionId>v/1+</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified>\
        <ETag>\"e\"</ETag><Size>3</Size><StorageClass>GLACIER</StorageClass></Version></ListVersionsResult>";
    let repair = Permit::to_repair_by_a_person(object(), permit(3).source().clone());
    // The first answer is lost before anything was written; a second attempt looks again.
    let (replay, client) = server(vec![
        honouring(),
        answer(200, VISIBLE),
        HEAD,
        error(500, "InternalError"),
        answer(200, VISIBLE),
        HEAD,
        COPIED,
        answer(200, REPAIRED),
    ]);
    let copies = Copies::with(client, Kind::Aws, control(), 1000);
    let copied = copies.copy_on_condition(&repair).await.unwrap();
    assert_eq!(copied.version, Some(VersionId::new("v2")));
    let requests: Vec<&HttpRequest> = replay.actual_requests().collect();
    assert_eq!(requests.len(), 8);
    for copy in [requests[3], requests[6]] {
        assert_eq!(header(copy, "if-match"), "\"e\"");
        assert_eq!(header(copy, "if-none-match"), "");
        assert_eq!(header(copy, "x-amz-storage-class"), "STANDARD");
        assert_eq!(header(copy, "x-amz-tagging-directive"), "COPY");
    }

    // It was written all the same: nothing is sent a second time.
    let (replay, client) = server(vec![
        honouring(),
        answer(200, VISIBLE),
        HEAD,
        error(500, "InternalError"),
        answer(200, REPAIRED),
    ]);
    let copies = Copies::with(client, Kind::Aws, control(), 1000);
    let refused = copies.copy_on_condition(&repair).await.unwrap_err();
    assert_eq!(refused.kind, PortErrorKind::Precondition);
    assert_eq!(replay.actual_requests().count(), 5);
}
