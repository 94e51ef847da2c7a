//! Which releases of Flink can have written a file.

use serde::Serialize;

use super::state::Seen;

/// The releases that write such files: from format version and handle tags (Flink's `MetadataV2…V6Serializer`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Releases {
    /// The oldest, as `1.16`; `None`: no release writes this format yet.
    pub oldest: Option<&'static str>,
    /// The newest.
    pub newest: Option<&'static str>,
}

const RELEASES: [&str; 22] = [
    "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12", "1.13", "1.14", "1.15", "1.16",
    "1.17", "1.18", "1.19", "1.20", "2.0", "2.1", "2.2", "2.3",
];

fn number(release: &str) -> usize {
    RELEASES.iter().position(|&r| r == release).unwrap_or_default()
}

pub(super) fn of(format_version: u8, seen: &Seen) -> Releases {
    let (mut oldest, mut newest) = match format_version {
        2 => (number("1.3"), number("1.10")),
        3 => (number("1.11"), number("1.15")),
        4 => (number("1.16"), number("1.20")),
        5 => (number("2.0"), number("2.0")),
        6 => (number("2.1"), number("2.3")),
        _ => {
            return Releases {
                oldest: None,
                newest: None,
            };
        }
    };
    // Tags 11 and 12 replaced 5 and 3 in 1.15.
    let at_least = [
        (seen.finished || seen.changelog, "1.14"),
        (seen.keyed_with_id, "1.15"),
        (seen.merging, "1.20"),
        (seen.key_groups_savepoint, "1.13"),
    ];
    for release in at_least
        .into_iter()
        .filter_map(|(is, release)| is.then_some(release))
    {
        oldest = oldest.max(number(release));
    }
    if seen.keyed_without_id {
        newest = newest.min(number("1.14"));
    }
    // Handles of an older job that a newer one carries on can contradict; then only the format counts.
    if oldest > newest {
        return of(format_version, &Seen::default());
    }
    Releases {
        oldest: RELEASES.get(oldest).copied(),
        newest: RELEASES.get(newest).copied(),
    }
}

impl std::fmt::Display for Releases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.oldest, self.newest) {
            (Some(oldest), Some(newest)) if oldest == newest => write!(f, "Flink {oldest}"),
            (Some(oldest), Some(newest)) => write!(f, "Flink {oldest} to {newest}"),
            _ => f.write_str("a Flink that isn't released yet"),
        }
    }
}
