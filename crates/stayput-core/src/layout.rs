//! Flink's directory layout: what a key is, from its path alone.

use crate::reference_index::uuid;

/// The name of the file that makes a directory a snapshot (Flink's `AbstractFsCheckpointStorageAccess`).
pub const METADATA_FILE: &str = "_metadata";

/// Where a key lies, in Flink's layout (`FsCheckpointStorageAccess`). Directories end in `/` unless they are the bucket itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'k> {
    /// Below `<job directory>/chk-<id>/`.
    Checkpoint {
        /// The job directory.
        job: &'k str,
        /// The checkpoint's directory.
        directory: &'k str,
        /// The checkpoint id.
        id: u64,
    },
    /// Below `<job directory>/shared/`.
    Shared {
        /// The job directory.
        job: &'k str,
    },
    /// Below `<job directory>/taskowned/`.
    TaskOwned {
        /// The job directory.
        job: &'k str,
    },
    /// Below a `savepoint-*` directory, or beside a `_metadata` of any other name.
    Savepoint {
        /// The savepoint's directory.
        directory: &'k str,
    },
    /// Anything else.
    Elsewhere,
}

impl<'k> Place<'k> {
    /// Reads the path of a key (entropy taken out). The last directory with a name of Flink's decides, since a base path can hold any name.
    pub fn of(key: &'k str) -> Self {
        let Some(file_start) = key.rfind('/') else {
            return if key == METADATA_FILE {
                Self::Savepoint { directory: "" }
            } else {
                Self::Elsewhere
            };
        };
        let mut end = file_start;
        loop {
            let start = key[..end].rfind('/').map_or(0, |at| at + 1);
            let (name, parent, directory) = (&key[start..end], &key[..start], &key[..=end]);
            if let Some(id) = checkpoint_id(name) {
                return Self::Checkpoint {
                    job: parent,
                    directory,
                    id,
                };
            }
            match name {
                "shared" => return Self::Shared { job: parent },
                "taskowned" => return Self::TaskOwned { job: parent },
                _ if name.starts_with("savepoint-") => return Self::Savepoint { directory },
                _ if start == 0 => break,
                _ => end = start - 1,
            }
        }
        if key[file_start + 1..] == *METADATA_FILE {
            Self::Savepoint {
                directory: &key[..=file_start],
            }
        } else {
            Self::Elsewhere
        }
    }

    /// The job directory; of a savepoint its own directory.
    pub fn job(&self) -> Option<&'k str> {
        match self {
            Self::Checkpoint { job, .. } | Self::Shared { job } | Self::TaskOwned { job } => Some(job),
            Self::Savepoint { directory } => Some(directory),
            Self::Elsewhere => None,
        }
    }
}

/// The id in a directory name `chk-<id>`: decimal, not padded.
pub fn checkpoint_id(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("chk-")?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    (plain && !digits.is_empty())
        .then(|| digits.parse().ok())
        .flatten()
}

/// Whether a directory name is a job id: 32 lower-case hex digits.
pub fn is_job_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The job ids among the names of a path: that of a changelog's log, `<root>/<job id>/dstl/<file>` (`FsStateChangelogStorage`, since 1.15), says whose it is.
pub fn job_ids(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| is_job_id(name))
}

/// Whether a file's name is of the kind that Flink gives to the files of a checkpoint's own directory: a random UUID (`FsCheckpointStreamFactory`, all releases).
pub fn is_state_file_name(name: &str) -> bool {
    uuid::bytes_of(name).is_some()
}

/// Whether a job directory may hold several jobs: it has no job id in its path (`execution.checkpointing.create-subdir: false`), or one that is all zeroes, which
/// every job of application mode with high availability has unless it is told another.
pub fn may_hold_several_jobs(directory: &str) -> bool {
    let name = directory
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    !is_job_id(name) || name.bytes().all(|b| b == b'0')
}

/// Whether the key is ForSt's live database file: `<job directory>/shared/op_*/db/*` (Flink 2.0 and later).
pub fn is_forst_database(key: &str) -> bool {
    // One name after the other from behind: nearly every key ends at the second. Every file of a checkpoint is asked.
    let mut names = key.rsplit('/');
    let file = names.next();
    file.is_some()
        && names.next() == Some("db")
        && names.next().is_some_and(|operator| operator.starts_with("op_"))
        && names.next() == Some("shared")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_flinks_decides() {
        assert_eq!(
            Place::of("shared/flink/j/chk-12/u"),
            Place::Checkpoint {
                job: "shared/flink/j/",
                directory: "shared/flink/j/chk-12/",
                id: 12
            }
        );
        assert_eq!(
            Place::of("cp/j/shared/job_x_op_y_0_2/u"),
            Place::Shared { job: "cp/j/" }
        );
        assert_eq!(Place::of("cp/j/taskowned/u"), Place::TaskOwned { job: "cp/j/" });
        assert_eq!(
            Place::of("sp/savepoint-2be3ca-0123456789ab/u"),
            Place::Savepoint {
                directory: "sp/savepoint-2be3ca-0123456789ab/"
            }
        );
        assert_eq!(
            Place::of("copied/by/hand/_metadata"),
            Place::Savepoint {
                directory: "copied/by/hand/"
            }
        );
        assert_eq!(Place::of("logs/x"), Place::Elsewhere);
        assert_eq!(
            Place::of("chk-3/u"),
            Place::Checkpoint {
                job: "",
                directory: "chk-3/",
                id: 3
            }
        );
        assert_eq!(Place::of("x"), Place::Elsewhere);
    }

    #[test]
    fn a_directory_holds_one_job_if_it_has_a_job_id_of_its_own() {
        assert!(!may_hold_several_jobs("cp/2be3cab7043c112ec2d02bfe50f0feb2/"));
        for several in ["cp/00000000000000000000000000000000/", "cp/", ""] {
            assert!(may_hold_several_jobs(several), "{several:?}");
        }
    }

    #[test]
    fn ids_are_plain_decimal() {
        assert_eq!(checkpoint_id("chk-10"), Some(10));
        for not in [
            "chk-",
            "chk-010",
            "chk-+1",
            "chk-1x",
            "chk-99999999999999999999999",
            "check-1",
        ] {
            assert_eq!(checkpoint_id(not), None, "{not}");
        }
    }

    #[test]
    fn forst_database_files_are_told_by_their_path() {
        assert!(is_forst_database("cp/j/shared/op_Async_1__1_2__attempt_0/db/u"));
        assert!(!is_forst_database("cp/j/shared/op_x/u"));
        assert!(!is_forst_database("cp/j/other/op_x/db/u"));
    }
}
