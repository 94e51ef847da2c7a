//! HA stores of real JobManagers: what their entries point to, and that the objects there name what `_metadata` names.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flink_checkpoint::ha::{CompletedCheckpoint, HaError, HaPointer, PointsTo};
use flink_checkpoint::{Extent, Limits, Target, facts, references};
use serde_json::Value;

/// One store: ZooKeeper or Kubernetes, of one release, at one moment.
struct Store {
    folder: PathBuf,
    /// What Flink's own classes say of every entry and object.
    oracle: Vec<Value>,
}

fn stores() -> Vec<Store> {
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/ha");
    let mut stores = stores_in(&small, 7);
    if let Some(root) = std::env::var_os("STAYPUT_CORPUS") {
        stores.extend(stores_in(&Path::new(&root).join("ha"), 32));
    }
    stores
}

fn stores_in(root: &Path, at_least: usize) -> Vec<Store> {
    let mut stores: Vec<Store> = std::fs::read_dir(root)
        .unwrap_or_else(|e| panic!("{}: {e}", root.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("oracle.json").is_file())
        .map(|folder| Store {
            oracle: serde_json::from_slice(&std::fs::read(folder.join("oracle.json")).unwrap()).unwrap(),
            folder,
        })
        .collect();
    assert!(stores.len() >= at_least, "{} stores", stores.len());
    stores.sort_by(|a, b| a.folder.cmp(&b.folder));
    stores
}

impl Store {
    /// The `completedCheckpoint` objects, with what Flink says of each.
    fn checkpoints(&self) -> Vec<(PathBuf, &Value)> {
        let of = |said: &Value| {
            said["object"]["value"]["class"] == "org.apache.flink.runtime.checkpoint.CompletedCheckpoint"
        };
        self.oracle
            .iter()
            .filter(|said| of(said))
            .map(|said| {
                let file = said["file"].as_str().unwrap();
                (
                    self.folder.join("ha-storage").join(file),
                    &said["object"]["value"],
                )
            })
            .collect()
    }

    /// The bytes of every entry that holds a handle, with what Flink says of it.
    fn entries(&self) -> Vec<(Vec<u8>, &Value)> {
        let mut bytes: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let read = |file: &str| -> Option<Value> {
            let file = std::fs::read(self.folder.join(file)).ok()?;
            Some(serde_json::from_slice(&file).unwrap())
        };
        for node in read("znodes.json")
            .iter()
            .flat_map(|nodes| nodes.as_array().unwrap())
        {
            let data = BASE64_STANDARD
                .decode(node["data_base64"].as_str().unwrap())
                .unwrap();
            bytes.insert(node["path"].as_str().unwrap().to_owned(), data);
        }
        for map in read("configmaps.json")
            .iter()
            .flat_map(|maps| maps["items"].as_array().unwrap())
        {
            let name = map["metadata"]["name"].as_str().unwrap();
            for (key, value) in map["data"].as_object().into_iter().flatten() {
                if let Ok(data) = BASE64_STANDARD.decode(value.as_str().unwrap()) {
                    bytes.insert(format!("{name}/{key}"), data);
                }
            }
        }
        let class = |said: &Value| {
            said["object"]["value"]["class"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        self.oracle
            .iter()
            .filter(|said| {
                class(said).ends_with("RetrievableStreamStateHandle")
                    || class(said).ends_with("StateHandleWithDeleteMarker")
            })
            .map(|said| {
                let name = said["znode"].as_str().or(said["entry"].as_str()).unwrap();
                (bytes[name].clone(), &said["object"]["value"])
            })
            .collect()
    }
}

#[test]
fn a_completed_checkpoint_says_what_flink_says_of_it() {
    let mut read = 0;
    let mut releases = BTreeSet::new();
    for store in stores() {
        for (path, said) in store.checkpoints() {
            let bytes = std::fs::read(&path).unwrap();
            let checkpoint =
                CompletedCheckpoint::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let hex: String = checkpoint.job_id().iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(said["getJobId"], hex);
            assert_eq!(said["getCheckpointID"], checkpoint.checkpoint_id());
            assert_eq!(said["getTimestamp"], checkpoint.triggered());
            assert_eq!(said["getCompletionTimestamp"].as_i64(), checkpoint.completed());
            assert_eq!(
                said["getExternalPointer"],
                checkpoint.external_pointer().to_string()
            );
            assert_eq!(
                said["getMetadataHandle"]["getFilePath"],
                checkpoint.metadata_uri().to_string()
            );
            assert_eq!(
                said["getMetadataHandle"]["getStateSize"],
                checkpoint.metadata_size()
            );
            let operators: BTreeSet<String> = said["operator_states"]
                .as_array()
                .unwrap()
                .iter()
                .map(|operator| operator.as_str().unwrap()[..32].to_owned())
                .collect();
            let ids: BTreeSet<String> = checkpoint
                .operators()
                .iter()
                .map(|id| id.iter().map(|b| format!("{b:02x}")).collect())
                .collect();
            assert_eq!(ids, operators, "{}", path.display());
            let release = store.folder.file_name().unwrap().to_string_lossy().into_owned();
            releases.insert(
                release
                    .trim_start_matches("k8s-")
                    .split('-')
                    .next()
                    .unwrap()
                    .to_owned(),
            );
            read += 1;
        }
    }
    println!("{read} completed checkpoints of Flink {releases:?}");
    assert!(read >= 20 && releases.len() >= 4);
}

/// Recovery restores from the object and never reads `_metadata`; both must need the same files.
#[test]
fn a_completed_checkpoint_names_what_its_metadata_names() {
    let (mut compared, mut files) = (0, 0);
    for store in stores() {
        for (path, _) in store.checkpoints() {
            let bytes = std::fs::read(&path).unwrap();
            let checkpoint = CompletedCheckpoint::read(&bytes).unwrap();
            let directory = checkpoint.external_pointer().to_string();
            let (_, place) = directory.split_once("/checkpoints/").unwrap();
            // Flink had deleted some already, and killed processes left others unfinished.
            let Ok(metadata) = std::fs::read(store.folder.join("checkpoints").join(place).join("_metadata"))
            else {
                continue;
            };
            let mut named = BTreeSet::new();
            references(&metadata, &Limits::default(), &mut |reference| {
                let path = reference.target.path().to_string();
                let path = match reference.target {
                    Target::Exclusive(_) => format!("{directory}/{path}"),
                    Target::Absolute(_) | Target::Directory(_) => path,
                };
                named.insert((path, format!("{:?}", reference.extent)));
                ControlFlow::Continue(())
            })
            .unwrap();
            let of_object: BTreeSet<_> = checkpoint
                .references()
                .unwrap()
                .iter()
                .map(|r| (r.uri.to_string(), format!("{:?}", r.extent)))
                .collect();
            assert_eq!(of_object, named, "{}", path.display());
            let facts = facts(&metadata, &Limits::default(), &mut |_| {}).unwrap();
            let mut backends: Vec<String> = facts.backends.iter().map(ToString::to_string).collect();
            backends.sort();
            assert_eq!(checkpoint.backends(), backends);
            compared += 1;
            files += named.len();
        }
    }
    println!("{compared} completed checkpoints name {files} files, each as their _metadata does");
    assert!(compared >= 20 && files > 10 * compared);
}

#[test]
fn an_entry_points_where_flink_says() {
    let (mut checkpoints, mut jobs, mut marked) = (0, 0, 0);
    let mut wrappers = BTreeSet::new();
    for store in stores() {
        for (bytes, said) in store.entries() {
            let pointer = HaPointer::read(&bytes).unwrap();
            let inner = if said["getInner"].is_null() {
                said
            } else {
                &said["getInner"]
            };
            assert_eq!(inner["wrapped"]["getFilePath"], pointer.uri.to_string());
            assert_eq!(inner["wrapped"]["getStateSize"], pointer.size);
            assert_eq!(said["isMarkedForDeletion"].as_bool(), pointer.marked_for_deletion);
            wrappers.extend(pointer.wrapper_uid);
            marked += u32::from(pointer.marked_for_deletion == Some(true));
            match pointer.points_to() {
                PointsTo::Checkpoint => checkpoints += 1,
                PointsTo::Job => jobs += 1,
                PointsTo::Other => panic!("{}", pointer.uri),
            }
        }
    }
    println!("{checkpoints} entries of checkpoints, {jobs} of jobs, {marked} marked for deletion");
    assert!(checkpoints >= 20 && jobs >= 5 && marked >= 2);
    let known = [0x9f81_3bf3_9965_437f_u64.cast_signed(), 0x1bad_4480_ef86_0d7c];
    assert_eq!(wrappers, BTreeSet::from(known));
}

#[test]
fn other_objects_are_refused_by_their_class() {
    let store = &stores()[0];
    let (entry, _) = &store.entries()[0];
    assert!(
        matches!(CompletedCheckpoint::read(entry), Err(HaError::OtherClass(class)) if class.contains("StateHandle"))
    );
    let (path, _) = &store.checkpoints()[0];
    let bytes = std::fs::read(path).unwrap();
    assert!(HaPointer::read(&bytes).is_err());
    let mut longer = bytes.clone();
    longer.push(0x70);
    assert_eq!(
        CompletedCheckpoint::read(&longer).unwrap_err(),
        HaError::TrailingBytes(1)
    );
    assert!(matches!(CompletedCheckpoint::read(b""), Err(HaError::Stream(_))));
}

/// Cut and changed objects give an error or a value, never a panic, and never an extent that the bytes don't say.
#[test]
fn damaged_objects_are_errors() {
    let (mut cut, mut changed) = (0, 0);
    for store in stores().iter().take(7) {
        let (path, _) = &store.checkpoints()[0];
        let bytes = std::fs::read(path).unwrap();
        for end in (0..bytes.len()).step_by(7) {
            assert!(CompletedCheckpoint::read(&bytes[..end]).is_err());
            cut += 1;
        }
        let mut bytes = bytes;
        for at in (0..bytes.len()).step_by(3) {
            let before = bytes[at];
            bytes[at] ^= 1 << (at % 8);
            if let Ok(checkpoint) = CompletedCheckpoint::read(&bytes) {
                for reference in checkpoint.references().unwrap_or_default() {
                    assert_ne!((reference.directory, reference.extent), (false, Extent::Unknown));
                }
                let _ = (checkpoint.operators(), checkpoint.backends());
            }
            bytes[at] = before;
            changed += 1;
        }
        for (entry, _) in store.entries() {
            for end in 0..entry.len() {
                assert!(HaPointer::read(&entry[..end]).is_err());
                cut += 1;
            }
        }
    }
    assert!(cut > 5_000 && changed > 10_000, "{cut} cut, {changed} changed");
}
