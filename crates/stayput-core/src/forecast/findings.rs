//! What is reported of a forecast: one finding per job, rule and action.

use std::time::Duration;

use super::outcome::{AbortRisk, BucketForecast, Forecast, Harm, HarmKind, PutBack};
use crate::lifecycle_rules::{NotKnown, When};
use crate::report::finding::{Finding, FindingCode, Severity};
use crate::timestamp::Timestamp;

/// An alarm comes so long before the first object is taken; until then a finding warns.
const URGENT_WITHIN: Duration = Duration::from_secs(7 * 86_400);
const DAY: Duration = Duration::from_secs(86_400);

impl Forecast {
    /// What people must know: per job, rule and action, the earliest first. The deadline of each is the first midnight from which the rule
    /// takes something: until then the rules can be changed.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for bucket in &self.buckets {
            findings.extend(bucket.harms.iter().map(|harm| self.harm(bucket, harm)));
            let known = bucket.aborts.iter().filter(|abort| abort.is_near(self.now));
            findings.extend(known.map(|abort| self.abort(bucket, abort)));
        }
        findings
    }

    fn harm(&self, bucket: &BucketForecast, harm: &Harm) -> Finding {
        let code = match (&harm.kind, harm.depends_on) {
            (_, Some(NotKnown::Tags | NotKnown::Size | NotKnown::MinimumSize | NotKnown::NewerVersions)) => {
                FindingCode::RuleMayTakeNeeded
            }
            (HarmKind::Hide, _) => FindingCode::RuleWillHideNeeded,
            (HarmKind::Delete, _) => FindingCode::RuleWillDeleteNeeded,
            (HarmKind::Archive { .. }, _) => FindingCode::RuleWillArchiveNeeded,
        };
        let mut finding = Finding::new(code, harm.job.to_string());
        finding.objects = harm.amount.objects;
        finding.examples.clone_from(&harm.examples);
        finding.deadline = harm.first;
        finding.broken = harm.snapshots.iter().map(ToString::to_string).collect();
        let soon = |at: Timestamp| at <= self.now.plus(URGENT_WITHIN);
        if finding.severity == Severity::Urgent && !harm.first.is_some_and(soon) {
            finding.severity = Severity::Warning;
        }
        finding.meaning = format!(
            "{} {} {}. {} {}",
            sentence_start(&harm.rule.to_string()),
            harm.does(),
            harm.starting(self.now),
            code.meaning(),
            harm.put_back_text()
        )
        .trim_end()
        .to_owned();
        if let Some(correction) = &bucket.correction {
            finding.next_step = format!(
                "{} With the corrected rules in rules.json: {}",
                finding.next_step, correction.command
            );
        }
        finding
    }

    fn abort(&self, bucket: &BucketForecast, abort: &AbortRisk) -> Finding {
        let code = FindingCode::RuleWillAbortUploads;
        let mut finding = Finding::new(code, format!("s3://{}/{}", bucket.bucket, abort.prefix));
        finding.objects = abort.uploads;
        finding.examples.clone_from(&abort.examples);
        finding.deadline = abort.first;
        finding.broken = abort.snapshots.iter().map(ToString::to_string).collect();
        if abort.first.is_none_or(|at| at > self.now.plus(URGENT_WITHIN)) {
            finding.severity = Severity::Warning;
        }
        finding.meaning = format!(
            "{} aborts {} {}. {}",
            sentence_start(&abort.rule.to_string()),
            abort.what(),
            abort.starting(self.now),
            code.meaning()
        );
        finding
    }
}

impl AbortRisk {
    /// Whether people should be told: while more than half of the rule's days are left, a job that goes on completes its uploads long before.
    fn is_near(&self, now: Timestamp) -> bool {
        let half = DAY.saturating_mul(self.days) / 2;
        self.uploads > 0 && self.first.is_none_or(|first| first <= now.plus(half))
    }

    /// How many uploads, for people.
    pub fn what(&self) -> String {
        match self.uploads {
            1 => "1 unfinished upload that snapshots name".to_owned(),
            n => format!("{n} unfinished uploads that snapshots name"),
        }
    }

    /// From when on, for people, and whether that can be earlier.
    pub fn starting(&self, now: Timestamp) -> String {
        let when = match self.days {
            1 => "1 day after they were begun".to_owned(),
            days => format!("{days} days after they were begun"),
        };
        let Some(first) = self.first else {
            return format!("{when}; when that was isn't known");
        };
        let from = if first <= now {
            "from now on".to_owned()
        } else {
            format!("from {} on", first.day())
        };
        if self.bounded == 0 {
            return format!("{from}, {when}");
        }
        format!(
            "{from} or earlier, {when}: when isn't known, only that it was before the snapshot was written"
        )
    }
}

impl Harm {
    /// What the rule does to how many objects, such as `hides 12 objects`, for people.
    pub fn does(&self) -> String {
        let objects = match self.amount.objects {
            1 => "1 object".to_owned(),
            n => format!("{n} objects"),
        };
        match (&self.kind, self.is_unsure()) {
            (HarmKind::Hide, false) => format!("hides {objects}"),
            (HarmKind::Hide, true) => format!("may hide {objects}"),
            (HarmKind::Delete, false) => format!("deletes {objects} for good"),
            (HarmKind::Delete, true) => format!("may delete {objects} for good"),
            (HarmKind::Archive { storage_class }, false) => format!("archives {objects} ({storage_class})"),
            (HarmKind::Archive { storage_class }, true) => format!("may archive {objects} ({storage_class})"),
        }
    }

    /// From when on, for people: the first day, or the age where no day is known.
    pub fn starting(&self, now: Timestamp) -> String {
        let when = match self.when() {
            When::Days(1) => "once they are 1 day old".to_owned(),
            When::Days(days) => format!("once they are {days} days old"),
            When::Date(date) => format!("on {}", date.day()),
        };
        match self.first {
            None => when,
            Some(first) if first <= now => format!("from now on ({} due already), {when}", self.due),
            Some(first) => format!("from {} on, {when}", first.day()),
        }
    }

    /// Whether what was taken can be put back, for people.
    pub fn put_back_text(&self) -> String {
        if matches!(self.kind, HarmKind::Archive { .. }) {
            return "An archived object must be thawed and copied before a job can read it.".to_owned();
        }
        match self.put_back {
            PutBack::Never => "The bucket keeps no versions: what is taken can't be put back.".to_owned(),
            PutBack::PerhapsNever => {
                "Versioning is suspended: what has the version id null can't be put back.".to_owned()
            }
            PutBack::ForDays { days, until: None } => {
                format!("It can be put back for {days} days after it is hidden.")
            }
            PutBack::ForDays {
                days,
                until: Some(until),
            } => format!(
                "It can be put back for {days} days after it is hidden: the first until {}.",
                until.day()
            ),
            PutBack::Always => "No rule purges what is hidden: it can be put back.".to_owned(),
        }
    }

    /// What isn't known, and how to find out, for people. `None`: it surely happens.
    pub fn condition_text(&self) -> Option<&'static str> {
        Some(match self.depends_on? {
            NotKnown::Tags => {
                "the rule asks for tags, and no listing shows them. Flink sets none; look with `aws s3api get-object-tagging`"
            }
            NotKnown::Size => "the rule asks for a size that isn't known. Give a listing",
            NotKnown::MinimumSize => {
                "whether small objects move depends on TransitionDefaultMinimumObjectSize, which the rules don't say. Look with `aws s3api \
                 get-bucket-lifecycle-configuration`"
            }
            NotKnown::Version => {
                "versioning is suspended, and only what has the version id null goes for good. Give a listing of versions"
            }
            NotKnown::NewerVersions => "it isn't known how many newer versions there are",
        })
    }
}

fn sentence_start(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
