//! The sums of one bucket: what each rule does to which job, without keeping the objects.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use s3_documents::bucket::Versioning;

use super::correction;
use super::outcome::{
    AbortRisk, Amount, BrokenSnapshot, BucketForecast, Harm, HarmKind, JobAge, PutBack, RuleName,
};
use crate::lifecycle_rules::{
    Action, BucketRules, Effect, NearRules, NotKnown, RuledVersion, When, days_not_due_yet, is_readable,
};
use crate::location::ObjectLocation;
use crate::report::finding::EXAMPLES;
use crate::snapshot::JobDirectory;
use crate::timestamp::Timestamp;

/// One snapshot that needs the object at hand.
#[derive(Clone, Copy)]
pub(super) struct NeededBy {
    pub(super) snapshot: u32,
    pub(super) job: u32,
    /// The object lies in the snapshot's own directory.
    pub(super) exclusive: bool,
}

/// When an upload was begun.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    At(Timestamp),
    /// Then or before.
    Before(Timestamp),
    Unknown,
}

/// What one rule aborts.
#[derive(Default)]
struct AbortSums {
    examples: Examples,
    bounded: u64,
    snapshots: BTreeSet<u32>,
}

pub(super) struct Tally<'a> {
    bucket: &'a str,
    rules: NearRules<'a>,
    /// Directories whose objects are needed, sorted, none below another.
    protected: Vec<String>,
    now: Timestamp,
    needed: Amount,
    unlisted: u64,
    archived: Amount,
    perhaps_archived: u64,
    hidden: Examples,
    harms: HashMap<HarmKey<'a>, HarmSums>,
    jobs: BTreeMap<u32, JobSums>,
    snapshots: Vec<SnapshotSums>,
    /// Per rule, whether it surely takes something that is needed, or does so if a size fits.
    touched: Vec<bool>,
    aborts: BTreeMap<usize, AbortSums>,
    effects: Vec<Effect<'a>>,
    needed_by: Vec<NeededBy>,
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct HarmKey<'a> {
    job: u32,
    rule: usize,
    action: Taken<'a>,
    when: (bool, i64),
    depends_on: Option<NotKnown>,
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Taken<'a> {
    Hidden,
    Deleted,
    Archived(&'a str),
}

#[derive(Default)]
struct HarmSums {
    amount: Amount,
    due: u64,
    of_unknown_age: u64,
    by_day: BTreeMap<Timestamp, u64>,
    examples: Examples,
    snapshots: BTreeSet<u32>,
    put_back: Option<PutBack>,
}

#[derive(Default)]
struct JobSums {
    needed: Amount,
    shared: u64,
    oldest: Option<(Timestamp, String)>,
}

#[derive(Default, Clone)]
struct SnapshotSums {
    objects: u64,
    perhaps: u64,
    from: Option<Timestamp>,
}

/// The first ten by time, then by key; those without a time last.
#[derive(Default)]
struct Examples {
    count: u64,
    first: BTreeSet<(bool, Option<Timestamp>, String)>,
}

impl Examples {
    fn add(&mut self, at: Option<Timestamp>, key: &str) {
        self.count += 1;
        let rank = (at.is_none(), at);
        if self.first.len() == EXAMPLES {
            // Compared before the key is copied: of a million objects few get here.
            match self.first.last() {
                Some((unknown, last, last_key)) if (rank, key) < ((*unknown, *last), last_key.as_str()) => {
                    self.first.pop_last();
                }
                _ => return,
            }
        }
        self.first.insert((rank.0, rank.1, key.to_owned()));
    }

    fn urls(self, bucket: &str) -> Vec<String> {
        let urls = self
            .first
            .into_iter()
            .map(|(_, _, key)| format!("s3://{bucket}/{key}"));
        urls.collect()
    }
}

impl<'a> Tally<'a> {
    pub(super) fn new(
        bucket: &'a str,
        rules: BucketRules<'a>,
        protected: Vec<String>,
        snapshots: usize,
        now: Timestamp,
    ) -> Self {
        Self {
            bucket,
            rules: NearRules::new(rules),
            protected,
            now,
            needed: Amount::default(),
            unlisted: 0,
            archived: Amount::default(),
            perhaps_archived: 0,
            hidden: Examples::default(),
            harms: HashMap::new(),
            jobs: BTreeMap::new(),
            snapshots: vec![SnapshotSums::default(); snapshots],
            touched: vec![false; rules.rules().len()],
            aborts: BTreeMap::new(),
            effects: Vec::new(),
            needed_by: Vec::new(),
        }
    }

    pub(super) fn object(&mut self, version: &RuledVersion<'_>, needed_by: impl Iterator<Item = NeededBy>) {
        self.needed_by.clear();
        self.needed_by.extend(needed_by);
        self.needed_by.sort_unstable_by_key(|by| (by.job, by.snapshot));
        self.needed.add(version.size);
        self.unlisted += u64::from(version.written.is_none());
        self.jobs_need(version);
        let readable = version.storage_class.map_or(Some(true), is_readable);
        match readable {
            Some(false) => self.archived.add(version.size),
            None => self.perhaps_archived += 1,
            Some(true) => {}
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.rules.effects(version, &mut effects);
        let current_end = effects
            .iter()
            .position(|effect| matches!(effect.action, Action::Hide | Action::Delete) && ends(effect));
        let current = &effects[..current_end.map_or(effects.len(), |end| end + 1)];
        let (mut sure, mut perhaps) = (None, false);
        let mut perhaps_archived = readable.is_none();
        for effect in current {
            let taken = match effect.action {
                Action::Hide => Taken::Hidden,
                Action::Delete => Taken::Deleted,
                Action::Transition { storage_class } => match is_readable(storage_class) {
                    Some(false) => Taken::Archived(storage_class),
                    None => {
                        self.perhaps_archived += u64::from(!std::mem::replace(&mut perhaps_archived, true));
                        continue;
                    }
                    Some(true) => continue,
                },
                Action::Purge | Action::Abort => continue,
            };
            let put_back = self.put_back(version, effect);
            self.harm(version, effect, taken, put_back);
            if ends(effect) {
                sure.get_or_insert(effect.at);
            } else {
                perhaps = true;
            }
            self.touched[effect.rule] |= effect.depends_on != Some(NotKnown::Tags);
        }
        for by in &self.needed_by {
            let sums = &mut self.snapshots[by.snapshot as usize];
            match sure {
                Some(at) => {
                    sums.objects += 1;
                    sums.from = [sums.from, at].into_iter().flatten().min();
                }
                None => sums.perhaps += u64::from(perhaps),
            }
        }
        self.effects = effects;
    }

    pub(super) fn upload(&mut self, key: &str, begun: Begun, named_by: &BTreeSet<u32>) {
        let (at, bounded) = match begun {
            Begun::At(at) => (Some(at), false),
            Begun::Before(at) => (Some(at), true),
            Begun::Unknown => (None, false),
        };
        if let Some(effect) = self.rules.bucket().abort(key, at) {
            let sums = self.aborts.entry(effect.rule).or_default();
            sums.examples.add(effect.at, key);
            sums.bounded += u64::from(bounded);
            sums.snapshots.extend(named_by);
        }
    }

    pub(super) fn hidden(&mut self, key: &str) {
        self.hidden.add(None, key);
    }

    fn jobs_need(&mut self, version: &RuledVersion<'_>) {
        for of_job in self.needed_by.chunk_by(|a, b| a.job == b.job) {
            let sums = self.jobs.entry(of_job[0].job).or_default();
            sums.needed.add(version.size);
            sums.shared += u64::from(!of_job.iter().any(|by| by.exclusive));
            if let Some(written) = version.written
                && sums.oldest.as_ref().is_none_or(|(oldest, _)| written < *oldest)
            {
                sums.oldest = Some((written, version.key.to_owned()));
            }
        }
    }

    fn harm(&mut self, version: &RuledVersion<'_>, effect: &Effect<'a>, taken: Taken<'a>, put_back: PutBack) {
        let when = match effect.when {
            When::Days(days) => (false, i64::from(days)),
            When::Date(date) => (true, date.millis()),
        };
        for of_job in self.needed_by.chunk_by(|a, b| a.job == b.job) {
            let key = HarmKey {
                job: of_job[0].job,
                rule: effect.rule,
                action: taken,
                when,
                depends_on: effect.depends_on,
            };
            let sums = self.harms.entry(key).or_default();
            sums.snapshots.extend(of_job.iter().map(|by| by.snapshot));
            sums.amount.add(version.size);
            match effect.at {
                Some(at) => {
                    *sums.by_day.entry(at).or_default() += 1;
                    sums.due += u64::from(at <= self.now);
                }
                None => sums.of_unknown_age += 1,
            }
            sums.examples.add(effect.at, version.key);
            sums.put_back = Some(sums.put_back.map_or(put_back, |before| worse(before, put_back)));
        }
    }

    fn put_back(&mut self, version: &RuledVersion<'_>, effect: &Effect<'_>) -> PutBack {
        match (effect.action, effect.depends_on) {
            (Action::Delete, Some(NotKnown::Version)) => PutBack::PerhapsNever,
            (Action::Delete, _) => PutBack::Never,
            (Action::Hide, _) => {
                let hidden = effect.at.map(|at| at.max(self.now.midnight()));
                match self.rules.purge(version, hidden, Some(0)) {
                    Some(purge) => PutBack::ForDays {
                        days: match purge.when {
                            When::Days(days) => days,
                            When::Date(_) => 0,
                        },
                        until: purge.at,
                    },
                    None => PutBack::Always,
                }
            }
            // It is still there, and can be thawed.
            (Action::Transition { .. } | Action::Purge | Action::Abort, _) => PutBack::Always,
        }
    }

    pub(super) fn finish(self, jobs: &[&JobDirectory], snapshots: &[&ObjectLocation]) -> BucketForecast {
        let bucket = self.bucket;
        let rules = self.rules.bucket();
        let correction = correction::of(bucket, rules, &self.protected, &self.touched);
        let (rules, versioning) = (rules.rules(), rules.versioning());
        let mut harms: Vec<Harm> = self
            .harms
            .into_iter()
            .map(|(key, sums)| Harm {
                job: jobs[key.job as usize].clone(),
                rule: RuleName::of(key.rule, &rules[key.rule]),
                kind: match key.action {
                    Taken::Hidden => HarmKind::Hide,
                    Taken::Deleted => HarmKind::Delete,
                    Taken::Archived(storage_class) => HarmKind::Archive {
                        storage_class: storage_class.to_owned(),
                    },
                },
                days: u32::try_from(key.when.1).ok().filter(|_| !key.when.0),
                date: key.when.0.then(|| Timestamp::from_millis(key.when.1)),
                depends_on: key.depends_on,
                amount: sums.amount,
                due: sums.due,
                of_unknown_age: sums.of_unknown_age,
                first: sums.by_day.keys().next().copied(),
                last: sums.by_day.keys().next_back().copied(),
                by_day: sums.by_day,
                examples: sums.examples.urls(bucket),
                snapshots: sums
                    .snapshots
                    .iter()
                    .map(|place| snapshots[*place as usize].clone())
                    .collect(),
                put_back: sums.put_back.unwrap_or(PutBack::Always),
            })
            .collect();
        harms.sort_by(|a, b| {
            let rank = |h: &Harm| (h.is_unsure(), h.first.is_none(), h.first, h.days, h.date);
            (rank(a), &a.job, &a.rule, &a.kind).cmp(&(rank(b), &b.job, &b.rule, &b.kind))
        });
        let mut aborts = self.aborts;
        let abort_rules = rules.iter().enumerate().filter(|(_, r)| r.enabled);
        let aborts = abort_rules.filter_map(|(place, r)| {
            let known = aborts.remove(&place).unwrap_or_default();
            Some(AbortRisk {
                rule: RuleName::of(place, r),
                prefix: r.filter.prefix.clone(),
                days: r.abort_incomplete_upload_days?,
                uploads: known.examples.count,
                bounded: known.bounded,
                first: known.examples.first.first().and_then(|(_, at, _)| *at),
                examples: known.examples.urls(bucket),
                snapshots: known
                    .snapshots
                    .iter()
                    .map(|place| snapshots[*place as usize].clone())
                    .collect(),
            })
        });
        let mut broken: Vec<BrokenSnapshot> = self
            .snapshots
            .iter()
            .zip(snapshots)
            .filter(|(sums, _)| sums.objects + sums.perhaps > 0)
            .map(|(sums, metadata)| BrokenSnapshot {
                metadata: (*metadata).clone(),
                objects: sums.objects,
                perhaps: sums.perhaps,
                from: sums.from,
            })
            .collect();
        broken.sort_by(|a, b| a.metadata.cmp(&b.metadata));
        BucketForecast {
            bucket: bucket.to_owned(),
            versioning: match versioning {
                Versioning::Enabled => "enabled",
                Versioning::Suspended => "suspended",
                Versioning::Never => "never",
            },
            needed: self.needed,
            unlisted: self.unlisted,
            archived: self.archived,
            perhaps_archived: self.perhaps_archived,
            hidden: self.hidden.count,
            hidden_examples: self.hidden.urls(bucket),
            aborts: aborts.collect(),
            ages: self
                .jobs
                .into_iter()
                .map(|(job, sums)| JobAge {
                    job: jobs[job as usize].clone(),
                    needed: sums.needed,
                    shared: sums.shared,
                    days_today: sums
                        .oldest
                        .as_ref()
                        .map(|(written, _)| days_not_due_yet(*written, self.now)),
                    oldest_written: sums.oldest.as_ref().map(|(written, _)| *written),
                    oldest: sums.oldest.map(|(_, key)| format!("s3://{bucket}/{key}")),
                })
                .collect(),
            snapshots: broken,
            correction,
            harms,
        }
    }
}

/// Whether the effect surely takes the object from a job, whatever becomes of its version.
fn ends(effect: &Effect<'_>) -> bool {
    matches!(effect.depends_on, None | Some(NotKnown::Version))
}

/// The worse of two; of two deadlines the earlier.
fn worse(a: PutBack, b: PutBack) -> PutBack {
    match (a, b) {
        (
            PutBack::ForDays { days, until },
            PutBack::ForDays {
                days: other,
                until: earlier,
            },
        ) => PutBack::ForDays {
            days: days.min(other),
            until: [until, earlier].into_iter().flatten().min(),
        },
        _ => a.min(b),
    }
}
