//! A job's checkpoints: how one begins, is complete or fails, and what goes when it is held no more.

use super::{Completed, Job, Registered, Upload};
use crate::actors::checkpoint::{Checkpoint, File, Place};
use crate::actors::cleanup::{self, Discarded, Why};
use crate::actors::layout::LOG;
use crate::actors::metadata::{Handle, Keyed, Metadata, Path, Subtask};
use crate::actors::pointer::Pointer;
use crate::actors::sink;
use crate::clock::{Millis, SECOND};
use crate::dice::Dice;
use crate::scenario::{Layout, Release};
use crate::store::{Hand, Store};

impl Job {
    fn private_file(&self, id: u64, subtask: usize, store: &mut Store, dice: &mut Dice) -> File {
        File {
            key: self.private_key(id, subtask, dice),
            size: store.fresh_size(),
            place: Place::Private,
            subtask,
        }
    }

    /// Begins a checkpoint: its files are written now. Whether it could.
    pub fn begin(&mut self, store: &mut Store, dice: &mut Dice) -> bool {
        if !self.runs() || self.upload.is_some() {
            return false;
        }
        if self.stuck {
            self.stuck = !self
                .retained
                .back()
                .is_none_or(|newest| newest.is_whole(store, false));
            if self.stuck {
                return false;
            }
            self.sinks = self.sinks_of_newest();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.first_write.get_or_insert(store.now());
        let by = Hand::Flink(self.number);
        let mut files = Vec::new();
        for subtask in 0..self.spec.subtasks.max(1) {
            let privates = match (self.spec.layout, self.spec.incremental) {
                (Layout::Changelog, _) => 0,
                (_, true) => 1 + dice.place(2),
                (_, false) => 1,
            };
            for _ in 0..privates {
                files.push(self.private_file(id, subtask, store, dice));
            }
            if self.spec.layout == Layout::Changelog {
                self.go_on_with_log(subtask, store, dice);
            } else if self.spec.incremental {
                // Compaction replaces some files by new ones.
                let mut kept = 0;
                self.live.retain(|f| {
                    let stays = f.subtask != subtask || !dice.per_mille(300);
                    kept += usize::from(stays && f.subtask == subtask);
                    stays
                });
                let fresh = if kept == 0 { 1 } else { dice.place(3) };
                for _ in 0..fresh {
                    self.live.push(File {
                        key: self.shared_key(subtask, dice),
                        size: store.fresh_size(),
                        place: Place::Shared,
                        subtask,
                    });
                }
            }
        }
        for file in files.iter().chain(&self.live) {
            // After rescaling several subtasks have the same file.
            if file.place == Place::Private || !self.registry.contains_key(&file.key) {
                store.put(&file.key, file.size, by);
            }
            if file.place == Place::Shared {
                let new = Registered {
                    last_used: id,
                    deletable: true,
                };
                self.registry.entry(file.key.clone()).or_insert(new).last_used = id;
            }
        }
        files.extend(self.live.iter().cloned());
        let mut sinks = std::mem::take(&mut self.sinks);
        let key = |dice: &mut Dice| self.key(&format!("chk-{id}"), dice);
        let (sink_states, of_sinks) = sink::snapshot(&mut sinks, self.spec, id, store, by, key, dice);
        self.sinks = sinks;
        files.extend(of_sinks);
        self.upload = Some(Upload {
            id,
            files,
            sink_states,
            sinks: self.sinks.clone(),
        });
        true
    }

    /// The log goes on in a new file; sometimes the state is materialised, and a new log begins.
    fn go_on_with_log(&mut self, subtask: usize, store: &mut Store, dice: &mut Dice) {
        let mut new = |key: String| File {
            key,
            size: store.fresh_size(),
            place: Place::Shared,
            subtask,
        };
        let has_any = self.live.iter().any(|f| f.subtask == subtask);
        if !has_any || dice.per_mille(200) {
            self.live.retain(|f| f.subtask != subtask);
            self.live.push(new(self.private_key(0, subtask, dice)));
        }
        self.live.push(new(self.shared_key(subtask, dice)));
    }

    /// What each subtask's state is made of, as handles.
    fn subtasks_of<'u>(&'u self, upload: &'u Upload) -> Vec<Subtask<'u>> {
        let Upload {
            id,
            files,
            sink_states,
            ..
        } = upload;
        let own = format!("{}chk-{id}/", self.directory);
        let subtasks = (0..self.spec.subtasks.max(1)).map(|subtask| {
            let of = |place| {
                files
                    .iter()
                    .filter(move |f| f.subtask == subtask && f.place == place)
                    .filter(|f| !sink_states.lies_in(&f.key))
            };
            let mut private: Vec<Handle<'_>> = of(Place::Private)
                .flat_map(|f| match f.key.strip_prefix(&own) {
                    Some(name) => vec![Handle {
                        path: Path::Beside(name),
                        size: f.size,
                    }],
                    None => self.handles(f, false),
                })
                .collect();
            let keyed = if self.spec.layout == Layout::Changelog {
                let is_log = |f: &&File| f.key.starts_with(LOG);
                let (log, materialized): (Vec<&File>, Vec<&File>) = of(Place::Shared).partition(is_log);
                let handles =
                    |files: Vec<&File>| files.into_iter().flat_map(|f| self.handles(f, true)).collect();
                Keyed::Changelog {
                    materialized: handles(materialized),
                    log: handles(log),
                }
            } else if self.spec.incremental {
                Keyed::Incremental {
                    backend: self.backends.get(subtask).map_or("none", String::as_str),
                    meta: private.remove(0),
                    shared: of(Place::Shared).flat_map(|f| self.handles(f, true)).collect(),
                    private,
                }
            } else {
                Keyed::Whole(private.remove(0))
            };
            Subtask {
                operator_state: None,
                merged: self.merged_paths(subtask),
                keyed,
            }
        });
        subtasks.collect()
    }

    fn bytes_of(&self, upload: &Upload) -> Vec<u8> {
        let own = format!("{}chk-{}/", self.directory, upload.id);
        Metadata {
            format: match self.spec.release {
                Release::UpTo114 => 3,
                Release::Of116 => 4,
                Release::From119 | Release::From119Sequential => 5,
            },
            checkpoint_id: i64::try_from(upload.id).unwrap_or(i64::MAX),
            operator: [self.spec.operators; 16],
            retained_on_cancel: self.spec.retained_on_cancel,
            subtasks: self.subtasks_of(upload),
            sinks: upload.sink_states.operators(self.spec, &own),
        }
        .bytes()
    }

    /// The ids of backends that a checkpoint tells: of whole ones and of a changelog it tells none.
    fn told_backends(&self) -> Vec<String> {
        if self.spec.incremental && self.spec.layout != Layout::Changelog {
            self.backends.clone()
        } else {
            Vec::new()
        }
    }

    /// What the HA store keeps of the checkpoint.
    fn pointer_to(&self, upload: &Upload, metadata_size: u64, completed: Millis) -> Vec<u8> {
        let directory = format!("{}chk-{}/", self.directory, upload.id);
        Pointer {
            checkpoint_id: upload.id,
            completed,
            job_directory: &self.directory,
            metadata_size,
            operator: [self.spec.operators; 16],
            subtasks: self.subtasks_of(upload),
            sinks: upload.sink_states.operators(self.spec, &directory),
            directory,
        }
        .bytes()
    }

    /// Completes the checkpoint under way: `_metadata` is written now, older ones are subsumed, and sinks commit.
    pub fn complete(&mut self, store: &mut Store, dice: &mut Dice) -> Completed {
        let mut completed = self.write_metadata(store, dice);
        if let Completed::Well(deletions) = &mut completed {
            let complete = self.retained.back().map_or(0, |c| c.id);
            let gone = sink::commit(&mut self.sinks, complete, store, Hand::Flink(self.number));
            deletions.extend(gone.into_iter().map(|key| (dice.between(20, 3_000), key)));
        }
        completed
    }

    fn write_metadata(&mut self, store: &mut Store, dice: &mut Dice) -> Completed {
        let Some(upload) = self.upload.take().filter(|_| self.runs()) else {
            return Completed::Nothing;
        };
        let metadata = format!("{}chk-{}/_metadata", self.directory, upload.id);
        let by = Hand::Flink(self.number);
        if let Some(there) = store.shown(&metadata) {
            let directory = metadata.trim_end_matches("_metadata");
            let all = store.visible(directory);
            return Completed::TargetExists {
                restored: there.restored.then(|| metadata.clone()),
                deletions: all.into_iter().map(|key| (20, key)).collect(),
            };
        }
        let bytes = self.bytes_of(&upload);
        let metadata_size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let etag = store.put_bytes(&metadata, bytes, by);
        let pointer = self.pointer_key(dice).map(|key| {
            let size = if self.spec.readable_pointers {
                let bytes = self.pointer_to(&upload, metadata_size, store.now());
                let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                store.put_bytes(&key, bytes, by);
                size
            } else {
                let size = store.fresh_size();
                store.put(&key, size, by);
                size
            };
            File {
                key,
                size,
                place: Place::Pointer,
                subtask: 0,
            }
        });
        let mut files = upload.files;
        files.extend(pointer);
        self.retained.push_back(Checkpoint {
            id: upload.id,
            metadata,
            etag,
            metadata_size,
            files,
            completed: store.now(),
            owned: true,
            backends: self.told_backends(),
            sinks: upload.sinks,
        });
        let mut deletions = Vec::new();
        while self.retained.len() > self.spec.retained.max(1) {
            if let Some(subsumed) = self.retained.pop_front() {
                deletions.extend(self.discard(&subsumed, Why::Subsumed, dice));
            }
        }
        Completed::Well(deletions)
    }

    /// The checkpoint under way is complete, but can't be kept: its own files go again at once.
    pub fn fail_to_store(
        &mut self,
        store: &mut Store,
        dice: &mut Dice,
    ) -> (Option<Checkpoint>, Vec<(Millis, String)>) {
        let before = self.retained.clone();
        let Completed::Well(_) = self.write_metadata(store, dice) else {
            return (None, Vec::new());
        };
        let Some(newest) = self.retained.back().cloned() else {
            return (None, Vec::new());
        };
        self.retained = before;
        let what = Discarded {
            metadata: Some(newest.metadata.clone()),
            private: newest
                .keys(Place::Private)
                .chain(newest.keys(Place::Pointer))
                .cloned()
                .collect(),
            shared: Vec::new(),
        };
        let mut order = cleanup::order(self.spec.release, Why::Subsumed, what, dice);
        for (at, _) in &mut order {
            *at = (*at).min(SECOND);
        }
        (Some(newest), order)
    }

    /// The checkpoint under way is aborted: its private files go, shared ones stay registered.
    pub fn abort(&mut self, dice: &mut Dice) -> Vec<(Millis, String)> {
        let Some(upload) = self.upload.take() else {
            return Vec::new();
        };
        let private = upload.files.iter().filter(|f| f.place == Place::Private);
        private.map(|f| (dice.between(10, 500), f.key.clone())).collect()
    }

    /// What goes with a checkpoint that is held no more. Shared files go that no retained checkpoint uses.
    pub(super) fn discard(&mut self, gone: &Checkpoint, why: Why, dice: &mut Dice) -> Vec<(Millis, String)> {
        let mut shared = Vec::new();
        let lowest = self.retained.front().map(|c| c.id);
        let unused: Vec<String> = self
            .registry
            .iter()
            .filter(|(_, r)| lowest.is_none_or(|lowest| r.last_used < lowest))
            .map(|(key, _)| key.clone())
            .collect();
        for key in unused {
            if self.registry.remove(&key).is_some_and(|r| r.deletable) {
                shared.push(key);
            }
        }
        let what = Discarded {
            metadata: gone.owned.then(|| gone.metadata.clone()),
            private: if gone.owned {
                gone.keys(Place::Private).cloned().collect()
            } else {
                Vec::new()
            },
            shared,
        };
        // The HA store forgets it before anything else is deleted.
        let mut order: Vec<(Millis, String)> =
            gone.keys(Place::Pointer).map(|key| (1, key.clone())).collect();
        order.extend(if self.spec.layout == Layout::Merged {
            cleanup::by_task_managers(why, what, dice)
        } else {
            cleanup::order(self.spec.release, why, what, dice)
        });
        order
    }
}
