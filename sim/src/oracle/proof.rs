//! Whether a restore has a proof that a second reader can check: the `_metadata` that is named, as it was read then, names the object at the byte and by the
//! operator that the record says.

use super::reader;
use super::{Oracle, PROVEN, Scene, Violation};
use crate::actors::{Checkpoint, LOG, is_tail_key};
use crate::function::{Called, Said};
use crate::store::BUCKET;

impl Oracle<'_> {
    /// What is wrong with the proof of a restore.
    pub(super) fn look_at_proof(
        &mut self,
        scene: &Scene<'_>,
        called: &Called,
        said: &Said,
    ) -> Option<Violation> {
        // What nobody can read is no proof, and needs none: lifecycle and strangers are undone beside it.
        let why = match (&said.about, &said.class) {
            (None, None) => return None,
            (Some(about), None) => self.why_not_beside(said, about)?,
            (None, Some(_)) => "for nobody".to_owned(),
            // A `_metadata` is what it is by its place.
            (Some(about), Some(_)) if *about == said.key => return None,
            (Some(about), Some(_)) => self.why_no_proof(scene, called, said, about)?,
        };
        let what = format!("{} was restored {why}", said.key);
        Some(self.violation(scene, PROVEN, what))
    }

    /// Without a proof what lies in the directory of the job whose snapshot can't be read comes back, its changelog's log, and what that names; and what may be some sink's tail: its
    /// key tells no job, so any snapshot that can't be read may be the one that names it, and the record names the first of these.
    fn why_not_beside(&self, said: &Said, about: &str) -> Option<String> {
        let end = about.rfind("/chk-").or(about.rfind('/')).map_or(0, |end| end + 1);
        let names = |c: &Checkpoint| c.metadata == about && c.needs(&said.key);
        let id = about[..end].trim_end_matches('/').rsplit('/').next();
        let in_log = || {
            let below = said.key.strip_prefix(LOG);
            below.and_then(|below| below.split('/').next()) == id
        };
        let beside = said.key.contains(&about[..end])
            || is_tail_key(&said.key)
            || in_log()
            || self.ledger.all().any(names);
        (!beside).then(|| format!("for want of reading {about}, which lies elsewhere"))
    }

    fn why_no_proof(
        &mut self,
        scene: &Scene<'_>,
        called: &Called,
        said: &Said,
        about: &str,
    ) -> Option<String> {
        let Some(proof) = &said.proof else {
            // ForSt writes into its live database what the next checkpoint names; it belongs to whoever runs in that directory.
            let job = about.rfind("/chk-").map_or("", |end| &about[..=end]);
            let live = said
                .key
                .find("/shared/op_")
                .is_some_and(|_| said.key.contains("/db/"));
            if live && !job.is_empty() && said.key.contains(job) {
                return None;
            }
            // Where it couldn't be read once more, or since then somebody has written over it or a rule archived it or took its last version, the record names the
            // snapshot alone.
            let names =
                |c: &Checkpoint| c.metadata == about && (c.needs(&said.key) || c.merges_beside(&said.key));
            let out_of_reach = scene.store.is_out_of_reach(about);
            let is_gone = scene.store.newest_bytes(about).is_none();
            let excused = called.disturbed
                || scene.hindered
                || out_of_reach
                || is_gone
                || scene.store.was_spoilt(about);
            if excused && self.ledger.all().any(names) {
                return None;
            }
            return Some(format!("for {about}, and no handle of it is said to name it"));
        };
        let Some(bytes) = scene.store.bytes_of(about, &proof.etag) else {
            return Some(format!(
                "for {about} with the ETag {:?}, which no version has",
                proof.etag
            ));
        };
        let own = about.trim_end_matches("_metadata");
        if Self::sink_names(scene, &bytes, own, proof, &said.key) {
            self.ledger.proofs += 1;
            self.ledger.tails += 1;
            return None;
        }
        let named = reader::read(&bytes);
        let handle = named.iter().find(|n| n.at == proof.at_byte);
        let says = handle.is_some_and(|n| {
            let key = n.key(BUCKET, own);
            let names = if n.directory {
                // What lies below it has a random prefix where the path has the marker.
                let plain = key.strip_prefix("_entropy_/").unwrap_or(&key);
                let below = said.key.split_once('/').map(|(_, below)| below);
                said.key.starts_with(plain) || below.is_some_and(|below| below.starts_with(plain))
            } else {
                key == said.key
            };
            names && n.operator == proof.operator && n.subtask == proof.subtask
        });
        self.ledger.proofs += u64::from(says);
        (!says).then(|| format!("for {about}, where byte {} says {handle:?}", proof.at_byte))
    }
}
