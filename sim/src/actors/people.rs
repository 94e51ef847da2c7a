//! People and scripts: what a careless hand reaches, as keys.

use super::{Checkpoint, Job, OUTPUT, Place};
use crate::dice::Dice;
use crate::scenario::Target;
use crate::store::Store;

/// A savepoint and whether its owner still wants it.
pub struct Savepoint {
    /// What it is made of.
    pub snapshot: Checkpoint,
    /// Whether the owner could come back to it.
    pub wanted: bool,
}

/// The keys that are meant: those that are visible, unless somebody goes by a list.
pub fn aimed_at(
    target: Target,
    jobs: &[Job],
    savepoints: &[Savepoint],
    store: &Store,
    dice: &mut Dice,
) -> Vec<String> {
    let job = |n: usize| jobs.get(n % jobs.len().max(1));
    let newest = |n: usize| job(n).and_then(|j| j.checkpoints().last());
    let savepoint = |n: usize| savepoints.get(n % savepoints.len().max(1));
    let mut one_of = |c: Option<&Checkpoint>, place: Place| -> Vec<String> {
        let files: Vec<&String> = c
            .iter()
            .flat_map(|c| &c.files)
            .filter(|f| f.place == place)
            .map(|f| &f.key)
            .collect();
        dice.pick(&files).map(|k| (*k).clone()).into_iter().collect()
    };
    let mut keys = match target {
        Target::SharedOfNewest { job } => one_of(newest(job), Place::Shared),
        Target::PrivateOfNewest { job } => one_of(newest(job), Place::Private),
        Target::OfSavepoint { savepoint: n } => one_of(savepoint(n).map(|s| &s.snapshot), Place::Private),
        Target::MetadataOfNewest { job } => newest(job).map(|c| c.metadata.clone()).into_iter().collect(),
        Target::DirectoryOfNewest { job } => {
            newest(job).map_or_else(Vec::new, |c| store.visible(c.directory()))
        }
        Target::Shared { job: n } => {
            job(n).map_or_else(Vec::new, |j| store.visible(&format!("{}shared/", j.directory)))
        }
        Target::Job { job: n } => job(n).map_or_else(Vec::new, |j| store.visible(&j.directory)),
        Target::Savepoint { savepoint: n } => {
            savepoint(n).map_or_else(Vec::new, |s| store.visible(s.snapshot.directory()))
        }
        Target::Listed { job } => {
            let files = newest(job).map_or(&[][..], |c| &c.files);
            let shared = files.iter().filter(|f| f.place == Place::Shared);
            return shared.map(|f| f.key.clone()).collect();
        }
        Target::HiddenOfNewest { job } => {
            let named = newest(job).into_iter().flat_map(|c| &c.files);
            let keys = named.map(|f| &f.key).chain(newest(job).map(|c| &c.metadata));
            return keys.filter(|k| !store.is_visible(k)).cloned().collect();
        }
        Target::Pointer { job } => one_of(newest(job), Place::Pointer),
        Target::Tail { job } => one_of(newest(job), Place::Tail),
        Target::TailOfSavepoint { savepoint: n } => one_of(savepoint(n).map(|s| &s.snapshot), Place::Tail),
        Target::Output => store.visible(OUTPUT),
        Target::Any => {
            let all = store.visible("");
            dice.pick(&all).cloned().into_iter().collect()
        }
    };
    keys.retain(|k| store.is_visible(k));
    keys
}
