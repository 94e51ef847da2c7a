//! A walk that asks for everything in a tree of a `_metadata`.

use flink_checkpoint::{Keyed, OperatorState, Snapshot, Span, Stream};

/// Asks for every value of a tree, checks that each record lies within the one around it, and counts records.
///
/// # Panics
/// A record lies outside of the one around it, or operators overlap.
pub fn touch(snapshot: Snapshot<'_>) -> usize {
    let whole = Span {
        start: 8,
        end: snapshot.bytes().len(),
    };
    let mut n = snapshot
        .master_states()
        .map(|state| state.name.to_string().len())
        .sum();
    let mut before = whole.start;
    for operator in snapshot.operators() {
        inside(operator.span, whole);
        assert!(operator.span.start >= before, "operators overlap");
        before = operator.span.end;
        n += 1 + operator.head.name.map_or(0, |name| name.to_string().len());
        if let Some(stream) = operator.coordinator() {
            n += touch_stream(stream, operator.span);
        }
        for subtask in operator.subtasks() {
            inside(subtask.span, operator.span);
            n += 1;
            for state in [subtask.managed_operator(), subtask.raw_operator()]
                .into_iter()
                .flatten()
            {
                n += touch_operator_state(state, subtask.span);
            }
            for state in [subtask.managed_keyed(), subtask.raw_keyed()]
                .into_iter()
                .flatten()
            {
                n += touch_keyed(state, subtask.span);
            }
            for state in subtask.input_channels().chain(subtask.result_subpartitions()) {
                inside(state.span, subtask.span);
                n += 1 + state
                    .channels()
                    .map(|channel| channel.offsets.len())
                    .sum::<usize>();
                n += state
                    .delegate()
                    .map_or(0, |stream| touch_stream(stream, state.span));
            }
        }
    }
    n
}

fn inside(inner: Span, outer: Span) {
    assert!(
        outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end,
        "{inner:?} isn't inside {outer:?}"
    );
}

fn touch_operator_state(state: OperatorState<'_>, outer: Span) -> usize {
    inside(state.span, outer);
    let states = state
        .states()
        .map(|s| s.name.to_string().len() + s.offsets.len())
        .sum::<usize>();
    assert_eq!(state.states().count(), state.head.state_count);
    1 + states
        + state
            .delegate()
            .map_or(0, |stream| touch_stream(stream, state.span))
}

fn touch_keyed(state: Keyed<'_>, outer: Span) -> usize {
    inside(state.span, outer);
    let streams = state
        .delegate()
        .into_iter()
        .chain(state.meta())
        .chain(state.shared())
        .chain(state.private());
    let mut n: usize = streams
        .chain(state.changelog_files())
        .map(|stream| touch_stream(stream, state.span))
        .sum();
    for inner in state.materialized().chain(state.non_materialized()) {
        n += touch_keyed(inner, state.span);
    }
    1 + n + state.changes().map(|change| change.bytes.len()).sum::<usize>()
}

fn touch_stream(stream: Stream<'_>, outer: Span) -> usize {
    inside(stream.span, outer);
    let local = stream.local_path.map_or(0, |path| path.to_string().len());
    1 + local
        + stream
            .delegate()
            .map_or(0, |inner| touch_stream(inner, stream.span))
}
