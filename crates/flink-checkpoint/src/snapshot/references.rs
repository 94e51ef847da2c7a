//! The references of a snapshot, from its tree: the same ones as in the fast pass.

use crate::grammar::{Around, Place, StreamAt};
use crate::handle::{OperatorNo, StreamHead};
use crate::read::directories;
use crate::reference::{Reference, reference};

use super::{Keyed, Snapshot, Stream, Subtask};

impl<'a> Snapshot<'a> {
    /// Tells `f` every reference, in the order of the file: the same ones as [`crate::references`].
    pub fn references(self, mut f: impl FnMut(&Reference<'a>)) {
        for operator in self.operators() {
            for subtask in operator.subtasks() {
                subtask.tell(operator.no, &mut f);
            }
        }
    }
}

impl<'a> Subtask<'a> {
    fn tell(self, operator: OperatorNo, f: &mut impl FnMut(&Reference<'a>)) {
        let mut tell = Tell {
            operator,
            subtask: Some(self.head.index),
            f,
        };
        for (state, place) in [
            (self.managed_operator(), Place::ManagedOperator),
            (self.raw_operator(), Place::RawOperator),
        ] {
            if let Some(state) = state {
                let around = Around::of(place);
                directories(&state.head, &around, operator, tell.subtask)
                    .iter()
                    .flatten()
                    .for_each(|reference| (tell.f)(reference));
                tell.stream(state.delegate(), around);
            }
        }
        for (state, place) in [
            (self.managed_keyed(), Place::ManagedKeyed),
            (self.raw_keyed(), Place::RawKeyed),
        ] {
            if let Some(state) = state {
                tell.keyed(state, Around::of(place));
            }
        }
        for channel in self.input_channels() {
            tell.stream(channel.delegate(), Around::of(Place::InputChannel));
        }
        for channel in self.result_subpartitions() {
            tell.stream(channel.delegate(), Around::of(Place::OutputChannel));
        }
    }
}

/// Tells the references of one subtask from the tree.
struct Tell<'f, F> {
    operator: OperatorNo,
    subtask: Option<u32>,
    f: &'f mut F,
}

impl<'a, F: FnMut(&Reference<'a>)> Tell<'_, F> {
    fn keyed(&mut self, state: Keyed<'a>, around: Around) {
        let around = around.keyed(&state.head);
        self.stream(state.delegate(), around);
        self.stream(state.meta(), around.child(Place::Meta));
        for (place, files) in [
            (Place::Shared, state.streams(Place::Shared)),
            (Place::Private, state.streams(Place::Private)),
        ] {
            for file in files {
                self.stream(Some(file), around.child(place));
            }
        }
        for handle in state.materialized() {
            self.keyed(handle, around.child(Place::Materialized));
        }
        for handle in state.non_materialized() {
            self.keyed(handle, around.child(Place::NonMaterialized));
        }
        for file in state.changelog_files() {
            self.stream(Some(file), around.child(Place::ChangelogFile));
        }
    }

    fn stream(&mut self, stream: Option<Stream<'a>>, around: Around) {
        let Some(stream) = stream else { return };
        if let StreamHead::KeyGroups { groups, .. } = stream.head {
            return self.stream(stream.delegate(), around.stream_key_groups(groups));
        }
        let at = StreamAt {
            entry: stream.span.start,
            tag: stream.span.start,
            end: stream.span.end,
        };
        if let Some(reference) = reference(&stream.head, &around, at, self.operator, self.subtask) {
            (self.f)(&reference);
        }
    }
}
