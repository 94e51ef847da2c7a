//! Tails of sinks: whose deletion is nothing, and what proves that one is needed.

use super::reader::{self, OperatorState, Stream};
use super::sink_reader::tail_at;
use super::{Need, Oracle, Scene, ToldAs};
use crate::actors::Place;
use crate::function::Proof;
use crate::store::{BUCKET, Hiding};

impl Oracle<'_> {
    /// A sink deletes the tails that an older checkpoint or a savepoint names, at each checkpoint. Where messages say that it was the sink, or nobody
    /// known, or where none came, nobody can tell a person's hand from that.
    pub(super) fn passes_for_the_sink_itself(&self, need: &Need<'_>, key: &str, hiding: &Hiding) -> bool {
        let is_tail = |place| place == Place::Tail;
        let of_key = need.snapshot.files.iter().find(|f| f.key == key);
        if !of_key.is_some_and(|f| is_tail(f.place)) {
            return false;
        }
        let heard = self.ledger.heard_at(hiding.event).is_some() && self.world.journal;
        match self.told_as(hiding) {
            ToldAs::Rule => false,
            ToldAs::Flink | ToldAs::Nobody => true,
            ToldAs::Foreign => !heard,
        }
    }

    /// Whether the state at this byte of a `_metadata` says that a sink has a file open with this tail.
    pub(super) fn sink_names(
        scene: &Scene<'_>,
        metadata: &[u8],
        own: &str,
        proof: &Proof,
        tail: &str,
    ) -> bool {
        let is_meant = |state: &&OperatorState| {
            state.stream_at == proof.at_byte
                && state.operator == proof.operator
                && state.subtask == proof.subtask
        };
        let states = reader::operator_states(metadata);
        let Some(state) = states.iter().find(is_meant) else {
            return false;
        };
        // Somebody may have written over it since it was read.
        let as_it_ever_was = match &state.stream {
            Stream::Inlined(bytes) => vec![bytes.clone()],
            Stream::In(named) => scene.store.bytes_of_all(&named.key(BUCKET, own)),
        };
        as_it_ever_was.iter().any(|bytes| {
            let mut offsets = state.elements_of("writer_raw_states");
            offsets.any(|at| tail_at(bytes, at).as_deref() == Some(tail))
        })
    }
}
