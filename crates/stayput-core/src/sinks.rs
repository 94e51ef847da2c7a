//! What the sinks of a snapshot keep outside its state handles: tails, which are objects, and open uploads, which are none.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use flink_checkpoint::sinks::{Element, Recoverable, SinkFile, SinkState, elements, read};
use flink_checkpoint::{
    JavaStr, Limits, OperatorHead, OperatorNo, OperatorStateAt, Reference, StreamHead, Visitor, visit,
};
use memchr::memmem;

use crate::extent::Extent;
use crate::location::{Location, ObjectLocation};

/// Longer elements aren't read: a sink has one for each bucket that is open, of some hundred bytes and fifty for each part.
const ELEMENT_AT_MOST: usize = 16 << 20;

/// Whether a key can be that of a tail, by its name: `<parent>/_<name>_tmp_<uuid>` (Hadoop-based writer) or
/// `<key>/.incomplete/<upload id>/<uuid>` (native writer). Only such keys are worth the reading of sinks' state.
pub fn can_be_tail(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let by_hadoop = name.starts_with('_')
        && name
            .rsplit_once("_tmp_")
            .is_some_and(|(_, id)| id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'));
    by_hadoop || key.contains("/.incomplete/")
}

/// An operator of a sink and one of its subtasks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Whose {
    /// The operator's id, in hex.
    pub operator_id: String,
    /// Its name (since Flink 2.0).
    pub operator: Option<String>,
    /// Its uid (since Flink 2.0, if the job sets one).
    pub uid: Option<String>,
    /// The subtask.
    pub subtask: Option<u32>,
    /// At which byte of `_metadata` the handle of its state begins.
    pub at_byte: usize,
}

/// State of sinks in an object that must be read to know more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SinkBlob {
    /// Whose.
    pub whose: Whose,
    /// Names of states and positions of their elements.
    pub states: Vec<(SinkState, Vec<i64>)>,
    /// The object.
    pub location: ObjectLocation,
    /// Which part of it, in bytes; `None`: all of it.
    pub part: Option<(u64, u64)>,
}

impl SinkBlob {
    /// The operator state in the bytes of the object; `None` if the object is shorter than the handle says.
    pub fn bytes_of<'b>(&self, object: &'b [u8]) -> Option<&'b [u8]> {
        let Some((start, size)) = self.part else {
            return Some(object);
        };
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        object.get(start..end)
    }
}

/// What is known of the sinks of one snapshot.
#[derive(Clone, Default, Debug)]
pub struct Sinks {
    /// Files that are open or wait for their commit.
    pub files: Vec<(Whose, SinkFile)>,
    /// State that lies in objects.
    pub blobs: Vec<SinkBlob>,
    /// State that is that of a file sink and can't be read: what it names isn't known.
    pub unknown: Vec<String>,
}

impl Sinks {
    /// Whether there is no sink that keeps anything.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.blobs.is_empty() && self.unknown.is_empty()
    }

    /// Takes in the bytes of one operator state: the whole object, or the part of it.
    pub fn take_blob(&mut self, whose: &Whose, states: &[(SinkState, Vec<i64>)], bytes: &[u8]) {
        let blob = match elements(bytes) {
            Ok(blob) => blob,
            Err(e) => return self.unknown.push(e.to_string()),
        };
        for (state, offsets) in states {
            for offset in offsets {
                let element = blob.at(*offset, ELEMENT_AT_MOST);
                match element.and_then(|element| read(*state, &element)) {
                    Ok(Element::Files(files)) => {
                        self.files
                            .extend(files.into_iter().map(|file| (whose.clone(), file)));
                    }
                    Ok(Element::AnotherSink) => {}
                    Err(e) => self.unknown.push(format!("{}: {e}", state.name())),
                }
            }
        }
    }

    /// Every tail that a restore needs, with its length. A tail whose bucket nothing tells is left out.
    pub fn tails(&self) -> BTreeMap<ObjectLocation, (u64, &Whose)> {
        let mut tails = BTreeMap::new();
        for (whose, file) in self.files.iter().filter(|(_, file)| file.stage.is_needed()) {
            let Recoverable::Upload(upload) = &file.recoverable else {
                continue;
            };
            let Some(tail) = &upload.tail else { continue };
            let bucket = bucket_of(file).or_else(|| self.bucket_beside(whose));
            if let Some(bucket) = bucket {
                tails.insert(ObjectLocation::new(bucket, tail.key.clone()), (tail.bytes, whose));
            }
        }
        tails
    }

    /// Every upload that a restore goes on with or completes, by its object and id. An upload whose bucket nothing tells is left out.
    pub fn uploads(&self) -> BTreeMap<(ObjectLocation, &str), &Whose> {
        let mut uploads = BTreeMap::new();
        for (whose, file) in self.files.iter().filter(|(_, file)| file.stage.is_needed()) {
            let Recoverable::Upload(upload) = &file.recoverable else {
                continue;
            };
            let bucket = bucket_of(file).or_else(|| self.bucket_beside(whose));
            if let Some(bucket) = bucket {
                let object = ObjectLocation::new(bucket, upload.key.clone());
                uploads.insert((object, upload.upload_id.as_str()), whose);
            }
        }
        uploads
    }

    /// The tails, as references.
    pub fn references(&self) -> Vec<(ObjectLocation, Extent)> {
        let exact = |(location, (bytes, _))| (location, Extent::Exact(bytes));
        self.tails().into_iter().map(exact).collect()
    }

    /// Committers of Flink 1.14 and before don't say the bucket; the writer is the same operator, and says it.
    fn bucket_beside(&self, whose: &Whose) -> Option<String> {
        let mut buckets = self
            .files
            .iter()
            .filter(|(other, _)| other.operator_id == whose.operator_id)
            .filter_map(|(_, file)| bucket_of(file));
        let first = buckets.next()?;
        buckets.all(|other| other == first).then_some(first)
    }
}

/// The bucket of a file: that of its target, or of its directory.
fn bucket_of(file: &SinkFile) -> Option<String> {
    let target = file.target.as_deref().map(Location::parse_java_uri);
    let directory = file.directory.as_deref().map(Location::parse_flink_path);
    let location = target.or(directory)?.ok()?;
    location.s3().map(|object| object.bucket().to_owned())
}

/// Finds the state of sinks in the bytes of the `_metadata` at `metadata`. Inlined state is read at once. Reads as far as the file can be read.
pub fn find(bytes: &[u8], metadata: Option<&ObjectLocation>) -> Sinks {
    // Most snapshots have no sink of this kind, and looking for the names is much cheaper than reading all records again.
    let names = |name: &str| memmem::find(bytes, name.as_bytes()).is_some();
    if !SinkState::ALL.iter().any(|state| names(state.name())) {
        return Sinks::default();
    }
    let mut find = Find {
        metadata,
        operators: Vec::new(),
        sinks: Sinks::default(),
    };
    // What is damaged further on is told by whoever reads the references.
    let _ = visit(bytes, &Limits::default(), &mut find);
    find.sinks
}

struct Find<'m> {
    metadata: Option<&'m ObjectLocation>,
    operators: Vec<(String, Option<String>, Option<String>)>,
    sinks: Sinks,
}

impl<'a> Visitor<'a> for Find<'_> {
    fn operator(&mut self, _: OperatorNo, operator: &OperatorHead<'a>) {
        let text = |t: Option<JavaStr<'a>>| t.map(|t| t.to_string());
        self.operators
            .push((operator.id.to_string(), text(operator.name), text(operator.uid)));
    }

    fn operator_state(&mut self, at: &OperatorStateAt<'a>) {
        let states: Vec<(SinkState, Vec<i64>)> = at
            .head
            .states()
            .filter_map(|state| Some((SinkState::of(state.name)?, state.offsets.iter().collect())))
            .filter(|(_, offsets): &(_, Vec<i64>)| !offsets.is_empty())
            .collect();
        let Some((operator_id, operator, uid)) = self.operators.get(at.operator.0 as usize).cloned() else {
            return;
        };
        if states.is_empty() {
            return;
        }
        let whose = Whose {
            operator_id,
            operator,
            uid,
            subtask: at.subtask,
            at_byte: at.at,
        };
        let (path, part) = match at.stream {
            StreamHead::Inline { bytes, .. } => return self.sinks.take_blob(&whose, &states, bytes),
            StreamHead::File { path, .. } => (path, None),
            StreamHead::Segment {
                path, start, size, ..
            } => (path, Some((start, size))),
            StreamHead::Relative { path, .. } => {
                let Some((metadata, name)) = self.metadata.zip(path.as_str()) else {
                    return;
                };
                let location = metadata.sibling(&name);
                return self.sinks.blobs.push(SinkBlob {
                    whose,
                    states,
                    location,
                    part: None,
                });
            }
            StreamHead::EmptySegment | StreamHead::KeyGroups { .. } => return,
        };
        let location = path
            .as_str()
            .and_then(|path| Location::parse_flink_path(&path).ok());
        if let Some(Location::S3(location)) = location {
            self.sinks.blobs.push(SinkBlob {
                whose,
                states,
                location,
                part,
            });
        }
    }

    fn reference(&mut self, _: &Reference<'a>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_that_is_both_open_and_to_be_cleaned_up_is_told_once_with_its_bucket() {
        let case = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/corpus/s3-1.14.6-filesink-inline-chk2/_metadata"
        );
        let sinks = find(&std::fs::read(case).unwrap(), None);
        assert_eq!(sinks.files.len(), 2);
        let object = ObjectLocation::new(
            "flink-lab",
            "1.14.6/filesink-inline/sinkout/2026-11-29--14/part-5569807a-3a4a-44a4-baa8-0aa87caa46a1-0",
        );
        let told: Vec<_> = sinks.uploads().into_keys().collect();
        assert_eq!(told, [(object, "ea405362-f080-437a-8fa7-a903feb8e82f")]);
    }

    #[test]
    fn tails_are_told_by_their_names() {
        for tail in [
            "out/d=1/_part-6343987d-03f8-491b-ad05-22d7beb5f163-0_tmp_11240053-3bc0-4659-8e2e-eb1fe442cf57",
            "_part-0-0_tmp_11240053-3bc0-4659-8e2e-eb1fe442cf57",
            "out/part-0/.incomplete/9a926654/165e6362-52a8-4fee-807b-dc0c37020111",
        ] {
            assert!(can_be_tail(tail), "{tail}");
        }
        for other in [
            "out/_tmp_x",
            "out/part-0",
            "cp/j/shared/11240053-3bc0-4659-8e2e-eb1fe442cf57",
            "out/_a_tmp_b",
        ] {
            assert!(!can_be_tail(other), "{other}");
        }
    }
}
