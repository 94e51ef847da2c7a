//! Whether there is something to put back, and for how long.

use bytesize::ByteSize;
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{
    Expiration, LifecycleConfiguration, LifecycleRule, NoncurrentExpiration, RuleFilter,
};
use stayput_core::command::{aws, aws_s3api};
use stayput_core::version::is_archive_class;

use super::{BucketEncryption, Check, Churn, Code, Diagnosis, Facts, KeyState, LockMode};

/// S3 Standard in us-east-1, dollars for a GB-month, as docs/cost.md has it.
const DOLLARS_A_GB_MONTH: f64 = 0.023;

/// The name of the rule that a fix adds.
const OUR_RULE: &str = "stayput-noncurrent";

/// Directory buckets are known by their names (S3 user guide, “Directory bucket naming rules”).
pub(super) fn bucket_kind(facts: &Facts, check: &mut Check) {
    if facts.bucket().ends_with("--x-s3") {
        check.finds(Diagnosis::new(
            Code::DirectoryBucket,
            facts.about_bucket(),
            "It is a directory bucket (S3 Express One Zone).",
        ));
    } else {
        check.sees("It is a general purpose bucket.");
    }
}

pub(super) fn versioning(facts: &Facts, check: &mut Check) {
    let Some(state) = check.given(&facts.versioning) else {
        return;
    };
    let (code, what) = match state {
        Versioning::Enabled => {
            check.sees("Versioning is enabled: what is deleted is hidden, and can be put back.");
            return;
        }
        Versioning::Suspended => (Code::VersioningStopped, "Versioning is suspended."),
        Versioning::Never => (Code::VersioningOff, "Versioning was never enabled."),
    };
    let parameters = [
        ("Bucket", facts.bucket()),
        ("VersioningConfiguration", "Status=Enabled"),
    ];
    check.finds(
        Diagnosis::new(code, facts.about_bucket(), what).by(aws_s3api("put-bucket-versioning", &parameters)),
    );
}

pub(super) fn mfa_delete(facts: &Facts, check: &mut Check) {
    match check.given(&facts.mfa_delete) {
        None => {}
        Some(false) => check.sees("MFA delete is off."),
        Some(true) => check.finds(Diagnosis::new(
            if facts.unhides() {
                Code::UnhideNeedsDevice
            } else {
                Code::MfaDelete
            },
            facts.about_bucket(),
            "MFA delete is on: removing a version or a marker by its id takes the root user's device.",
        )),
    }
}

/// A rule that purges hidden versions of keys here, with its place.
fn purging<'r>(
    rules: &'r LifecycleConfiguration,
    prefix: &str,
) -> impl Iterator<Item = (usize, &'r LifecycleRule, NoncurrentExpiration)> {
    rules.rules.iter().enumerate().filter_map(move |(place, rule)| {
        let purge = rule.noncurrent_expiration?;
        // Flink writes each key once, so of one that is hidden there is no newer version: such a rule never takes it.
        let takes = purge.newer_noncurrent_versions.unwrap_or(0) == 0;
        (rule.enabled && takes && reaches(&rule.filter, prefix)).then_some((place, rule, purge))
    })
}

/// Whether a rule can take something below a prefix.
pub(super) fn reaches(filter: &RuleFilter, prefix: &str) -> bool {
    filter.prefix.starts_with(prefix) || prefix.starts_with(filter.prefix.as_str())
}

/// Whether a rule takes everything below a prefix.
pub(super) fn reaches_all(filter: &RuleFilter, prefix: &str) -> bool {
    prefix.starts_with(filter.prefix.as_str())
        && filter.tags.is_empty()
        && filter.size_greater_than.is_none()
        && filter.size_less_than.is_none()
}

fn days_text(days: u64) -> String {
    if days == 1 {
        "1 day".to_owned()
    } else {
        format!("{days} days")
    }
}

/// What hidden versions cost if they are kept so long.
fn cost(churn: &Churn, days: u64) -> String {
    let a_day = churn.bytes_a_day();
    let kept = a_day.saturating_mul(days);
    let at_least = if churn.complete { "" } else { "at least " };
    format!(
        "By the last {}, {at_least}{} are hidden a day; kept for {} they are {}, {at_least}{} a month",
        days_text(churn.days),
        size(a_day),
        days_text(days),
        size(kept),
        dollars(kept)
    )
}

/// A number of bytes in the decimal units of S3's prices.
fn size(bytes: u64) -> String {
    ByteSize::b(bytes).display().si().to_string()
}

/// What so many bytes cost in a month.
fn dollars(bytes: u64) -> String {
    // Dollars to a cent need no more than 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "a sum of money in words")]
    let dollars = bytes as f64 / 1e9 * DOLLARS_A_GB_MONTH;
    if bytes == 0 {
        "0 dollars".to_owned()
    } else if dollars < 0.01 {
        "less than 0.01 dollars".to_owned()
    } else {
        format!("{dollars:.2} dollars")
    }
}

pub(super) fn noncurrent_window(facts: &Facts, check: &mut Check) {
    let Some(rules) = check.given(&facts.rules) else {
        return;
    };
    if let Ok(state) = &facts.versioning
        && *state == Versioning::Never
    {
        check.sees("The bucket keeps no versions, so no rule for noncurrent versions has anything to take.");
        return;
    }
    let prefix = facts.place.key();
    // Whoever reacts within a part of a day still needs a whole day of S3's.
    let needed = facts.reaction.as_secs().div_ceil(86_400).max(1);
    let churn = facts.churn.as_ref();
    let costs = |days: u64| churn.map_or_else(|_| String::new(), |c| format!(" {}.", cost(c, days)));
    let mut shortest: Option<u64> = None;
    for (place, rule, purge) in purging(rules, prefix) {
        let days = u64::from(purge.noncurrent_days);
        shortest = Some(shortest.map_or(days, |s| s.min(days)));
        if days >= needed {
            continue;
        }
        let mut longer = rules.clone();
        if let Some(purge) = longer
            .rules
            .get_mut(place)
            .and_then(|r| r.noncurrent_expiration.as_mut())
        {
            purge.noncurrent_days = u32::try_from(needed).unwrap_or(u32::MAX);
        }
        let what = format!(
            "The rule {:?} removes versions {} after they are hidden; the time to react is {}.{}",
            rule.name(),
            days_text(days),
            days_text(needed),
            costs(needed)
        );
        let found = Diagnosis::new(Code::NoncurrentWindowShort, facts.about_bucket(), what);
        check.finds(found.by(facts.rules_command(&longer)));
    }
    let purged_everywhere = purging(rules, prefix).any(|(_, rule, _)| reaches_all(&rule.filter, prefix));
    if !purged_everywhere {
        let mut with_one = rules.clone();
        let mut ours = LifecycleRule::new(OUR_RULE, RuleFilter::prefix(prefix));
        ours.noncurrent_expiration = Some(NoncurrentExpiration {
            noncurrent_days: u32::try_from(needed).unwrap_or(u32::MAX),
            newer_noncurrent_versions: None,
        });
        ours.expiration = Some(Expiration::ExpiredObjectDeleteMarker);
        with_one.rules.retain(|rule| rule.id.as_deref() != Some(OUR_RULE));
        with_one.rules.push(ours);
        let there = churn.map_or_else(
            |_| String::new(),
            |c| {
                format!(
                    " {} of hidden versions are there already.{}",
                    size(c.noncurrent_bytes),
                    costs(needed)
                )
            },
        );
        let what = format!(
            "No rule removes all hidden versions below s3://{}/{prefix}.{there}",
            facts.bucket()
        );
        let found = Diagnosis::new(Code::NoncurrentForever, facts.about_bucket(), what);
        check.finds(found.by(facts.rules_command(&with_one)));
    }
    for (place, rule) in rules.rules.iter().enumerate() {
        let to = rule
            .noncurrent_transitions
            .iter()
            .find(|t| is_archive_class(&t.storage_class));
        let Some(to) = to.filter(|_| rule.enabled && reaches(&rule.filter, prefix)) else {
            continue;
        };
        let mut without = rules.clone();
        if let Some(rule) = without.rules.get_mut(place) {
            rule.noncurrent_transitions
                .retain(|t| !is_archive_class(&t.storage_class));
        }
        let what = format!(
            "The rule {:?} moves versions to {} {} after they are hidden.",
            rule.name(),
            to.storage_class,
            days_text(u64::from(to.noncurrent_days))
        );
        let found = Diagnosis::new(Code::NoncurrentArchived, facts.about_bucket(), what);
        // S3 takes no rule that does nothing.
        let command = without
            .rules
            .get(place)
            .is_some_and(does_something)
            .then(|| facts.rules_command(&without));
        check.finds(found.by(command.flatten()));
    }
    if let (true, Some(days)) = (check.findings.is_empty(), shortest) {
        let costs = costs(days);
        check.sees(format!(
            "Hidden versions are kept for {}.{costs}",
            days_text(days)
        ));
    }
    if let Err(why) = churn {
        check.unknown.push(format!(
            "how much is hidden a day, and so what it costs: {}",
            why.because
        ));
    }
}

fn does_something(rule: &LifecycleRule) -> bool {
    rule.expiration.is_some()
        || rule.noncurrent_expiration.is_some()
        || !rule.transitions.is_empty()
        || !rule.noncurrent_transitions.is_empty()
        || rule.abort_incomplete_upload_days.is_some()
}

pub(super) fn object_lock(facts: &Facts, check: &mut Check) {
    let Some(retention) = check.given(&facts.retention) else {
        return;
    };
    let Some(retention) = retention else {
        check.sees("New versions get no retention by default.");
        return;
    };
    let mode = match retention.mode {
        LockMode::Governance => "governance",
        LockMode::Compliance => "compliance",
    };
    let mut what = format!(
        "Every new version is locked for {} in {mode} mode.",
        days_text(u64::from(retention.days))
    );
    if facts.unhides() {
        // Object Lock protects versions of data, and no delete markers.
        what.push_str(" Un-hiding works all the same, since markers aren't locked, and makes no version; what is copied instead is locked.");
    }
    let parameters = [
        ("Bucket", facts.bucket()),
        ("ObjectLockConfiguration", r#"{"ObjectLockEnabled":"Enabled"}"#),
    ];
    check.finds(
        Diagnosis::new(Code::DefaultRetention, facts.about_bucket(), what)
            .fix("Keep checkpoints in a bucket without a default retention, and hold single savepoints instead. The command ends the default for new versions; what is locked stays locked.")
            .by(aws_s3api("put-object-lock-configuration", &parameters)),
    );
}

pub(super) fn encryption(facts: &Facts, check: &mut Check) {
    let Some(encryption) = check.given(&facts.encryption) else {
        return;
    };
    let BucketEncryption::ByKms(key) = encryption else {
        check.sees("New objects are encrypted with S3's own keys, which takes no permission.");
        return;
    };
    let name = key.as_deref().unwrap_or("alias/aws/s3");
    let Some(state) = facts.key.as_ref().and_then(|key| check.given(key)) else {
        if facts.key.is_none() {
            check
                .unknown
                .push(format!("nobody asked for the state of the key {name}"));
        }
        return;
    };
    let (what, operation) = match state {
        KeyState::Enabled => {
            check.sees(format!(
                "New objects are encrypted with the key {name}, which is enabled. Older objects may have others."
            ));
            return;
        }
        KeyState::Disabled => ("is disabled".to_owned(), Some("enable-key")),
        KeyState::PendingDeletion => ("waits for its deletion".to_owned(), Some("cancel-key-deletion")),
        KeyState::Other(state) => (format!("is in the state {state}"), None),
    };
    let found = Diagnosis::new(
        Code::KeyUnusable,
        name,
        format!("The key that encrypts new objects {what}."),
    );
    check.finds(found.by(operation.map(|operation| aws("kms", operation, &[("KeyId", name)]))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u64) -> String {
        let churn = Churn {
            hidden_bytes: bytes,
            days: 1,
            complete: true,
            ..Churn::default()
        };
        cost(&churn, 7)
    }

    #[test]
    fn a_little_is_less_than_a_cent_and_not_nothing() {
        assert_eq!((size(0), dollars(0)), ("0 B".to_owned(), "0 dollars".to_owned()));
        assert_eq!(size(999), "999 B");
        assert_eq!(size(34_000), "34.0 kB");
        assert_eq!(dollars(34_000), "less than 0.01 dollars");
        assert_eq!(
            (size(120_000_000_000), dollars(120_000_000_000)),
            ("120.0 GB".to_owned(), "2.76 dollars".to_owned())
        );
        assert!(!of(34_000).contains("0.00"), "{}", of(34_000));
    }
}
