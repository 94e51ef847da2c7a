//! Rules in JSON: the answer of `aws s3api get-bucket-lifecycle-configuration`, what `put-bucket-lifecycle-configuration` takes, and the
//! whole input of that command (`--cli-input-json`).
//!
//! Read strictly: a condition that isn't understood would make a rule look wider than it is, and an action narrower.

use serde::{Deserialize, Serialize};

use super::rule::Rule;
use super::{LifecycleConfiguration, MinimumTransitionSize};
use crate::error::Problem;

/// The document; other fields beside `Rules` don't change what rules do to objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct LifecycleJson {
    rules: Option<Vec<Rule>>,
    lifecycle_configuration: Option<Rules>,
    transition_default_minimum_object_size: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Rules {
    rules: Vec<Rule>,
}

pub(crate) fn from_json(document: LifecycleJson) -> Result<LifecycleConfiguration, Problem> {
    let unusable = |what: String| Problem::Unusable { what };
    let rules = match (document.rules, document.lifecycle_configuration) {
        (Some(rules), None) | (None, Some(Rules { rules })) => rules,
        (Some(_), Some(_)) => {
            return Err(unusable(
                "it has both `Rules` and `LifecycleConfiguration`, so it isn't known which counts".to_owned(),
            ));
        }
        (None, None) => return Err(unusable("missing field `Rules`".to_owned())),
    };
    let rules = (1..).zip(rules).map(|(number, rule)| {
        let name = rule.named(number);
        rule.understood()
            .map_err(|what| unusable(format!("{name}: {what}")))
    });
    Ok(LifecycleConfiguration {
        rules: rules.collect::<Result<_, _>>()?,
        minimum_transition_size: document
            .transition_default_minimum_object_size
            .as_deref()
            .map_or(MinimumTransitionSize::NotSaid, MinimumTransitionSize::from_name),
    })
}

/// What `aws s3api put-bucket-lifecycle-configuration --lifecycle-configuration` takes, over several lines.
pub(super) fn write(configuration: &LifecycleConfiguration) -> Option<String> {
    let rules = Rules {
        rules: configuration.rules.iter().map(Rule::written).collect(),
    };
    serde_json::to_string_pretty(&rules).ok()
}
