//! The JSON of `aws s3api get-bucket-lifecycle-configuration`.
//!
//! Read strictly: a condition that isn't understood would make a rule look wider than it is, and an action narrower.

use serde::Deserialize;

use super::{
    Expiration, LifecycleConfiguration, LifecycleRule, NoncurrentExpiration, NoncurrentTransition,
    RuleFilter, Tag, Transition, TransitionTime,
};
use crate::document::{read, unusable};
use crate::error::{DocumentError, Problem};
use crate::timestamp;

const DOCUMENT: &str = "the output of `aws s3api get-bucket-lifecycle-configuration`";

/// The document; unknown fields beside `Rules` don't change what rules do to objects that are there.
#[derive(Debug, Deserialize)]
pub(crate) struct LifecycleJson {
    #[serde(rename = "Rules")]
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Rule {
    #[serde(rename = "ID")]
    id: Option<String>,
    status: Status,
    filter: Option<Filter>,
    prefix: Option<String>,
    expiration: Option<ExpirationJson>,
    noncurrent_version_expiration: Option<NoncurrentExpirationJson>,
    transitions: Option<Vec<TransitionJson>>,
    noncurrent_version_transitions: Option<Vec<NoncurrentTransitionJson>>,
    abort_incomplete_multipart_upload: Option<Abort>,
}

#[derive(Debug, Deserialize)]
enum Status {
    Enabled,
    Disabled,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Filter {
    prefix: Option<String>,
    tag: Option<TagJson>,
    object_size_greater_than: Option<u64>,
    object_size_less_than: Option<u64>,
    and: Option<And>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct And {
    prefix: Option<String>,
    tags: Option<Vec<TagJson>>,
    object_size_greater_than: Option<u64>,
    object_size_less_than: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct TagJson {
    key: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct ExpirationJson {
    days: Option<u32>,
    #[serde(default, deserialize_with = "timestamp::optional")]
    date: Option<i64>,
    expired_object_delete_marker: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct NoncurrentExpirationJson {
    noncurrent_days: u32,
    newer_noncurrent_versions: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct TransitionJson {
    days: Option<u32>,
    #[serde(default, deserialize_with = "timestamp::optional")]
    date: Option<i64>,
    storage_class: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct NoncurrentTransitionJson {
    noncurrent_days: u32,
    newer_noncurrent_versions: Option<u32>,
    storage_class: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Abort {
    days_after_initiation: u32,
}

/// Reads the output of `aws s3api get-bucket-lifecycle-configuration`. For a bucket without rules that command prints nothing and fails
/// with `NoSuchLifecycleConfiguration`: use [`LifecycleConfiguration::default`] then.
///
/// # Errors
/// No JSON; a rule with a condition or action that isn't known, that contradicts itself or that S3 doesn't allow. Then nothing of the
/// configuration is used, as a rule that is read wrongly gives a wrong forecast.
pub fn parse(bytes: &[u8]) -> Result<LifecycleConfiguration, DocumentError> {
    from_json(read(bytes, DOCUMENT)?).map_err(|problem| unusable(DOCUMENT, problem))
}

pub(crate) fn from_json(document: LifecycleJson) -> Result<LifecycleConfiguration, Problem> {
    let rules = (1..).zip(document.rules).map(|(number, rule)| {
        let name = match &rule.id {
            Some(id) => format!("rule {number} ({id})"),
            None => format!("rule {number}"),
        };
        from_rule(rule).map_err(|what| Problem::Unusable {
            what: format!("{name}: {what}"),
        })
    });
    Ok(LifecycleConfiguration {
        rules: rules.collect::<Result<_, _>>()?,
    })
}

fn from_rule(rule: Rule) -> Result<LifecycleRule, &'static str> {
    let filter = match (rule.filter, rule.prefix) {
        (Some(filter), None) => from_filter(filter)?,
        (None, Some(prefix)) => RuleFilter::prefix(prefix),
        (Some(_), Some(_)) => return Err("it has both Filter and Prefix; S3 allows one of them"),
        (None, None) => {
            return Err("it has neither Filter nor Prefix, so it isn't known which objects it takes");
        }
    };
    Ok(LifecycleRule {
        id: rule.id,
        enabled: matches!(rule.status, Status::Enabled),
        filter,
        expiration: rule.expiration.map(from_expiration).transpose()?.flatten(),
        noncurrent_expiration: rule
            .noncurrent_version_expiration
            .map(from_noncurrent_expiration)
            .transpose()?,
        transitions: rule
            .transitions
            .unwrap_or_default()
            .into_iter()
            .map(from_transition)
            .collect::<Result<_, _>>()?,
        noncurrent_transitions: rule
            .noncurrent_version_transitions
            .unwrap_or_default()
            .into_iter()
            .map(|t| NoncurrentTransition {
                noncurrent_days: t.noncurrent_days,
                newer_noncurrent_versions: t.newer_noncurrent_versions,
                storage_class: t.storage_class,
            })
            .collect(),
        abort_incomplete_upload_days: match rule.abort_incomplete_multipart_upload {
            Some(Abort {
                days_after_initiation: 0,
            }) => return Err("DaysAfterInitiation is 0; S3 allows 1 and more"),
            Some(abort) => Some(abort.days_after_initiation),
            None => None,
        },
    })
}

fn from_filter(filter: Filter) -> Result<RuleFilter, &'static str> {
    let alone = usize::from(filter.prefix.is_some())
        + usize::from(filter.tag.is_some())
        + usize::from(filter.object_size_greater_than.is_some())
        + usize::from(filter.object_size_less_than.is_some());
    match filter.and {
        Some(_) if alone > 0 => {
            Err("its Filter has And beside another condition; S3 allows one element in a Filter")
        }
        None if alone > 1 => {
            Err("its Filter has two conditions without And; S3 allows one element in a Filter")
        }
        Some(and) => Ok(RuleFilter {
            prefix: and.prefix.unwrap_or_default(),
            tags: and.tags.unwrap_or_default().into_iter().map(from_tag).collect(),
            size_greater_than: and.object_size_greater_than,
            size_less_than: and.object_size_less_than,
        }),
        None => Ok(RuleFilter {
            prefix: filter.prefix.unwrap_or_default(),
            tags: filter.tag.into_iter().map(from_tag).collect(),
            size_greater_than: filter.object_size_greater_than,
            size_less_than: filter.object_size_less_than,
        }),
    }
}

fn from_tag(tag: TagJson) -> Tag {
    Tag {
        key: tag.key,
        value: tag.value,
    }
}

/// `None` if the element says nothing, as `ExpiredObjectDeleteMarker: false` alone does.
fn from_expiration(expiration: ExpirationJson) -> Result<Option<Expiration>, &'static str> {
    let marker = expiration.expired_object_delete_marker == Some(true);
    match (expiration.days, expiration.date, marker) {
        (Some(0), None, false) => Err("Expiration.Days is 0; S3 allows 1 and more"),
        (Some(days), None, false) => Ok(Some(Expiration::Days(days))),
        (None, Some(date), false) => Ok(Some(Expiration::Date(date))),
        (None, None, true) => Ok(Some(Expiration::ExpiredObjectDeleteMarker)),
        (None, None, false) if expiration.expired_object_delete_marker.is_some() => Ok(None),
        (None, None, false) => Err("its Expiration is empty"),
        _ => {
            Err("its Expiration has more than one of Days, Date and ExpiredObjectDeleteMarker; S3 allows one")
        }
    }
}

fn from_noncurrent_expiration(
    expiration: NoncurrentExpirationJson,
) -> Result<NoncurrentExpiration, &'static str> {
    if expiration.noncurrent_days == 0 {
        return Err("NoncurrentDays is 0; S3 allows 1 and more");
    }
    Ok(NoncurrentExpiration {
        noncurrent_days: expiration.noncurrent_days,
        newer_noncurrent_versions: expiration.newer_noncurrent_versions,
    })
}

fn from_transition(transition: TransitionJson) -> Result<Transition, &'static str> {
    let when = match (transition.days, transition.date) {
        (Some(days), None) => TransitionTime::Days(days),
        (None, Some(date)) => TransitionTime::Date(date),
        (None, None) => return Err("a Transition has neither Days nor Date"),
        (Some(_), Some(_)) => return Err("a Transition has both Days and Date; S3 allows one"),
    };
    Ok(Transition {
        when,
        storage_class: transition.storage_class,
    })
}
