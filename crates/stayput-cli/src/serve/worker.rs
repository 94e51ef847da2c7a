//! The one guard of the process: it judges batches of messages, has those wait that must, and sweeps.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use s3_documents::notification::Record;
use stayput_aws::watch::Watch;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::LaterReason;
use stayput_guard::batch::{Answer, BatchReport, Message};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::asked_to_end;
use super::measures::{Measures, now};
use super::tell;

/// So many jobs wait at the door; more are turned away.
pub(super) const MOST_WAITING: usize = 1_000;
/// So many messages that must be looked at again are kept; more are left to the sweep.
const MOST_KEPT: usize = 10_000;
/// A batch has at most so many messages, as one of the Lambda's.
const BATCH: usize = 400;
/// So long messages are gathered into one batch.
const GATHER: Duration = Duration::from_millis(500);
/// What couldn't be read just now is tried again after this.
const AGAIN: Duration = Duration::from_secs(60);
/// A message is looked at so often, then the sweep takes it.
const TRIES: u32 = 8;
/// What is at hand when the process is asked to end has so long.
const GRACE: Duration = Duration::from_secs(25);

/// Messages to judge.
pub(super) struct Job {
    messages: Vec<Told>,
    /// Who wants to know what became of them, in their order; nobody for a webhook's.
    reply: Option<oneshot::Sender<Vec<Fate>>>,
}

struct Told {
    records: Vec<Record>,
    tries: u32,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Everything in it has been answered.
    Done,
    /// It must be looked at again, after this.
    Again(Duration),
}

impl Job {
    /// A message whose sender doesn't wait.
    pub(super) fn told(records: Vec<Record>) -> Self {
        Self {
            messages: vec![Told { records, tries: 0 }],
            reply: None,
        }
    }

    /// Messages whose sender waits.
    pub(super) fn asked(messages: Vec<Vec<Record>>) -> (Self, oneshot::Receiver<Vec<Fate>>) {
        let (reply, answer) = oneshot::channel();
        let messages = messages
            .into_iter()
            .map(|records| Told { records, tries: 0 })
            .collect();
        let job = Self {
            messages,
            reply: Some(reply),
        };
        (job, answer)
    }
}

/// The guard and what waits for it.
pub(super) struct Worker<F> {
    watch: Watch,
    make: F,
    measures: Arc<Measures>,
    sweep_every: Duration,
    /// In the order in which they are due.
    kept: VecDeque<(Instant, Told)>,
}

impl<F: Fn() -> Watch> Worker<F> {
    /// `make` makes the guard; it is called again after a panic, which may have left the old one in pieces.
    pub(super) fn new(make: F, sweep_every: Duration, measures: Arc<Measures>) -> Self {
        Self {
            watch: make(),
            make,
            measures,
            sweep_every,
            kept: VecDeque::new(),
        }
    }

    /// Works until it is stopped and what came before is judged, or nobody can come any more. Says how many messages are left to the next
    /// sweep.
    pub(super) async fn work(
        mut self,
        mut jobs: mpsc::Receiver<Job>,
        mut stopped: watch::Receiver<bool>,
    ) -> usize {
        let mut next_sweep = Instant::now();
        loop {
            let due = self
                .kept
                .front()
                .map_or(next_sweep, |(due, _)| next_sweep.min(*due));
            let first = tokio::select! {
                biased;
                () = asked_to_end(&mut stopped) => break,
                job = jobs.recv() => match job {
                    Some(job) => Some(job),
                    None => break,
                },
                () = tokio::time::sleep_until(due) => None,
            };
            let mut gathered: Vec<Job> = first.into_iter().collect();
            if !gathered.is_empty() {
                self.gather(&mut gathered, &mut jobs).await;
            }
            gathered.extend(self.due());
            let sweeps = gathered.is_empty() && Instant::now() >= next_sweep;
            // What is at hand is finished, or broken off: both are safe, as acting twice is acting once.
            let stop = async {
                asked_to_end(&mut stopped).await;
                tokio::time::sleep(GRACE).await;
            };
            let ended = {
                let work = async {
                    if sweeps {
                        self.sweep().await;
                    } else {
                        self.judge(gathered).await;
                    }
                };
                tokio::select! {
                    () = work => true,
                    () = stop => false,
                }
            };
            if !ended {
                break;
            }
            if sweeps {
                next_sweep = Instant::now() + self.sweep_every;
            }
        }
        jobs.close();
        let mut rest = Vec::new();
        while let Ok(job) = jobs.try_recv() {
            rest.push(job);
        }
        let waiting: usize = rest.iter().map(|job| job.messages.len()).sum();
        if !rest.is_empty() && tokio::time::timeout(GRACE, self.judge(rest)).await.is_err() {
            return self.kept.len() + waiting;
        }
        self.kept.len()
    }

    /// More jobs for the same batch: listing the jobs costs the same for one message as for many.
    async fn gather(&self, gathered: &mut Vec<Job>, jobs: &mut mpsc::Receiver<Job>) {
        let until = Instant::now() + GATHER;
        let count = |jobs: &[Job]| jobs.iter().map(|job| job.messages.len()).sum::<usize>();
        while count(gathered) < BATCH {
            match tokio::time::timeout_at(until, jobs.recv()).await {
                Ok(Some(job)) => gathered.push(job),
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// Messages whose time has come.
    fn due(&mut self) -> Option<Job> {
        let mut messages = Vec::new();
        while messages.len() < BATCH
            && let Some((due, _)) = self.kept.front()
            && *due <= Instant::now()
            && let Some((_, told)) = self.kept.pop_front()
        {
            messages.push(told);
        }
        self.measures.waits(self.kept.len());
        (!messages.is_empty()).then_some(Job {
            messages,
            reply: None,
        })
    }

    async fn judge(&mut self, jobs: Vec<Job>) {
        let all: Vec<Message> = (0..)
            .zip(jobs.iter().flat_map(|job| &job.messages))
            .map(|(n, told): (usize, &Told)| Message {
                id: format!("message {n}"),
                records: told.records.clone(),
            })
            .collect();
        let mut fates = self.attempt(&all).await.into_iter();
        for job in jobs {
            let of_job: Vec<Fate> = fates.by_ref().take(job.messages.len()).collect();
            match job.reply {
                // Who has gone away meanwhile gets its messages again from the queue.
                Some(reply) => drop(reply.send(of_job)),
                None => {
                    for (told, fate) in job.messages.into_iter().zip(of_job) {
                        if let Fate::Again(after) = fate {
                            self.keep(told, after);
                        }
                    }
                }
            }
        }
        self.measures.waits(self.kept.len());
    }

    /// What becomes of each message. One at which Stayput itself fails is judged alone, so that it doesn't hold up the others.
    async fn attempt(&mut self, messages: &[Message]) -> Vec<Fate> {
        let answer = AssertUnwindSafe(self.watch.handle(messages)).catch_unwind().await;
        match answer {
            Ok(report) => self.take(report, messages.len()).await,
            Err(panic) => {
                self.start_anew("at a message", panic.as_ref());
                if messages.len() < 2 {
                    return vec![Fate::Again(AGAIN); messages.len()];
                }
                let mut fates = Vec::with_capacity(messages.len());
                for message in messages {
                    fates.extend(Box::pin(self.attempt(std::slice::from_ref(message))).await);
                }
                fates
            }
        }
    }

    async fn take(&self, report: BatchReport, messages: usize) -> Vec<Fate> {
        self.measures.judged(&report);
        tell::batch(&report);
        self.told(&report).await;
        let mut fates: Vec<Fate> = report
            .answers
            .iter()
            .map(|(_, answer)| match answer {
                Answer::Done => Fate::Done,
                Answer::Again {
                    why: LaterReason::Transient(_),
                    ..
                } => Fate::Again(AGAIN),
                // Judging takes its time: the look may be due already.
                Answer::Again { not_before, .. } => {
                    let wait = not_before.since(Timestamp::from_millis(now()));
                    Fate::Again(wait.max(Duration::from_secs(1)))
                }
            })
            .collect();
        // Every message is answered; one that wasn't must not be taken for done.
        fates.resize(messages, Fate::Again(AGAIN));
        fates
    }

    async fn told(&self, report: &BatchReport) {
        if !report.findings.is_empty()
            && let Err(error) = self.watch.findings_sent(&report.findings).await
        {
            tell::trouble(&format!("the findings will be told again: {error}"));
        }
    }

    async fn sweep(&mut self) {
        match AssertUnwindSafe(self.watch.sweep()).catch_unwind().await {
            Ok(report) => {
                self.measures.swept(&report);
                tell::sweep(&report);
                self.told(&report.judged).await;
            }
            Err(panic) => self.start_anew("in the sweep", panic.as_ref()),
        }
    }

    fn keep(&mut self, mut told: Told, after: Duration) {
        told.tries += 1;
        if told.tries >= TRIES || self.kept.len() >= MOST_KEPT {
            tell::trouble("a message that must be looked at again is left to the sweep");
            return;
        }
        let due = Instant::now() + after;
        let place = self.kept.partition_point(|(other, _)| *other <= due);
        self.kept.insert(place, (due, told));
    }

    fn start_anew(&mut self, place: &str, panic: &(dyn Any + Send)) {
        let what = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a text");
        self.measures.failed_itself();
        tell::trouble(&format!(
            "Stayput itself failed {place}, which is a defect: {what}"
        ));
        self.watch = (self.make)();
    }
}
