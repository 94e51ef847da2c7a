//! A rule as it is written down, in JSON or in XML, and what it means: every condition and action is understood or refused.

use serde::{Deserialize, Serialize};

use super::{
    Expiration, LifecycleRule, NoncurrentExpiration, NoncurrentTransition, RuleFilter, Tag, Transition,
    TransitionTime,
};
use crate::timestamp::Time;

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(rename = "ID", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filter: Option<Filter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expiration: Option<RuleExpiration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transitions: Option<Vec<RuleTransition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) noncurrent_version_expiration: Option<RuleNoncurrentExpiration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) noncurrent_version_transitions: Option<Vec<RuleNoncurrentTransition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) abort_incomplete_multipart_upload: Option<Abort>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, Serialize)]
pub(super) enum Status {
    Enabled,
    #[default]
    Disabled,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Filter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tag: Option<RuleTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_size_greater_than: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_size_less_than: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) and: Option<And>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct And {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<Vec<RuleTag>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_size_greater_than: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_size_less_than: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct RuleTag {
    pub(super) key: String,
    pub(super) value: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct RuleExpiration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expired_object_delete_marker: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct RuleNoncurrentExpiration {
    pub(super) noncurrent_days: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) newer_noncurrent_versions: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct RuleTransition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<Time>,
    pub(super) storage_class: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct RuleNoncurrentTransition {
    pub(super) noncurrent_days: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) newer_noncurrent_versions: Option<u32>,
    pub(super) storage_class: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Abort {
    pub(super) days_after_initiation: u32,
}

impl Rule {
    /// How messages name the rule that stands at this place, counted from 1.
    pub(super) fn named(&self, number: usize) -> String {
        match &self.id {
            Some(id) => format!("rule {number} ({id})"),
            None => format!("rule {number}"),
        }
    }

    /// The meaning, or why it has none.
    pub(super) fn understood(self) -> Result<LifecycleRule, &'static str> {
        let filter = match (self.filter, self.prefix) {
            (Some(filter), None) => filter.understood()?,
            (None, Some(prefix)) => RuleFilter::prefix(prefix),
            (Some(_), Some(_)) => return Err("it has both Filter and Prefix; S3 allows one of them"),
            (None, None) => {
                return Err("it has neither Filter nor Prefix, so it isn't known which objects it takes");
            }
        };
        Ok(LifecycleRule {
            id: self.id,
            enabled: matches!(self.status, Status::Enabled),
            filter,
            expiration: self
                .expiration
                .map(RuleExpiration::understood)
                .transpose()?
                .flatten(),
            noncurrent_expiration: self
                .noncurrent_version_expiration
                .map(RuleNoncurrentExpiration::understood)
                .transpose()?,
            transitions: self
                .transitions
                .unwrap_or_default()
                .into_iter()
                .map(RuleTransition::understood)
                .collect::<Result<_, _>>()?,
            noncurrent_transitions: self
                .noncurrent_version_transitions
                .unwrap_or_default()
                .into_iter()
                .map(|t| NoncurrentTransition {
                    noncurrent_days: t.noncurrent_days,
                    newer_noncurrent_versions: t.newer_noncurrent_versions,
                    storage_class: t.storage_class,
                })
                .collect(),
            abort_incomplete_upload_days: match self.abort_incomplete_multipart_upload {
                Some(Abort {
                    days_after_initiation: 0,
                }) => return Err("DaysAfterInitiation is 0; S3 allows 1 and more"),
                Some(abort) => Some(abort.days_after_initiation),
                None => None,
            },
        })
    }

    /// The rule in the current form, with `Filter`: S3 takes no configuration in which some rules have the old one.
    pub(super) fn written(rule: &LifecycleRule) -> Self {
        Self {
            id: rule.id.clone(),
            status: if rule.enabled {
                Status::Enabled
            } else {
                Status::Disabled
            },
            filter: Some(Filter::written(&rule.filter)),
            prefix: None,
            expiration: rule.expiration.map(|expiration| match expiration {
                Expiration::Days(days) => RuleExpiration {
                    days: Some(days),
                    ..RuleExpiration::default()
                },
                Expiration::Date(date) => RuleExpiration {
                    date: Some(Time(date)),
                    ..RuleExpiration::default()
                },
                Expiration::ExpiredObjectDeleteMarker => RuleExpiration {
                    expired_object_delete_marker: Some(true),
                    ..RuleExpiration::default()
                },
            }),
            noncurrent_version_expiration: rule.noncurrent_expiration.map(|n| RuleNoncurrentExpiration {
                noncurrent_days: n.noncurrent_days,
                newer_noncurrent_versions: n.newer_noncurrent_versions,
            }),
            transitions: (!rule.transitions.is_empty()).then(|| {
                let written = rule.transitions.iter().map(|t| {
                    let (days, date) = match t.when {
                        TransitionTime::Days(days) => (Some(days), None),
                        TransitionTime::Date(date) => (None, Some(Time(date))),
                    };
                    RuleTransition {
                        days,
                        date,
                        storage_class: t.storage_class.clone(),
                    }
                });
                written.collect()
            }),
            noncurrent_version_transitions: (!rule.noncurrent_transitions.is_empty()).then(|| {
                let written = rule
                    .noncurrent_transitions
                    .iter()
                    .map(|t| RuleNoncurrentTransition {
                        noncurrent_days: t.noncurrent_days,
                        newer_noncurrent_versions: t.newer_noncurrent_versions,
                        storage_class: t.storage_class.clone(),
                    });
                written.collect()
            }),
            abort_incomplete_multipart_upload: rule.abort_incomplete_upload_days.map(|days| Abort {
                days_after_initiation: days,
            }),
        }
    }
}

impl Filter {
    fn understood(self) -> Result<RuleFilter, &'static str> {
        let alone = usize::from(self.prefix.is_some())
            + usize::from(self.tag.is_some())
            + usize::from(self.object_size_greater_than.is_some())
            + usize::from(self.object_size_less_than.is_some());
        match self.and {
            Some(_) if alone > 0 => {
                Err("its Filter has And beside another condition; S3 allows one element in a Filter")
            }
            None if alone > 1 => {
                Err("its Filter has two conditions without And; S3 allows one element in a Filter")
            }
            Some(and) => Ok(RuleFilter {
                prefix: and.prefix.unwrap_or_default(),
                tags: and
                    .tags
                    .unwrap_or_default()
                    .into_iter()
                    .map(RuleTag::understood)
                    .collect(),
                size_greater_than: and.object_size_greater_than,
                size_less_than: and.object_size_less_than,
            }),
            None => Ok(RuleFilter {
                prefix: self.prefix.unwrap_or_default(),
                tags: self.tag.into_iter().map(RuleTag::understood).collect(),
                size_greater_than: self.object_size_greater_than,
                size_less_than: self.object_size_less_than,
            }),
        }
    }

    fn written(filter: &RuleFilter) -> Self {
        let mut tags: Vec<RuleTag> = filter.tags.iter().map(RuleTag::written).collect();
        let conditions = usize::from(!filter.prefix.is_empty())
            + tags.len()
            + usize::from(filter.size_greater_than.is_some())
            + usize::from(filter.size_less_than.is_some());
        if conditions > 1 {
            let and = And {
                prefix: (!filter.prefix.is_empty()).then(|| filter.prefix.clone()),
                tags: (!tags.is_empty()).then_some(tags),
                object_size_greater_than: filter.size_greater_than,
                object_size_less_than: filter.size_less_than,
            };
            return Self {
                and: Some(and),
                ..Self::default()
            };
        }
        Self {
            // A filter that takes everything is written as the empty prefix.
            prefix: (conditions == 0 || !filter.prefix.is_empty()).then(|| filter.prefix.clone()),
            tag: tags.pop(),
            object_size_greater_than: filter.size_greater_than,
            object_size_less_than: filter.size_less_than,
            and: None,
        }
    }
}

impl RuleTag {
    fn understood(self) -> Tag {
        Tag {
            key: self.key,
            value: self.value,
        }
    }

    fn written(tag: &Tag) -> Self {
        Self {
            key: tag.key.clone(),
            value: tag.value.clone(),
        }
    }
}

impl RuleExpiration {
    /// `None` if the element says nothing, as `ExpiredObjectDeleteMarker: false` alone does.
    fn understood(self) -> Result<Option<Expiration>, &'static str> {
        let marker = self.expired_object_delete_marker == Some(true);
        match (self.days, self.date, marker) {
            (Some(0), None, false) => Err("Expiration.Days is 0; S3 allows 1 and more"),
            (Some(days), None, false) => Ok(Some(Expiration::Days(days))),
            (None, Some(Time(date)), false) => Ok(Some(Expiration::Date(date))),
            (None, None, true) => Ok(Some(Expiration::ExpiredObjectDeleteMarker)),
            (None, None, false) if self.expired_object_delete_marker.is_some() => Ok(None),
            (None, None, false) => Err("its Expiration is empty"),
            _ => Err(
                "its Expiration has more than one of Days, Date and ExpiredObjectDeleteMarker; S3 allows one",
            ),
        }
    }
}

impl RuleNoncurrentExpiration {
    fn understood(self) -> Result<NoncurrentExpiration, &'static str> {
        if self.noncurrent_days == 0 {
            return Err("NoncurrentDays is 0; S3 allows 1 and more");
        }
        Ok(NoncurrentExpiration {
            noncurrent_days: self.noncurrent_days,
            newer_noncurrent_versions: self.newer_noncurrent_versions,
        })
    }
}

impl RuleTransition {
    fn understood(self) -> Result<Transition, &'static str> {
        let when = match (self.days, self.date) {
            (Some(days), None) => TransitionTime::Days(days),
            (None, Some(Time(date))) => TransitionTime::Date(date),
            (None, None) => return Err("a Transition has neither Days nor Date"),
            (Some(_), Some(_)) => return Err("a Transition has both Days and Date; S3 allows one"),
        };
        Ok(Transition {
            when,
            storage_class: self.storage_class,
        })
    }
}
