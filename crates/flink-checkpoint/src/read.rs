//! From bytes to references and facts, without a tree.

use std::ops::ControlFlow;

use crate::complete::{Complete, Counts, Partial};
use crate::cursor::{Cursor, Trace};
use crate::error::{Damaged, ErrorKind, Halt, ParseError, Read};
use crate::field::Field;
use crate::grammar::{Around, Body, Layout, Place, Sink, StreamAt, Walk};
use crate::handle::{KeyedHead, OperatorHead, OperatorNo, OperatorStateHead, StreamHead, SubtaskHead};
use crate::java::{JavaStr, read_object};
use crate::limits::Limits;
use crate::looks_like::LooksLike;
use crate::properties::CheckpointProperties;
use crate::reference::{Extent, Part, Reference, Role, Target, reference};
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

    /// List and broadcast state of a subtask, and where its bytes lie.
    fn operator_state(&mut self, _at: &OperatorStateAt<'a>) {}

    /// State whose bytes lie in the file itself.
    fn inlined(&mut self, _state: &InlinedAt) {}

    /// An object or a directory is named. `Break` ends the reading.
    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()>;
}

/// List and broadcast state of a subtask, as a [`Visitor`] is told of it.
#[derive(Clone, Copy, Debug)]
pub struct OperatorStateAt<'a> {
    /// The operator.
    pub operator: OperatorNo,
    /// The subtask.
    pub subtask: Option<u32>,
    /// The names of its states and the positions of their elements.
    pub head: OperatorStateHead<'a>,
    /// Where the bytes lie.
    pub stream: StreamHead<'a>,
    /// At which byte of the file the handle of the bytes begins.
    pub at: usize,
}

/// State whose bytes lie in the file itself (tags 1 and 9), as a [`Visitor`] is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedAt {
    /// The operator.
    pub operator: OperatorNo,
    /// The subtask; `None` for state of a coordinator.
    pub subtask: Option<u32>,
    /// What it is for.
    pub role: Role,
    /// Its bytes; of an inlined changelog those of its changes.
    pub bytes: u64,
    /// At which byte of the file the handle begins.
    pub at: usize,
}

/// Tells `f` every object and directory that a `_metadata` file names, in the order of the file.
///
/// Nothing is allocated but for the properties at the end. A file of format 3 that holds records whose layout
/// changed without a new version (channel state, changelogs) is read silently first, up to four times, to find the
/// layout that fits: `f` is never told anything that depends on a guess.
///
/// # Errors
/// [`Damaged`]: the file could not be read to its end. `f` may have been called before; what it was told is
/// then a part only.
pub fn references(
    bytes: &[u8],
    limits: &Limits,
    f: &mut impl FnMut(&Reference<'_>) -> ControlFlow<()>,
) -> Result<Complete, Damaged> {
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
    Ok(whole(bytes, limits, (), &mut Visit::new(visitor))?.complete)
}

/// A file that was read, and how.
pub(crate) struct Whole {
    pub(crate) complete: Complete,
    pub(crate) layout: Layout,
    /// `None`: the sink stopped the reading.
    pub(crate) body: Option<Body>,
}

/// Reads a file to its end, or until the sink stops it.
pub(crate) fn whole<'a, S: Sink<'a>, T: Trace>(
    bytes: &'a [u8],
    limits: &Limits,
    mut trace: T,
    sink: &mut S,
) -> Result<Whole, Damaged> {
    let version = version(bytes)?;
    trace.field(Field::Magic, Span { start: 0, end: 4 });
    trace.field(
        Field::FormatVersion,
        Span {
            start: 4,
            end: HEADER,
        },
    );
    let Pass {
        ended,
        counts,
        checkpoint_id,
        layout,
    } = pass(
        Walk::new(Cursor::new(bytes, HEADER, trace), sink, version, limits),
        version,
        limits,
    );
    let (body, properties) = match ended {
        Ended::AtTheEnd(body, properties) => (Some(body), properties),
        Ended::Stopped => (None, None),
        Ended::Damaged(error) => {
            let again = Some((layout, limits.clone()));
            let format_version = Some(version.into());
            return Err(Damaged::new(
                error,
                Partial {
                    format_version,
                    checkpoint_id,
                    counts,
                    again,
                },
            ));
        }
    };
    let complete = Complete {
        format_version: version,
        checkpoint_id: checkpoint_id.unwrap_or_default(),
        bytes: bytes.len(),
        counts,
        properties,
        stopped_early: body.is_none(),
    };
    Ok(Whole {
        complete,
        layout,
        body,
    })
}

/// Reads magic number and version.
fn version(bytes: &[u8]) -> Result<u8, Damaged> {
    let damaged = |kind, at, reading, format_version| {
        let error = ParseError {
            kind,
            at,
            reading,
            context: None,
        };
        Err(Damaged::new(
            error,
            Partial {
                format_version,
                ..Partial::default()
            },
        ))
    };
    if !bytes.starts_with(&MAGIC) {
        return damaged(
            ErrorKind::NotMetadata(LooksLike::guess(bytes)),
            0,
            Field::Magic,
            None,
        );
    }
    let Some(&version) = bytes[MAGIC.len()..].first_chunk::<4>() else {
        let left = (bytes.len() - MAGIC.len()) as u64;
        return damaged(
            ErrorKind::EndOfFile { needed: 4, left },
            4,
            Field::FormatVersion,
            None,
        );
    };
    let version = i32::from_be_bytes(version);
    let kind = match u8::try_from(version) {
        Ok(version @ 2..=7) => return Ok(version),
        _ if version < 2 => ErrorKind::TooOld { version },
        _ => ErrorKind::TooNew { version },
    };
    damaged(kind, 4, Field::FormatVersion, Some(version))
}

/// How a pass over a file ended.
enum Ended {
    AtTheEnd(Body, Option<CheckpointProperties>),
    Stopped,
    Damaged(ParseError),
}

/// What came of one pass over a file.
struct Pass {
    ended: Ended,
    counts: Counts,
    checkpoint_id: Option<u64>,
    layout: Layout,
}

/// Reads body and properties, to the exact end of the file.
fn pass<'a, S: Sink<'a>, T: Trace>(mut walk: Walk<'_, 'a, S, T>, version: u8, limits: &Limits) -> Pass {
    let walked = walk.body().and_then(|body| {
        let properties = match version {
            4.. => Some(properties(&mut walk.cursor, limits)?),
            _ => None,
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
    let ended = match walked {
        Ok((body, properties)) => Ended::AtTheEnd(body, properties),
        Err(Halt::Stopped) => Ended::Stopped,
        Err(Halt::Fault(fault)) => Ended::Damaged(walk.explain(*fault)),
    };
    Pass {
        ended,
        counts: walk.counts,
        checkpoint_id: walk.checkpoint_id,
        layout: walk.layout,
    }
}

fn properties<T: Trace>(c: &mut Cursor<'_, T>, limits: &Limits) -> Read<CheckpointProperties> {
    let at = c.pos();
    let (graph, used) = read_object(c.rest(), limits.max_properties_values)
        .map_err(|error| Halt::fault(ErrorKind::Java(error), at, Field::Properties))?;
    c.take(used, Field::Properties)?;
    CheckpointProperties::from_graph(&graph)
        .map_err(|missing| Halt::fault(ErrorKind::NotProperties(missing), at, Field::Properties))
}

pub(crate) fn partial_references(
    bytes: &[u8],
    layout: Layout,
    limits: &Limits,
    f: &mut impl FnMut(&Reference<'_>) -> ControlFlow<()>,
) {
    let mut only_references = OnlyReferences(f);
    let mut sink = Visit::new(&mut only_references);
    let walk = Walk::with_layout(Cursor::new(bytes, HEADER, ()), &mut sink, layout, limits);
    // How it ends is known already.
    pass(walk, layout.version, limits);
}

struct OnlyReferences<'f, F>(&'f mut F);

impl<'a, F: FnMut(&Reference<'_>) -> ControlFlow<()>> Visitor<'a> for OnlyReferences<'_, F> {
    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
        (self.0)(reference)
    }
}

/// Turns records into what a [`Visitor`] wants to know.
pub(crate) struct Visit<'v, 'a, V> {
    visitor: &'v mut V,
    operators: u32,
    subtask: Option<u32>,
    /// State whose bytes come next.
    operator_state: Option<OperatorStateHead<'a>>,
}

impl<'v, 'a, V: Visitor<'a>> Visit<'v, 'a, V> {
    pub(crate) fn new(visitor: &'v mut V) -> Self {
        Visit {
            visitor,
            operators: 0,
            subtask: None,
            operator_state: None,
        }
    }

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

impl<'a, V: Visitor<'a>> Sink<'a> for Visit<'_, 'a, V> {
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
        self.operator_state = Some(*head);
        Ok(())
    }

    fn keyed(&mut self, at: usize, _: Place, around: &Around, head: &KeyedHead<'a>) {
        match head {
            KeyedHead::Incremental { backend_id, .. } => self.visitor.keyed_backend(self.no(), *backend_id),
            KeyedHead::ChangelogInline(log) => self.visitor.inlined(&InlinedAt {
                operator: self.no(),
                subtask: self.subtask,
                role: around.role,
                // Key group and length precede each change.
                bytes: log.changes.len().saturating_sub(8 * log.change_count) as u64,
                at,
            }),
            KeyedHead::KeyGroups { .. } | KeyedHead::Changelog { .. } | KeyedHead::ChangelogFiles { .. } => {}
        }
    }

    #[inline]
    fn stream(&mut self, at: StreamAt, _: Place, around: &Around, head: &StreamHead<'a>) -> Read<()> {
        if self.operator_state.is_some()
            && let Some(state) = self.operator_state.take()
        {
            self.visitor.operator_state(&OperatorStateAt {
                operator: self.no(),
                subtask: self.subtask,
                head: state,
                stream: *head,
                at: at.tag,
            });
        }
        if let StreamHead::Inline { bytes, .. } = head {
            self.visitor.inlined(&InlinedAt {
                operator: self.no(),
                subtask: self.subtask,
                role: around.role,
                bytes: bytes.len() as u64,
                at: at.tag,
            });
        }
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
        let role = Role { part, ..around.role };
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
