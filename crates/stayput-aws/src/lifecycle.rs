//! The lifecycle rules of a bucket, from the SDK's types.

use aws_sdk_s3::types::{
    ExpirationStatus, LifecycleRule as SdkRule, NoncurrentVersionExpiration, Tag as SdkTag,
    TransitionDefaultMinimumObjectSize,
};
use aws_smithy_types::DateTime;
use s3_documents::lifecycle::{
    Expiration, LifecycleConfiguration, LifecycleRule, MinimumTransitionSize, NoncurrentExpiration,
    NoncurrentTransition, RuleFilter, Tag, Transition, TransitionTime,
};

/// A rule that can't be understood: nobody may decide as if it weren't there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotUnderstood(pub(crate) String);

pub(crate) fn configuration(
    rules: &[SdkRule],
    minimum: Option<&TransitionDefaultMinimumObjectSize>,
) -> Result<LifecycleConfiguration, NotUnderstood> {
    let minimum_transition_size = match minimum {
        Some(TransitionDefaultMinimumObjectSize::AllStorageClasses128K) => MinimumTransitionSize::AllClasses,
        Some(TransitionDefaultMinimumObjectSize::VariesByStorageClass) => {
            MinimumTransitionSize::VariesByClass
        }
        // A value that this SDK doesn't know is a minimum that isn't known.
        _ => MinimumTransitionSize::NotSaid,
    };
    rules
        .iter()
        .map(|r| {
            rule(r).map_err(|what| {
                NotUnderstood(format!(
                    "the lifecycle rule {}: {what}",
                    r.id().unwrap_or("(unnamed)")
                ))
            })
        })
        .collect::<Result<_, _>>()
        .map(|rules| LifecycleConfiguration {
            rules,
            minimum_transition_size,
        })
}

fn rule(sdk: &SdkRule) -> Result<LifecycleRule, String> {
    let enabled = match sdk.status() {
        ExpirationStatus::Enabled => true,
        ExpirationStatus::Disabled => false,
        other => return Err(format!("its status is {other}")),
    };
    let expiration = match sdk.expiration() {
        None => None,
        Some(e) => match (e.date(), e.days(), e.expired_object_delete_marker()) {
            (Some(date), None, _) => Some(Expiration::Date(millis(date)?)),
            (None, Some(days), _) => Some(Expiration::Days(positive(days)?)),
            (None, None, Some(true)) => Some(Expiration::ExpiredObjectDeleteMarker),
            (None, None, _) => None,
            (Some(_), Some(_), _) => return Err("it expires both after days and at a date".to_owned()),
        },
    };
    Ok(LifecycleRule {
        id: sdk.id().map(str::to_owned),
        enabled,
        filter: filter(sdk)?,
        expiration,
        noncurrent_expiration: sdk
            .noncurrent_version_expiration()
            .map(noncurrent_expiration)
            .transpose()?,
        transitions: sdk
            .transitions()
            .iter()
            .map(|t| {
                let when = match (t.date(), t.days()) {
                    (Some(date), None) => TransitionTime::Date(millis(date)?),
                    (None, days) => TransitionTime::Days(positive(days.unwrap_or(0))?),
                    (Some(_), Some(_)) => {
                        return Err("it moves objects both after days and at a date".to_owned());
                    }
                };
                Ok(Transition {
                    when,
                    storage_class: t.storage_class().map(ToString::to_string).unwrap_or_default(),
                })
            })
            .collect::<Result<_, String>>()?,
        noncurrent_transitions: sdk
            .noncurrent_version_transitions()
            .iter()
            .map(|t| {
                Ok(NoncurrentTransition {
                    noncurrent_days: positive(t.noncurrent_days().unwrap_or(0))?,
                    newer_noncurrent_versions: t.newer_noncurrent_versions().map(positive).transpose()?,
                    storage_class: t.storage_class().map(ToString::to_string).unwrap_or_default(),
                })
            })
            .collect::<Result<_, String>>()?,
        abort_incomplete_upload_days: sdk
            .abort_incomplete_multipart_upload()
            .and_then(aws_sdk_s3::types::AbortIncompleteMultipartUpload::days_after_initiation)
            .map(positive)
            .transpose()?,
    })
}

/// The filter stands in one of three places: the old prefix of the rule, one condition, or several under `And`.
fn filter(sdk: &SdkRule) -> Result<RuleFilter, String> {
    let Some(f) = sdk.filter() else {
        #[expect(deprecated, reason = "rules of this form are still in use")]
        return Ok(RuleFilter::prefix(sdk.prefix().unwrap_or_default()));
    };
    let (prefix, tags, greater, less) = match f.and() {
        Some(and) => (
            and.prefix(),
            and.tags(),
            and.object_size_greater_than(),
            and.object_size_less_than(),
        ),
        None => (
            f.prefix(),
            f.tag().map(std::slice::from_ref).unwrap_or_default(),
            f.object_size_greater_than(),
            f.object_size_less_than(),
        ),
    };
    Ok(RuleFilter {
        prefix: prefix.unwrap_or_default().to_owned(),
        tags: tags.iter().map(tag).collect(),
        size_greater_than: greater.map(size).transpose()?,
        size_less_than: less.map(size).transpose()?,
    })
}

fn noncurrent_expiration(sdk: &NoncurrentVersionExpiration) -> Result<NoncurrentExpiration, String> {
    Ok(NoncurrentExpiration {
        noncurrent_days: positive(sdk.noncurrent_days().unwrap_or(0))?,
        newer_noncurrent_versions: sdk.newer_noncurrent_versions().map(positive).transpose()?,
    })
}

fn tag(sdk: &SdkTag) -> Tag {
    Tag {
        key: sdk.key().to_owned(),
        value: sdk.value().to_owned(),
    }
}

fn positive(number: i32) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number} is no number of days or versions"))
}

fn size(bytes: i64) -> Result<u64, String> {
    u64::try_from(bytes).map_err(|_| format!("{bytes} is no size"))
}

fn millis(date: &DateTime) -> Result<i64, String> {
    date.to_millis().map_err(|e| format!("its date: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_s3::types::{LifecycleExpiration, LifecycleRuleAndOperator, LifecycleRuleFilter};

    #[test]
    fn a_rule_with_several_conditions_keeps_them_all() {
        let and = LifecycleRuleAndOperator::builder()
            .prefix("flink/")
            .tags(SdkTag::builder().key("keep").value("no").build().unwrap())
            .object_size_greater_than(10)
            .build();
        let sdk = SdkRule::builder()
            .id("old")
            .status(ExpirationStatus::Enabled)
            .filter(LifecycleRuleFilter::builder().and(and).build())
            .expiration(LifecycleExpiration::builder().days(30).build())
            .noncurrent_version_expiration(NoncurrentVersionExpiration::builder().noncurrent_days(7).build())
            .build()
            .unwrap();
        let configuration = configuration(&[sdk], None).unwrap();
        let [rule] = configuration.rules.as_slice() else {
            panic!("{configuration:?}")
        };
        assert_eq!(rule.filter.prefix, "flink/");
        assert_eq!(rule.filter.tags.len(), 1);
        assert_eq!(rule.filter.size_greater_than, Some(10));
        assert_eq!(rule.expiration, Some(Expiration::Days(30)));
        assert_eq!(rule.noncurrent_expiration.map(|n| n.noncurrent_days), Some(7));
    }

    #[test]
    fn what_cant_be_understood_is_an_error_that_names_the_rule() {
        let sdk = SdkRule::builder()
            .id("odd")
            .status(ExpirationStatus::Enabled)
            .expiration(LifecycleExpiration::builder().days(-3).build())
            .build()
            .unwrap();
        let NotUnderstood(message) = configuration(&[sdk], None).unwrap_err();
        assert!(message.contains("odd") && message.contains("-3"), "{message}");
    }
}
