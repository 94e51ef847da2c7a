//! Lifecycle rules, carried out.

use std::sync::Arc;
use std::time::Duration;

use stayput_core::version::VersionId;

use crate::bucket::ModelBucket;
use crate::event::{EventKind, Told};
use crate::rules::{RunningRules, Step};
use crate::world::{Contents, Hand, S3_ITSELF, World};

/// One thing that a rule did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleAction {
    /// The rule's name.
    pub rule: String,
    /// The key.
    pub key: String,
    /// What it did.
    pub deed: RuleDeed,
}

/// What a rule did to a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleDeed {
    /// It hid the object by this marker, which is dated 00:00 UTC of the day.
    Hidden(VersionId),
    /// It removed the object of an unversioned bucket.
    Deleted,
    /// It removed this noncurrent version or marker for good.
    Purged(VersionId),
    /// It removed this marker, below which there was nothing any more.
    MarkerRemoved(VersionId),
    /// It moved this version to this storage class.
    Moved(VersionId, String),
    /// It aborted this unfinished upload. S3 tells nobody.
    UploadAborted(String),
}

impl ModelBucket {
    /// Carries out now what the rules are due to do, as S3 does once a day. What is due depends on the midnights that have passed: a second run on the same day
    /// does what a transition kept the first from doing, and no more. Gives what was done, in the order of keys; uploads come last.
    pub fn run_rules(&self) -> Vec<RuleAction> {
        self.run_rules_on(|_| true)
    }

    /// The same for some keys only: S3 takes hours for a large bucket, and some keys come a day late.
    pub fn run_rules_on(&self, mut which: impl FnMut(&str) -> bool) -> Vec<RuleAction> {
        self.state.contents().run_rules(&self.world, &mut which)
    }

    /// From now on the rules are carried out by the clock: so long after each midnight UTC that passes ([`Model::set_now`](crate::Model::set_now),
    /// [`Model::advance`](crate::Model::advance)), at most a day. `None`: not any more.
    pub fn let_rules_run(&self, after_midnight: Option<Duration>) {
        self.state.contents().rules_run = after_midnight;
        self.world.let_clock_act();
    }
}

enum Act {
    Hide,
    Remove(VersionId),
    Move(VersionId, String),
}

impl Contents {
    pub(crate) fn run_rules(
        &mut self,
        world: &World,
        which: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<RuleAction> {
        if self.lifecycle.rules.iter().all(|rule| !rule.enabled) {
            return Vec::new();
        }
        let now = world.now();
        let rules = RunningRules::new(&self.lifecycle, self.versioning, now);
        let mut planned = Vec::new();
        for (key, stack) in &self.keys {
            if !rules.take(key) || !which(key) {
                continue;
            }
            for due in rules.due(key, stack) {
                let Some(version) = stack.get(due.place) else {
                    continue;
                };
                let act = match due.step {
                    Step::Hide => Act::Hide,
                    Step::Remove => Act::Remove(version.id.clone()),
                    Step::Move(class) => Act::Move(version.id.clone(), class.to_owned()),
                };
                planned.push((due.rule.name().to_owned(), key.clone(), act));
            }
        }
        let mut aborted = Vec::new();
        for (id, upload) in &self.uploads {
            if let Some(rule) = rules.abort(upload.key(), upload.begun())
                && which(upload.key())
            {
                aborted.push(RuleAction {
                    rule: rule.name().to_owned(),
                    key: upload.key().to_owned(),
                    deed: RuleDeed::UploadAborted(id.clone()),
                });
            }
        }
        let mut done: Vec<RuleAction> = Vec::with_capacity(planned.len());
        let principal = Arc::from(S3_ITSELF);
        let hand = Hand {
            world,
            principal: &principal,
        };
        for (rule, key, act) in planned {
            if let Some(deed) = self.act(hand, &key, act) {
                done.push(RuleAction { rule, key, deed });
            }
        }
        self.uploads.retain(|id, _| {
            !aborted
                .iter()
                .any(|a| matches!(&a.deed, RuleDeed::UploadAborted(gone) if gone == id))
        });
        done.append(&mut aborted);
        done
    }

    fn act(&mut self, hand: Hand<'_>, key: &str, act: Act) -> Option<RuleDeed> {
        match act {
            Act::Hide => {
                let midnight = hand.world.now().midnight();
                let marker = self.push(hand, key, None, midnight, EventKind::MarkerCreatedByRule);
                Some(RuleDeed::Hidden(marker))
            }
            Act::Remove(id) => {
                let lone = self.keys.get(key).is_some_and(|stack| stack.len() == 1);
                let removed = self.delete_version(hand, key, &id, EventKind::DeletedByRule)?;
                Some(match (self.told_id(&id), removed.object) {
                    (None, _) => RuleDeed::Deleted,
                    (Some(id), None) if lone => RuleDeed::MarkerRemoved(id),
                    (Some(id), _) => RuleDeed::Purged(id),
                })
            }
            Act::Move(id, class) => {
                let told_id = self.told_id(&id);
                let object = self.version_mut(key, &id)?.object.as_mut()?;
                object.storage_class = Some(class.clone());
                let kind = EventKind::Transitioned(class.clone());
                let told = Told::of(kind, key, told_id, Some(object));
                self.tell(hand, told);
                Some(RuleDeed::Moved(id, class))
            }
        }
    }
}
