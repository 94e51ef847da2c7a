//! What must hold of any bytes that are read as a Java object stream.

use flink_checkpoint::java::read_object;

use crate::memory::bounded;

/// How many values it may hold.
const VALUES: usize = 10_000;

/// Reads a stream and asks for all that is in it. Gives whether it is whole.
///
/// # Panics
/// Something doesn't hold.
pub fn check(bytes: &[u8]) -> bool {
    let result = bounded("java object", VALUES * 300, || read_object(bytes, VALUES));
    match result {
        Ok((graph, used)) => {
            assert!(used <= bytes.len());
            for name in ["a", "checkpointType", "self"] {
                let _ = graph.field(graph.root(), name);
            }
            for (id, node) in graph.nodes() {
                let _ = (
                    graph.class(id).map(|class| class.field_names().count()),
                    format!("{node:?}").len(),
                );
            }
            // What stands behind the object isn't part of it, and without its last byte it isn't whole.
            let (_, again) = read_object(&bytes[..used], VALUES).expect("the same object");
            assert_eq!(again, used);
            assert!(read_object(&bytes[..used - 1], VALUES).is_err());
            true
        }
        Err(error) => {
            assert!(error.at <= bytes.len(), "the error points to byte {}", error.at);
            let text = error.to_string();
            assert!(
                !text.is_empty() && text.len() < 2_000,
                "an error of {} bytes",
                text.len()
            );
            false
        }
    }
}
