//! The lines that infra/template.yaml rests on: its alarms and its dashboard on metrics, its tables on findings and verdicts.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use stayput_aws::parked::ToPark;
use stayput_core::cause::Cause;
use stayput_core::class::Class;
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::{FindingCode, Severity};
use stayput_core::report::recovery::Way;
use stayput_core::restoring::{Permit, Source};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Basis, Incident, Outcome, Verdict};
use stayput_core::version::VersionId;
use stayput_guard::batch::{Acted, Done};
use stayput_guard::port::{PortError, PortErrorKind};

use stayput_guard::batch::Summary;

use super::*;
use crate::log;
use crate::metrics::{Metric, made};

/// Gives prepared reports; everything after them is the function's own.
#[derive(Clone, Default)]
struct Prepared {
    batches: Arc<Mutex<Vec<BatchReport>>>,
    sweeps: Arc<Mutex<Vec<SweepReport>>>,
}

impl Judge for Prepared {
    async fn handle(&mut self, _: &[Message]) -> BatchReport {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.pop().expect("a batch was prepared")
    }

    async fn sweep(&mut self) -> SweepReport {
        let mut sweeps = self.sweeps.lock().unwrap_or_else(PoisonError::into_inner);
        sweeps.pop().expect("a sweep was prepared")
    }

    async fn findings_sent(&self, _: &[Finding]) -> Result<(), PortError> {
        Ok(())
    }

    /// The last is refused.
    async fn publish(&self, findings: &[Finding]) -> Vec<Result<(), PortError>> {
        let mut results = vec![Ok(()); findings.len()];
        if let Some(last) = results.last_mut() {
            *last = Err(PortError::new(PortErrorKind::Denied, "Publish", "a topic"));
        }
        results
    }

    fn parks(&self) -> bool {
        true
    }

    async fn park(&self, messages: &[ToPark<'_>]) -> Vec<Result<(), PortError>> {
        vec![Ok(()); messages.len()]
    }

    fn now(&self) -> Timestamp {
        made::now()
    }

    fn requests(&self) -> BTreeMap<String, u64> {
        let operations = [
            "ListObjectsV2",
            "HeadObject",
            "GetObject",
            "CopyObject",
            "PutObject",
            "GetBucketVersioning",
            "RestoreObject",
        ];
        operations.map(|name| (name.to_owned(), 2)).into()
    }
}

fn finding(code: FindingCode) -> Finding {
    let days = match code {
        FindingCode::RuleWillHideNeeded => Some(30),
        code if code.is_forecast() => Some(6),
        FindingCode::DeletedAsAWhole => Some(2),
        _ => None,
    };
    let mut finding = Finding::new(code, "s3://flink-state/checkpoints/job/chk-8/_metadata");
    finding.count("s3://flink-state/checkpoints/job/shared/a");
    // As the forecast has it: urgent only in the last seven days.
    if code == FindingCode::RuleWillHideNeeded {
        finding.severity = Severity::Warning;
    }
    let after = |days: u64| std::time::Duration::from_secs(days * 86_400 + 3600);
    if code == FindingCode::DeletedNeeded {
        finding.recovers(Way::Copied, finding.examples[0].clone(), Some("v1"), made::now());
    }
    finding.deadline = days.map(|days| made::now().plus(after(days)));
    finding
}

/// An object that came back after 1,200 ms.
fn put_back() -> Acted {
    let object = ObjectLocation::new("flink-state", "checkpoints/job/shared/a");
    let source = Source {
        version: VersionId::new("v1"),
        size: 5,
        etag: "\"e\"".to_owned(),
        first_written: Timestamp::from_millis(0),
        restored_before: 0,
    };
    Acted {
        verdict: Verdict {
            location: object.clone(),
            incident: Incident::Deletion,
            outcome: Outcome::Restore(Permit::by_a_person(object, source)),
            findings: Vec::new(),
            basis: Basis::Referenced,
            class: Some(Class::Running),
            cause: Cause::Foreign("AWS:AROAX:somebody".to_owned()),
            decided_by: Some(ObjectLocation::new(
                "flink-state",
                "checkpoints/job/chk-8/_metadata",
            )),
        },
        done: Done::Copied {
            condition_honoured: true,
        },
        named_by: None,
        deadline: None,
        deleted_at: Some(made::now().minus(std::time::Duration::from_millis(1200))),
    }
}

fn batch_report() -> BatchReport {
    let waits = || Answer::Again {
        not_before: made::now(),
        why: LaterReason::Quiet,
    };
    BatchReport {
        answers: vec![
            ("judged".to_owned(), Answer::Done),
            ("waits".to_owned(), waits()),
            ("has waited".to_owned(), waits()),
        ],
        verdicts: vec![put_back()],
        findings: FindingCode::ALL.map(finding).to_vec(),
        warnings: vec![
            "1 sidecar couldn't be written: PutObject on s3://ops/stayput/: access denied".to_owned(),
        ],
        acted_at: Some(made::now()),
        summary: Summary {
            messages: 4,
            judged: 31,
            by_cause: ["lifecycle", "Flink", "foreign", "ours", "unknown"]
                .map(|cause| (cause, 6))
                .into(),
            left: BTreeMap::from([("spare", 20)]),
            restored: 3,
            restored_bytes: 15,
            unhidden: 1,
            repaired: 1,
            later: 3,
            over_budget: 1,
            reported: 1,
            lost: 1,
            failed: 2,
            jobs: 4,
            snapshots: 9,
            ..Summary::default()
        },
    }
}

/// Ids, bodies, and how often each was parked.
fn payload(messages: &[(&str, &str, u32)]) -> Vec<u8> {
    let records: Vec<Value> = messages
        .iter()
        .map(|(id, body, times)| {
            let attributes = serde_json::json!({TIMES: {"stringValue": times.to_string(), "dataType": "Number"}});
            serde_json::json!({"messageId": id, "eventSource": "aws:sqs", "body": body, "messageAttributes": attributes})
        })
        .collect();
    serde_json::json!({"Records": records}).to_string().into_bytes()
}

const DELETED: &str = r#"{"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-west-1",
    "eventTime": "2026-11-28T10:00:00.000Z", "eventName": "ObjectRemoved:DeleteMarkerCreated",
    "userIdentity": {"principalId": "AWS:AROAX:somebody"}, "s3": {"s3SchemaVersion": "1.0",
    "bucket": {"name": "flink-state"}, "object": {"key": "checkpoints/job/shared/a", "versionId": "m1"}}}]}"#;
const SCHEDULED: &[u8] = br#"{"detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": {}}"#;

/// What the function writes about: a batch with everything in it that can happen, a sweep that couldn't read something, a batch in which
/// Stayput itself fails.
fn lines() -> Vec<Value> {
    let prepared = Prepared::default();
    prepared.batches.lock().unwrap().push(batch_report());
    let mut sweep = made::swept(40);
    sweep.judged.summary = batch_report().summary;
    sweep
        .unread
        .push("ListObjectsV2 on flink-state/: throttled".to_owned());
    prepared.sweeps.lock().unwrap().push(sweep);
    let text = log::written(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut function = Function::new(|| prepared.clone());
            let messages = [
                ("judged", DELETED, 0),
                ("waits", DELETED, 0),
                ("has waited", DELETED, 6),
                ("poison", "{\"Records\": 7}", 0),
            ];
            function.call(&payload(&messages), "a-batch").await.unwrap();
            function.call(SCHEDULED, "a-sweep").await.unwrap_err();
            // Nothing more is prepared, and the judge fails.
            function
                .call(&payload(&[("judged", DELETED, 0)]), "a-defect")
                .await
                .unwrap();
        });
    });
    let now = made::now();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["time"] = Value::from(now.to_string());
        if line.get("_aws").is_some() {
            line["_aws"]["Timestamp"] = Value::from(now.millis());
        }
        line
    });
    lines.collect()
}

/// `infra/checks` reads the file. If the lines are right and the file is old, `STAYPUT_KEEP=1` writes it anew.
#[test]
fn the_lines_that_the_template_was_checked_with_are_those_that_the_function_writes() {
    let lines = lines();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/checks/log.jsonl");
    if std::env::var_os("STAYPUT_KEEP").is_some() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let before: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (line, before) in lines.iter().zip(&before) {
        assert_eq!(line, before, "if the line is right, STAYPUT_KEEP=1 keeps it");
    }
    assert_eq!(lines.len(), before.len());
}

#[test]
fn everything_that_is_measured_is_in_those_lines_as_cloudwatch_takes_it() {
    let lines = lines();
    let taken = stayput_tests::embedded_metrics::measured(&lines);
    for metric in Metric::ALL {
        let found = taken.iter().find(|m| m.name == metric.name());
        let found = found.unwrap_or_else(|| panic!("{metric:?} isn't written"));
        assert_eq!(found.unit, format!("{:?}", metric.unit()));
    }
    let names: std::collections::BTreeSet<&str> = taken.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names.len(), Metric::ALL.len());
    let sum = |name: &str| -> f64 {
        taken
            .iter()
            .filter(|m| m.name == name)
            .flat_map(|m| &m.values)
            .sum()
    };
    assert_eq!(
        (sum("Deletions"), sum("Malformed"), sum("Panicked")),
        (4.0, 1.0, 1.0)
    );
    assert_eq!((sum("Parked"), sum("LeftToSweep")), (1.0, 1.0));
    assert_eq!((sum("TimeToRestore"), sum("Sweeps")), (1200.0, 1.0));
    assert_eq!(sum("Untold"), 1.0);
    assert_eq!(sum("Findings"), FindingCode::ALL.len() as f64);
    assert!(taken.iter().all(|m| m.namespace == "Stayput"));
}
