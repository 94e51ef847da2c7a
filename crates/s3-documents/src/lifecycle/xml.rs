//! Rules in XML, as S3's API sends and takes them. Read as strictly as the JSON, and every error says at which byte.

use std::fmt::Display;
use std::str::FromStr;

use roxmltree::Node;

use super::rule::{
    Abort, And, Filter, Rule, RuleExpiration, RuleNoncurrentExpiration, RuleNoncurrentTransition, RuleTag,
    RuleTransition, Status,
};
use super::{LifecycleConfiguration, MinimumTransitionSize};
use crate::error::Problem;
use crate::timestamp::{Time, parse_timestamp};
use crate::xml::{document, fault};

pub(super) fn parse(text: &str) -> Result<LifecycleConfiguration, Problem> {
    let document = document(text, "LifecycleConfiguration")?;
    let root = document.root_element();
    let mut rules = Vec::new();
    for element in elements(root)? {
        if element.tag_name().name() != "Rule" {
            return unknown(element);
        }
        let rule = read_rule(element)?;
        let name = rule.named(rules.len() + 1);
        match rule.understood() {
            Ok(rule) => rules.push(rule),
            Err(what) => return fault(element, format!("{name}: {what}")),
        }
    }
    Ok(LifecycleConfiguration {
        rules,
        // S3 says it in a header of the answer.
        minimum_transition_size: MinimumTransitionSize::NotSaid,
    })
}

fn read_rule(node: Node<'_, '_>) -> Result<Rule, Problem> {
    let mut status = None;
    let mut rule = Rule::default();
    let (mut transitions, mut noncurrent_transitions) = (Vec::new(), Vec::new());
    for element in elements(node)? {
        match element.tag_name().name() {
            "ID" => once(&mut rule.id, element, text(element)?)?,
            "Status" => once(&mut status, element, read_status(element)?)?,
            "Filter" => once(&mut rule.filter, element, read_filter(element)?)?,
            "Prefix" => once(&mut rule.prefix, element, text(element)?)?,
            "Expiration" => once(&mut rule.expiration, element, read_expiration(element)?)?,
            "NoncurrentVersionExpiration" => once(
                &mut rule.noncurrent_version_expiration,
                element,
                read_noncurrent_expiration(element)?,
            )?,
            "Transition" => transitions.push(read_transition(element)?),
            "NoncurrentVersionTransition" => {
                noncurrent_transitions.push(read_noncurrent_transition(element)?);
            }
            "AbortIncompleteMultipartUpload" => once(
                &mut rule.abort_incomplete_multipart_upload,
                element,
                read_abort(element)?,
            )?,
            _ => return unknown(element),
        }
    }
    rule.status = needed(status, node, "Status")?;
    rule.transitions = Some(transitions);
    rule.noncurrent_version_transitions = Some(noncurrent_transitions);
    Ok(rule)
}

fn read_status(node: Node<'_, '_>) -> Result<Status, Problem> {
    match text(node)?.trim() {
        "Enabled" => Ok(Status::Enabled),
        "Disabled" => Ok(Status::Disabled),
        other => fault(
            node,
            format!("Status is {other:?}, where Enabled or Disabled is needed"),
        ),
    }
}

fn read_filter(node: Node<'_, '_>) -> Result<Filter, Problem> {
    let mut filter = Filter::default();
    for element in elements(node)? {
        match element.tag_name().name() {
            "Prefix" => once(&mut filter.prefix, element, text(element)?)?,
            "Tag" => once(&mut filter.tag, element, read_tag(element)?)?,
            "ObjectSizeGreaterThan" => {
                once(&mut filter.object_size_greater_than, element, number(element)?)?;
            }
            "ObjectSizeLessThan" => once(&mut filter.object_size_less_than, element, number(element)?)?,
            "And" => once(&mut filter.and, element, read_and(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(filter)
}

fn read_and(node: Node<'_, '_>) -> Result<And, Problem> {
    let mut and = And::default();
    let mut tags = Vec::new();
    for element in elements(node)? {
        match element.tag_name().name() {
            "Prefix" => once(&mut and.prefix, element, text(element)?)?,
            "Tag" => tags.push(read_tag(element)?),
            "ObjectSizeGreaterThan" => once(&mut and.object_size_greater_than, element, number(element)?)?,
            "ObjectSizeLessThan" => once(&mut and.object_size_less_than, element, number(element)?)?,
            _ => return unknown(element),
        }
    }
    and.tags = Some(tags);
    Ok(and)
}

fn read_tag(node: Node<'_, '_>) -> Result<RuleTag, Problem> {
    let (mut key, mut value) = (None, None);
    for element in elements(node)? {
        match element.tag_name().name() {
            "Key" => once(&mut key, element, text(element)?)?,
            "Value" => once(&mut value, element, text(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(RuleTag {
        key: needed(key, node, "Key")?,
        value: needed(value, node, "Value")?,
    })
}

fn read_expiration(node: Node<'_, '_>) -> Result<RuleExpiration, Problem> {
    let mut expiration = RuleExpiration::default();
    for element in elements(node)? {
        match element.tag_name().name() {
            "Days" => once(&mut expiration.days, element, number(element)?)?,
            "Date" => once(&mut expiration.date, element, date(element)?)?,
            "ExpiredObjectDeleteMarker" => {
                let said = match text(element)?.trim() {
                    "true" => true,
                    "false" => false,
                    other => return fault(element, format!("{other:?}, where true or false is needed")),
                };
                once(&mut expiration.expired_object_delete_marker, element, said)?;
            }
            _ => return unknown(element),
        }
    }
    Ok(expiration)
}

fn read_noncurrent_expiration(node: Node<'_, '_>) -> Result<RuleNoncurrentExpiration, Problem> {
    let (mut days, mut newer) = (None, None);
    for element in elements(node)? {
        match element.tag_name().name() {
            "NoncurrentDays" => once(&mut days, element, number(element)?)?,
            "NewerNoncurrentVersions" => once(&mut newer, element, number(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(RuleNoncurrentExpiration {
        noncurrent_days: needed(days, node, "NoncurrentDays")?,
        newer_noncurrent_versions: newer,
    })
}

fn read_transition(node: Node<'_, '_>) -> Result<RuleTransition, Problem> {
    let (mut days, mut at, mut class) = (None, None, None);
    for element in elements(node)? {
        match element.tag_name().name() {
            "Days" => once(&mut days, element, number(element)?)?,
            "Date" => once(&mut at, element, date(element)?)?,
            "StorageClass" => once(&mut class, element, storage_class(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(RuleTransition {
        days,
        date: at,
        storage_class: needed(class, node, "StorageClass")?,
    })
}

fn read_noncurrent_transition(node: Node<'_, '_>) -> Result<RuleNoncurrentTransition, Problem> {
    let (mut days, mut newer, mut class) = (None, None, None);
    for element in elements(node)? {
        match element.tag_name().name() {
            "NoncurrentDays" => once(&mut days, element, number(element)?)?,
            "NewerNoncurrentVersions" => once(&mut newer, element, number(element)?)?,
            "StorageClass" => once(&mut class, element, storage_class(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(RuleNoncurrentTransition {
        noncurrent_days: needed(days, node, "NoncurrentDays")?,
        newer_noncurrent_versions: newer,
        storage_class: needed(class, node, "StorageClass")?,
    })
}

fn read_abort(node: Node<'_, '_>) -> Result<Abort, Problem> {
    let mut days = None;
    for element in elements(node)? {
        match element.tag_name().name() {
            "DaysAfterInitiation" => once(&mut days, element, number(element)?)?,
            _ => return unknown(element),
        }
    }
    Ok(Abort {
        days_after_initiation: needed(days, node, "DaysAfterInitiation")?,
    })
}

/// The elements in an element that holds nothing else.
fn elements<'a, 'i>(node: Node<'a, 'i>) -> Result<Vec<Node<'a, 'i>>, Problem> {
    let mut found = Vec::new();
    for child in node.children() {
        if child.is_element() {
            found.push(child);
        } else if child.is_text() && !child.text().unwrap_or_default().trim().is_empty() {
            return fault(
                child,
                format!(
                    "text stands in {}, which holds only elements",
                    node.tag_name().name()
                ),
            );
        }
    }
    Ok(found)
}

/// The whole text of an element that holds nothing else; comments in it are left out.
fn text(node: Node<'_, '_>) -> Result<String, Problem> {
    let mut whole = String::new();
    for child in node.children() {
        if child.is_element() {
            return unknown(child);
        }
        if child.is_text() {
            whole.push_str(child.text().unwrap_or_default());
        }
    }
    Ok(whole)
}

fn number<N: FromStr<Err: Display>>(node: Node<'_, '_>) -> Result<N, Problem> {
    let written = text(node)?;
    match written.trim().parse() {
        Ok(number) => Ok(number),
        Err(e) => fault(node, format!("{} is {written:?}: {e}", node.tag_name().name())),
    }
}

fn date(node: Node<'_, '_>) -> Result<Time, Problem> {
    let written = text(node)?;
    match parse_timestamp(written.trim()) {
        Some(at) => Ok(Time(at)),
        None => fault(
            node,
            format!("Date is {written:?}, where a time such as 2026-03-14T00:00:00Z is needed"),
        ),
    }
}

fn storage_class(node: Node<'_, '_>) -> Result<String, Problem> {
    Ok(text(node)?.trim().to_owned())
}

fn once<T>(place: &mut Option<T>, node: Node<'_, '_>, value: T) -> Result<(), Problem> {
    if place.replace(value).is_some() {
        return fault(node, format!("{} stands there twice", node.tag_name().name()));
    }
    Ok(())
}

fn needed<T>(value: Option<T>, node: Node<'_, '_>, name: &str) -> Result<T, Problem> {
    match value {
        Some(value) => Ok(value),
        None => fault(node, format!("{} has no {name}", node.tag_name().name())),
    }
}

fn unknown<T>(node: Node<'_, '_>) -> Result<T, Problem> {
    let above = node.parent_element().map_or("", |p| p.tag_name().name());
    fault(
        node,
        format!("unknown element {} in {above}", node.tag_name().name()),
    )
}
