//! What has become of the objects that a finding tells of: how many are back, how, from which version, and when.
//!
//! A finding is read hours later, so it must not sound as if something were missing that is there again.

use std::fmt;

use serde::Serialize;

use super::verdict::Done;
use crate::timestamp::Timestamp;

/// How an object came back, or would.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Stayput copied a version onto its key.
    Copied,
    /// Stayput removed the delete markers that hid it.
    Unhidden,
    /// Its bytes were found to be there: by an earlier try or call of Stayput, or by somebody else.
    BackBefore,
    /// Somebody else wrote the key before Stayput did; theirs stays.
    WrittenByOthers,
    /// It isn't back: Stayput only observes. In mode restore it would be put back.
    WouldComeBack,
}

impl Way {
    /// All of them, for documentation and tests.
    pub const ALL: [Self; 5] = [
        Self::Copied,
        Self::Unhidden,
        Self::BackBefore,
        Self::WrittenByOthers,
        Self::WouldComeBack,
    ];

    /// The way that this takes an object; `None`: it leaves the object where it was.
    pub fn of(done: &Done) -> Option<Self> {
        match done {
            Done::Copied { .. } => Some(Self::Copied),
            Done::Unhidden { .. } => Some(Self::Unhidden),
            Done::AlreadyCopied => Some(Self::BackBefore),
            Done::WrittenByOthers => Some(Self::WrittenByOthers),
            Done::WouldCopy => Some(Self::WouldComeBack),
            Done::Nothing | Done::Unfinished { .. } | Done::ThawAsked { .. } | Done::Failed(_) => None,
        }
    }

    /// Whether the object is visible again.
    pub fn is_back(self) -> bool {
        self != Self::WouldComeBack
    }
}

/// Those objects of a finding that came back in one way, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// How.
    pub how: Way,
    /// How many.
    pub objects: u64,
    /// By when it was done. Of what others or an earlier call did, and of what would be done: when that was seen.
    pub at: Timestamp,
    /// The first of them, as a URL.
    pub example: String,
    /// Of the first of them: the version that was copied, or that shows again; or that would be. `None`: what is visible is somebody else's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.how {
            Way::Copied => write!(f, "copied back by {at}")?,
            Way::Unhidden => write!(f, "visible again by {at}, since the delete markers were removed")?,
            Way::BackBefore => write!(f, "back already, as seen at {at}")?,
            Way::WrittenByOthers => write!(f, "written anew by somebody else, as seen at {at}")?,
            Way::WouldComeBack => f.write_str("would be put back")?,
        }
        if let Some(version) = &self.version {
            let first = if self.objects == 1 { "" } else { "the first " };
            write!(f, " ({first}from version {version})")?;
        }
        Ok(())
    }
}

/// What became of so many objects, as sentences with a space before each; nothing where nothing came back or would.
pub(super) fn sentences(recovered: &[Recovered], objects: u64) -> String {
    let (back, would): (Vec<&Recovered>, Vec<&Recovered>) = recovered.iter().partition(|r| r.how.is_back());
    let ways = |all: &[&Recovered]| {
        let one = |way: &&Recovered| match objects {
            1 => way.to_string(),
            _ => format!("{} {way}", way.objects),
        };
        all.iter().map(one).collect::<Vec<String>>().join("; ")
    };
    let mut text = String::new();
    if !back.is_empty() {
        let n: u64 = back.iter().map(|r| r.objects).sum();
        let how_many = match (n, objects.saturating_sub(n)) {
            (1, 0) => "It is back".to_owned(),
            (_, 0) => "All of them are back".to_owned(),
            (1, _) => "1 of them is back".to_owned(),
            _ => format!("{n} of them are back"),
        };
        text.push_str(&format!(" {how_many}: {}.", ways(&back)));
    }
    if !would.is_empty() {
        text.push_str(&format!(
            " Nothing was put back, since Stayput only observes; in mode restore: {}.",
            ways(&would)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(how: Way, objects: u64) -> Recovered {
        Recovered {
            how,
            objects,
            at: Timestamp::from_millis(0),
            example: "s3://b/k".to_owned(),
            version: (how != Way::WrittenByOthers).then(|| "v1".to_owned()),
        }
    }

    #[test]
    fn what_is_back_is_said_with_its_way_its_time_and_its_version() {
        assert_eq!(
            sentences(&[came(Way::Copied, 1)], 1),
            " It is back: copied back by 1970-01-01T00:00:00Z (from version v1)."
        );
        let mixed = [came(Way::Unhidden, 2), came(Way::WrittenByOthers, 1)];
        let text = sentences(&mixed, 4);
        assert!(
            text.starts_with(" 3 of them are back: 2 visible again by"),
            "{text}"
        );
        assert!(
            text.contains("the first from version v1); 1 written anew by somebody else"),
            "{text}"
        );
        assert_eq!(sentences(&[], 4), "");
    }

    #[test]
    fn an_observer_says_what_it_would_have_done_and_that_it_didnt() {
        let text = sentences(&[came(Way::WouldComeBack, 3)], 3);
        assert!(
            !text.contains("are back")
                && text.contains("only observes; in mode restore: 3 would be put back"),
            "{text}"
        );
    }

    #[test]
    fn only_what_an_observer_would_do_leaves_the_object_hidden() {
        let hidden: Vec<Way> = Way::ALL.into_iter().filter(|way| !way.is_back()).collect();
        assert_eq!(hidden, [Way::WouldComeBack]);
        let copied = Done::Copied {
            condition_honoured: true,
        };
        assert_eq!(Way::of(&copied), Some(Way::Copied));
        assert_eq!(Way::of(&Done::Failed("denied".to_owned())), None);
    }
}
