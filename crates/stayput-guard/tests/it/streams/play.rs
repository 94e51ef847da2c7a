//! Playing a recording: the bucket at a moment, the messages in an order, and what the guard said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_model::{Model, ModelBucket};
use stayput_core::cause::Principals;
use stayput_core::report::finding::FindingCode;
use stayput_core::root::{Root, RootKind, Roots};
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{Outcome, Verdict};
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;
use stayput_guard::mandate::Mandate;

use super::recording::{Happening, Recording};
use crate::lab::{ActingGuard, Dice, Who, mandate, message, told, word};

/// Who the messages say deleted what Flink deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Telling {
    /// The role of the jobs, which the settings name.
    Role,
    /// Some principal, and the settings name none.
    NoPrincipals,
    /// EventBridge, which names an account and no role.
    EventBridge,
}

impl Telling {
    pub(crate) const ALL: [Self; 3] = [Self::Role, Self::NoPrincipals, Self::EventBridge];
}

/// The order in which messages arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    AsSent,
    Reversed,
    /// By this seed.
    Shuffled(u64),
    /// Each twice.
    Doubled,
}

impl Order {
    /// All but as sent: reversed, doubled, and so many times shuffled.
    pub(crate) fn others(seeds: u64) -> Vec<Self> {
        let mut orders = vec![Self::Reversed, Self::Doubled];
        orders.extend((0..seeds).map(Self::Shuffled));
        orders
    }

    pub(crate) fn arrange(self, messages: &[Message]) -> Vec<Message> {
        let mut arranged = messages.to_vec();
        match self {
            Self::AsSent => {}
            Self::Reversed => arranged.reverse(),
            Self::Shuffled(seed) => Dice::new(seed).shuffle(&mut arranged),
            Self::Doubled => arranged = messages.iter().flat_map(|m| [m.clone(), m.clone()]).collect(),
        }
        arranged
    }
}

/// What was said of each key, the last time.
pub(crate) type Said = BTreeMap<String, Answer>;

/// A verdict, as far as it may not depend on the order of messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// The outcome, and its reason or code.
    pub(crate) outcome: String,
    /// Restore, leave, later, report or lost.
    pub(crate) kind: Kind,
    /// What people are told besides: codes, with the `_metadata` that each is about.
    pub(crate) findings: BTreeSet<(FindingCode, String)>,
}

/// What an outcome does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Leave,
    Later,
    Report(FindingCode),
    Restore,
    Lost,
}

impl Answer {
    /// Whether people are told this code and no other.
    pub(crate) fn findings_are(&self, code: FindingCode) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|(told, _)| *told == code)
    }

    fn of(verdict: &Verdict) -> Self {
        let kind = match &verdict.outcome {
            Outcome::Leave(_) => Kind::Leave,
            Outcome::Later { .. } => Kind::Later,
            Outcome::Report(code) => Kind::Report(*code),
            Outcome::Restore(_) => Kind::Restore,
            Outcome::Lost(_) => Kind::Lost,
        };
        let told = verdict.findings.iter();
        Self {
            outcome: word(&verdict.outcome),
            kind,
            findings: told
                .map(|(code, about)| (*code, about.key().to_owned()))
                .collect(),
        }
    }
}

/// A model whose bucket is as it was at some moment of a recording.
pub(crate) struct Stage<'r> {
    pub(crate) recording: &'r Recording,
    pub(crate) model: Model,
    pub(crate) bucket: ModelBucket,
    control: ModelBucket,
    mandate: Mandate,
    /// All messages of the recording, by happening; none where nothing was sent.
    messages: Vec<Option<Message>>,
    happened: usize,
    guards: usize,
}

/// A look comes so long after what it is told of.
const DELAY: Duration = Duration::from_millis(20);

impl<'r> Stage<'r> {
    pub(crate) fn new(recording: &'r Recording, telling: Telling) -> Self {
        let first = recording.happenings.first().expect("something happened");
        let model = Model::new(first.at);
        let bucket = model.create_bucket(&recording.bucket, Versioning::Enabled);
        let control = model.create_bucket("ops", Versioning::Never);
        let root = format!("s3://{}/{}", recording.bucket, recording.root);
        let root = Root::new(&root, RootKind::Checkpoints, None).expect("a root");
        let mut mandate = Mandate {
            roots: Roots::new(vec![root]),
            ..mandate()
        };
        if telling == Telling::NoPrincipals {
            mandate.principals = Principals::default();
        }
        let tell = |happening: &Happening| tell(happening, recording.is_by_hand(happening), telling);
        Self {
            messages: recording.happenings.iter().map(tell).collect(),
            recording,
            model,
            bucket,
            control,
            mandate,
            happened: 0,
            guards: 0,
        }
    }

    /// The bucket as it was after so many happenings, and the time just after the last of them.
    pub(crate) fn set(&mut self, happened: usize) {
        if happened < self.happened {
            self.reset();
        }
        for happening in &self.recording.happenings[self.happened..happened] {
            self.bucket.add_version(&happening.key, happening.version.clone());
        }
        self.happened = happened;
        self.model.set_now(self.time_of(happened));
    }

    pub(crate) fn time_of(&self, happened: usize) -> Timestamp {
        let last = happened.checked_sub(1).map(|n| self.recording.happenings[n].at);
        last.unwrap_or(self.recording.happenings[0].at).plus(DELAY)
    }

    /// What was sent from one moment to another.
    pub(crate) fn messages(&self, from: usize, to: usize) -> Vec<Message> {
        self.messages[from..to].iter().flatten().cloned().collect()
    }

    /// Nothing has happened yet; what was copied is gone.
    pub(crate) fn reset(&mut self) {
        self.bucket.clear();
        self.happened = 0;
    }

    /// Somebody deletes a key now; the message that tells of it.
    pub(crate) fn delete(&self, who: Who, key: &str) -> Message {
        let marker = self.bucket.delete(key);
        told(who, key, marker.as_ref(), self.model.now())
    }

    /// The keys that were copied since the calls were last forgotten. No key is copied twice, and nothing but copies is written.
    pub(crate) fn copies(&self) -> BTreeSet<String> {
        let mut copied = BTreeSet::new();
        for call in self
            .model
            .calls()
            .into_iter()
            .filter(|c| c.operation == "CopyObject")
        {
            assert!(copied.insert(call.key.clone()), "{} was copied twice", call.key);
        }
        copied
    }

    /// A new process with a journal of its own.
    pub(crate) fn guard(&mut self) -> ActingGuard {
        self.guards += 1;
        let journal = self.model.journal(&self.control, &format!("{}/", self.guards));
        let m = || self.model.clone();
        Guard::acting(m(), Some(journal), m(), m(), self.mandate.clone())
    }
}

/// The message of a happening, as somebody tells it.
fn tell(happening: &Happening, by_hand: bool, telling: Telling) -> Option<Message> {
    let mut body = happening.notification.clone()?;
    let hides = happening.version.object.is_none();
    if hides && telling == Telling::EventBridge {
        return Some(told(
            Who::Nobody,
            &happening.key,
            Some(&happening.version.id),
            happening.at,
        ));
    }
    let principal = if by_hand {
        "AWS:AROAPEOPLE:alice"
    } else {
        "AWS:AROAFLINK:jobmanager"
    };
    body["Records"][0]["userIdentity"]["principalId"] = principal.into();
    Some(message(
        format!("{} {}", happening.key, happening.version.id),
        &body,
    ))
}

/// One process hears messages, at most so many at a time.
pub(crate) async fn hear(guard: &mut ActingGuard, messages: &[Message], batch: usize) -> Said {
    let mut said = Said::new();
    for batch in messages.chunks(batch) {
        let report = guard.handle(batch).await;
        for acted in &report.verdicts {
            let key = acted.verdict.location.key().to_owned();
            // What was put back stays said so when a duplicate finds it visible.
            if said.get(&key).is_none_or(|a| a.kind != Kind::Restore) {
                said.insert(key, Answer::of(&acted.verdict));
            }
        }
    }
    said
}
