//! Java's own encodings: modified UTF-8 and object serialization.

mod class;
mod error;
mod object;
mod reader;
mod text;

pub use error::{JavaError, JavaErrorKind};
pub use object::{Class, Graph, Node, NodeId, Value};
pub use reader::read_object;
pub use text::JavaStr;
