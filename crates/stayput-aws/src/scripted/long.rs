//! What takes more than one request, or more than one call: copies in parts, and thaws.

use stayput_core::restoring::parts::PartSizes;
use stayput_core::thaw::{ThawOrder, ThawTier};
use stayput_guard::guard::{Acting, Hand, Made};
use stayput_guard::memory::Memory;
use stayput_guard::port::Thaw;

use super::*;

const TAGGED: Answer = Answer {
    status: 200,
    headers: &[
        ("content-length", "11"),
        ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("etag", "\"e\""),
        ("content-type", "application/x-flink"),
        ("x-amz-meta-owner", "team"),
        ("x-amz-tagging-count", "2"),
        ("x-amz-server-side-encryption", "aws:kms"),
        (
            "x-amz-server-side-encryption-aws-kms-key-id",
            "arn:aws:kms:eu-west-1:1:key/k",
        ),
    ],
    body: "",
};
const TAGS: &str = "<Tagging><TagSet><Tag><Key>tier</Key><Value>hot</Value></Tag>\
    <Tag><Key>of</Key><Value>job 1&amp;2</Value></Tag></TagSet></Tagging>";
const BEGUN: &str = "<InitiateMultipartUploadResult><UploadId>u+1</UploadId></InitiateMultipartUploadResult>";
const PART: &str = "<CopyPartResult><ETag>\"p\"</ETag></CopyPartResult>";
const DONE: Answer = Answer {
    status: 200,
    headers: &[("x-amz-version-id", "v2")],
    body: "<CompleteMultipartUploadResult><ETag>\"e-3\"</ETag></CompleteMultipartUploadResult>",
};

fn in_parts(client: Client) -> Acting<Copies> {
    let sizes = PartSizes { single: 5, part: 5 };
    Acting::with(Copies::with(client, Kind::Aws, control(), 1000).in_parts_of(sizes))
}

async fn copied(hand: &Acting<Copies>) -> Result<Made, stayput_guard::port::PortError> {
    let memory = Memory::new(None::<S3Journal>);
    hand.copy(&permit(11), &memory, Timestamp::from_millis(0), None)
        .await
}

#[tokio::test]
async fn a_copy_in_parts_says_all_that_a_copy_says_and_is_completed_on_the_condition() {
    let (replay, client) = server(vec![
        TAGGED,
        answer(200, TAGS),
        answer(200, BEGUN),
        answer(200, PART),
        answer(200, PART),
        answer(200, PART),
        honouring(),
        DONE,
    ]);
    let Made::InParts(made) = copied(&in_parts(client)).await.unwrap() else {
        panic!("it was large")
    };
    assert!(made.condition_honoured);
    assert_eq!(made.version, Some(VersionId::new("v2")));
    let requests: Vec<&HttpRequest> = replay.actual_requests().collect();
    assert_eq!(requests.len(), 8);
    let begin = requests[2];
    assert!(begin.uri().contains("uploads"), "{}", begin.uri());
    for (name, value) in [
        ("content-type", "application/x-flink"),
        ("x-amz-meta-owner", "team"),
        ("x-amz-meta-stayput-count", "1"),
        ("x-amz-meta-stayput-source-version", "v/1+"),
        ("x-amz-tagging", "tier=hot&of=job%201%262"),
        ("x-amz-storage-class", "STANDARD"),
        ("x-amz-server-side-encryption", "aws:kms"),
        (
            "x-amz-server-side-encryption-aws-kms-key-id",
            "arn:aws:kms:eu-west-1:1:key/k",
        ),
        // With one of ours each part's would have to be told when it is completed.
        ("x-amz-checksum-algorithm", ""),
    ] {
        assert_eq!(header(begin, name), value, "{name}");
    }
    let mut ranges: Vec<&str> = requests[3..6]
        .iter()
        .map(|r| header(r, "x-amz-copy-source-range"))
        .collect();
    ranges.sort_unstable();
    assert_eq!(ranges, ["bytes=0-4", "bytes=10-10", "bytes=5-9"]);
    for part in &requests[3..6] {
        assert_eq!(
            header(part, "x-amz-copy-source"),
            "b/a%20b/%C3%BC%2520x%2By?versionId=v/1%2B"
        );
    }
    let complete = requests[7];
    assert_eq!(header(complete, "if-none-match"), "*");
    let body = String::from_utf8_lossy(complete.body().bytes().unwrap_or_default()).into_owned();
    let numbers: Vec<&str> = body
        .split("<PartNumber>")
        .skip(1)
        .map(|rest| &rest[..1])
        .collect();
    assert_eq!(numbers, ["1", "2", "3"], "{body}");
}

#[tokio::test]
async fn an_answer_of_200_that_holds_an_error_or_breaks_off_completes_nothing() {
    for (last, kind) in [
        (
            answer(200, "<Error><Code>SlowDown</Code></Error>"),
            PortErrorKind::Throttled,
        ),
        (
            answer(200, "<CompleteMultipartUploadResult/>"),
            PortErrorKind::Transient,
        ),
        (error(412, "PreconditionFailed"), PortErrorKind::Precondition),
        (error(409, "ConditionalRequestConflict"), PortErrorKind::Conflict),
        (error(404, "NoSuchUpload"), PortErrorKind::Conflict),
    ] {
        let again = matches!(kind, PortErrorKind::Throttled);
        let mut answers = vec![TAGGED, answer(200, TAGS), answer(200, BEGUN)];
        answers.extend((0..3).map(|_| answer(200, PART)));
        answers.extend([honouring(), last]);
        if again {
            // The SDK tries twice more.
            answers.extend((0..2).map(|_| answer(200, "<Error><Code>SlowDown</Code></Error>")));
        }
        answers.push(answer(204, ""));
        let (replay, client) = server(answers);
        let failure = copied(&in_parts(client)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        // Without a memory the upload is abandoned.
        let last = replay.actual_requests().last().expect("requests");
        assert_eq!(last.method(), "DELETE", "{kind}");
        assert!(last.uri().contains("uploadId=u%2B1"), "{}", last.uri());
    }
}

/// The head of an archived version.
fn archived(headers: &'static [(&'static str, &'static str)]) -> Answer {
    Answer {
        status: 200,
        headers,
        body: "",
    }
}

#[tokio::test]
async fn an_archived_version_is_asked_for_once_by_what_its_head_says() {
    const GLACIER: &[(&str, &str)] = &[("x-amz-storage-class", "GLACIER")];
    const DEEP: &[(&str, &str)] = &[("x-amz-storage-class", "DEEP_ARCHIVE")];
    const TIERED: &[(&str, &str)] = &[
        ("x-amz-storage-class", "INTELLIGENT_TIERING"),
        ("x-amz-archive-status", "DEEP_ARCHIVE_ACCESS"),
    ];
    const ONGOING: &[(&str, &str)] = &[
        ("x-amz-storage-class", "GLACIER"),
        ("x-amz-restore", "ongoing-request=\"true\""),
    ];
    const READY: &[(&str, &str)] = &[
        ("x-amz-storage-class", "GLACIER"),
        (
            "x-amz-restore",
            "ongoing-request=\"false\", expiry-date=\"Fri, 21 Dec 2026 00:00:00 GMT\"",
        ),
    ];
    let hours = |n: u64| Duration::from_secs(n * 3600);
    // head, tier, hours, what is asked for: days and tier
    let cases: [(_, _, _, Option<(bool, &str)>); 6] = [
        (GLACIER, ThawTier::Standard, hours(5), Some((true, "Standard"))),
        (GLACIER, ThawTier::Bulk, hours(12), Some((true, "Bulk"))),
        // A deep archive has no expedited tier.
        (DEEP, ThawTier::Expedited, hours(12), Some((true, "Standard"))),
        // Intelligent-Tiering takes no number of days.
        (TIERED, ThawTier::Bulk, hours(48), Some((false, "Bulk"))),
        (ONGOING, ThawTier::Standard, hours(5), None),
        (READY, ThawTier::Standard, hours(0), None),
    ];
    for (head, tier, takes, asked) in cases {
        let (replay, client) = server(vec![archived(head), answer(202, "")]);
        let copies = Copies::with(client, Kind::Aws, None, 1000).thawing(ThawOrder { tier, days: 3 });
        assert_eq!(copies.thaw(&permit(3)).await, Ok(takes), "{head:?} {tier:?}");
        let requests: Vec<&HttpRequest> = replay.actual_requests().collect();
        assert_eq!(requests.len(), 1 + usize::from(asked.is_some()), "{head:?}");
        let Some((days, tier)) = asked else { continue };
        let ask = requests[1];
        assert!(
            ask.uri().contains("restore") && ask.uri().contains("versionId=v%2F1%2B"),
            "{}",
            ask.uri()
        );
        let body = String::from_utf8_lossy(ask.body().bytes().unwrap_or_default()).into_owned();
        assert_eq!(body.contains("<Days>3</Days>"), days, "{body}");
        assert!(body.contains(&format!("<Tier>{tier}</Tier>")), "{body}");
    }
}

#[tokio::test]
async fn whoever_asked_first_is_as_good_and_a_refusal_is_told() {
    const GLACIER: &[(&str, &str)] = &[("x-amz-storage-class", "GLACIER")];
    let (_, client) = server(vec![
        archived(GLACIER),
        answer(409, "<Error><Code>RestoreAlreadyInProgress</Code></Error>"),
    ]);
    let copies = Copies::with(client, Kind::Aws, None, 1000);
    assert_eq!(copies.thaw(&permit(3)).await, Ok(Duration::from_secs(5 * 3600)));
    let (_, client) = server(vec![
        archived(GLACIER),
        answer(403, "<Error><Code>AccessDenied</Code></Error>"),
    ]);
    let failure = Copies::with(client, Kind::Aws, None, 1000)
        .thaw(&permit(3))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, PortErrorKind::Denied);
    assert!(failure.to_string().contains("s3:RestoreObject"), "{failure}");
}
