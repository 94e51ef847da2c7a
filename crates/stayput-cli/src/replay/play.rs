//! Playing a story: messages in, verdicts out, look by look.

use std::collections::{BTreeMap, BTreeSet};

use s3_documents::bucket::Versioning;
use s3_documents::notification::{Record, parse_body};
use s3_model::{Call, Fault, Model, ModelBucket, ModelJournal};
use stayput_core::report::finding::Finding;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::guard::{Acting, Guard, Hand};
use stayput_guard::memory::{Memory, OrphansManifest, Switch};
use stayput_guard::port::PortError;
use stayput_guard::settings::{Mode, Settings};

use super::error::{StoryError, StoryProblem};
use super::line::Line;
use super::story::{Look, MessageLine, Story};

/// Whether one process handles all looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Process {
    /// Each look is met by a new process, which knows only what the journal says.
    #[default]
    NewAtEachLook,
    /// One process meets all looks, with its catalogue and all that it has heard.
    Kept,
}

/// How a story is played. The default is as it is told.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    /// Who meets the looks.
    pub process: Process,
    /// What goes wrong. A process that crashes is started anew, and the queue brings its messages again.
    pub faults: Vec<Fault>,
    /// The messages of each look come in the opposite order.
    pub reversed: bool,
    /// The messages of each look come twice; the verdicts are those of the first time.
    pub twice: bool,
}

/// A story that was played.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The verdicts, by look and then by key.
    pub lines: Vec<Line>,
    /// The findings that were sent, with their look.
    pub findings: Vec<(usize, Finding)>,
    /// What the guard asked of S3, with its look.
    pub calls: Vec<(usize, Call)>,
    /// Reads of bytes that nothing decided may depend on.
    pub reads_in_vain: Vec<String>,
    /// Keys whose last verdict was "later": somebody would look again.
    pub waiting: Vec<String>,
    /// What is visible in the story's bucket at the end: keys with their ETags.
    pub visible: Vec<(String, String)>,
}

impl Story {
    /// Plays the story on a model of its own.
    ///
    /// # Errors
    /// Settings or messages that can't be read, with file and line.
    pub async fn play(&self, rehearsal: &Rehearsal) -> Result<Played, StoryError> {
        let settings = Settings::parse(&self.settings).map_err(|e| StoryError::new("stayput.toml", e))?;
        let model = Model::new(self.looks[0].at);
        self.apply(&self.looks[0], &model)?;
        let control = control(&settings, &model);
        let journal = |client: &Model| {
            let (bucket, prefix) = control.as_ref()?;
            Some(client.journal(bucket, prefix))
        };
        self.switch(journal(&model.another_client()))
            .await
            .map_err(|e| StoryError::new("story.toml", StoryProblem::Switches(e)))?;

        for fault in &rehearsal.faults {
            model.plan(fault.clone());
        }
        let mut played = Played::default();
        let mut queue = Queue::default();
        let mut kept = None;
        for look in &self.looks {
            self.apply(look, &model)?;
            queue.add(look)?;
            let mut process = match (rehearsal.process, kept.take()) {
                (Process::Kept, Some(kept)) => kept,
                _ => AnyGuard::new(&settings, &model, journal(&model)),
            };
            let mut task = if look.sweep {
                Task::Sweep
            } else {
                Task::Messages(queue.due(look))
            };
            if let (Task::Messages(messages), true) = (&mut task, rehearsal.reversed) {
                messages.reverse();
            }
            let mut report = process.meet(&task).await;
            for _ in &rehearsal.faults {
                if model.has_crashed() {
                    model.revive();
                    process = AnyGuard::new(&settings, &model, journal(&model));
                    report = process.meet(&task).await;
                }
            }
            queue.answered(&report);
            if rehearsal.twice {
                queue.answered(&process.meet(&task).await);
            }
            kept = Some(process);
            played
                .calls
                .extend(model.take_calls().into_iter().map(|c| (look.number, c)));
            played
                .findings
                .extend(report.findings.iter().map(|f| (look.number, f.clone())));
            let lines = report.verdicts.iter().map(|acted| Line::new(look.number, acted));
            played.lines.extend(lines);
        }
        let bucket = model.create_bucket(&self.bucket.bucket, self.bucket.versioning);
        for key in bucket.visible_keys() {
            let object = bucket.current(&key).and_then(|v| v.object);
            played.visible.extend(object.map(|o| (key, o.etag)));
        }
        played.waiting = queue.waiting();
        let in_vain = model.reads_in_vain();
        played.reads_in_vain = in_vain.iter().map(|(l, v)| format!("{l}@{v}")).collect();
        Ok(played)
    }

    /// Writes what lies under the control prefix before the first look.
    async fn switch(&self, journal: Option<ModelJournal>) -> Result<(), PortError> {
        let memory = Memory::new(journal);
        for uri in &self.switches.pinned {
            memory.switch_on(Switch::Pin, uri).await?;
        }
        for uri in &self.switches.released {
            memory.switch_on(Switch::Release, uri).await?;
        }
        if self.switches.paused {
            memory.pause(self.looks[0].at).await?;
        }
        if !self.switches.hidden_by_orphans.is_empty() {
            let manifest = OrphansManifest {
                bucket: self.bucket.bucket.clone(),
                keys: self.switches.hidden_by_orphans.clone(),
            };
            memory
                .remember_orphans("before-the-first-look", &manifest)
                .await?;
        }
        Ok(())
    }
}

/// The bucket of the control prefix, and the prefix in it, which ends in `/` or is empty.
fn control(settings: &Settings, model: &Model) -> Option<(ModelBucket, String)> {
    let control = settings.mandate.control.as_ref()?;
    let bucket = model
        .bucket(control.bucket())
        .unwrap_or_else(|| model.create_bucket(control.bucket(), Versioning::Never));
    Some((bucket, control.key().to_owned()))
}

/// A guard in the mode that the settings ask for.
enum AnyGuard {
    Observing(Box<Guard<Model, ModelJournal, Model>>),
    Acting(Box<Guard<Model, ModelJournal, Model, Acting<Model>>>),
}

impl AnyGuard {
    fn new(settings: &Settings, model: &Model, journal: Option<ModelJournal>) -> Self {
        let (reading, clock, mandate) = (model.clone(), model.clone(), settings.mandate.clone());
        if settings.mode == Mode::Restore {
            let copies = model.clone();
            Self::Acting(Box::new(Guard::acting(reading, journal, clock, copies, mandate)))
        } else {
            Self::Observing(Box::new(Guard::observing(reading, journal, clock, mandate)))
        }
    }

    /// Meets a look; findings count as sent, since a look prints them.
    async fn meet(&mut self, task: &Task) -> BatchReport {
        match self {
            Self::Observing(guard) => met(guard, task).await,
            Self::Acting(guard) => met(guard, task).await,
        }
    }
}

/// What a look asks for.
enum Task {
    Messages(Vec<Message>),
    Sweep,
}

async fn met<H: Hand + Sync>(guard: &mut Guard<Model, ModelJournal, Model, H>, task: &Task) -> BatchReport {
    let report = match task {
        Task::Messages(messages) => guard.handle(messages).await,
        Task::Sweep => guard.sweep().await.judged,
    };
    // What couldn't be written down comes again at the next look, which is what a story with faults wants to see.
    drop(guard.findings_sent(&report.findings).await);
    report
}

/// All messages so far, and the keys that wait.
#[derive(Default)]
struct Queue {
    messages: Vec<Queued>,
    /// Keys by their last verdict: whether it was "later".
    waits: BTreeMap<String, bool>,
}

struct Queued {
    look: usize,
    message: Message,
    keys: BTreeSet<String>,
}

impl Queue {
    fn add(&mut self, look: &Look) -> Result<(), StoryError> {
        for MessageLine { place, body } in &look.messages {
            let records = parse_body(body.as_bytes()).map_err(|e| StoryError::new(place, e))?;
            let keys = records.iter().filter_map(|record| match record {
                Record::Deleted(deleted) => Some(deleted.key.clone()),
                Record::Created(_) | Record::Other(_) | Record::TestEvent => None,
            });
            self.messages.push(Queued {
                look: look.number,
                keys: keys.collect(),
                message: Message {
                    id: place.clone(),
                    records,
                },
            });
        }
        Ok(())
    }

    /// The messages of this look, and those before it that tell of a key that waits.
    fn due(&self, look: &Look) -> Vec<Message> {
        let waits = |key: &String| self.waits.get(key).copied().unwrap_or(false);
        self.messages
            .iter()
            .filter(|m| m.look == look.number || m.keys.iter().any(waits))
            .map(|m| m.message.clone())
            .collect()
    }

    fn waiting(&self) -> Vec<String> {
        let waits = self.waits.iter().filter(|(_, later)| **later);
        waits.map(|(key, _)| key.clone()).collect()
    }

    fn answered(&mut self, report: &BatchReport) {
        for acted in &report.verdicts {
            let later = matches!(
                acted.verdict.outcome,
                stayput_core::verdict::Outcome::Later { .. }
            );
            self.waits.insert(acted.verdict.location.key().to_owned(), later);
        }
    }
}
