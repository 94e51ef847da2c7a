//! The function as it is deployed: a queue, instances that are warm or cold, messages that come again; and what it said, in words that need
//! nothing of Stayput.

mod anew;
mod outcome;
mod settings;

pub use anew::Anew;
use outcome::{take_calls, take_report};
use settings::Settings;

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::notification::{Agent, CreatedObject, DeletedObject, Deletion, OtherEvent, Record, Source};
use s3_model::{Fault, Model, ModelBucket, ModelJournal};
use stayput_core::report::finding::Finding;
use stayput_core::version::VersionId;
use stayput_guard::batch::{Answer, Message};
use stayput_guard::guard::{Acting, Guard};
use stayput_guard::mandate::Mandate;
use stayput_guard::port::PortErrorKind;

use crate::actors::{LOG, OUTPUT, POINTERS};
use crate::clock::Millis;
use crate::dice::Dice;
use crate::scenario::{Change, Denied, Telling, World};
use crate::store::{BUCKET, Event, Hand, Happened};

const FLINK: &str = "AROAFLINK";
/// Of what replicates a bucket.
const REPLICATION: &str = "AROAREPLICATION";
const OURS: &str = "AROASTAYPUT";

/// What a verdict did about an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
    /// Nothing, and nothing was said.
    Left,
    /// It was put back.
    Restored,
    /// It was wanted and didn't come: it would have been, somebody was first, or the copy failed.
    NotRestored,
    /// Somebody looks again.
    Waits,
    /// People are told.
    Reported,
    /// People are told that it can't come back.
    Lost,
}

/// One verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// The key.
    pub key: String,
    /// What was done.
    pub did: Did,
    /// The finding, or why.
    pub why: String,
    /// Who it thinks deleted it.
    pub cause: &'static str,
    /// The class of who needs it most, if anybody does.
    pub class: Option<&'static str>,
    /// The key of the `_metadata` that decided.
    pub about: Option<String>,
    /// Which handle of it names the object.
    pub proof: Option<Proof>,
}

/// Where a record says that a `_metadata` names an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The ETag of the bytes; empty: it isn't said.
    pub etag: String,
    /// At which byte the handle begins.
    pub at_byte: usize,
    /// The operator's id, in hex.
    pub operator: String,
    /// The subtask.
    pub subtask: Option<u32>,
}

/// A finding that people got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its code.
    pub code: &'static str,
    /// The key that it is about.
    pub about: String,
    /// So many objects.
    pub objects: u64,
}

/// What came of one call of the function.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// Which instance.
    pub instance: usize,
    /// Whether it was a sweep.
    pub sweep: bool,
    /// Whether it died.
    pub died: bool,
    /// Whether something failed on the way.
    pub disturbed: bool,
    /// The numbers of the events that it was told of.
    pub events: Vec<u64>,
    /// The numbers of the events whose messages are done.
    pub done: Vec<u64>,
    /// The numbers of the events whose messages went to the dead-letter queue.
    pub dropped: Vec<u64>,
    /// So many messages.
    pub messages: usize,
    /// Verdicts.
    pub said: Vec<Said>,
    /// Findings.
    pub told: Vec<Told>,
    /// Keys that were copied, and the version that each came from.
    pub copied: Vec<(String, String)>,
    /// Markers that were removed, with their keys, in order.
    pub markers_removed: Vec<(String, String)>,
    /// Keys that are visible again without one of their markers, and which version that is; the bucket says so.
    pub unhidden: Vec<(String, String)>,
    /// Versions of which it was asked that they be thawed, with their keys.
    pub thaws: Vec<(String, String)>,
    /// Those of the copies that were made of what was visible in an archive, onto itself; the bucket says so. They aren't among the others.
    pub repaired: Vec<(String, String)>,
    /// Keys in other places, or calls, that the function must never touch or make.
    pub forbidden: Vec<String>,
    /// Requests to the bucket.
    pub requests: u64,
    /// Markers that somebody laid meanwhile: keys, with ids and whether something was visible.
    pub meanwhile: Vec<(String, VersionId, bool)>,
}

impl Called {
    /// What came back: keys, and the version that each was copied from or that is visible again.
    pub fn brought_back(&self) -> impl Iterator<Item = &(String, String)> {
        self.copied.iter().chain(&self.unhidden)
    }
}

type ActingGuard = Guard<Model, ModelJournal, Model, Acting<Model>>;
type ObservingGuard = Guard<Model, ModelJournal, Model>;

enum Judge {
    Acts(Box<ActingGuard>),
    Observes(Box<ObservingGuard>),
}

struct Instance {
    client: Model,
    judge: Option<Judge>,
    lives: u32,
}

struct Waiting {
    message: Message,
    event: u64,
    visible_at: Millis,
    receives: u32,
}

/// The function and its queue.
pub struct Function {
    world: World,
    mandate: Mandate,
    settings: Settings,
    control: ModelBucket,
    instances: Vec<Instance>,
    queue: Vec<Waiting>,
    paused: bool,
    /// Operations that the role may not at the moment.
    denied: BTreeSet<&'static str>,
    last_answers: Vec<(String, Answer)>,
}

/// Runs a future of the model to its end: nothing in it waits for anything.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

impl Function {
    /// As it is deployed in a world.
    pub fn new(model: &Model, world: &World, control: &str) -> Self {
        let control = model.create_bucket(control, Versioning::Never);
        let instances = (0..world.instances.max(1)).map(|_| Instance {
            client: model.another_client(),
            judge: None,
            lives: 0,
        });
        let settings = Settings::of(world);
        Self {
            mandate: settings.mandate(world),
            settings,
            world: world.clone(),
            control,
            instances: instances.collect(),
            queue: Vec::new(),
            paused: false,
            denied: BTreeSet::new(),
            last_answers: Vec::new(),
        }
    }

    /// What S3 sends of an event; `None` if nobody asked for such.
    fn record(&self, event: &Event) -> Option<Record> {
        let bridge = self.world.telling == Telling::EventBridge;
        let source = if bridge {
            Source::EventBridge
        } else {
            Source::Notification
        };
        let agent = match event.by {
            Hand::Rule => Agent::Lifecycle,
            _ if bridge => Agent::Account("111122223333".to_owned()),
            Hand::Flink(_) | Hand::PersonWithFlinksRole => {
                Agent::Principal(format!("AWS:{FLINK}:jobmanager"))
            }
            Hand::Replication => Agent::Principal(format!("AWS:{REPLICATION}:s3-replication")),
            Hand::Person => Agent::Principal("AWS:AROAPEOPLE:alice".to_owned()),
            Hand::Guard => Agent::Principal(format!("AWS:{OURS}:function")),
        };
        let deleted = |what, version: &str| {
            Record::Deleted(DeletedObject {
                bucket: BUCKET.to_owned(),
                key: event.key.clone(),
                version_id: Some(version.to_owned()),
                what,
                agent: agent.clone(),
                event_time: Some(event.at),
                sequencer: None,
                region: None,
                source,
            })
        };
        let untold = self.world.replication.is_some_and(|r| !r.told);
        match &event.what {
            Happened::Hidden(_) if untold && event.by == Hand::Replication => None,
            Happened::Hidden(marker) => Some(deleted(Deletion::MarkerCreated, marker)),
            Happened::Purged(version) => Some(deleted(Deletion::Removed, version)),
            Happened::Thawed(version) => Some(Record::Other(OtherEvent {
                event_name: if bridge {
                    "Object Restore Completed".to_owned()
                } else {
                    "ObjectRestore:Completed".to_owned()
                },
                bucket: Some(BUCKET.to_owned()),
                key: Some(event.key.clone()),
                version_id: Some(version.clone()),
            })),
            Happened::Written(version) => {
                (self.world.created_told && event.key.ends_with("_metadata")).then(|| {
                    Record::Created(CreatedObject {
                        bucket: BUCKET.to_owned(),
                        key: event.key.clone(),
                        version_id: Some(version.clone()),
                        size: None,
                        etag: None,
                        event_time: Some(event.at),
                        sequencer: None,
                        region: None,
                        source,
                        agent: agent.clone(),
                    })
                })
            }
        }
    }

    /// Puts an event into the queue, to be visible from that time on. Whether there is anything to tell.
    pub fn send(&mut self, event: &Event, visible_at: Millis) -> bool {
        let Some(record) = self.record(event) else {
            return false;
        };
        self.queue.push(Waiting {
            message: Message {
                id: format!("{}-{}", event.number, self.queue.len()),
                records: vec![record],
            },
            event: event.number,
            visible_at,
            receives: 0,
        });
        true
    }

    /// When the next message is visible.
    pub fn next_visible(&self) -> Option<Millis> {
        self.queue.iter().map(|w| w.visible_at).min()
    }

    /// A key of which a visible message says that it was thawed.
    pub fn told_of_thaw(&self, now: Millis) -> Option<&str> {
        let visible = self.queue.iter().filter(|w| w.visible_at <= now);
        let mut records = visible.flat_map(|w| &w.message.records);
        records.find_map(|record| match record {
            Record::Other(event) => event.key.as_deref(),
            _ => None,
        })
    }

    /// Whether a message about this event is still in the queue.
    pub fn has_message(&self, event: u64) -> bool {
        self.queue.iter().any(|w| w.event == event)
    }

    /// One instance ends.
    pub fn cold_start(&mut self, dice: &mut Dice) {
        let n = dice.place(self.instances.len());
        self.instances[n].judge = None;
    }

    /// A person pauses or resumes.
    pub fn pause(&mut self, on: bool) {
        self.paused = on && self.world.journal;
        if self.paused {
            self.control.put("stayput/switch/pause", b"{}");
        } else {
            self.control.delete("stayput/switch/pause");
        }
    }

    /// Takes a permission from the role, or gives it back.
    pub fn deny(&mut self, what: Denied, on: bool) {
        let operations: &[&'static str] = match what {
            Denied::Getting => &["GetObject"],
            Denied::Listing => &["ListObjectsV2"],
            Denied::ListingVersions => &["ListObjectVersions"],
            Denied::Copying => &["CopyObject"],
            Denied::Removing => &["DeleteObject"],
        };
        for operation in operations {
            if on {
                self.denied.insert(operation);
            } else {
                self.denied.remove(operation);
            }
        }
    }

    /// Whether the role may all that it needs. What may not be un-hidden can be copied.
    pub fn may_all(&self) -> bool {
        self.denied.iter().all(|operation| *operation == "DeleteObject")
    }

    /// Gives back every permission.
    pub fn allow_all(&mut self) {
        self.denied.clear();
    }

    /// A new deployment: every instance is a new one.
    pub fn deploy(&mut self, change: Change) {
        match change {
            Change::Acting(acting) => self.world.acting = acting,
            Change::Settle(minutes) => {
                self.mandate.policy.settle = Duration::from_secs(60 * u64::from(minutes));
            }
            Change::Code => {}
            Change::Unhides(unhides) => self.world.unhides = unhides,
            Change::Principals(_) | Change::AnothersRole => {}
            Change::Savepoints(watched) => self.settings.savepoints = watched,
            Change::Checkpoints(watched) => self.settings.checkpoints = watched,
        }
        self.settings.named = self.settings.named.changed(change);
        let policy = self.mandate.policy;
        self.mandate = self.settings.mandate(&self.world);
        self.mandate.policy = policy;
        for instance in &mut self.instances {
            instance.judge = None;
        }
    }

    /// Whether restoring is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    fn judge(&mut self, n: usize) -> Judge {
        if let Some(judge) = self.instances[n].judge.take() {
            return judge;
        }
        self.instances[n].lives += 1;
        let instance = &self.instances[n];
        let m = || instance.client.clone();
        let journal = self
            .world
            .journal
            .then(|| instance.client.journal(&self.control, "stayput/"));
        let name = format!("instance-{n}-{}", instance.lives);
        let mandate = self.mandate.clone();
        if self.world.acting {
            let guard = Guard::acting(m(), journal, m(), m(), mandate);
            Judge::Acts(Box::new(guard.of_instance(&name)))
        } else {
            let guard = Guard::observing(m(), journal, m(), mandate);
            Judge::Observes(Box::new(guard.of_instance(&name)))
        }
    }

    /// One instance takes what is visible, at most a batch. `race`: somebody lays a marker at this key, between two requests.
    pub fn take_batch(&mut self, now: Millis, dice: &mut Dice, race: Option<String>) -> Option<Called> {
        let mut visible: Vec<usize> = (0..self.queue.len())
            .filter(|n| self.queue[*n].visible_at <= now)
            .collect();
        if visible.is_empty() {
            return None;
        }
        dice.shuffle(&mut visible);
        visible.truncate(self.world.delivery.batch.max(1));
        for n in &visible {
            self.queue[*n].receives += 1;
        }
        let messages: Vec<Message> = visible.iter().map(|n| self.queue[*n].message.clone()).collect();
        let mut called = self.call(Some(&messages), dice, race);
        called.events = visible.iter().map(|n| self.queue[*n].event).collect();
        called.messages = messages.len();
        let mut again: Vec<bool> = vec![called.died; visible.len()];
        for (place, (_, answer)) in self.last_answers.iter().enumerate() {
            if let (Answer::Again { .. }, Some(again)) = (answer, again.get_mut(place)) {
                *again = true;
            }
        }
        let mut done: Vec<usize> = Vec::new();
        for (n, again) in visible.into_iter().zip(again) {
            let waiting = &mut self.queue[n];
            if again && waiting.receives < self.world.delivery.receives {
                waiting.visible_at = now + self.world.delivery.visibility;
            } else {
                if again {
                    called.dropped.push(waiting.event);
                }
                called.done.push(waiting.event);
                done.push(n);
            }
        }
        done.sort_unstable();
        for n in done.into_iter().rev() {
            self.queue.remove(n);
        }
        Some(called)
    }

    /// The scheduled call.
    pub fn sweep(&mut self, dice: &mut Dice) -> Called {
        let mut called = self.call(None, dice, None);
        called.sweep = true;
        called
    }

    fn call(&mut self, messages: Option<&[Message]>, dice: &mut Dice, race: Option<String>) -> Called {
        let n = dice.place(self.instances.len());
        let faults = self.world.faults;
        let mut judge = self.judge(n);
        let client = self.instances[n].client.clone();
        let mut called = Called {
            instance: n,
            ..Called::default()
        };
        for operation in &self.denied {
            // Of the bucket with the state; the journal is another.
            for below in ["cp/", "sp/", LOG, POINTERS, OUTPUT] {
                let denied = Fault::answers(PortErrorKind::Denied).on(operation);
                client.plan(denied.key(below).always());
            }
        }
        plan_trouble(&client, faults.crashing, faults.failing, &mut called, dice);
        let meanwhile = Arc::new(Mutex::new(Vec::new()));
        if let Some(key) = race {
            let at = 1 + dice.below(12);
            let seen = Mutex::new(0_u64);
            let laid = Arc::clone(&meanwhile);
            let bucket = client.bucket(BUCKET);
            client.on_call(move |_, _| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                *seen += 1;
                if let (true, Some(bucket)) = (*seen == at, &bucket) {
                    let visible = bucket.is_visible(&key);
                    if let Some(marker) = bucket.delete(&key) {
                        let mut laid = laid.lock().unwrap_or_else(PoisonError::into_inner);
                        laid.push((key.clone(), marker, visible));
                    }
                }
            });
        }
        let report = match (&mut judge, messages) {
            (Judge::Acts(guard), Some(messages)) => at_once(guard.handle(messages)),
            (Judge::Observes(guard), Some(messages)) => at_once(guard.handle(messages)),
            (Judge::Acts(guard), None) => at_once(guard.sweep()).judged,
            (Judge::Observes(guard), None) => at_once(guard.sweep()).judged,
        };
        called.died = client.has_crashed();
        if !called.died {
            let told: &[Finding] = &report.findings;
            let sent = match &judge {
                Judge::Acts(guard) => at_once(guard.findings_sent(told)),
                Judge::Observes(guard) => at_once(guard.findings_sent(told)),
            };
            // A memory that can't be written tells people twice, which nobody minds.
            drop(sent);
        }
        client.forget_hooks();
        client.forget_faults();
        client.revive();
        called.meanwhile = std::mem::take(&mut *meanwhile.lock().unwrap_or_else(PoisonError::into_inner));
        take_calls(&client.take_calls(), self.world.acting, &mut called);
        self.last_answers.clear();
        if called.died {
            return called;
        }
        self.instances[n].judge = Some(judge);
        take_report(report, &mut called, &mut self.last_answers);
        called
    }
}

/// At most one kind of trouble in a call.
fn plan_trouble(client: &Model, crashing: u32, failing: u32, called: &mut Called, dice: &mut Dice) {
    if dice.per_mille(crashing) {
        let at = 1 + u32::try_from(dice.below(30)).unwrap_or(0);
        let crash = Fault::crash().from_nth(at);
        let after = dice.per_mille(500);
        client.plan(if after { crash.after_the_effect() } else { crash });
        called.disturbed = true;
    } else if dice.per_mille(failing) {
        let kinds = [
            PortErrorKind::Throttled,
            PortErrorKind::Transient,
            PortErrorKind::Conflict,
        ];
        let kind = dice.pick(&kinds).copied().unwrap_or(PortErrorKind::Transient);
        let at = 1 + u32::try_from(dice.below(20)).unwrap_or(0);
        let fault = Fault::answers(kind).from_nth(at);
        let after = kind == PortErrorKind::Transient && dice.per_mille(500);
        client.plan(if after { fault.after_the_effect() } else { fault });
        called.disturbed = true;
    }
}
