//! The closed list of what the doctor finds by itself. What the sweep finds has its own codes
//! ([`FindingCode`](stayput_core::report::finding::FindingCode)).

use stayput_core::report::finding::Severity;

/// What was found. The text of a code is stable: programs match on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// A directory bucket, which can't keep versions.
    DirectoryBucket,
    /// The bucket keeps no versions.
    VersioningOff,
    /// It doesn't keep versions any more.
    VersioningStopped,
    /// Deleting versions takes a device.
    MfaDelete,
    /// Hidden versions are purged before people can react.
    NoncurrentWindowShort,
    /// Hidden versions are never purged.
    NoncurrentForever,
    /// Hidden versions move to an archive class.
    NoncurrentArchived,
    /// Un-hiding takes a device, so everything is copied.
    UnhideNeedsDevice,
    /// Every new version is locked.
    DefaultRetention,
    /// The key can't be used.
    KeyUnusable,
    /// No root of the settings is here.
    NotWatched,
    /// A rule aborts uploads early.
    AbortRuleShort,
    /// No rule aborts uploads.
    AbortRuleMissing,
    /// S3A makes and removes directory markers.
    DirectoryMarkerChurn,
    /// Nobody is told of deletions.
    NotificationsMissing,
    /// Nobody is told of what rules do.
    NotificationsWithoutLifecycle,
    /// Nobody is told of what requests remove.
    NotificationsWithoutRemovals,
    /// Events come by EventBridge, which names no role.
    NotificationsByEventbridge,
    /// No principal of Flink is listed.
    PrincipalsMissing,
    /// A principal that isn't listed writes checkpoints.
    WriterNotListed,
    /// Stayput's role may not do what its mode takes.
    PermissionMissing,
    /// Stayput's role may not remove markers, though a root un-hides.
    UnhideNotAllowed,
    /// Stayput's role may delete.
    PermissionToDelete,
    /// The server ignores the condition of a copy.
    ConditionIgnored,
    /// There is no control prefix.
    ControlMissing,
    /// What is hidden here is hidden in the replica.
    ReplicaHides,
    /// What is put back is replicated.
    ReplicaGetsCopies,
}

impl Code {
    /// All codes, for documentation and tests.
    pub const ALL: [Self; 27] = [
        Self::DirectoryBucket,
        Self::VersioningOff,
        Self::VersioningStopped,
        Self::MfaDelete,
        Self::UnhideNeedsDevice,
        Self::NoncurrentWindowShort,
        Self::NoncurrentForever,
        Self::NoncurrentArchived,
        Self::DefaultRetention,
        Self::KeyUnusable,
        Self::NotWatched,
        Self::AbortRuleShort,
        Self::AbortRuleMissing,
        Self::DirectoryMarkerChurn,
        Self::NotificationsMissing,
        Self::NotificationsWithoutLifecycle,
        Self::NotificationsWithoutRemovals,
        Self::NotificationsByEventbridge,
        Self::PrincipalsMissing,
        Self::WriterNotListed,
        Self::PermissionMissing,
        Self::UnhideNotAllowed,
        Self::PermissionToDelete,
        Self::ConditionIgnored,
        Self::ControlMissing,
        Self::ReplicaHides,
        Self::ReplicaGetsCopies,
    ];

    /// The stable text, as in every JSON document.
    pub fn text(self) -> &'static str {
        self.explanation().0
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        self.explanation().1
    }

    /// Why it matters, in one or two sentences.
    pub fn why(self) -> &'static str {
        self.explanation().2
    }

    /// What to do.
    pub fn fix(self) -> &'static str {
        self.explanation().3
    }

    fn explanation(self) -> (&'static str, Severity, &'static str, &'static str) {
        use Severity::{Notice, Urgent, Warning};
        match self {
            Self::DirectoryBucket => (
                "directory_bucket",
                Urgent,
                "Directory buckets (S3 Express One Zone) keep no versions, have no notifications of deletions and delete at once. Stayput can put nothing back here.",
                "Keep checkpoints in a general purpose bucket, or only those that a job can lose.",
            ),
            Self::VersioningOff => (
                "versioning_off",
                Urgent,
                "What is deleted is gone: there is no version to put back.",
                "Enable versioning, and let a rule remove noncurrent versions after some days, since Flink's own clean-up then hides files instead of freeing them.",
            ),
            Self::VersioningStopped => (
                "versioning_stopped",
                Urgent,
                "What is written now replaces the version with the id null, so Stayput only reports here and never copies.",
                "Enable versioning again.",
            ),
            Self::MfaDelete => (
                "mfa_delete",
                Notice,
                "Copies need no device, so restoring works. The undo command of a finding removes a marker by its version, which then takes the root user's device.",
                "Nothing needs to be done. Who is on call should know who holds the device.",
            ),
            Self::UnhideNeedsDevice => (
                "unhide_needs_device",
                Warning,
                "A root says strategy = \"unhide\", and S3 removes no marker by its version id without the device. Stayput tries, is refused, and copies instead: nothing is lost by it, and nothing gained. The undo command of a finding takes the device too.",
                "Say strategy = \"copy\" and take s3:DeleteObjectVersion from the role, or turn MFA delete off, which only the root user can.",
            ),
            Self::NoncurrentWindowShort => (
                "noncurrent_window_short",
                Urgent,
                "After that what was deleted can't be put back, by anybody. The window must be longer than an outage goes unnoticed, a weekend included.",
                "Raise NoncurrentDays of the rule. What that costs is said with it.",
            ),
            Self::NoncurrentForever => (
                "noncurrent_forever",
                Warning,
                "Flink deletes most of what it writes, and in a versioned bucket that only hides: the hidden bytes are paid for until somebody deletes them.",
                "Let a rule remove noncurrent versions after some days.",
            ),
            Self::NoncurrentArchived => (
                "noncurrent_archived",
                Warning,
                "A hidden version in an archive class must be thawed before it can be copied, which takes from minutes to two days, and costs more than the days it lies there save.",
                "Take the transition of noncurrent versions out of the rule, or leave the prefix out of it.",
            ),
            Self::DefaultRetention => (
                "default_retention",
                Warning,
                "No rule removes a version that is locked, so everything that Flink writes and deletes is paid for that long, and so is each copy that Stayput makes. It doesn't keep objects visible.",
                "Keep checkpoints in a bucket without a default retention, and hold single savepoints instead.",
            ),
            Self::KeyUnusable => (
                "key_unusable",
                Urgent,
                "Nobody can read or copy an object that is encrypted with this key: neither Stayput nor Flink.",
                "Enable the key, or cancel its deletion.",
            ),
            Self::NotWatched => (
                "not_watched",
                Urgent,
                "Stayput looks only below its roots: what is deleted here isn't judged unless a checkpoint elsewhere names it.",
                "Add this prefix to the roots of the settings.",
            ),
            Self::AbortRuleShort => (
                "abort_rule_short",
                Warning,
                "The state of an exactly-once file sink names uploads that are finished only after a restore. When the rule aborts them first, that restore loses data or fails.",
                "Raise the rule's days above the longest stop of a job, or leave the output of sinks out of it.",
            ),
            Self::AbortRuleMissing => (
                "abort_rule_missing",
                Notice,
                "Uploads that a failed TaskManager leaves behind are invisible and paid for until somebody aborts them.",
                "A rule that aborts incomplete uploads after some weeks ends that, if it is longer than the longest stop of a job with a file sink.",
            ),
            Self::DirectoryMarkerChurn => (
                "directory_marker_churn",
                Warning,
                "Flink's flink-s3-fs-hadoop (S3A) deletes the markers of all parent directories at every file that it writes. Each deletion is a request, a version, and an event that Stayput must look at.",
                "Set `s3.directory.marker.retention: keep` in Flink's configuration.",
            ),
            Self::NotificationsMissing => (
                "notifications_missing",
                Warning,
                "Without them only the sweep finds what was deleted, once a day, and nobody knows who did it.",
                "Let the bucket send its deletions to Stayput's queues.",
            ),
            Self::NotificationsWithoutLifecycle => (
                "notifications_without_lifecycle",
                Warning,
                "s3:ObjectRemoved:* doesn't cover what lifecycle rules do, and these are what takes checkpoint files most often. Only the sweep finds them.",
                "Let the bucket send s3:LifecycleExpiration:* too.",
            ),
            Self::NotificationsWithoutRemovals => (
                "notifications_without_removals",
                Warning,
                "What people and programs delete is found by the sweep alone, once a day, and nobody knows who did it.",
                "Let the bucket send s3:ObjectRemoved:* too.",
            ),
            Self::NotificationsByEventbridge => (
                "notifications_by_eventbridge",
                Notice,
                "EventBridge names the account that deleted, not the role. Flink's own clean-up can't be told from a stranger's, so Stayput waits longer and restores less.",
                "Send notifications straight to the queues, if nothing forbids it.",
            ),
            Self::PrincipalsMissing => (
                "principals_missing",
                Warning,
                "Nobody can tell Flink's own clean-up from a stranger's deletions, so Stayput waits longer and restores less.",
                "List the unique id of every cluster's role under flink.principals.",
            ),
            Self::WriterNotListed => (
                "writer_not_listed",
                Urgent,
                "Whoever writes checkpoints also deletes them. Its clean-up counts as a stranger's, and in mode restore Stayput would put back what Flink means to delete.",
                "Add its unique id to flink.principals, if it is a cluster of yours or a replication.",
            ),
            Self::PermissionMissing => (
                "permission_missing",
                Urgent,
                "In this mode Stayput asks for it, and can't do its work without.",
                "Give the role the policies of infra/policies that this mode takes.",
            ),
            Self::UnhideNotAllowed => (
                "unhide_not_allowed",
                Warning,
                "S3 refuses to remove a delete marker then, and Stayput copies what it would have un-hidden: nothing is lost by it, but copies are new versions, and young.",
                "Give the role infra/policies/unhide.json (Strategy=unhide of the template), or say strategy = \"copy\". Where a policy denies it, as that one does outside the template's roots, allowing it elsewhere doesn't help.",
            ),
            Self::PermissionToDelete => (
                "permission_to_delete",
                Warning,
                "Stayput deletes no data and hides nothing; it removes delete markers only where a root says strategy = \"unhide\" in mode restore. Elsewhere a permission to delete can only be misused.",
                "Take it away: infra/policies holds all that the role needs.",
            ),
            Self::ConditionIgnored => (
                "condition_ignored",
                Warning,
                "The server overwrites where it should refuse. Stayput looks before and after each copy instead, and a moment remains in which somebody else's new object can come to lie under the copy. Nothing is lost, as both are versions.",
                "Update the server, if a newer release honours If-None-Match of CopyObject.",
            ),
            Self::ControlMissing => (
                "control_missing",
                Warning,
                "Without it Stayput remembers nothing from one call to the next: who deleted what, what it said already, what it copied today. Budgets hold for one call only, and findings repeat.",
                "Set control to a prefix outside every root, below no expiring rule.",
            ),
            Self::ReplicaHides => (
                "replica_hides",
                Warning,
                "What a person or Flink hides here is hidden there too, so the replica is no backup against deletions. (What lifecycle rules hide isn't replicated.)",
                "Watch the destination bucket too, or turn DeleteMarkerReplication off there if the replica is to be a backup.",
            ),
            Self::ReplicaGetsCopies => (
                "replica_gets_copies",
                Notice,
                "What Stayput puts back here is a new version and is replicated. In the destination the replication's role writes and hides objects.",
                "If a Stayput watches the destination, list the replication's role under its flink.principals.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stayput_core::report::finding::FindingCode;

    use super::Code;

    #[test]
    fn every_code_has_a_text_of_its_own_which_no_finding_has() {
        let mut texts: BTreeSet<&str> = FindingCode::ALL.iter().map(|code| code.text()).collect();
        for code in Code::ALL {
            assert!(texts.insert(code.text()), "{} is there twice", code.text());
            assert!(code.fix().ends_with('.'), "{}", code.text());
            assert!(code.why().ends_with(['.', ')']), "{}", code.text());
        }
    }
}
