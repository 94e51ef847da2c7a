//! Why a snapshot needs an object: the handle that names it, its operator and subtask.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use flink_checkpoint::{JavaStr, Limits, OperatorHead, OperatorNo, Reference, Target, Visitor};
use serde::Serialize;

use crate::location::{Location, ObjectLocation};
use crate::metadata::{is_below, without_entropy};
use crate::root::Roots;

/// The first handle that names an object, and how many there are; where no handle does, those that name a directory above it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NamedBy {
    /// The operator's id, in hex.
    pub operator_id: String,
    /// The operator's name; `None` where the file doesn't say (before Flink 2.0).
    pub operator: Option<String>,
    /// The operator's uid; `None` where the job sets none, or the file doesn't say (before Flink 2.0).
    pub uid: Option<String>,
    /// The subtask; `None` for state of the coordinator.
    pub subtask: Option<u32>,
    /// What the object is for, such as `managed_keyed.shared`.
    pub role: String,
    /// How many handles of the snapshot name it.
    pub handles: u64,
    /// At which byte of `_metadata` the first handle begins.
    pub at_byte: usize,
    /// The ETag of the `_metadata` in whose bytes that is, so that a second reader can check it; `None`: the bytes came without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// Finds, in the bytes of the `_metadata` at `metadata`, the handles that name the wanted objects. Reads as far as the file can be read.
/// `roots` say where entropy lies in keys: a directory is named without it.
pub fn named_by(
    bytes: &[u8],
    metadata: &ObjectLocation,
    wanted: &[ObjectLocation],
    roots: &Roots,
) -> BTreeMap<ObjectLocation, NamedBy> {
    let mut by_name: HashMap<&str, Vec<&ObjectLocation>> = HashMap::new();
    for object in wanted {
        by_name.entry(object.file_name()).or_default().push(object);
    }
    let mut find = Find {
        metadata,
        wanted,
        roots,
        by_name,
        operators: Vec::new(),
        found: BTreeMap::new(),
        only_by_directory: BTreeSet::new(),
    };
    // A file that is damaged further on has been told as far as it goes, and an explanation claims nothing about the rest.
    let _ = flink_checkpoint::visit(bytes, &Limits::default(), &mut find);
    find.found
}

struct Find<'w> {
    metadata: &'w ObjectLocation,
    wanted: &'w [ObjectLocation],
    roots: &'w Roots,
    by_name: HashMap<&'w str, Vec<&'w ObjectLocation>>,
    operators: Vec<Operator>,
    found: BTreeMap<ObjectLocation, NamedBy>,
    only_by_directory: BTreeSet<ObjectLocation>,
}

struct Operator {
    id: String,
    name: Option<String>,
    uid: Option<String>,
}

impl<'a> Visitor<'a> for Find<'_> {
    fn operator(&mut self, _: OperatorNo, operator: &OperatorHead<'a>) {
        let text = |t: Option<JavaStr<'a>>| t.map(|t| t.to_string());
        self.operators.push(Operator {
            id: operator.id.to_string(),
            name: text(operator.name),
            uid: text(operator.uid),
        });
    }

    fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
        let path = reference.target.path();
        let Some(text) = path.as_str() else {
            return ControlFlow::Continue(());
        };
        // Compared by file name first: a path becomes a location only where that can matter.
        let name = text.rsplit('/').next().unwrap_or_default();
        let candidates: Vec<&ObjectLocation> = match reference.target {
            Target::Directory(_) => self.wanted.iter().collect(),
            Target::Exclusive(_) | Target::Absolute(_) => self.by_name.get(name).cloned().unwrap_or_default(),
        };
        for object in candidates {
            let named = match reference.target {
                Target::Exclusive(_) => *object == self.metadata.sibling(&text),
                Target::Absolute(_) => {
                    matches!(Location::parse_flink_path(&text), Ok(Location::S3(at)) if at == *object)
                }
                Target::Directory(_) => match Location::parse_flink_path(&text) {
                    Ok(Location::S3(at)) => {
                        let found = self.roots.find(object);
                        let plain_key = found.map_or(Cow::Borrowed(object.key()), |(_, plain)| plain);
                        is_below(object, &plain_key, &without_entropy(&at, self.roots))
                    }
                    _ => false,
                },
            };
            if !named {
                continue;
            }
            let by_directory = matches!(reference.target, Target::Directory(_));
            match self.found.get_mut(object) {
                // A handle of its own says more than a directory above it.
                Some(_) if !by_directory && self.only_by_directory.remove(object) => {}
                Some(_) if by_directory && !self.only_by_directory.contains(object) => continue,
                Some(known) => {
                    known.handles += 1;
                    continue;
                }
                None if by_directory => {
                    self.only_by_directory.insert(object.clone());
                }
                None => {}
            }
            let Some(operator) = self.operators.get(reference.operator.0 as usize) else {
                continue;
            };
            let first = NamedBy {
                operator_id: operator.id.clone(),
                operator: operator.name.clone(),
                uid: operator.uid.clone(),
                subtask: reference.subtask,
                role: reference.role.to_string(),
                handles: 1,
                at_byte: reference.span.start,
                etag: None,
            };
            self.found.insert(object.clone(), first);
        }
        ControlFlow::Continue(())
    }
}
