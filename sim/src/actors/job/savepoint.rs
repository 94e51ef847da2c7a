//! Savepoints: all of the state in a directory of its own, which only its owner deletes.

use super::Job;
use crate::actors::checkpoint::{Checkpoint, File, Place};
use crate::actors::cleanup::{self, Discarded, Why};
use crate::actors::metadata::{Handle, Keyed, Metadata, Path, Subtask};
use crate::actors::names::{hex, uuid};
use crate::actors::sink;
use crate::clock::Millis;
use crate::dice::Dice;
use crate::scenario::Release;
use crate::store::{Hand, Store};

impl Job {
    /// A canonical savepoint: all of the state in a directory of its own.
    pub fn savepoint(&mut self, store: &mut Store, dice: &mut Dice) -> Option<Checkpoint> {
        if !self.runs() || self.stuck {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        let job = self.directory.trim_start_matches("cp/");
        let directory = format!("sp/savepoint-{}-{}/", &job[..6], hex(dice, 12));
        let by = Hand::Flink(self.number);
        let mut files: Vec<File> = (0..self.spec.subtasks.max(1))
            .map(|subtask| File {
                key: format!("{directory}{}", uuid(dice)),
                size: store.fresh_size(),
                place: Place::Private,
                subtask,
            })
            .collect();
        for file in &files {
            store.put(&file.key, file.size, by);
        }
        let mut sinks = std::mem::take(&mut self.sinks);
        let key = |dice: &mut Dice| format!("{directory}{}", uuid(dice));
        let (sink_states, of_sinks) = sink::snapshot(&mut sinks, self.spec, id, store, by, key, dice);
        self.sinks = sinks;
        let subtasks = files.iter().map(|f| Subtask {
            operator_state: None,
            merged: None,
            keyed: Keyed::Whole(Handle {
                path: Path::Beside(&f.key[directory.len()..]),
                size: f.size,
            }),
        });
        let bytes = Metadata {
            format: 4,
            checkpoint_id: i64::try_from(id).unwrap_or(i64::MAX),
            operator: [self.spec.operators; 16],
            retained_on_cancel: self.spec.retained_on_cancel,
            subtasks: subtasks.collect(),
            sinks: sink_states.operators(self.spec, &directory),
        }
        .bytes();
        files.extend(of_sinks);
        let metadata = format!("{directory}_metadata");
        let metadata_size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let etag = store.put_bytes(&metadata, bytes, by);
        Some(Checkpoint {
            id,
            metadata,
            etag,
            metadata_size,
            files,
            completed: store.now(),
            owned: true,
            backends: Vec::new(),
            sinks: self.sinks.clone(),
        })
    }
}

/// What `flink savepoint -d` deletes, and when.
pub(crate) fn dispose(savepoint: &Checkpoint, release: Release, dice: &mut Dice) -> Vec<(Millis, String)> {
    let what = Discarded {
        metadata: Some(savepoint.metadata.clone()),
        private: savepoint.keys(Place::Private).cloned().collect(),
        shared: Vec::new(),
    };
    cleanup::order(release, Why::Ended, what, dice)
}
