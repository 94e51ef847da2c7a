//! Where a job's files lie, by how it keeps its state (flink-format.md 3.1 and 3.2).

use super::checkpoint::File;
use super::job::Job;
use super::metadata::{Handle, Path};
use super::names::{hex, uuid};
use crate::dice::Dice;
use crate::scenario::Layout;
use crate::store::BUCKET;

/// The key prefix of the changelog's log.
pub(crate) const LOG: &str = "dstl/";

/// The key prefix of HA stores.
pub(crate) const POINTERS: &str = "ha/";

/// The id that all jobs of application mode with high availability have, unless they are told another.
pub(super) const ZERO_ID: &str = "00000000000000000000000000000000";

impl Job {
    /// The job id, in hex.
    fn id(&self) -> &str {
        self.directory.trim_start_matches("cp/").trim_end_matches('/')
    }

    pub(super) fn key(&self, below: &str, dice: &mut Dice) -> String {
        let plain = format!("{}{below}/{}", self.directory, uuid(dice));
        if self.spec.entropy {
            // `_metadata` and directories keep the plain path.
            format!("{}/{plain}", hex(dice, 4))
        } else {
            plain
        }
    }

    /// A new private file of a checkpoint.
    pub(super) fn private_key(&self, id: u64, subtask: usize, dice: &mut Dice) -> String {
        match self.spec.layout {
            Layout::Plain => self.key(&format!("chk-{id}"), dice),
            Layout::Merged => self.key(&self.merged_directories(subtask).0, dice),
            Layout::Changelog => self.key("taskowned", dice),
            Layout::ForSt => self.key(&self.live_directory(subtask), dice),
        }
    }

    /// A new file that several checkpoints may share; of a changelog a part of its log.
    pub(super) fn shared_key(&self, subtask: usize, dice: &mut Dice) -> String {
        match self.spec.layout {
            Layout::Plain => self.key("shared", dice),
            Layout::Merged => self.key(&self.merged_directories(subtask).1, dice),
            Layout::Changelog => format!("{LOG}{}/dstl/{}", self.id(), uuid(dice)),
            Layout::ForSt => self.key(&self.live_directory(subtask), dice),
        }
    }

    /// The key prefix of its HA store.
    pub(crate) fn store(&self) -> String {
        format!("{POINTERS}cluster-{}/", self.number)
    }

    /// A new pointer of the HA store to a checkpoint, `completedCheckpoint` and 12 hex digits; `None`: there is no such store.
    pub(super) fn pointer_key(&self, dice: &mut Dice) -> Option<String> {
        (self.spec.ha).then(|| format!("{}completedCheckpoint{}", self.store(), hex(dice, 12)))
    }

    /// Below the job's directory: that of the TaskManager's own merged files, and that of the subtask's shared ones.
    fn merged_directories(&self, subtask: usize) -> (String, String) {
        let (id, of) = (self.id(), self.spec.subtasks.max(1));
        // Two subtasks run on one TaskManager.
        let task_manager = format!("taskowned/job_{id}_tm_tm-{}-{}", self.number, subtask / 2);
        let shared = format!("shared/job_{id}_op_{:032x}_{subtask}_{of}", self.spec.operators);
        (task_manager, shared)
    }

    /// The same as paths.
    pub(super) fn merged_paths(&self, subtask: usize) -> Option<(String, String)> {
        if self.spec.layout != Layout::Merged {
            return None;
        }
        let (task_owned, shared) = self.merged_directories(subtask);
        let path = |below: &str| {
            let marker = if self.spec.entropy { "_entropy_/" } else { "" };
            format!("s3://{BUCKET}/{marker}{}{below}", self.directory)
        };
        Some((path(&task_owned), path(&shared)))
    }

    fn live_directory(&self, subtask: usize) -> String {
        let (of, operators) = (self.spec.subtasks.max(1), self.spec.operators);
        format!(
            "shared/op_Async_{operators}__{subtask}_{of}__attempt_{}/db",
            self.incarnation
        )
    }

    /// How a handle names a file.
    pub(super) fn handles(&self, file: &File, shared: bool) -> Vec<Handle<'static>> {
        let path = format!("s3://{BUCKET}/{}", file.key);
        match self.spec.layout {
            // Two segments, between which lie those of others.
            Layout::Merged => [(0, file.size / 3), (file.size / 2, file.size - file.size / 2)]
                .map(|(start, size)| Handle {
                    path: Path::Segment {
                        path: path.clone(),
                        start,
                        shared,
                    },
                    size,
                })
                .into(),
            // One byte more than the handle says.
            Layout::Changelog if file.key.starts_with(LOG) => vec![Handle {
                path: Path::Absolute(path),
                size: file.size - 1,
            }],
            Layout::Plain | Layout::Changelog | Layout::ForSt => vec![Handle {
                path: Path::Absolute(path),
                size: file.size,
            }],
        }
    }
}
