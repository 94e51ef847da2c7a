//! The rules, changed so that they leave needed objects alone.
//!
//! No filter of S3 leaves a prefix out. So a rule that reaches checkpoints keeps what it does to noncurrent versions and to uploads, and
//! loses what it does to current ones; other rules stay as they are.

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{Expiration, LifecycleConfiguration, LifecycleRule, NoncurrentExpiration};
use serde::Serialize;

use super::outcome::RuleName;
use crate::command::aws_s3api;
use crate::lifecycle_rules::{BucketRules, is_readable, reaches_into};

/// A rule that replaces an expiration leaves noncurrent versions at least so many days: time to find out that something is missing.
const LEAST_NONCURRENT_DAYS: u32 = 30;

/// Rules that take nothing that is needed, and how they differ from those that are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// What was changed.
    pub changes: Vec<Change>,
    /// What `aws s3api put-bucket-lifecycle-configuration --lifecycle-configuration` takes: all rules. `None`: no rule is left, which that
    /// command doesn't take.
    pub configuration: Option<String>,
    /// The command that sets it, with the configuration in `rules.json`.
    pub command: String,
}

/// What was changed in one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The rule.
    pub rule: RuleName,
    /// What was changed, for people.
    pub what: String,
    /// The rule also takes objects outside the directories of checkpoints, for which its actions on current versions are gone too.
    pub reaches_further: bool,
}

/// `protected`: directories whose objects are needed, as key prefixes. `touched`: per rule, whether it takes something that is needed now.
pub(super) fn of(
    bucket: &str,
    rules: &BucketRules<'_>,
    protected: &[String],
    touched: &[bool],
) -> Option<Correction> {
    let mut changes = Vec::new();
    let mut kept = Vec::new();
    for (place, rule) in rules.rules().iter().enumerate() {
        let takes = touched.get(place).copied().unwrap_or(false);
        // What is needed tomorrow lies in the same directories. A rule that asks for tags may well leave it alone, as Flink sets none.
        let will_take = rule.enabled
            && rule.filter.tags.is_empty()
            && protected.iter().any(|directory| reaches_into(rule, directory));
        if !takes && !will_take {
            kept.push(rule.clone());
            continue;
        }
        let (changed, what) = without_harm(rule, rules.versioning());
        let Some(what) = what else {
            kept.push(rule.clone());
            continue;
        };
        changes.push(Change {
            rule: RuleName::of(place, rule),
            what,
            reaches_further: !protected
                .iter()
                .any(|directory| rule.filter.prefix.starts_with(directory.as_str())),
        });
        kept.extend(changed);
    }
    if changes.is_empty() {
        return None;
    }
    let corrected = LifecycleConfiguration {
        rules: kept,
        minimum_transition_size: rules.configuration().minimum_transition_size,
    };
    let configuration = (!corrected.rules.is_empty())
        .then(|| corrected.to_json())
        .flatten();
    let names = [("Bucket", bucket)];
    let command = if configuration.is_some() {
        let minimum = corrected
            .minimum_transition_size
            .name()
            .map_or(String::new(), |name| {
                format!(" --transition-default-minimum-object-size {name}")
            });
        let command = aws_s3api("put-bucket-lifecycle-configuration", &names);
        format!("{command}{minimum} --lifecycle-configuration file://rules.json")
    } else {
        aws_s3api("delete-bucket-lifecycle", &names)
    };
    Some(Correction {
        changes,
        configuration,
        command,
    })
}

/// The rule without what it does to current versions; `None` if nothing is left of it. And what was changed; `None`: nothing.
fn without_harm(rule: &LifecycleRule, versioning: Versioning) -> (Option<LifecycleRule>, Option<String>) {
    let mut changed = rule.clone();
    let mut what = Vec::new();
    if let Some(expiration @ (Expiration::Days(_) | Expiration::Date(_))) = rule.expiration {
        changed.expiration = None;
        what.push("current versions don't expire any more".to_owned());
        if versioning != Versioning::Never && rule.noncurrent_expiration.is_none() {
            let noncurrent_days = match expiration {
                Expiration::Days(days) => days.max(LEAST_NONCURRENT_DAYS),
                Expiration::Date(_) | Expiration::ExpiredObjectDeleteMarker => LEAST_NONCURRENT_DAYS,
            };
            changed.noncurrent_expiration = Some(NoncurrentExpiration {
                noncurrent_days,
                newer_noncurrent_versions: None,
            });
            what.push(format!(
                "what Flink deleted itself goes for good after {noncurrent_days} days"
            ));
            if rule.filter.tags.is_empty()
                && rule.filter.size_greater_than.is_none()
                && rule.filter.size_less_than.is_none()
            {
                // S3 refuses this action beside tags and sizes.
                changed.expiration = Some(Expiration::ExpiredObjectDeleteMarker);
            }
        }
    }
    changed
        .transitions
        .retain(|t| is_readable(&t.storage_class) != Some(false));
    if changed.transitions.len() < rule.transitions.len() {
        what.push("current versions aren't archived any more".to_owned());
    }
    let acts = changed.expiration.is_some()
        || changed.noncurrent_expiration.is_some()
        || !changed.transitions.is_empty()
        || !changed.noncurrent_transitions.is_empty()
        || changed.abort_incomplete_upload_days.is_some();
    if !acts && !what.is_empty() {
        what.push("nothing is left of the rule, so it goes".to_owned());
    }
    (
        acts.then_some(changed),
        (!what.is_empty()).then(|| what.join("; ")),
    )
}
