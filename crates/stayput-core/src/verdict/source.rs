//! What could be copied to bring an object back, and what speaks against it.

use std::time::Duration;

use s3_documents::bucket::Versioning;

use crate::report::finding::FindingCode;
use crate::restoring::Source;
use crate::thaw::Readability;
use crate::timestamp::Timestamp;
use crate::verdict::Told;
use crate::version::{KeyHistory, VersionEntry, VersionKind};

const DAY: Duration = Duration::from_secs(86_400);

/// The data version that would be copied, and what its user metadata say.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'c> {
    /// The row of the listing.
    pub version: &'c VersionEntry,
    /// How many times Stayput had restored the key when this version was made; 0 for an original.
    pub restored_before: u32,
    /// When its bytes were first written.
    pub first_written: Timestamp,
    /// Whether its bytes can be copied now: by the class of the listing, or, once it was asked, by its head.
    pub readability: Readability,
}

/// The versions of one object and what may be done with them.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'c> {
    /// The bucket's versioning.
    pub versioning: Versioning,
    /// All versions and markers.
    pub history: &'c KeyHistory,
    /// The newest data version that fits; `None` if none does.
    pub candidate: Option<Candidate<'c>>,
    /// Until when it may still come from another bucket, where the `_metadata` that names it is a replica. S3 replicates objects in any order, most
    /// of them within minutes.
    pub on_its_way_until: Option<Timestamp>,
}

/// Why nothing can be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceProblem {
    /// It is gone.
    Lost(FindingCode),
    /// A person must do it, or nothing was ever there.
    Report(FindingCode),
    /// It must be thawed first.
    Archived {
        /// Somebody has asked for that already.
        asked: bool,
    },
}

impl Sources<'_> {
    /// No data version is left, or none fits.
    pub fn nothing_left(&self) -> bool {
        self.candidate.is_none()
    }

    /// Versioning keeps everything, and there is neither a version nor a marker.
    pub fn was_never_there(&self) -> bool {
        self.versioning == Versioning::Enabled && self.history.is_empty()
    }

    /// Versioning keeps everything, and there is no version of data: whatever was done at the key, what it was done to isn't here.
    pub fn has_no_data(&self) -> bool {
        self.versioning == Versioning::Enabled && self.history.data_versions().next().is_none()
    }

    /// Until when nobody can say that it was never there.
    pub fn may_come_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.on_its_way_until
            .filter(|until| self.has_no_data() && now < *until)
    }

    /// How many times Stayput had restored the key before.
    pub fn restored_before(&self) -> u32 {
        self.candidate.map_or(0, |c| c.restored_before)
    }

    /// If the version on top is a copy of ours younger than a day: when it is a day old.
    pub fn restored_within_a_day(&self, now: Timestamp) -> Option<Timestamp> {
        let copy = self.candidate.filter(|c| c.restored_before > 0)?;
        let free = copy.version.last_modified.plus(DAY);
        (now < free).then_some(free)
    }

    /// What speaks against a copy, the gravest first.
    pub fn problem_for(&self, told: Told) -> Option<SourceProblem> {
        let lost = |code| Some(SourceProblem::Lost(code));
        let report = |code| Some(SourceProblem::Report(code));
        if self.versioning == Versioning::Never {
            return lost(FindingCode::UnversionedBucket);
        }
        let Some(candidate) = self.candidate else {
            return if self.history.data_versions().next().is_some() {
                lost(FindingCode::NoVersionFits)
            } else if told.purged {
                lost(FindingCode::PurgedVersion)
            } else {
                report(FindingCode::NeverThere)
            };
        };
        if self.versioning == Versioning::Suspended {
            return report(FindingCode::VersioningSuspended);
        }
        match candidate.readability {
            Readability::Now => None,
            Readability::Thawing => Some(SourceProblem::Archived { asked: true }),
            Readability::Archived => Some(SourceProblem::Archived { asked: false }),
        }
    }

    /// The candidate as the source of a copy.
    pub fn chosen(&self) -> Option<Source> {
        let candidate = self.candidate?;
        match &candidate.version.kind {
            VersionKind::Data { size, etag, .. } => Some(Source {
                version: candidate.version.id.clone(),
                size: *size,
                etag: etag.clone(),
                first_written: candidate.first_written,
                restored_before: candidate.restored_before,
            }),
            VersionKind::Marker => None,
        }
    }
}
