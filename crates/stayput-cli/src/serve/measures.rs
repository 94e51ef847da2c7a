//! What is counted, in the form that Prometheus reads, and whether all is well.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde::Serialize;
use stayput_guard::batch::BatchReport;
use stayput_guard::sweep::SweepReport;

/// A queue that couldn't be asked for so long is a trouble.
const PATIENCE_MILLIS: i64 = 5 * 60 * 1000;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Way {
    way: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Why {
    why: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfCode {
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct How {
    how: &'static str,
}

/// All counts.
#[derive(Debug)]
pub(super) struct Measures {
    registry: Registry,
    messages: Family<Way, Counter>,
    refused: Family<Why, Counter>,
    objects: Family<Outcome, Counter>,
    restored: Family<How, Counter>,
    findings: Family<OfCode, Counter>,
    sweeps: Family<Outcome, Counter>,
    panics: Counter,
    waiting: Gauge,
    snapshots: Gauge,
    needed: Gauge,
    last_sweep: Gauge<i64, AtomicI64>,
    last_judged: Gauge<i64, AtomicI64>,
    sweep_every: Duration,
    started: i64,
    /// Since when each queue couldn't be asked, in milliseconds since the epoch, and what it said.
    unheard: Mutex<BTreeMap<String, (i64, String)>>,
}

/// Whether all is well, as /health says it.
#[derive(Debug, Serialize)]
pub(super) struct Health {
    /// `ok`, or `trouble`.
    pub(super) status: &'static str,
    /// When everything was looked at last, in seconds since the epoch; 0: not yet.
    last_sweep: i64,
    /// Messages that wait to be looked at again.
    waiting: i64,
    /// What isn't well.
    troubles: Vec<String>,
}

/// Milliseconds since the epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Measures {
    pub(super) fn new(sweep_every: Duration) -> Self {
        let mut measures = Self {
            registry: Registry::with_prefix("stayput"),
            messages: Family::default(),
            refused: Family::default(),
            objects: Family::default(),
            restored: Family::default(),
            findings: Family::default(),
            sweeps: Family::default(),
            panics: Counter::<u64, AtomicU64>::default(),
            waiting: Gauge::default(),
            snapshots: Gauge::default(),
            needed: Gauge::default(),
            last_sweep: Gauge::default(),
            last_judged: Gauge::default(),
            sweep_every,
            started: now(),
            unheard: Mutex::default(),
        };
        let r = &mut measures.registry;
        r.register("messages", "Messages that were taken", measures.messages.clone());
        r.register(
            "refused",
            "Requests and messages that weren't taken",
            measures.refused.clone(),
        );
        r.register("objects", "Objects that were judged", measures.objects.clone());
        r.register(
            "restored_objects",
            "Those of them that were restored, by how",
            measures.restored.clone(),
        );
        r.register("findings", "Findings that were told", measures.findings.clone());
        r.register("sweeps", "Sweeps", measures.sweeps.clone());
        r.register(
            "defects",
            "Times that Stayput itself failed",
            measures.panics.clone(),
        );
        r.register(
            "waiting_messages",
            "Messages that wait to be looked at again",
            measures.waiting.clone(),
        );
        r.register(
            "snapshots",
            "Checkpoints and savepoints that are known",
            measures.snapshots.clone(),
        );
        r.register(
            "needed_objects",
            "Objects that they need, by the last sweep",
            measures.needed.clone(),
        );
        r.register(
            "last_sweep_timestamp_seconds",
            "When everything was looked at last, without gaps",
            measures.last_sweep.clone(),
        );
        r.register(
            "last_batch_timestamp_seconds",
            "When messages were judged last",
            measures.last_judged.clone(),
        );
        measures
    }

    pub(super) fn took(&self, way: &'static str, messages: u64) {
        self.messages.get_or_create(&Way { way }).inc_by(messages);
    }

    pub(super) fn refused(&self, why: &'static str) {
        self.refused.get_or_create(&Why { why }).inc();
    }

    pub(super) fn failed_itself(&self) {
        self.panics.inc();
    }

    pub(super) fn waits(&self, messages: usize) {
        self.waiting.set(i64::try_from(messages).unwrap_or(i64::MAX));
    }

    pub(super) fn judged(&self, report: &BatchReport) {
        let summary = &report.summary;
        let outcomes = [
            ("left", summary.left.values().sum()),
            ("restored", summary.restored),
            ("later", summary.later),
            ("reported", summary.reported),
            ("lost", summary.lost),
            ("failed", summary.failed),
        ];
        for (outcome, count) in outcomes {
            self.objects.get_or_create(&Outcome { outcome }).inc_by(count);
        }
        let otherwise = summary.unhidden.saturating_add(summary.repaired);
        let ways = [
            ("copied", summary.restored.saturating_sub(otherwise)),
            ("unhidden", summary.unhidden),
            ("repaired", summary.repaired),
        ];
        for (how, count) in ways {
            self.restored.get_or_create(&How { how }).inc_by(count);
        }
        for finding in &report.findings {
            self.findings
                .get_or_create(&OfCode {
                    code: finding.code.text(),
                })
                .inc();
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.snapshots.set(count(summary.snapshots));
        self.last_judged.set(now() / 1000);
    }

    pub(super) fn swept(&self, report: &SweepReport) {
        self.judged(&report.judged);
        self.needed
            .set(i64::try_from(report.seen.objects).unwrap_or(i64::MAX));
        let whole = report.unread.is_empty();
        let outcome = if whole { "whole" } else { "with gaps" };
        self.sweeps.get_or_create(&Outcome { outcome }).inc();
        if whole {
            self.last_sweep.set(now() / 1000);
        }
    }

    /// A queue was asked; why it failed, if it did.
    pub(super) fn heard(&self, queue: &str, failed: Option<&str>) {
        let mut unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        match failed {
            None => {
                unheard.remove(queue);
            }
            Some(why) => {
                unheard
                    .entry(queue.to_owned())
                    .or_insert_with(|| (now(), String::new()))
                    .1 = why.to_owned();
            }
        }
    }

    pub(super) fn health(&self) -> Health {
        let mut troubles = Vec::new();
        let last_sweep = self.last_sweep.get();
        let since = if last_sweep > 0 {
            last_sweep.saturating_mul(1000)
        } else {
            self.started
        };
        let twice = i64::try_from(self.sweep_every.as_millis())
            .unwrap_or(i64::MAX)
            .saturating_mul(2);
        if now().saturating_sub(since) > twice.max(PATIENCE_MILLIS) {
            troubles.push("no sweep without gaps has ended for twice the time between two".to_owned());
        }
        let unheard = self.unheard.lock().unwrap_or_else(PoisonError::into_inner);
        for (queue, (since, why)) in unheard.iter() {
            if now().saturating_sub(*since) > PATIENCE_MILLIS {
                troubles.push(format!("{queue} can't be asked: {why}"));
            }
        }
        Health {
            status: if troubles.is_empty() { "ok" } else { "trouble" },
            last_sweep,
            waiting: self.waiting.get(),
            troubles,
        }
    }

    /// In OpenMetrics' text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use stayput_guard::batch::Summary;

    use super::*;

    #[test]
    fn what_came_back_is_counted_once_by_how_it_came_back() {
        let measures = Measures::new(Duration::from_secs(1));
        let report = BatchReport {
            summary: Summary {
                restored: 9,
                unhidden: 4,
                repaired: 3,
                ..Summary::default()
            },
            ..BatchReport::default()
        };
        measures.judged(&report);
        let text = measures.text();
        for line in [
            "stayput_objects_total{outcome=\"restored\"} 9",
            "stayput_restored_objects_total{how=\"copied\"} 2",
            "stayput_restored_objects_total{how=\"unhidden\"} 4",
            "stayput_restored_objects_total{how=\"repaired\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} isn't in {text}");
        }
    }
}
