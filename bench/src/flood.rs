//! Ten thousand deletions by Flink, as a queue hands them to the function.

use serde_json::json;
use stayput_tests::cloud::REGION;

pub(crate) const BUCKET: &str = "flink-state";
pub(crate) const FLINK: &str = "AROAFLINKOFTHEBENCH";
pub(crate) const JOBS: u32 = 10;
pub(crate) const DELETIONS: u32 = 10_000;
/// Lambda takes no more in one call.
const LARGEST_PAYLOAD: usize = 6 * 1024 * 1024;

pub(crate) fn job(number: u32) -> String {
    format!("{number:032x}")
}

pub(crate) fn object(job_number: u32, round: usize, n: u32) -> String {
    format!(
        "checkpoints/{}/shared/ffffffff-{round:04x}-4000-8000-{n:012x}",
        job(job_number)
    )
}

/// What S3 tells of one object that Flink deletes in a versioned bucket whose noncurrent versions expire.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// Flink hides it.
    Hidden,
    /// The rule takes its version.
    VersionExpired,
    /// And the marker that is left alone.
    MarkerExpired,
}

impl Told {
    pub(crate) const ALL: [Self; 3] = [Self::Hidden, Self::VersionExpired, Self::MarkerExpired];

    fn event(self) -> &'static str {
        match self {
            Self::Hidden => "ObjectRemoved:DeleteMarkerCreated",
            Self::VersionExpired | Self::MarkerExpired => "LifecycleExpiration:Delete",
        }
    }

    fn principal(self) -> String {
        match self {
            Self::Hidden => format!("AWS:{FLINK}:taskmanager-1"),
            Self::VersionExpired | Self::MarkerExpired => "s3.amazonaws.com".to_owned(),
        }
    }

    fn version(self, n: usize) -> String {
        match self {
            Self::Hidden | Self::MarkerExpired => format!("marker{n:026}"),
            Self::VersionExpired => format!("version{n:025}"),
        }
    }
}

/// S3's notification of a deletion by Flink, as the body of a message.
pub(crate) fn message(key: &str, n: usize) -> String {
    message_of(Told::Hidden, key, n)
}

/// The same of any of the three.
pub(crate) fn message_of(told: Told, key: &str, n: usize) -> String {
    json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": REGION,
        "eventTime": "2026-11-28T10:00:00.000Z", "eventName": told.event(),
        "userIdentity": {"principalId": told.principal()},
        "requestParameters": {"sourceIPAddress": "10.0.0.7"},
        "responseElements": {"x-amz-request-id": format!("{n:016X}"), "x-amz-id-2": "c3RheXB1dCBiZW5jaCBzdGF5cHV0IGJlbmNo".repeat(2)},
        "s3": {"s3SchemaVersion": "1.0", "configurationId": "deletions",
               "bucket": {"name": BUCKET, "ownerIdentity": {"principalId": "A3NL1KOZZKExample"}, "arn": format!("arn:aws:s3:::{BUCKET}")},
               "object": {"key": key, "versionId": told.version(n), "sequencer": format!("{n:016X}")}}
    }]})
    .to_string()
}

/// Messages of a queue in as many payloads as they need.
pub(crate) fn payloads(bodies: impl Iterator<Item = String>) -> Vec<Vec<u8>> {
    let records = bodies.enumerate().map(|(n, body)| {
        json!({"messageId": format!("00000000-0000-4000-8000-{n:012x}"), "receiptHandle": "AQEB".repeat(40), "body": body,
               "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1796000000000",
                              "SenderId": "AROAEXAMPLE:S3-PROD-END", "ApproximateFirstReceiveTimestamp": "1796000000001"},
               "messageAttributes": {}, "md5OfBody": "7b270e59b47ff90a553787216d55d91d", "eventSource": "aws:sqs",
               "eventSourceARN": format!("arn:aws:sqs:{REGION}:000000000000:deletions"), "awsRegion": REGION})
        .to_string()
    });
    let mut payloads: Vec<String> = Vec::new();
    for record in records {
        match payloads.last_mut() {
            Some(payload) if payload.len() + record.len() + 3 <= LARGEST_PAYLOAD => {
                payload.push(',');
                payload.push_str(&record);
            }
            _ => payloads.push(format!("{{\"Records\":[{record}")),
        }
    }
    payloads
        .into_iter()
        .map(|payload| (payload + "]}").into_bytes())
        .collect()
}
