//! Removing delete markers, so that the version below them is visible again as it is.

use std::time::Duration;

use s3_documents::lifecycle::LifecycleConfiguration;

use crate::lifecycle_rules::{self, RuledObject};
use crate::location::ObjectLocation;
use crate::restoring::Permit;
use crate::timestamp::Timestamp;
use crate::version::{KeyHistory, VersionEntry, VersionId, VersionKind};

/// What comes back without a copy is as old as before: a rule that would take it within this has it copied instead.
const MUST_LIVE: Duration = Duration::from_secs(2 * 86_400);

/// A delete marker that may be removed.
///
/// Only a row of a listing that is a marker makes one, and only if it has an id of its own: the version that is called `null` can be another by the
/// time it is removed, and data. S3 gives no other id a second time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marker {
    location: ObjectLocation,
    id: VersionId,
}

impl Marker {
    fn of(location: &ObjectLocation, row: &VersionEntry) -> Option<Self> {
        let is_marker = row.kind == VersionKind::Marker && row.key == location.key();
        (is_marker && !row.id.is_null()).then(|| Self {
            location: location.clone(),
            id: row.id.clone(),
        })
    }

    /// The object that it hides.
    pub fn location(&self) -> &ObjectLocation {
        &self.location
    }

    /// Its version id, never `null`.
    pub fn id(&self) -> &VersionId {
        &self.id
    }
}

/// Leave to remove the markers on top of a key, the newest first, which makes visible what a permit would have copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unhiding {
    markers: Vec<Marker>,
}

/// Why a key is copied though un-hiding was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CopiedInstead {
    /// No marker hides it.
    #[error("no marker hides it")]
    NotHidden,
    /// A marker is called `null`, and may be data by the time it is removed.
    #[error("a marker has the id null")]
    NullMarker,
    /// Without the markers another version would be visible than the one that is needed.
    #[error("another version lies directly below the markers")]
    AnotherVersion,
    /// Nobody can read the bucket's rules.
    #[error("the bucket's rules can't be read")]
    RulesUnknown,
    /// A rule takes the version for good, or hides it again, from this time on: it is as old as before.
    #[error("a rule takes it from {0} on")]
    TakenFrom(Timestamp),
}

impl Unhiding {
    /// Leave to make visible what this permit would copy, by the versions and markers of its key as they were just listed.
    ///
    /// # Errors
    /// What speaks for a copy instead.
    pub fn of(
        permit: &Permit,
        history: &KeyHistory,
        rules: Option<&LifecycleConfiguration>,
        now: Timestamp,
    ) -> Result<Self, CopiedInstead> {
        let location = permit.location();
        let hidden = history.hidden().filter(|_| !permit.is_repair());
        let hidden = hidden.ok_or(CopiedInstead::NotHidden)?;
        let below = history.data_versions().next();
        let below = below.filter(|v| v.id == permit.source().version);
        let below = below.ok_or(CopiedInstead::AnotherVersion)?;
        let on_top = history.entries().iter();
        let on_top = on_top.take_while(|row| row.kind == VersionKind::Marker);
        let markers: Option<Vec<Marker>> = on_top.map(|row| Marker::of(location, row)).collect();
        let markers = markers.ok_or(CopiedInstead::NullMarker)?;
        let rules = rules.ok_or(CopiedInstead::RulesUnknown)?;
        let object = RuledObject {
            key: location.key(),
            size: below.size().unwrap_or_default(),
            written: below.last_modified,
            tags: None,
        };
        let purged = lifecycle_rules::purges(rules, object, hidden.above_data.last_modified);
        let hidden_again = lifecycle_rules::hides(rules, object).map(|(_, at)| at);
        let taken = [purged, hidden_again].into_iter().flatten().min();
        match taken.filter(|at| *at < now.plus(MUST_LIVE)) {
            Some(at) => Err(CopiedInstead::TakenFrom(at)),
            None => Ok(Self { markers }),
        }
    }

    /// The markers, in the order in which they are to be removed: so the key stays hidden until the last is gone.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }
}

#[cfg(test)]
mod tests {
    use s3_documents::lifecycle;

    use super::*;
    use crate::restoring::Source;

    const DAY: Duration = Duration::from_secs(86_400);

    /// The newest first: `m` a marker, `n` a marker called null, `d` a data version, `0` data called null. All of day 1.
    fn history(text: &str) -> KeyHistory {
        let rows = text.chars().enumerate().map(|(n, what)| VersionEntry {
            key: "cp/a".to_owned(),
            id: VersionId::new(if matches!(what, 'n' | '0') {
                "null".to_owned()
            } else {
                n.to_string()
            }),
            is_latest: n == 0,
            last_modified: day(1),
            kind: match what {
                'm' | 'n' => VersionKind::Marker,
                _ => VersionKind::Data {
                    size: 7,
                    etag: "\"e\"".to_owned(),
                    storage_class: None,
                },
            },
        });
        KeyHistory::new(rows.collect())
    }

    fn day(n: u32) -> Timestamp {
        Timestamp::from_millis(0).plus(n * DAY)
    }

    fn permit_for(id: &str) -> Permit {
        let source = Source {
            version: VersionId::new(id),
            size: 7,
            etag: "\"e\"".to_owned(),
            first_written: day(1),
            restored_before: 0,
        };
        Permit::by_a_person(ObjectLocation::new("b", "cp/a"), source)
    }

    fn asked(text: &str, source: &str, rules: &str) -> Result<Vec<String>, CopiedInstead> {
        let rules = format!(r#"{{"Rules": [{rules}]}}"#);
        let rules = lifecycle::parse(rules.as_bytes()).unwrap();
        let unhiding = Unhiding::of(&permit_for(source), &history(text), Some(&rules), day(2))?;
        Ok(unhiding.markers().iter().map(|m| m.id().to_string()).collect())
    }

    #[test]
    fn only_a_marker_with_an_id_of_its_own_can_be_removed() {
        let ids = |text: &[&str]| Ok(text.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(asked("md", "1", ""), ids(&["0"]));
        assert_eq!(asked("mmdmd", "2", ""), ids(&["0", "1"]));
        assert_eq!(asked("m0", "null", ""), ids(&["0"]), "data called null stays");
        assert_eq!(asked("nd", "1", ""), Err(CopiedInstead::NullMarker));
        assert_eq!(asked("mnd", "2", ""), Err(CopiedInstead::NullMarker));
        assert_eq!(asked("d", "0", ""), Err(CopiedInstead::NotHidden));
        assert_eq!(asked("m", "1", ""), Err(CopiedInstead::AnotherVersion));
        assert_eq!(asked("mdd", "2", ""), Err(CopiedInstead::AnotherVersion));
        for text in ["m", "n", "d", "0"] {
            let history = history(text);
            let location = ObjectLocation::new("b", "cp/a");
            let made = Marker::of(&location, &history.entries()[0]);
            assert_eq!(made.is_some(), text == "m", "{text}");
            let other = ObjectLocation::new("b", "cp/b");
            assert_eq!(Marker::of(&other, &history.entries()[0]), None);
        }
    }

    #[test]
    fn what_a_rule_takes_within_two_days_is_copied() {
        let rule =
            |what: &str| format!(r#"{{"ID": "r", "Status": "Enabled", "Filter": {{"Prefix": ""}}, {what}}}"#);
        let noncurrent = |days: u32| {
            rule(&format!(
                r#""NoncurrentVersionExpiration": {{"NoncurrentDays": {days}}}"#
            ))
        };
        let expires = |days: u32| rule(&format!(r#""Expiration": {{"Days": {days}}}"#));
        // Hidden at day 1, looked at on day 2.
        for (rules, taken_from) in [
            (noncurrent(1), Some(day(2))),
            (noncurrent(2), Some(day(3))),
            (noncurrent(3), None),
            (expires(2), Some(day(3))),
            (expires(4), None),
        ] {
            let refused = asked("md", "1", &rules).err();
            assert_eq!(refused, taken_from.map(CopiedInstead::TakenFrom), "{rules}");
        }
        let unread = Unhiding::of(&permit_for("1"), &history("md"), None, day(2));
        assert_eq!(unread, Err(CopiedInstead::RulesUnknown));
    }
}
