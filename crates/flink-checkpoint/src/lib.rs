//! Reads every on-disk format of Apache Flink® that names files.
//!
//! Bytes in, values out: no I/O, no clock, no async. No input makes it panic, and nothing is allocated from a
//! length that the input only claims.
//!
//! [`references`] is the fast path: which objects does this `_metadata` file need? [`facts`] adds what a
//! catalogue needs to know, [`visit`] is the general form. [`Index`] gives the whole tree, [`fields`] the place
//! of each field.
//!
//! ```
//! use flink_checkpoint::{Limits, references};
//! use std::ops::ControlFlow;
//!
//! # let bytes = [0x49, 0x60, 0x67, 0x2d, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
//! let complete = references(&bytes, &Limits::default(), &mut |reference| {
//!     println!("{} needs {}", reference.role, reference.target.path());
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(complete.checkpoint_id, 1);
//! # Ok::<(), flink_checkpoint::Damaged>(())
//! ```

#![warn(missing_docs)]

mod complete;
mod cursor;
mod error;
mod facts;
mod field;
mod grammar;
pub mod ha;
mod handle;
mod index;
pub mod java;
mod limits;
mod looks_like;
mod properties;
mod read;
mod reference;
pub mod sinks;
mod snapshot;
mod span;

pub use complete::{Complete, Counts, Partial};
pub use error::{Context, Damaged, ErrorKind, ParseError};
pub use facts::{Facts, facts};
pub use field::Field;
pub use handle::{
    Change, ChangelogInline, Channel, ChannelHead, DistributionMode, KeyGroups, KeyedHead, KeyedTail,
    MasterState, MergedChannels, MergedDirectories, NamedState, Offsets, OperatorHead, OperatorId,
    OperatorNo, OperatorStateHead, Scope, StreamHead, SubtaskHead,
};
pub use index::{Index, WrongBytes, fields};
pub use java::JavaStr;
pub use limits::Limits;
pub use looks_like::LooksLike;
pub use properties::{
    CheckpointProperties, PostCheckpointAction, SavepointFormat, SharingFiles, SnapshotType,
};
pub use read::{InlinedAt, OperatorStateAt, Visitor, references, visit};
pub use reference::{Extent, Part, Reference, Role, StateKind, Target};
pub use snapshot::{ChannelState, Keyed, Operator, OperatorState, Snapshot, Stream, Subtask};
pub use span::Span;
