//! In which order Flink deletes a checkpoint, by release (flink-format.md 3.4, and the recordings of real releases).

use crate::clock::Millis;
use crate::dice::Dice;
use crate::scenario::Release;

/// Why a checkpoint goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// Newer ones are complete.
    Subsumed,
    /// The job ended.
    Ended,
}

/// What goes, as keys.
pub(crate) struct Discarded {
    pub(crate) metadata: Option<String>,
    pub(crate) private: Vec<String>,
    pub(crate) shared: Vec<String>,
}

/// When each key is deleted, counted from now.
pub(crate) fn order(
    release: Release,
    why: Why,
    mut what: Discarded,
    dice: &mut Dice,
) -> Vec<(Millis, String)> {
    // The pool is shared with everything that the JobManager does: normally well below a second, with throttling minutes.
    let pause = if dice.per_mille(80) {
        dice.between(2_000, 40_000)
    } else {
        dice.between(5, 60)
    };
    dice.shuffle(&mut what.private);
    dice.shuffle(&mut what.shared);
    let Discarded {
        metadata,
        private,
        shared,
    } = what;
    // On cancel `_metadata` goes first in all releases that were watched.
    let metadata_first = why == Why::Ended || release != Release::From119;
    let mut keys: Vec<String> = Vec::new();
    match release {
        Release::UpTo114 => {
            keys.extend(metadata);
            keys.extend(private);
            keys.extend(shared);
        }
        Release::Of116 | Release::From119Sequential => {
            // The registry schedules its deletes first; several threads work on them.
            let ahead = if shared.is_empty() || dice.per_mille(700) {
                0
            } else {
                dice.place(shared.len() + 1)
            };
            let mut shared = shared.into_iter();
            keys.extend(shared.by_ref().take(ahead));
            keys.extend(metadata);
            keys.extend(private);
            keys.extend(shared);
        }
        Release::From119 if metadata_first => {
            keys.extend(metadata);
            let mut rest: Vec<String> = private.into_iter().chain(shared).collect();
            dice.shuffle(&mut rest);
            keys.extend(rest);
        }
        Release::From119 => {
            let mut rest: Vec<String> = private.into_iter().chain(shared).collect();
            dice.shuffle(&mut rest);
            // In 35 of 36 `_metadata` was last.
            let after = if dice.per_mille(28) { rest.pop() } else { None };
            keys.extend(rest);
            keys.extend(metadata);
            keys.extend(after);
        }
    }
    let mut at = dice.between(1, 200);
    keys.into_iter()
        .map(|key| {
            at += dice.between(pause / 2, pause + pause / 2);
            (at, key)
        })
        .collect()
}

/// When each key is deleted with file merging: the JobManager deletes `_metadata` alone, and TaskManagers the merged files once they are told; at the job's
/// end their whole directories go.
pub(crate) fn by_task_managers(why: Why, what: Discarded, dice: &mut Dice) -> Vec<(Millis, String)> {
    let mut order: Vec<(Millis, String)> = what
        .metadata
        .into_iter()
        .map(|key| (dice.between(5, 300), key))
        .collect();
    let told = match why {
        Why::Subsumed => dice.between(300, 10_000),
        Why::Ended => dice.between(20, 500),
    };
    let mut files: Vec<String> = what.private.into_iter().chain(what.shared).collect();
    dice.shuffle(&mut files);
    let mut at = told;
    for key in files {
        at += dice.between(5, 60);
        order.push((at, key));
    }
    order
}
