//! From bytes to references and facts, without a tree.

use std::ops::ControlFlow;

use crate::complete::{Complete, Partial};
use crate::cursor::{Cursor, Trace};
use crate::error::{Damaged, ErrorKind, Halt, ParseError, Read};
use crate::field::Field;
use crate::grammar::{Around, Body, Layout, Place, Sink, StreamAt, Walk};
use crate::handle::{KeyedHead, OperatorHead, OperatorNo, OperatorStateHead, StreamHead, SubtaskHead};
use crate::java::{JavaStr, read_object};
use crate::limits::Limits;
use crate::looks_like::LooksLike;
use crate::properties::CheckpointProperties;
use crate::reference::{Extent, Part, Reference, Target, reference};
use crate::span::Span;

const MAGIC: [u8; 4] = [0x49, 0x60, 0x67, 0x2D];
/// Length of magic number and version.
const HEADER: usize = 8;

/// Is told what a file holds while it is read, in the order of the file. If the reading fails, what was told
/// before is only a part.
pub trait Visitor<'a> {
    /// An operator begins.
    fn operator(&mut self, _no: OperatorNo, _operator: &OperatorHead<'a>) {}

    /// A keyed backend (of tags 5 and 11), by its id. Comes once for each handle, so ids repeat.
    fn keyed_backend(&mut self, _operator: OperatorNo, _id: JavaStr<'a>) {}

    /// An object or a directory is named. `Break` ends the reading.
    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()>;
}

/// Tells `f` every object and directory that a `_metadata` file names, in the order of the file.
///
/// Nothing is allocated. Format 3 is read twice when it holds records whose layout changed without a new
/// version: `f` is called only when the layout is known.
///
/// # Errors
/// [`Damaged`]: the file could not be read to its end. `f` may have been called before; what it was told is
/// then a part only.
pub fn references(
    bytes: &[u8],
    limits: &Limits,
    f: &mut impl FnMut(&Reference<'_>) -> ControlFlow<()>,
) -> Result<Complete, Damaged> {
    struct OnlyReferences<'f, F>(&'f mut F);
    impl<'a, F: FnMut(&Reference<'_>) -> ControlFlow<()>> Visitor<'a> for OnlyReferences<'_, F> {
        fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
            (self.0)(reference)
        }
    }
    visit(bytes, limits, &mut OnlyReferences(f))
}

/// As [`references`], and tells of operators and keyed backends too.
///
/// # Errors
/// As [`references`].
pub fn visit<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    visitor: &mut impl Visitor<'a>,
) -> Result<Complete, Damaged> {
    let version = version(bytes)?;
    let (layout, outcome) = decide(bytes, version, limits, |layout| {
        let mut sink = Visit {
            visitor: &mut *visitor,
            operators: 0,
            subtask: None,
        };
        pass(bytes, layout, limits, (), &mut sink)
    });
    let Pass {
        walked,
        counts,
        checkpoint_id,
    } = outcome;
    let (properties, stopped_early) = match walked {
        Ok((_, properties)) => (properties, false),
        Err(Ended::Stopped) => (None, true),
        Err(Ended::Damaged(error)) => {
            let partial = Partial {
                format_version: Some(version.into()),
                checkpoint_id,
                counts,
                again: Some((layout, limits.clone())),
            };
            return Err(Damaged { error, partial });
        }
    };
    Ok(Complete {
        format_version: version,
        checkpoint_id: checkpoint_id.unwrap_or_default(),
        bytes: bytes.len(),
        counts,
        properties,
        stopped_early,
    })
}

/// Reads magic number and version.
pub(crate) fn version(bytes: &[u8]) -> Result<u8, Damaged> {
    let damaged = |kind, at, reading, format_version| Damaged {
        error: ParseError {
            kind,
            at,
            reading,
            context: None,
        },
        partial: Partial {
            format_version,
            ..Partial::default()
        },
    };
    if !bytes.starts_with(&MAGIC) {
        return Err(damaged(
            ErrorKind::NotMetadata(LooksLike::guess(bytes)),
            0,
            Field::Magic,
            None,
        ));
    }
    let Some(&version) = bytes.get(4..).and_then(|rest| rest.first_chunk::<4>()) else {
        let kind = ErrorKind::EndOfFile {
            needed: 4,
            left: bytes.len() as u64 - 4,
        };
        return Err(damaged(kind, 4, Field::FormatVersion, None));
    };
    match i32::from_be_bytes(version) {
        version @ ..=1 => Err(damaged(
            ErrorKind::TooOld { version },
            4,
            Field::FormatVersion,
            Some(version),
        )),
        version @ 2..=7 => Ok(version.unsigned_abs() as u8),
        version => Err(damaged(
            ErrorKind::TooNew { version },
            4,
            Field::FormatVersion,
            Some(version),
        )),
    }
}

/// Why a pass ended before the end of the file.
pub(crate) enum Ended {
    Damaged(ParseError),
    Stopped,
}

/// What came of one pass over the file.
pub(crate) struct Pass {
    pub(crate) walked: Result<(Body, Option<CheckpointProperties>), Ended>,
    pub(crate) counts: crate::complete::Counts,
    pub(crate) checkpoint_id: Option<u64>,
}

/// Reads header, body and properties with one layout, to the exact end of the file.
pub(crate) fn pass<'a, S: Sink<'a>, T: Trace>(
    bytes: &'a [u8],
    layout: Layout,
    limits: &Limits,
    trace: T,
    sink: &mut S,
) -> Pass {
    pass_and_look(bytes, layout, limits, trace, sink).0
}

fn pass_and_look<'a, S: Sink<'a>, T: Trace>(
    bytes: &'a [u8],
    layout: Layout,
    limits: &Limits,
    trace: T,
    sink: &mut S,
) -> (Pass, bool) {
    let mut walk = Walk::new(Cursor::new(bytes, HEADER, trace), sink, layout, limits);
    let walked = walk.body().and_then(|body| {
        let properties = if layout.version >= 4 {
            Some(properties(&mut walk.cursor, limits)?)
        } else {
            None
        };
        match walk.cursor.left() {
            0 => Ok((body, properties)),
            count => Err(Halt::fault(
                ErrorKind::TrailingBytes { count },
                walk.cursor.pos(),
                Field::End,
            )),
        }
    });
    let walked = walked.map_err(|halt| match halt {
        Halt::Stopped => Ended::Stopped,
        Halt::Fault(fault) => Ended::Damaged(walk.explain(*fault)),
    });
    (
        Pass {
            walked,
            counts: walk.counts,
            checkpoint_id: walk.checkpoint_id,
        },
        walk.ambiguous,
    )
}

fn properties<T: Trace>(c: &mut Cursor<'_, T>, limits: &Limits) -> Read<CheckpointProperties> {
    let at = c.pos();
    let (graph, used) = read_object(c.rest(), limits.max_properties_values)
        .map_err(|error| Halt::fault(ErrorKind::Java(error), at, Field::Properties))?;
    c.take(used, Field::Properties)?;
    CheckpointProperties::from_graph(&graph)
        .map_err(|missing| Halt::fault(ErrorKind::NotProperties(missing), at, Field::Properties))
}

/// Finds the layout and runs `go` with it. A version with one layout is run at once; format 3 is first read
/// silently, newest layout first, and the first that fits to the end is taken; if none does, the one that got
/// farthest, so that the error is the most telling one.
pub(crate) fn decide<R>(
    bytes: &[u8],
    version: u8,
    limits: &Limits,
    go: impl FnOnce(Layout) -> R,
) -> (Layout, R) {
    let mut candidates = Layout::candidates(version).take(usize::from(limits.layout_attempts.max(1)));
    let newest = Layout {
        version,
        channel_subtask: true,
        changelog_ids: true,
    };
    let mut best = (newest, 0);
    if version == 3 {
        for layout in &mut candidates {
            let (pass, ambiguous) = pass_and_look(bytes, layout, limits, (), &mut ());
            let got = match pass.walked {
                Err(Ended::Damaged(error)) => error.at,
                Ok(_) | Err(Ended::Stopped) => usize::MAX,
            };
            if got > best.1 {
                best = (layout, got);
            }
            // Where nothing depends on the layout, the others can't do better.
            if got == usize::MAX || !ambiguous {
                break;
            }
        }
    }
    (best.0, go(best.0))
}

pub(crate) fn partial_references(
    bytes: &[u8],
    layout: Layout,
    limits: &Limits,
    f: &mut impl FnMut(&Reference<'_>) -> ControlFlow<()>,
) {
    struct Plain<'f, F>(&'f mut F);
    impl<'a, F: FnMut(&Reference<'_>) -> ControlFlow<()>> Visitor<'a> for Plain<'_, F> {
        fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
            (self.0)(reference)
        }
    }
    let mut plain = Plain(f);
    let mut sink = Visit {
        visitor: &mut plain,
        operators: 0,
        subtask: None,
    };
    // How it ends is known already.
    let _ = pass(bytes, layout, limits, (), &mut sink);
}

/// Turns records into what a [`Visitor`] wants to know.
struct Visit<'v, V> {
    visitor: &'v mut V,
    operators: u32,
    subtask: Option<u32>,
}

impl<'a, V: Visitor<'a>> Visit<'_, V> {
    fn no(&self) -> OperatorNo {
        OperatorNo(self.operators.saturating_sub(1))
    }

    fn tell(&mut self, reference: &Reference<'a>) -> Read<()> {
        match self.visitor.reference(reference) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }
}

impl<'a, V: Visitor<'a>> Sink<'a> for Visit<'_, V> {
    fn operator(&mut self, _: usize, head: &OperatorHead<'a>) {
        self.operators += 1;
        self.subtask = None;
        self.visitor.operator(self.no(), head);
    }

    fn subtask(&mut self, _: usize, head: &SubtaskHead) {
        self.subtask = Some(head.index);
    }

    fn operator_state(
        &mut self,
        _: usize,
        _: Place,
        around: &Around,
        head: &OperatorStateHead<'a>,
    ) -> Read<()> {
        for reference in directories(head, around, self.no(), self.subtask)
            .into_iter()
            .flatten()
        {
            self.tell(&reference)?;
        }
        Ok(())
    }

    fn keyed(&mut self, _: usize, _: Place, head: &KeyedHead<'a>) {
        if let KeyedHead::Incremental { backend_id, .. } = *head {
            self.visitor.keyed_backend(self.no(), backend_id);
        }
    }

    #[inline]
    fn stream(&mut self, at: StreamAt, _: Place, around: &Around, head: &StreamHead<'a>) -> Read<()> {
        match reference(head, around, at, self.no(), self.subtask) {
            Some(reference) => self.tell(&reference),
            None => Ok(()),
        }
    }
}

/// The two directories of tag 17.
pub(crate) fn directories<'a>(
    head: &OperatorStateHead<'a>,
    around: &Around,
    operator: OperatorNo,
    subtask: Option<u32>,
) -> Option<[Reference<'a>; 2]> {
    let merged = head.merged?;
    let reference = |path: JavaStr<'a>, span: Span, part: Part| {
        let role = crate::reference::Role { part, ..around.role };
        let target = Target::Directory(path);
        Reference {
            target,
            extent: Extent::Unknown,
            role,
            operator,
            subtask,
            key_groups: None,
            span,
        }
    };
    Some([
        reference(merged.task_owned, merged.task_owned_span, Part::TaskOwnedDir),
        reference(merged.shared, merged.shared_span, Part::SharedDir),
    ])
}
