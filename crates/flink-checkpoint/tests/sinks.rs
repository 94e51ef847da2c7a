//! What file sinks keep in operator state, of real jobs on S3: compared, upload by upload, with what Flink's own serializers read.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flink_checkpoint::sinks::{
    Element, Recoverable, SinkFile, SinkState, Stage, Upload, Writer, elements, read, read_upload,
};
use flink_checkpoint::{
    Limits, OperatorHead, OperatorNo, OperatorStateAt, Reference, StreamHead, Visitor, visit,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longer elements don't exist in the corpus.
const AT_MOST: usize = 1 << 20;

/// The cases with decoded sink state: the small corpus has few, the large one many.
fn cases() -> Vec<PathBuf> {
    let all = support::all_cases().into_iter();
    let cases: Vec<PathBuf> = all
        .filter(|case| case.join("sink-state.json").is_file())
        .collect();
    let at_least = if std::env::var_os("STAYPUT_CORPUS").is_some() {
        33
    } else {
        2
    };
    assert!(cases.len() >= at_least, "{} cases with sink state", cases.len());
    cases
}

/// One state of a sink in `_metadata`: where its bytes lie, and the positions of its elements.
struct Found {
    bytes: Vec<u8>,
    offsets: Vec<i64>,
}

struct Collect<'c> {
    case: &'c Path,
    operators: Vec<String>,
    found: BTreeMap<(String, u64, SinkState), Found>,
}

impl<'a> Visitor<'a> for Collect<'_> {
    fn operator(&mut self, _: OperatorNo, operator: &OperatorHead<'a>) {
        self.operators.push(operator.id.to_string());
    }

    fn operator_state(&mut self, at: &OperatorStateAt<'a>) {
        for state in at.head.states() {
            let Some(kind) = SinkState::of(state.name) else {
                continue;
            };
            let bytes = match at.stream {
                StreamHead::Inline { bytes, .. } => bytes.to_vec(),
                StreamHead::File { path, .. } | StreamHead::Relative { path, .. } => {
                    let name = path.to_string();
                    blob(&self.case.join("blobs"), name.rsplit('/').next().unwrap())
                        .unwrap_or_else(|| panic!("{}: no {name}", self.case.display()))
                }
                other => panic!("{other:?}"),
            };
            let operator = self.operators[at.operator.0 as usize].clone();
            let key = (operator, at.subtask.unwrap().into(), kind);
            let offsets = state.offsets.iter().collect();
            assert!(self.found.insert(key, Found { bytes, offsets }).is_none());
        }
    }

    fn reference(&mut self, _: &Reference<'a>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The states of sinks that the `_metadata` of a case names: by operator, subtask and kind.
fn sink_states(case: &Path) -> BTreeMap<(String, u64, SinkState), Found> {
    let mut collect = Collect {
        case,
        operators: Vec::new(),
        found: BTreeMap::new(),
    };
    visit(&support::metadata(case), &Limits::default(), &mut collect).unwrap();
    collect.found
}

/// The bytes of an operator state: file names are unique.
fn blob(folder: &Path, name: &str) -> Option<Vec<u8>> {
    for entry in std::fs::read_dir(folder).ok()? {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if let Some(bytes) = blob(&path, name) {
                return Some(bytes);
            }
        } else if path.file_name().unwrap().to_string_lossy() == name {
            return Some(std::fs::read(path).unwrap());
        }
    }
    None
}

/// An upload in words that both sides can be brought to.
fn in_words(stage: Stage, target: Option<&str>, upload: &Upload) -> String {
    let parts: Vec<String> = upload
        .parts
        .iter()
        .map(|p| format!("{}:{}", p.number, p.etag))
        .collect();
    let tail = upload.tail.as_ref().map(|t| (t.key.as_str(), t.bytes));
    format!(
        "{stage} {:?} {target:?} {} {} {parts:?} {} {tail:?}",
        upload.writer, upload.key, upload.upload_id, upload.bytes_in_parts
    )
}

fn said(files: &[SinkFile]) -> Vec<String> {
    let mut all: Vec<String> = files
        .iter()
        .map(|file| match &file.recoverable {
            Recoverable::Upload(upload) => in_words(file.stage, file.target.as_deref(), upload),
            Recoverable::Elsewhere => panic!("all of the corpus is on S3: {file:?}"),
        })
        .collect();
    all.sort();
    all
}

/// The same from what Flink said of an element.
fn expected(value: &Value, stage: Stage, target: Option<&str>, into: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| expected(one, stage, target, into)),
        Value::Object(fields) => {
            if let Some(key) = fields.get("object_name") {
                let writer = match fields["class"].as_str().unwrap() {
                    "S3Recoverable" => Writer::Hadoop,
                    "NativeS3Recoverable" => Writer::Native,
                    other => panic!("{other}"),
                };
                let part = |part: &Value| flink_checkpoint::sinks::Part {
                    number: u32::try_from(part["number"].as_u64().unwrap()).unwrap(),
                    etag: part["etag"].as_str().unwrap().to_owned(),
                };
                let upload = Upload {
                    writer,
                    key: key.as_str().unwrap().to_owned(),
                    upload_id: fields["upload_id"].as_str().unwrap().to_owned(),
                    parts: fields["parts"].as_array().unwrap().iter().map(part).collect(),
                    bytes_in_parts: fields["bytes_in_parts"].as_u64().unwrap(),
                    tail: fields["tail_key"]
                        .as_str()
                        .map(|key| flink_checkpoint::sinks::Tail {
                            key: key.to_owned(),
                            bytes: fields["tail_length"].as_u64().unwrap(),
                        }),
                };
                into.push(in_words(stage, target, &upload));
                return;
            }
            let settled = matches!(
                fields.get("state").and_then(Value::as_str),
                Some("FAILED" | "COMMITTED")
            );
            let target = fields.get("target_path").and_then(Value::as_str).or(target);
            for (name, field) in fields {
                let stage = match name.as_str() {
                    "in_progress_file_recoverable" => Stage::InProgress,
                    "in_progress_file_to_cleanup" => Stage::CleanUp,
                    _ if settled => Stage::Settled,
                    _ => stage,
                };
                expected(field, stage, target, into);
            }
        }
        _ => {}
    }
}

#[test]
fn every_element_reads_as_flinks_serializers_read_it() {
    let (mut states, mut read_elements, mut uploads, mut tails, mut inlined) = (0, 0, 0, 0, 0);
    let mut kinds = BTreeSet::new();
    let mut stages = BTreeSet::new();
    for case in cases() {
        let oracle: Value =
            serde_json::from_slice(&std::fs::read(case.join("sink-state.json")).unwrap()).unwrap();
        let of_sinks = sink_states(&case);
        for state in oracle["states"].as_array().unwrap() {
            let name = state["state"].as_str().unwrap();
            let kind = SinkState::of(flink_checkpoint::JavaStr::from_bytes(name.as_bytes())).unwrap();
            let key = (
                state["operator_id"].as_str().unwrap().to_owned(),
                state["subtask"].as_u64().unwrap(),
                kind,
            );
            let found = &of_sinks[&key];
            let of_flink = state["elements"].as_array().unwrap();
            let place = format!("{} {key:?}", case.display());
            assert_eq!(found.offsets.len(), of_flink.len(), "{place}");
            let blob = elements(&found.bytes).unwrap();
            for (offset, said_of) in found.offsets.iter().zip(of_flink) {
                assert_eq!(said_of["offset"], *offset, "{place}");
                let element = blob.at(*offset, AT_MOST).unwrap();
                let digest: String = Sha256::digest(&element)
                    .iter()
                    .map(|b| format!("{b:02x}"))
                    .collect();
                assert_eq!(said_of["sha256"], digest, "{place}");
                let Element::Files(files) = read(kind, &element).unwrap_or_else(|e| panic!("{place}: {e}"))
                else {
                    panic!("{place}: it is a file sink")
                };
                let mut of_oracle = Vec::new();
                expected(&said_of["value"], Stage::Pending, None, &mut of_oracle);
                of_oracle.sort();
                assert_eq!(said(&files), of_oracle, "{place}");
                for file in &files {
                    if kind == SinkState::Writer || kind == SinkState::Buckets {
                        assert_eq!(
                            file.directory.as_deref(),
                            said_of["value"]["bucket_path"].as_str()
                        );
                    }
                    let Recoverable::Upload(upload) = &file.recoverable else {
                        unreachable!()
                    };
                    uploads += 1;
                    tails += u32::from(upload.tail.is_some());
                    stages.insert((kind, file.stage));
                }
                read_elements += 1;
            }
            inlined += u32::from(state["blob"].is_null());
            kinds.insert(kind);
            states += 1;
        }
    }
    println!(
        "{states} states, {inlined} inlined, {read_elements} elements, {uploads} uploads, {tails} tails: {stages:?}"
    );
    assert!(
        states >= 4 && uploads >= 4 && tails >= 2,
        "the small corpus has as many"
    );
    if std::env::var_os("STAYPUT_CORPUS").is_some() {
        assert_eq!(
            kinds.len(),
            SinkState::ALL.len(),
            "every kind of state is in the corpus: {kinds:?}"
        );
        assert!(states >= 100 && uploads >= 100 && tails >= 50 && inlined >= 10);
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_chunks::<2>().0.iter().map(byte).collect()
}

const HADOOP: &str = "
321476980a0000006f75742f706172742d3003000000555031010000000100000004000000226531220000500000000000110000006f75742f5f70617274
2d305f746d705f780700000000000000";
const NATIVE: &str = "
000a6f75742f706172742d300003555031000000000050000000000001000000010002653101001c6f75742f706172742d302f2e696e636f6d706c657465
2f5550312f780000000000000007";

#[test]
fn both_writers_are_told_apart_by_their_bytes() {
    let by_hadoop = read_upload(&hex(HADOOP)).unwrap();
    let native = read_upload(&hex(NATIVE)).unwrap();
    assert_eq!(
        (by_hadoop.writer, native.writer),
        (Writer::Hadoop, Writer::Native)
    );
    for upload in [&by_hadoop, &native] {
        assert_eq!(
            (upload.key.as_str(), upload.upload_id.as_str()),
            ("out/part-0", "UP1")
        );
        assert_eq!(upload.bytes_in_parts, 5_242_880);
        assert_eq!(upload.tail.as_ref().unwrap().bytes, 7);
    }
}

/// Every cut element of the corpus is an error or another sink, never fewer files; changed ones are read or refused.
#[test]
fn cut_and_changed_state_is_never_half_read() {
    let (mut cut, mut changed) = (0, 0);
    for case in cases() {
        let of_sinks = sink_states(&case);
        for ((_, _, kind), found) in &of_sinks {
            let blob = elements(&found.bytes).unwrap();
            for offset in found.offsets.iter().take(2) {
                let mut element = blob.at(*offset, AT_MOST).unwrap();
                for end in 0..element.len() {
                    let read = read(*kind, &element[..end]);
                    assert!(
                        !matches!(read, Ok(Element::Files(_))),
                        "{}: {end}",
                        case.display()
                    );
                    cut += 1;
                }
                for at in 0..element.len() {
                    for mask in [0xFF, 1 << (at % 8)] {
                        element[at] ^= mask;
                        let _ = read(*kind, &element);
                        element[at] ^= mask;
                        changed += 1;
                    }
                }
            }
            for end in (0..found.bytes.len()).step_by(5) {
                if let (Ok(blob), Some(offset)) = (elements(&found.bytes[..end]), found.offsets.first()) {
                    let _ = blob.at(*offset, AT_MOST);
                }
            }
            for offset in [-1, i64::MAX, i64::MIN, found.bytes.len().try_into().unwrap()] {
                assert!(blob.at(offset, AT_MOST).is_err());
            }
            for offset in &found.offsets {
                assert!(blob.at(*offset, 3).is_err(), "no longer than the caller allows");
            }
        }
    }
    assert!(cut >= 2_000 && changed >= 4_000, "{cut} cut, {changed} changed");
}

/// Flink 1.18 and later can compress an operator state; offsets are then those of chunks.
#[test]
fn compressed_state_is_read_like_plain_state() {
    use std::io::Write as _;
    let mut compared = 0;
    for case in cases() {
        let of_sinks = sink_states(&case);
        for found in of_sinks.values().filter(|found| !found.offsets.is_empty()) {
            let blob = elements(&found.bytes).unwrap();
            let mut compressed = vec![0, 0, 0, 6, 1];
            let mut stream = snap::write::FrameEncoder::new(Vec::new());
            stream.write_all(&found.bytes[5..32]).unwrap();
            stream.flush().unwrap();
            let mut offsets = Vec::new();
            for offset in &found.offsets {
                offsets.push(i64::try_from(5 + stream.get_ref().len()).unwrap());
                let element = blob.at(*offset, AT_MOST).unwrap();
                stream
                    .write_all(&u32::try_from(element.len()).unwrap().to_be_bytes())
                    .unwrap();
                stream.write_all(&element).unwrap();
                stream.flush().unwrap();
            }
            compressed.extend(stream.into_inner().unwrap());
            let again = elements(&compressed).unwrap();
            for (plain, packed) in found.offsets.iter().zip(&offsets) {
                assert_eq!(
                    again.at(*packed, AT_MOST).unwrap(),
                    blob.at(*plain, AT_MOST).unwrap()
                );
                assert!(again.at(packed + 1, AT_MOST).is_err(), "no chunk begins there");
                compared += 1;
            }
        }
    }
    assert!(compared >= 4);
}

/// Sinks of other kinds use the same names.
#[test]
fn the_state_of_another_sink_is_no_error() {
    for kind in SinkState::ALL {
        for bytes in [
            &b""[..],
            b"kafka-transactional-id",
            &[0, 0, 0, 1, 0, 0, 0, 4, 9, 9, 9, 9],
        ] {
            assert_eq!(read(kind, bytes).unwrap(), Element::AnotherSink);
        }
    }
    // The collector of a committer is around the committables of every sink.
    let mut of_another = hex("00000001 0000000d b91f252c 00000001 00000001 00000001 09");
    let n = u32::try_from(of_another.len() - 8).unwrap();
    of_another[4..8].copy_from_slice(&n.to_be_bytes());
    assert_eq!(
        read(SinkState::Committer, &of_another).unwrap(),
        Element::AnotherSink
    );
}
