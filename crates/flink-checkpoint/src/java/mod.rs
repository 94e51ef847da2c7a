//! Java's own encodings: modified UTF-8 and object serialization.

mod object;
mod reader;
mod text;

pub use object::{Class, Graph, Node, NodeId, Value};
pub use reader::{JavaError, JavaErrorKind, read_object};
pub use text::JavaStr;
