//! One call: the payload in, the messages judged, each answered by itself.
//!
//! | outcome | a message of SQS | a direct call |
//! | --- | --- | --- |
//! | left, restored, reported, lost; thaw, budget, pause | done | done |
//! | waits for quiet or for a look | is parked and done; without a parked queue it fails, so that it comes again | done: the sweep takes it |
//! | couldn't be read just now | likewise | error: Lambda calls again |
//! | malformed | fails, and ends in the dead-letter queue | error |
//!
//! A scheduled call is the sweep: done, or an error if something couldn't be read just now, so that Lambda calls again.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use s3_documents::notification::{Delivery, Record, parse_delivery};
use serde_json::Value;
use stayput_aws::parked::{TIMES, times};
use stayput_core::report::finding::Finding;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::LaterReason;
use stayput_guard::batch::{Answer, BatchReport, Message};
use stayput_guard::sweep::SweepReport;

use crate::answer::{CallError, ErrorKind, batch};
use crate::log::TARGET;
use crate::metrics::{self, Metric};
use crate::tell;
use crate::watch::Judge;

mod parking;
mod summary;

use parking::{Came, Waiting, again, waits};
use summary::{CallSummary, add, summarize};

/// The function, kept between calls.
pub(crate) struct Function<J, M> {
    judge: J,
    make: M,
    /// Of the metrics.
    namespace: String,
    /// Findings that the topic didn't take.
    untold: Vec<Finding>,
}

/// So many findings are kept to be published later; older ones stand in the log.
const UNTOLD_AT_MOST: usize = 100;

/// What became of one message.
enum Fate {
    Done,
    /// It waits for time to pass, or something couldn't be read.
    Waits {
        not_before: Timestamp,
        why: LaterReason,
    },
    Panicked(String),
}

impl<J: Judge, M: Fn() -> J> Function<J, M> {
    /// `make` makes what judges; it is called again after a panic, which may have left the old one in pieces.
    pub(crate) fn new(make: M) -> Self {
        Self {
            judge: make(),
            make,
            namespace: metrics::NAMESPACE.to_owned(),
            untold: Vec::new(),
        }
    }

    /// With this namespace of metrics.
    pub(crate) fn measuring_in(mut self, namespace: String) -> Self {
        self.namespace = namespace;
        self
    }

    pub(crate) async fn call(&mut self, payload: &[u8], request: &str) -> Result<Value, CallError> {
        match parse_delivery(payload) {
            Err(e) => {
                let what = e.to_string();
                tracing::error!(target: TARGET, request, "{what}");
                Err(CallError {
                    kind: ErrorKind::Malformed,
                    what,
                })
            }
            Ok(Delivery::Scheduled) => self.sweep(request).await,
            Ok(Delivery::Direct(records)) => self.direct(records, request).await,
            Ok(Delivery::Queue(messages)) => Ok(self.queue(messages, request).await),
        }
    }

    async fn queue(&mut self, batch_of: Vec<s3_documents::notification::Message>, request: &str) -> Value {
        let mut failed: Vec<String> = Vec::new();
        let (mut good, mut came) = (Vec::new(), Vec::new());
        let mut summary = CallSummary {
            way: "queue",
            ..CallSummary::default()
        };
        for message in batch_of {
            match message.result {
                Ok(records) => {
                    came.push(Came {
                        times: times(message.attributes.get(TIMES).map(String::as_str)),
                        body: message.body,
                    });
                    good.push(Message {
                        id: message.message_id,
                        records,
                    });
                }
                Err(e) => {
                    summary.malformed += 1;
                    tracing::error!(target: TARGET, request, message_id = message.message_id, "{e}");
                    failed.push(message.message_id);
                }
            }
        }
        let fates = self.judge(&good, &mut summary, request).await;
        let mut waiting = Vec::new();
        for ((message, came), fate) in good.iter().zip(&came).zip(fates) {
            match fate {
                Fate::Done => {}
                Fate::Waits { not_before, why } => waiting.push(Waiting {
                    id: &message.id,
                    came,
                    not_before,
                    why,
                }),
                Fate::Panicked(why) => {
                    summary.panicked += 1;
                    again(&message.id, &why, request);
                    failed.push(message.id.clone());
                }
            }
        }
        failed.extend(self.park(&waiting, &mut summary, request).await);
        failed.sort_unstable();
        failed.dedup();
        self.conclude(summary, None, request);
        batch(failed)
    }

    async fn direct(
        &mut self,
        records: Vec<Result<Record, s3_documents::DocumentError>>,
        request: &str,
    ) -> Result<Value, CallError> {
        let mut errors: Vec<(ErrorKind, String)> = Vec::new();
        let mut good = Vec::new();
        let mut summary = CallSummary {
            way: "direct",
            ..CallSummary::default()
        };
        for (number, record) in records.into_iter().enumerate() {
            match record {
                Ok(record) => good.push(Message {
                    id: format!("record {}", number + 1),
                    records: vec![record],
                }),
                Err(e) => {
                    summary.malformed += 1;
                    tracing::error!(target: TARGET, request, "{e}");
                    errors.push((ErrorKind::Malformed, e.to_string()));
                }
            }
        }
        for (message, fate) in good.iter().zip(self.judge(&good, &mut summary, request).await) {
            match fate {
                Fate::Done => {}
                Fate::Waits {
                    why: LaterReason::Transient(why),
                    ..
                } => {
                    summary.again += 1;
                    errors.push((ErrorKind::Transient, why));
                }
                Fate::Waits { not_before, why } => {
                    let why = waits(&why, not_before);
                    summary.left_to_sweep += 1;
                    tracing::warn!(
                        target: TARGET,
                        request,
                        "{} is left to the sweep ({why}): a direct call doesn't come again. Put a queue between S3 and this function",
                        message.id
                    );
                }
                Fate::Panicked(why) => {
                    summary.panicked += 1;
                    errors.push((ErrorKind::Panicked, why));
                }
            }
        }
        self.conclude(summary, None, request);
        if errors.is_empty() {
            return Ok(Value::Null);
        }
        let kind = errors
            .iter()
            .map(|(kind, _)| *kind)
            .max()
            .unwrap_or(ErrorKind::Transient);
        let mut what: Vec<String> = errors.into_iter().map(|(_, what)| what).collect();
        what.dedup();
        Err(CallError {
            kind,
            what: what.join("; "),
        })
    }

    /// Looks at everything. What can be done is done; an error says that the sweep isn't complete.
    async fn sweep(&mut self, request: &str) -> Result<Value, CallError> {
        let report = match AssertUnwindSafe(self.judge.sweep()).catch_unwind().await {
            Ok(report) => report,
            Err(panic) => {
                let what = self.start_anew("in the sweep", panic.as_ref());
                tracing::error!(target: TARGET, request, "{what}");
                let summary = CallSummary {
                    way: "scheduled",
                    panicked: 1,
                    ..CallSummary::default()
                };
                self.conclude(summary, None, request);
                return Err(CallError {
                    kind: ErrorKind::Panicked,
                    what,
                });
            }
        };
        let mut summary = CallSummary {
            way: "scheduled",
            sweep: Some(report.seen.clone()),
            ..CallSummary::default()
        };
        self.take(&report.judged, 0, &mut summary, request).await;
        for what in &report.unknown {
            tracing::warn!(target: TARGET, request, "the sweep can't know: {what}");
        }
        for what in &report.unread {
            tracing::warn!(target: TARGET, request, "the sweep couldn't read just now: {what}");
        }
        self.conclude(summary, Some(&report), request);
        if report.unread.is_empty() {
            return Ok(Value::Null);
        }
        Err(CallError {
            kind: ErrorKind::Transient,
            what: format!("the sweep isn't complete: {}", report.unread.join("; ")),
        })
    }

    /// The fate of each message, in their order.
    async fn judge(&mut self, messages: &[Message], summary: &mut CallSummary, request: &str) -> Vec<Fate> {
        summary.deletions = messages
            .iter()
            .flat_map(|m| &m.records)
            .filter(|r| matches!(r, Record::Deleted(_)))
            .count();
        for record in messages.iter().flat_map(|m| &m.records) {
            if let Record::Other(other) = record
                && !other.is_known()
            {
                tracing::warn!(
                    target: TARGET,
                    request,
                    "an event {:?}, which isn't known: if it is a new kind of deletion, Stayput must learn it",
                    other.event_name
                );
            }
        }
        match self.attempt(messages).await {
            Ok(report) => self.take(&report, messages.len(), summary, request).await,
            Err(why) => {
                if let [message] = messages {
                    tracing::error!(target: TARGET, request, message_id = message.id, "{why}");
                    return vec![Fate::Panicked(why)];
                }
                // One of them did it. Judged one by one, it fails alone.
                let mut fates = Vec::with_capacity(messages.len());
                for message in messages {
                    let alone = std::slice::from_ref(message);
                    match self.attempt(alone).await {
                        Ok(report) => fates.extend(self.take(&report, 1, summary, request).await),
                        Err(why) => {
                            tracing::error!(target: TARGET, request, message_id = message.id, "{why}");
                            fates.push(Fate::Panicked(why));
                        }
                    }
                }
                fates
            }
        }
    }

    async fn attempt(&mut self, messages: &[Message]) -> Result<BatchReport, String> {
        let answer = AssertUnwindSafe(self.judge.handle(messages)).catch_unwind().await;
        answer.map_err(|panic| self.start_anew("at this message", panic.as_ref()))
    }

    /// After a panic, which may have left the judge in pieces.
    fn start_anew(&mut self, place: &str, panic: &(dyn Any + Send)) -> String {
        self.judge = (self.make)();
        format!(
            "Stayput itself failed {place}, which is a defect: {}. A retry meets it again",
            text_of(panic)
        )
    }

    async fn take(
        &mut self,
        report: &BatchReport,
        messages: usize,
        summary: &mut CallSummary,
        request: &str,
    ) -> Vec<Fate> {
        tell::report(report, request);
        summary.collected.add(report);
        let told = self.publish(&report.findings, summary, request).await;
        if !told.is_empty()
            && let Err(e) = self.judge.findings_sent(&told).await
        {
            tracing::warn!(target: TARGET, request, "the findings will be sent again: {e}");
        }
        add(&mut summary.guard, report.summary.clone());
        let mut fates: Vec<Fate> = report.answers.iter().map(|(_, answer)| fate(answer)).collect();
        // Every message is answered; one that wasn't must not be taken for done.
        let now = self.judge.now();
        fates.resize_with(messages, || Fate::Waits {
            not_before: now,
            why: LaterReason::Transient("it was not answered".to_owned()),
        });
        fates
    }

    /// Publishes findings, before them those that no topic took in earlier calls. Returns what was published; what wasn't is remembered by
    /// nobody as told.
    async fn publish(
        &mut self,
        findings: &[Finding],
        summary: &mut CallSummary,
        request: &str,
    ) -> Vec<Finding> {
        if findings.is_empty() {
            return Vec::new();
        }
        let mut all = std::mem::take(&mut self.untold);
        all.retain(|old| {
            !findings
                .iter()
                .any(|new| (new.code, &new.about) == (old.code, &old.about))
        });
        all.extend(findings.iter().cloned());
        let results = self.judge.publish(&all).await;
        let mut told = Vec::with_capacity(all.len());
        let mut failures: BTreeMap<String, usize> = BTreeMap::new();
        for (finding, result) in all.into_iter().zip(results) {
            match result {
                Ok(()) => told.push(finding),
                Err(e) => {
                    *failures.entry(e.to_string()).or_default() += 1;
                    self.untold.push(finding);
                }
            }
        }
        let too_many = self.untold.len().saturating_sub(UNTOLD_AT_MOST);
        self.untold.drain(..too_many);
        for (why, count) in failures {
            summary.untold += count;
            tracing::error!(
                target: TARGET,
                request,
                "{count} findings couldn't be published, so that nobody but this log has them: {why}. They are published with the next finding"
            );
        }
        told
    }

    /// What every call ends with: its summary, and its metrics.
    fn conclude(&self, mut summary: CallSummary, sweep: Option<&SweepReport>, request: &str) {
        summarize(&summary, request);
        let count = |n: usize| n as u64;
        let mut more = vec![
            (Metric::Deletions, count(summary.deletions)),
            (Metric::Malformed, count(summary.malformed)),
            (Metric::Panicked, count(summary.panicked)),
            (Metric::Untold, count(summary.untold)),
            (Metric::Parked, count(summary.parked)),
            (Metric::LeftToSweep, count(summary.left_to_sweep)),
        ];
        let mut sheets = Vec::new();
        if let Some(report) = sweep {
            let (jobs, others) = metrics::of_jobs(report);
            sheets = jobs;
            more.extend([
                (Metric::Sweeps, 1),
                (Metric::Unread, count(report.unread.len())),
                (Metric::Jobs, summary.guard.jobs),
                (Metric::Snapshots, summary.guard.snapshots),
                (Metric::OtherJobs, others),
            ]);
        }
        let collected = std::mem::take(&mut summary.collected);
        let requests = self.judge.requests();
        sheets.insert(0, metrics::of_call(&summary.guard, collected, &requests, more));
        metrics::write(&sheets, &self.namespace, self.judge.now(), request);
    }
}

fn fate(answer: &Answer) -> Fate {
    match answer {
        Answer::Done => Fate::Done,
        Answer::Again { not_before, why } => Fate::Waits {
            not_before: *not_before,
            why: why.clone(),
        },
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
}

#[cfg(test)]
mod log_lines;
#[cfg(test)]
mod on_model;
#[cfg(test)]
mod tests;
