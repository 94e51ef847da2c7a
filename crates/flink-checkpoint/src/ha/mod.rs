//! What Flink's high availability keeps outside `_metadata`: entries in ZooKeeper or Kubernetes, and the objects that they point to.
//!
//! A JobManager that recovers reads the entries of its job and, of each, the whole [`CompletedCheckpoint`] from the HA storage
//! directory (`DefaultCompletedCheckpointStoreUtils`, Flink 1.15 to 2.3). It doesn't read `_metadata`.

mod completed;
mod pointer;

pub use completed::{CompletedCheckpoint, HaReference};
pub use pointer::{HaPointer, PointsTo};

use crate::java::{JavaError, JavaStr, NodeId, Value};

/// Why an object of an HA store can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HaError {
    /// It is no Java object stream, or a damaged one.
    #[error("the Java object stream can't be read: {0}")]
    Stream(#[from] JavaError),
    /// It holds an object of another class.
    #[error("it holds an object of class {0}")]
    OtherClass(String),
    /// A field is missing, or not of the type that every release writes.
    #[error("its field {0} is missing or of an unknown type")]
    Field(&'static str),
    /// Something follows the object.
    #[error("{0} bytes follow the object")]
    TrailingBytes(usize),
}

/// Values of Java objects, by the names of fields.
struct Fields<'g, 'a>(&'g crate::java::Graph<'a>);

impl<'a> Fields<'_, 'a> {
    fn class(&self, value: Value) -> String {
        self.0
            .class_name(value)
            .map_or_else(|| "nothing".to_owned(), |name| name.to_string())
    }

    fn is(&self, value: Value, class: &str) -> bool {
        self.0
            .class_name(value)
            .is_some_and(|name| name.as_bytes() == class.as_bytes())
    }

    fn text(&self, of: Value, field: &'static str) -> Result<JavaStr<'a>, HaError> {
        self.0
            .field(of, field)
            .and_then(|value| self.0.text(value))
            .ok_or(HaError::Field(field))
    }

    fn long(&self, of: Value, field: &'static str) -> Result<i64, HaError> {
        match self.0.field(of, field) {
            Some(Value::Long(n)) => Ok(n),
            _ => Err(HaError::Field(field)),
        }
    }

    /// A length in bytes or an id: never negative.
    fn unsigned(&self, of: Value, field: &'static str) -> Result<u64, HaError> {
        u64::try_from(self.long(of, field)?).map_err(|_| HaError::Field(field))
    }

    /// `org.apache.flink.core.fs.Path` wraps a `java.net.URI`, which keeps its percent-encoded text.
    fn path(&self, of: Value, field: &'static str) -> Result<JavaStr<'a>, HaError> {
        let path = self.0.field(of, field).ok_or(HaError::Field(field))?;
        let uri = self.0.field(path, "uri").ok_or(HaError::Field(field))?;
        self.text(uri, "string").map_err(|_| HaError::Field(field))
    }

    /// `org.apache.flink.util.AbstractID`: printed and sorted with its lower part first.
    fn id(&self, of: Value) -> Result<[u8; 16], HaError> {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.long(of, "lowerPart")?.to_be_bytes());
        id[8..].copy_from_slice(&self.long(of, "upperPart")?.to_be_bytes());
        Ok(id)
    }
}

fn node(value: Value) -> Option<NodeId> {
    match value {
        Value::Node(id) => Some(id),
        _ => None,
    }
}
