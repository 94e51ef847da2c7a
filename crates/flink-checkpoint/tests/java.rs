//! Java object streams as Flink writes them: what an HA store points with, and what it points to.

use flink_checkpoint::JavaStr;
use flink_checkpoint::java::{Graph, JavaErrorKind, Node, Value, read_object};

/// A `RetrievableStreamStateHandle`, the same from Flink 1.13.6 and 2.3.0.
const HANDLE: &str = "
aced00057372003b6f72672e6170616368652e666c696e6b2e72756e74696d652e73746174652e5265747269657661626c6553747265616d537461746548
616e646c6500011e18f155972b0200014c00187772617070656453747265616d537461746548616e646c657400324c6f72672f6170616368652f666c696e
6b2f72756e74696d652f73746174652f53747265616d537461746548616e646c653b7870737200396f72672e6170616368652e666c696e6b2e72756e7469
6d652e73746174652e66696c6573797374656d2e46696c65537461746548616e646c6504dc75d862bd1bb30200024a0009737461746553697a654c000866
696c655061746874001f4c6f72672f6170616368652f666c696e6b2f636f72652f66732f506174683b787000000000000030397372001d6f72672e617061
6368652e666c696e6b2e636f72652e66732e5061746800000000000000010200014c000375726974000e4c6a6176612f6e65742f5552493b78707372000c
6a6176612e6e65742e555249ac01782e439e49ab0300014c0006737472696e677400124c6a6176612f6c616e672f537472696e673b787074003873333a2f
2f6275636b65742f68612f636c75737465722d312f636f6d706c65746564436865636b706f696e7430613162326333643465356678";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_chunks::<2>().0.iter().map(byte).collect()
}

fn follow<'a>(graph: &Graph<'a>, names: &[&str]) -> Value {
    names.iter().fold(graph.root(), |value, name| {
        graph.field(value, name).unwrap_or_else(|| panic!("no {name}"))
    })
}

#[test]
fn the_pointer_of_an_ha_store_names_its_object() {
    let bytes = hex(HANDLE);
    assert_eq!(bytes.len(), 487);
    let (graph, used) = read_object(&bytes, 1000).unwrap();
    assert_eq!(used, bytes.len());
    let class = graph.class_name(graph.root()).unwrap();
    assert_eq!(
        class,
        "org.apache.flink.runtime.state.RetrievableStreamStateHandle"
    );
    let size = follow(&graph, &["wrappedStreamStateHandle", "stateSize"]);
    assert_eq!(size, Value::Long(12345));
    let path = follow(&graph, &["wrappedStreamStateHandle", "filePath", "uri", "string"]);
    assert_eq!(
        graph.text(path).unwrap(),
        "s3://bucket/ha/cluster-1/completedCheckpoint0a1b2c3d4e5f"
    );
}

#[test]
fn a_pointer_that_is_cut_or_too_big_is_refused() {
    let bytes = hex(HANDLE);
    for end in 0..bytes.len() {
        let error = read_object(&bytes[..end], 1000).unwrap_err();
        assert!(
            matches!(error.kind, JavaErrorKind::EndOfStream | JavaErrorKind::NoHeader),
            "{end}: {error}"
        );
    }
    assert!(matches!(
        read_object(&bytes, 10).unwrap_err().kind,
        JavaErrorKind::TooManyValues(10)
    ));
    let mut changed = bytes.clone();
    for at in 0..bytes.len() {
        for mask in [0xFF, 1 << (at % 8)] {
            changed[at] ^= mask;
            // Whatever comes of it, it is no panic and no endless loop.
            let _ = read_object(&changed, 1000);
            changed[at] ^= mask;
        }
    }
}

#[test]
fn an_object_that_refers_to_itself_is_read_once() {
    // class A { Object self; }, whose object names itself.
    let mut bytes = vec![
        0xAC, 0xED, 0, 5, 0x73, 0x72, 0, 1, b'A', 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1,
    ];
    bytes.extend([b'L', 0, 4, b's', b'e', b'l', b'f', 0x74, 0, 1, b'O', 0x78, 0x70]);
    bytes.extend([0x71, 0, 0x7E, 0, 2]);
    let (graph, used) = read_object(&bytes, 100).unwrap();
    assert_eq!(used, bytes.len());
    assert_eq!(graph.field(graph.root(), "self"), Some(graph.root()));
}

#[test]
fn deep_nesting_needs_no_stack() {
    // A linked list of a million arrays that each hold the next.
    let mut bytes = vec![
        0xAC, 0xED, 0, 5, 0x75, 0x72, 0, 2, b'[', b'L', 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0x78, 0x70,
    ];
    for _ in 0..1_000_000 {
        bytes.extend([0, 0, 0, 1, 0x75, 0x71, 0, 0x7E, 0, 0]);
    }
    bytes.extend([0, 0, 0, 0]);
    let (graph, used) = read_object(&bytes, 10_000_000).unwrap();
    assert_eq!(used, bytes.len());
    assert!(graph.nodes().count() > 1_000_000);
}

/// The objects in HA storage directories hold a whole checkpoint each; all of them must be read to the last byte.
#[test]
fn completed_checkpoints_of_ha_stores_are_read_to_the_end() {
    let Some(corpus) = std::env::var_os("STAYPUT_CORPUS") else {
        println!("not run: STAYPUT_CORPUS names no large corpus");
        return;
    };
    let mut open = vec![std::path::PathBuf::from(corpus).join("ha")];
    let (mut read, mut files) = (0, 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("completedCheckpoint")
            {
                let bytes = std::fs::read(&path).unwrap();
                let (graph, used) =
                    read_object(&bytes, bytes.len()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                assert_eq!(used, bytes.len(), "{}", path.display());
                let class = graph.class_name(graph.root()).unwrap();
                assert_eq!(class, "org.apache.flink.runtime.checkpoint.CompletedCheckpoint");
                assert!(matches!(
                    graph.field(graph.root(), "checkpointID"),
                    Some(Value::Long(1..))
                ));
                let is_file = |node: &Node<'_>| match node {
                    Node::Object { class, .. } => {
                        let name = graph
                            .class(*class)
                            .map(|class| class.name)
                            .unwrap_or(JavaStr::from_bytes(b""));
                        name.to_string().ends_with("FileStateHandle")
                    }
                    _ => false,
                };
                files += graph.nodes().filter(|(_, node)| is_file(node)).count();
                read += 1;
            }
        }
    }
    println!("{read} completed checkpoints with {files} file handles");
    assert!(read >= 20 && files > read);
}
