//! Everything that a bucket's rules do to one version of an object, or to an unfinished upload, in order.
//!
//! S3's own words on conflicts: of two expirations the shorter counts, of two transitions on one day the cheaper class, a permanent deletion
//! goes before a transition, and a transition before the creation of a delete marker.

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{
    Expiration, LifecycleConfiguration, LifecycleRule, MinimumTransitionSize, Tag, TransitionTime,
};

use super::filter::{Fit, NotKnown, fit, reaches_into};
use super::storage_class::{leads, preference, step};
use super::{DAY, due};
use crate::extent::Extent;
use crate::location::file_name_start;
use crate::timestamp::Timestamp;

/// Objects smaller than this aren't moved, unless the rule says otherwise: 128 KiB.
const MINIMUM_TRANSITION_SIZE: u64 = 128 * 1024;

/// A version of an object, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct RuledVersion<'o> {
    /// The key.
    pub key: &'o str,
    /// Its length, as far as it is known.
    pub size: Extent,
    /// Last-Modified. `None`: not known; then only days are known, no dates.
    pub written: Option<Timestamp>,
    /// As listed; `None`: not said, which means `STANDARD`.
    pub storage_class: Option<&'o str>,
    /// Its tags. `None`: not known, as no listing shows them; an empty list: it has none.
    pub tags: Option<&'o [Tag]>,
    /// Whether its version id is `null`. Only asked where versioning is suspended. `None`: not known.
    pub null_version: Option<bool>,
    /// Current, or not any more.
    pub place: VersionPlace,
}

/// Whether a version is on top of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionPlace {
    /// It is the current version: visible.
    Current,
    /// A marker or another version stands above it.
    Noncurrent {
        /// Since when: Last-Modified of what stands directly above it. `None`: not known.
        since: Option<Timestamp>,
        /// How many noncurrent versions stand above it. `None`: not known.
        newer: Option<u32>,
    },
}

impl<'o> RuledVersion<'o> {
    /// A current version of which only the key is known.
    pub fn named(key: &'o str) -> Self {
        Self {
            key,
            size: Extent::Unknown,
            written: None,
            storage_class: None,
            tags: None,
            null_version: None,
            place: VersionPlace::Current,
        }
    }
}

/// What a rule does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action<'r> {
    /// A delete marker is put on top; the version stays below it.
    Hide,
    /// The version goes for good: the bucket has no versioning, or it is suspended and the version's id is `null`.
    Delete,
    /// The version moves to another storage class.
    Transition {
        /// The class.
        storage_class: &'r str,
    },
    /// A noncurrent version goes for good.
    Purge,
    /// An unfinished upload goes.
    Abort,
}

/// When a rule acts, as it says itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum When {
    /// So many days after the upload, or after the version became noncurrent.
    Days(u32),
    /// On this day, whatever the age.
    Date(Timestamp),
}

/// One thing that a rule does to a version or upload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect<'r> {
    /// The rule's place in the configuration, from 0.
    pub rule: usize,
    /// What it does.
    pub action: Action<'r>,
    /// When, in its own words.
    pub when: When,
    /// The midnight from which it does; S3 may take hours or days longer. Can have passed. `None`: the age isn't known.
    pub at: Option<Timestamp>,
    /// It does so only if this, which isn't known, fits. `None`: it surely does.
    pub depends_on: Option<NotKnown>,
}

impl Effect<'_> {
    /// Whether it surely happens no later than `other`. Days and dates of an object whose age isn't known can't be compared.
    fn is_not_after(&self, other: &Self) -> bool {
        match (self.at, other.at) {
            (Some(a), Some(b)) => a <= b,
            _ => match (self.when, other.when) {
                (When::Days(a), When::Days(b)) => a <= b,
                (When::Date(a), When::Date(b)) => a <= b,
                _ => false,
            },
        }
    }

    fn is_before(&self, other: &Self) -> bool {
        self.is_not_after(other) && !other.is_not_after(self)
    }
}

/// The rules of one bucket at one moment.
#[derive(Clone, Copy, Debug)]
pub struct BucketRules<'r> {
    configuration: &'r LifecycleConfiguration,
    versioning: Versioning,
    now: Timestamp,
}

impl<'r> BucketRules<'r> {
    /// The rules of a bucket with this versioning. `now` decides only from when on an object that is due already is noncurrent.
    pub fn new(configuration: &'r LifecycleConfiguration, versioning: Versioning, now: Timestamp) -> Self {
        Self {
            configuration,
            versioning,
            now,
        }
    }

    /// The rules, disabled ones included.
    pub fn rules(&self) -> &'r [LifecycleRule] {
        &self.configuration.rules
    }

    /// The configuration as it was told.
    pub fn configuration(&self) -> &'r LifecycleConfiguration {
        self.configuration
    }

    /// The bucket's versioning.
    pub fn versioning(&self) -> Versioning {
        self.versioning
    }

    /// Everything that happens to a version, in order, into `found`, which is emptied first. What another action surely forestalls isn't there.
    pub fn effects(&self, version: &RuledVersion<'_>, found: &mut Vec<Effect<'r>>) {
        NearRules::new(*self).effects(version, found);
    }

    /// From when on a version that becomes noncurrent at `since` is surely or perhaps gone for good, and by which rule.
    pub fn purge(
        &self,
        version: &RuledVersion<'_>,
        since: Option<Timestamp>,
        newer: Option<u32>,
    ) -> Option<Effect<'r>> {
        NearRules::new(*self).purge(version, since, newer)
    }

    /// What happens to an unfinished upload of this key that was begun at `begun`.
    pub fn abort(&self, key: &str, begun: Option<Timestamp>) -> Option<Effect<'r>> {
        let aborts = self.rules().iter().enumerate().filter_map(|(rule, r)| {
            let days = r.abort_incomplete_upload_days?;
            // Uploads have neither tags nor a size, and S3 takes no such filter beside this action.
            let takes = r.enabled && key.starts_with(&r.filter.prefix);
            takes.then(|| Effect {
                rule,
                action: Action::Abort,
                when: When::Days(days),
                at: begun.map(|begun| due(begun, days)),
                depends_on: None,
            })
        });
        aborts.min_by_key(|effect| effect.when)
    }
}

/// The rules of a bucket for versions that come directory by directory, as listings show them: of many rules few reach into the directory at
/// hand, and only those are asked.
#[derive(Clone, Debug)]
pub(crate) struct NearRules<'r> {
    rules: BucketRules<'r>,
    /// The directory of the key that was asked about last; `None` before the first.
    directory: Option<String>,
    /// The enabled rules that can take objects of it by their prefixes, with their places in the configuration.
    near: Vec<(usize, &'r LifecycleRule)>,
}

impl<'r> NearRules<'r> {
    pub(crate) fn new(rules: BucketRules<'r>) -> Self {
        Self {
            rules,
            directory: None,
            near: Vec::new(),
        }
    }

    /// The rules, wherever they reach.
    pub(crate) fn bucket(&self) -> &BucketRules<'r> {
        &self.rules
    }

    fn move_to(&mut self, key: &str) {
        let directory = &key[..file_name_start(key)];
        if self.directory.as_deref() == Some(directory) {
            return;
        }
        self.near.clear();
        let all = self.rules.rules().iter().enumerate();
        self.near
            .extend(all.filter(|(_, rule)| rule.enabled && reaches_into(rule, directory)));
        let kept = self.directory.get_or_insert_default();
        kept.clear();
        kept.push_str(directory);
    }

    /// As [`BucketRules::effects`].
    pub(crate) fn effects(&mut self, version: &RuledVersion<'_>, found: &mut Vec<Effect<'r>>) {
        self.move_to(version.key);
        found.clear();
        match version.place {
            VersionPlace::Current => {
                self.expirations(version, found);
                let end = keep_the_first(found);
                self.transitions(version, end, found);
                found.sort_by(order);
                steps_down(version.storage_class, found);
                if let Some(end) = end.filter(|end| end.action == Action::Hide) {
                    let hidden = end.at.map(|at| at.max(self.rules.now.midnight()));
                    self.noncurrent(version, hidden, Some(0), found);
                }
            }
            VersionPlace::Noncurrent { since, newer } => self.noncurrent(version, since, newer, found),
        }
    }

    /// As [`BucketRules::purge`].
    pub(crate) fn purge(
        &mut self,
        version: &RuledVersion<'_>,
        since: Option<Timestamp>,
        newer: Option<u32>,
    ) -> Option<Effect<'r>> {
        self.move_to(version.key);
        self.purges(version, since, newer).min_by(order)
    }

    fn expirations(&self, version: &RuledVersion<'_>, found: &mut Vec<Effect<'r>>) {
        let (action, unsure) = match (self.rules.versioning, version.null_version) {
            (Versioning::Enabled, _) | (Versioning::Suspended, Some(false)) => (Action::Hide, None),
            (Versioning::Never, _) | (Versioning::Suspended, Some(true)) => (Action::Delete, None),
            (Versioning::Suspended, None) => (Action::Delete, Some(NotKnown::Version)),
        };
        for (rule, r) in self.near.iter().copied() {
            let (when, at) = match r.expiration {
                Some(Expiration::Days(days)) => (
                    When::Days(days),
                    version.written.map(|written| due(written, days)),
                ),
                Some(Expiration::Date(millis)) => on_date(Timestamp::from_millis(millis), version.written),
                Some(Expiration::ExpiredObjectDeleteMarker) | None => continue,
            };
            if let Some(depends_on) = fit(r, version.key, version.size, version.tags).depends_on() {
                found.push(Effect {
                    rule,
                    action,
                    when,
                    at,
                    depends_on: depends_on.or(unsure),
                });
            }
        }
    }

    fn transitions(&self, version: &RuledVersion<'_>, end: Option<Effect<'r>>, found: &mut Vec<Effect<'r>>) {
        for (rule, r) in self.near.iter().copied() {
            for t in &r.transitions {
                let (when, at) = match t.when {
                    TransitionTime::Days(days) => (
                        When::Days(days),
                        version.written.map(|written| due(written, days)),
                    ),
                    TransitionTime::Date(millis) => on_date(Timestamp::from_millis(millis), version.written),
                };
                let Some(depends_on) = self.moves(r, version, &t.storage_class).depends_on() else {
                    continue;
                };
                let effect = Effect {
                    rule,
                    action: Action::Transition {
                        storage_class: &t.storage_class,
                    },
                    when,
                    at,
                    depends_on,
                };
                let forestalled = end.is_some_and(|end| match end.action {
                    Action::Delete if end.depends_on.is_none() => end.is_not_after(&effect),
                    _ => end.is_before(&effect),
                });
                if !forestalled {
                    found.push(effect);
                }
            }
        }
    }

    /// Whether a transition takes the version: the rule's filter, and the minimum size where the filter names none.
    fn moves(&self, rule: &LifecycleRule, version: &RuledVersion<'_>, storage_class: &str) -> Fit {
        let own_size = rule.filter.size_greater_than.is_some() || rule.filter.size_less_than.is_some();
        fit(rule, version.key, version.size, version.tags).and(|| {
            // A class that S3 doesn't have may be an archive.
            let archive =
                matches!(storage_class, "GLACIER" | "DEEP_ARCHIVE") || step(storage_class).is_none();
            let minimum = self.rules.configuration.minimum_transition_size;
            if own_size || (archive && minimum == MinimumTransitionSize::VariesByClass) {
                return Fit::Yes;
            }
            match version.size {
                Extent::Exact(n) | Extent::AtLeast(n) if n >= MINIMUM_TRANSITION_SIZE => Fit::Yes,
                Extent::Exact(_) if archive && minimum == MinimumTransitionSize::NotSaid => {
                    Fit::Perhaps(NotKnown::MinimumSize)
                }
                Extent::Exact(_) => Fit::No,
                Extent::AtLeast(_) | Extent::Changelog(_) | Extent::Unknown => Fit::Perhaps(NotKnown::Size),
            }
        })
    }

    fn noncurrent(
        &self,
        version: &RuledVersion<'_>,
        since: Option<Timestamp>,
        newer: Option<u32>,
        found: &mut Vec<Effect<'r>>,
    ) {
        if self.rules.versioning == Versioning::Never {
            return;
        }
        let mut later: Vec<Effect<'r>> = self.purges(version, since, newer).collect();
        let end = keep_the_first(&mut later);
        for (rule, r) in self.near.iter().copied() {
            for t in &r.noncurrent_transitions {
                let fits = kept(t.newer_noncurrent_versions, newer)
                    .and(|| self.moves(r, version, &t.storage_class))
                    .depends_on();
                let Some(depends_on) = fits else { continue };
                let effect = Effect {
                    rule,
                    action: Action::Transition {
                        storage_class: &t.storage_class,
                    },
                    when: When::Days(t.noncurrent_days),
                    at: since.map(|since| due(since, t.noncurrent_days)),
                    depends_on,
                };
                if !end.is_some_and(|end| end.is_not_after(&effect)) {
                    later.push(effect);
                }
            }
        }
        later.sort_by(order);
        steps_down(version.storage_class, &mut later);
        found.append(&mut later);
    }

    fn purges(
        &self,
        version: &RuledVersion<'_>,
        since: Option<Timestamp>,
        newer: Option<u32>,
    ) -> impl Iterator<Item = Effect<'r>> {
        self.near.iter().filter_map(move |(rule, r)| {
            let n = r.noncurrent_expiration?;
            let depends_on = kept(n.newer_noncurrent_versions, newer)
                .and(|| fit(r, version.key, version.size, version.tags))
                .depends_on()?;
            Some(Effect {
                rule: *rule,
                action: Action::Purge,
                when: When::Days(n.noncurrent_days),
                at: since.map(|since| due(since, n.noncurrent_days)),
                depends_on,
            })
        })
    }
}

/// Whether a rule that leaves so many of the newest noncurrent versions takes one with `newer` above it.
fn kept(leaves: Option<u32>, newer: Option<u32>) -> Fit {
    match (leaves, newer) {
        (None | Some(0), _) => Fit::Yes,
        (Some(leaves), Some(newer)) if newer >= leaves => Fit::Yes,
        (Some(_), Some(_)) => Fit::No,
        (Some(_), None) => Fit::Perhaps(NotKnown::NewerVersions),
    }
}

/// A date that has passed goes on taking what is written later, at the next midnight.
fn on_date(date: Timestamp, written: Option<Timestamp>) -> (When, Option<Timestamp>) {
    let first = match written {
        Some(written) if written > date => due(written, 0),
        _ => date,
    };
    (When::Date(date), Some(first))
}

/// Leaves the first effect that surely happens and those that perhaps happen before it; gives that first one.
fn keep_the_first<'r>(found: &mut Vec<Effect<'r>>) -> Option<Effect<'r>> {
    // Whether a version with an id that isn't known goes for good isn't whether it goes.
    let sure = |effect: &Effect<'r>| matches!(effect.depends_on, None | Some(NotKnown::Version));
    let end = found
        .iter()
        .filter(|effect| sure(effect))
        .copied()
        .reduce(|first, next| if next.is_before(&first) { next } else { first })?;
    found.retain(|effect| *effect == end || effect.is_before(&end) || !end.is_not_after(effect));
    Some(end)
}

/// By time; on one day a transition goes before a marker, and the one that S3 chooses after the others.
fn order(a: &Effect<'_>, b: &Effect<'_>) -> std::cmp::Ordering {
    let rank = |effect: &Effect<'_>| match effect.action {
        Action::Transition { storage_class } => preference(storage_class),
        _ => u8::MAX,
    };
    let when = match (a.at, b.at) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.when.cmp(&b.when),
    };
    when.then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| a.rule.cmp(&b.rule))
}

/// Of transitions in order, leaves those that lead on from the class before them, and of one day the last of these.
fn steps_down<'r>(storage_class: Option<&str>, found: &mut Vec<Effect<'r>>) {
    let written_to = storage_class.unwrap_or("STANDARD");
    let mut moved_to: Option<&'r str> = None;
    let mut at = 0;
    while at < found.len() {
        let Action::Transition { storage_class: to } = found[at].action else {
            at += 1;
            continue;
        };
        let from = moved_to.unwrap_or(written_to);
        let overtaken = found.get(at + 1).is_some_and(|next| {
            // The class where it lies may be the one that S3 prefers.
            let chosen = matches!(next.action, Action::Transition { storage_class }
                if storage_class == from || leads(from, storage_class));
            chosen && next.depends_on.is_none() && next.is_not_after(&found[at])
        });
        if !leads(from, to) || to == written_to || overtaken {
            found.remove(at);
            continue;
        }
        if found[at].depends_on.is_none() {
            moved_to = Some(to);
        }
        at += 1;
    }
}

/// The smallest number of days with which an expiration by age wouldn't be due yet at `now`.
pub fn days_not_due_yet(written: Timestamp, now: Timestamp) -> u32 {
    let age = now.since(written).as_millis() / DAY.as_millis();
    let age = u32::try_from(age).unwrap_or(u32::MAX);
    (age..=age.saturating_add(1))
        .find(|days| due(written, *days) > now)
        .unwrap_or_else(|| age.saturating_add(1))
        .max(1)
}
