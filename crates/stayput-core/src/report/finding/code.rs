//! The closed list of codes: what each means, how bad it is, whether a retry helps, what to do next.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Notice,
    /// Somebody should look in the coming days.
    Warning,
    /// State is at risk: somebody must act before the deadline.
    Urgent,
    /// State is gone.
    Lost,
}

impl Severity {
    /// Its word, as documents have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Urgent => "urgent",
            Self::Lost => "lost",
        }
    }
}

/// What was found. The text of a code is stable: programs match on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// Flink's own role deleted shared files that a snapshot still names.
    FlinkDeletedNeeded,
    /// Nobody known deleted files that a snapshot still names.
    DeletedNeeded,
    /// Flink began to discard a checkpoint and stopped: `_metadata` stands, private files are gone.
    DiscardCutShort,
    /// A snapshot was deleted as a whole, which looks like intent.
    DeletedAsAWhole,
    /// `_metadata` was hidden, by Flink or nobody known, while files of the snapshot stand.
    MetadataHidden,
    /// A lifecycle rule took files of a forgotten snapshot.
    DormantExpired,
    /// A snapshot can't be read, so deletions near it can't be judged.
    CannotJudge,
    /// A new run writes in the directory of an old one; what it destroyed stays away.
    DirectoryReused,
    /// A visible object doesn't have the length that the snapshot's handles say.
    Overwritten,
    /// Objects that a snapshot names have neither version nor marker: never uploaded, or purged with their markers.
    NeverThere,
    /// A rule takes the same key again.
    RepeatOffence,
    /// Not restored any more: the rule has taken this file of a forgotten snapshot for the third time.
    Held,
    /// The bucket's rules would take the copies again within seven days.
    RuleTakesCopies,
    /// The bucket never had versioning: what is deleted is gone.
    UnversionedBucket,
    /// Versioning is suspended: old versions exist, but a copy would replace the `null` version.
    VersioningSuspended,
    /// The versions of a needed object were purged.
    PurgedVersion,
    /// No version of a needed object has a length that fits its handles.
    NoVersionFits,
    /// `_metadata` stays hidden, since an object that it names is lost.
    ReferenceLost,
    /// The version to copy is in an archive class.
    Archived,
    /// The version to copy is encrypted with a key that can't be used: one of the customer's own (SSE-C), or one that KMS has disabled.
    VersionKeyUnusable,
    /// The root says `protect = "report"`: this would have been restored.
    ReportOnly,
    /// Restoring waits for the end of a pause.
    Paused,
    /// Restoring waits: the day's budget is spent.
    BudgetSpent,
    /// A snapshot's relative handles name objects that were never there; they lie elsewhere under the same names (FLINK-39964).
    CopyIntoPlace,
    /// Two checkpoints of one directory claim to be the newest, one by id and one by time.
    IdsRestarted,
    /// An object that a snapshot names is visible, but in an archive class: Flink can't read it.
    ArchivedInPlace,
    /// Nothing lies under a root, visible or hidden.
    RootEmpty,
    /// A root is the directory of one job.
    RootIsJobDirectory,
    /// A lifecycle rule takes what Stayput remembers under its control prefix.
    ControlExpires,
    /// An object of an HA store can't be read, so nobody knows which checkpoint it names.
    HaUnreadable,
    /// A lifecycle rule will hide objects that are needed.
    RuleWillHideNeeded,
    /// A lifecycle rule will delete objects that are needed for good: the bucket keeps no versions.
    RuleWillDeleteNeeded,
    /// A lifecycle rule will move objects that are needed to a class in which no job can read them.
    RuleWillArchiveNeeded,
    /// A lifecycle rule takes objects that are needed, if what isn't known of them fits: tags, a size.
    RuleMayTakeNeeded,
    /// A lifecycle rule will abort uploads whose ids are in the state of a snapshot.
    RuleWillAbortUploads,
}

impl FindingCode {
    /// All codes, for documentation and tests.
    pub const ALL: [Self; 35] = [
        Self::FlinkDeletedNeeded,
        Self::DeletedNeeded,
        Self::DiscardCutShort,
        Self::DeletedAsAWhole,
        Self::MetadataHidden,
        Self::DormantExpired,
        Self::CannotJudge,
        Self::DirectoryReused,
        Self::Overwritten,
        Self::NeverThere,
        Self::RepeatOffence,
        Self::Held,
        Self::RuleTakesCopies,
        Self::UnversionedBucket,
        Self::VersioningSuspended,
        Self::PurgedVersion,
        Self::NoVersionFits,
        Self::ReferenceLost,
        Self::Archived,
        Self::VersionKeyUnusable,
        Self::ReportOnly,
        Self::Paused,
        Self::BudgetSpent,
        Self::CopyIntoPlace,
        Self::IdsRestarted,
        Self::ArchivedInPlace,
        Self::RootEmpty,
        Self::RootIsJobDirectory,
        Self::ControlExpires,
        Self::HaUnreadable,
        Self::RuleWillHideNeeded,
        Self::RuleWillDeleteNeeded,
        Self::RuleWillArchiveNeeded,
        Self::RuleMayTakeNeeded,
        Self::RuleWillAbortUploads,
    ];

    /// The stable text, as in every JSON document.
    pub fn text(self) -> &'static str {
        self.explanation().0
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        self.explanation().1
    }

    /// What it means, in one sentence without the names.
    pub fn meaning(self) -> &'static str {
        self.explanation().2
    }

    /// What to do next.
    pub fn next_step(self) -> &'static str {
        self.explanation().3
    }

    /// Whether the restore of the job succeeds later by itself: the state is being put back, or waits only for time.
    pub fn retry_helps(self) -> bool {
        matches!(
            self,
            Self::FlinkDeletedNeeded
                | Self::DeletedNeeded
                | Self::RepeatOffence
                | Self::RuleTakesCopies
                | Self::Paused
                | Self::BudgetSpent
                | Self::IdsRestarted
        )
    }

    /// Whether it tells of what rules will do, not of what has happened.
    pub fn is_forecast(self) -> bool {
        matches!(
            self,
            Self::RuleWillHideNeeded
                | Self::RuleWillDeleteNeeded
                | Self::RuleWillArchiveNeeded
                | Self::RuleMayTakeNeeded
                | Self::RuleWillAbortUploads
        )
    }

    /// Whether what to do is to change a lifecycle rule, so that people must know which.
    pub fn asks_for_another_rule(self) -> bool {
        matches!(
            self,
            Self::RepeatOffence
                | Self::Held
                | Self::RuleTakesCopies
                | Self::DormantExpired
                | Self::ArchivedInPlace
        )
    }

    fn explanation(self) -> (&'static str, Severity, &'static str, &'static str) {
        use Severity::{Lost, Notice, Urgent, Warning};
        match self {
            Self::FlinkDeletedNeeded => (
                "flink_deleted_needed",
                Warning,
                "Flink's own role deleted shared files that this snapshot still names.",
                "Find out which job did it: two jobs in one directory, or a left-over of a restore in CLAIM mode.",
            ),
            Self::DeletedNeeded => (
                "deleted_needed",
                Warning,
                "Files that this snapshot still names were deleted, and nobody knows by whom.",
                "Find out who did it: the bucket's CloudTrail data events, if it has them, say who called DeleteObject.",
            ),
            Self::DiscardCutShort => (
                "discard_cut_short",
                Warning,
                "Flink began to discard this checkpoint and stopped: _metadata stands, private files are gone.",
                "If a job must be restored from it, put the files back with the undo command; otherwise delete its _metadata.",
            ),
            Self::DeletedAsAWhole => (
                "deleted_as_a_whole",
                Urgent,
                "This snapshot was deleted as a whole, which looks like intent, so nothing was put back.",
                "If nobody meant it, put it back with the undo command before the deadline.",
            ),
            Self::MetadataHidden => (
                "metadata_hidden",
                Urgent,
                "The _metadata of this snapshot was deleted while files of it stand; without it no job can be restored from here.",
                "If the snapshot is still wanted, put _metadata back with the undo command before the deadline.",
            ),
            Self::DormantExpired => (
                "dormant_expired",
                Urgent,
                "A lifecycle rule took files of a snapshot that nobody has used for a long time.",
                "If it is still wanted, put the files back before the deadline and exclude its prefix from the rule.",
            ),
            Self::CannotJudge => (
                "cannot_judge",
                Urgent,
                "This snapshot can't be read, so nobody can tell whether it needs what was deleted.",
                "Update Stayput or give it access to the file; the deletions can be undone until the deadline.",
            ),
            Self::DirectoryReused => (
                "directory_reused",
                Warning,
                "A new run writes into the directory of this older snapshot; putting it back there would make the new run fail.",
                "If the old snapshot is still wanted, copy its versions into another directory before the deadline.",
            ),
            Self::Overwritten => (
                "overwritten",
                Urgent,
                "An object that this snapshot names is there, but with another length than its handles say.",
                "Compare its versions and copy the one with the right length over it by hand.",
            ),
            Self::NeverThere => (
                "never_there",
                Warning,
                "Objects that this snapshot names have neither a version nor a marker: never uploaded, or purged with their markers.",
                "Restore from another snapshot. With file merging across checkpoints on S3A, turn that option off.",
            ),
            Self::RepeatOffence => (
                "repeat_offence",
                Urgent,
                "A lifecycle rule took files again that had already been put back.",
                "Change the rule that is named here: exclude the checkpoint prefix or raise its days.",
            ),
            Self::Held => (
                "held",
                Urgent,
                "A lifecycle rule took files of a forgotten snapshot for the third time; they aren't put back any more.",
                "Change the rule, or let the snapshot go; until the deadline the undo command brings the files back.",
            ),
            Self::RuleTakesCopies => (
                "rule_takes_copies",
                Urgent,
                "The bucket's rules will take what was put back again within seven days.",
                "Change the rule that is named here before then.",
            ),
            Self::UnversionedBucket => (
                "unversioned_bucket",
                Lost,
                "The bucket has no versioning, so what was deleted is gone.",
                "Restore from the newest snapshot that still works, and enable versioning.",
            ),
            Self::VersioningSuspended => (
                "versioning_suspended",
                Urgent,
                "Versioning of the bucket is suspended, so nothing is copied: a copy would replace a null version.",
                "Put the files back by hand from the versions named here, and enable versioning.",
            ),
            Self::PurgedVersion => (
                "purged_version",
                Lost,
                "All versions of an object that this snapshot names were purged.",
                "Restore from the newest snapshot that still works.",
            ),
            Self::NoVersionFits => (
                "no_version_fits",
                Lost,
                "No version of an object has the length that this snapshot's handles say.",
                "Look at the candidates; if none is right, restore from the newest snapshot that still works.",
            ),
            Self::ReferenceLost => (
                "reference_lost",
                Lost,
                "An object that this snapshot names is lost, so its _metadata stays hidden: it would only look complete.",
                "Restore from the newest snapshot that still works.",
            ),
            Self::Archived => (
                "archived",
                Urgent,
                "The version that fits is in an archive class and must be thawed before it can be copied.",
                "Where it restores, Stayput asks S3 for it (`[thaw]` in the settings) and copies it when it is readable: up to half a day, of a deep archive up to two days. Else thaw it with `aws s3api restore-object` on that version.",
            ),
            Self::VersionKeyUnusable => (
                "version_key_unusable",
                Urgent,
                "The version that fits is encrypted with a key that Stayput can't use, so it can't be copied: a customer's key in the request (SSE-C), or a KMS key that is disabled or about to be deleted.",
                "Enable the KMS key, and the next sweep copies it. For SSE-C remove the marker with the undo command, which needs no key; if a rule took the object, change the rule first.",
            ),
            Self::ReportOnly => (
                "report_only",
                Urgent,
                "Files that this snapshot needs were deleted; the root says protect = \"report\", so nothing was put back.",
                "Put the files back with the undo command before the deadline.",
            ),
            Self::Paused => (
                "paused",
                Urgent,
                "Files that this snapshot needs were deleted while Stayput is paused.",
                "Resume; the sweep then puts them back, if the deadline hasn't passed.",
            ),
            Self::BudgetSpent => (
                "budget_spent",
                Urgent,
                "Files that this snapshot needs were deleted, but the day's budget of copies is spent.",
                "Raise [budget] if the deletions are real; otherwise the sweep goes on tomorrow.",
            ),
            Self::CopyIntoPlace => (
                "copy_into_place",
                Urgent,
                "Relative handles of this snapshot name objects that were never there (FLINK-39964); their bytes lie elsewhere.",
                "Copy each object to the place that the handle means, and keep the directory where it lies.",
            ),
            Self::IdsRestarted => (
                "ids_restarted",
                Notice,
                "A job was deployed again in this directory and counts its checkpoints from 1: by id and by time the newest differ.",
                "Restore from the newest by time, or give every deployment its own job id.",
            ),
            Self::ArchivedInPlace => (
                "archived_in_place",
                Urgent,
                "Objects that this snapshot names were moved to an archive class: no job can be restored from here before they are thawed.",
                "Leave the checkpoint prefix out of the rule's transitions. In mode restore Stayput thaws them and copies them onto themselves; \
                 otherwise thaw them with `aws s3api restore-object`.",
            ),
            Self::RootEmpty => (
                "root_empty",
                Warning,
                "Nothing lies under this root, and nothing ever did that the bucket remembers, so Stayput protects nothing here.",
                "Compare roots.uri with state.checkpoints.dir or state.savepoints.dir in Flink's configuration.",
            ),
            Self::RootIsJobDirectory => (
                "root_is_job_directory",
                Warning,
                "This root is the directory of one job: when the job starts anew under another id, nobody watches it.",
                "Write the prefix above it in roots.uri, as in state.checkpoints.dir.",
            ),
            Self::ControlExpires => (
                "control_expires",
                Urgent,
                "A lifecycle rule takes what Stayput remembers: who deleted what, which snapshots are pinned, that it is paused.",
                "Exclude the control prefix from the rule that is named here.",
            ),
            Self::HaUnreadable => (
                "ha_unreadable",
                Warning,
                "This object of an HA store can't be read, so the checkpoint that it names isn't known and may pass for one that nobody needs.",
                "Update Stayput or give it access. If the object is damaged, the next recovery of a JobManager fails: put an older version of it back, \
                 or remove its entry from ZooKeeper or the ConfigMap.",
            ),
            Self::RuleWillHideNeeded => (
                "rule_will_hide_needed",
                Urgent,
                "A snapshot that names them can't be restored then.",
                "Change the rules before the deadline: leave the directories of checkpoints out, or expire only noncurrent versions.",
            ),
            Self::RuleWillDeleteNeeded => (
                "rule_will_delete_needed",
                Urgent,
                "A snapshot that names them can't be restored then.",
                "Change the rules before the deadline: leave the directories of checkpoints out. And enable versioning.",
            ),
            Self::RuleWillArchiveNeeded => (
                "rule_will_archive_needed",
                Urgent,
                "A snapshot that names them can't be restored then, until they are thawed.",
                "Change the rules before the deadline: leave the directories of checkpoints out, or use a class that can be read at once.",
            ),
            Self::RuleMayTakeNeeded => (
                "rule_may_take_needed",
                Warning,
                "Whether the rule takes them depends on what isn't known here: tags, sizes or the bucket's settings.",
                "Look at the tags of the objects, and leave the directories of checkpoints out of the rule.",
            ),
            Self::RuleWillAbortUploads => (
                "rule_will_abort_uploads",
                Urgent,
                "A lifecycle rule will abort unfinished uploads that the state of a sink names. What they hold is lost then, and a restore of the snapshot fails or loses rows; what the job completes first isn't touched.",
                "Leave the prefix of the sink's output out of the rule, or raise its days beyond the longest stop of the job; or resume the job before the deadline.",
            ),
        }
    }
}
