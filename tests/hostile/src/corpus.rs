//! The corpora: what real systems wrote, and what fuzzing found.
//!
//! What fuzzing found lies in one file for each target, `corpus/NAME.pack`: of each input its length in four bytes, big-endian, and
//! the input. Thousands of files of a few bytes would be slow to check out and tell nobody anything.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::target::Target;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the pack of a target lies.
pub fn pack_of(target: Target) -> PathBuf {
    here().join("corpus").join(format!("{}.pack", target.name))
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// What fuzzing found, in the order of the pack. None, if there is no pack.
///
/// # Errors
/// The file can't be read, or it is no pack.
pub fn found(target: Target) -> io::Result<Vec<Vec<u8>>> {
    let path = pack_of(target);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(named(&path, e)),
    };
    let mut inputs = Vec::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let part = rest.split_first_chunk::<4>().and_then(|(length, behind)| {
            behind.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
        });
        let Some((input, behind)) = part else {
            let at = bytes.len() - rest.len();
            let message = format!("{}: it is cut off at byte {at}", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        inputs.push(input.to_vec());
        rest = behind;
    }
    Ok(inputs)
}

/// Writes the pack of a target: the inputs sorted by length, each once.
///
/// # Errors
/// It can't be written.
pub fn pack(target: Target, inputs: impl IntoIterator<Item = Vec<u8>>) -> io::Result<usize> {
    let sorted: BTreeSet<(usize, Vec<u8>)> = inputs.into_iter().map(|input| (input.len(), input)).collect();
    let mut bytes = Vec::new();
    for (length, input) in &sorted {
        let length = u32::try_from(*length).map_err(io::Error::other)?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(input);
    }
    let path = pack_of(target);
    fs::create_dir_all(here().join("corpus"))?;
    fs::write(&path, bytes).map_err(|e| named(&path, e))?;
    Ok(sorted.len())
}

/// What real systems wrote, as inputs of the target, with their names: files of the test corpus.
///
/// # Errors
/// A file can't be read.
pub fn seeds(target: Target) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut seeds = Vec::new();
    let mut folders = vec![here().join("../corpus")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| named(&folder, e))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let wanted = match target.name {
                "metadata" | "references" | "java_object" | "sidecar" => {
                    name == "_metadata" || name.starts_with("_metadata@")
                }
                "events" => {
                    name.ends_with(".json") && path.components().any(|part| part.as_os_str() == "events")
                }
                _ => name == "bucket.json" || name == "bucket-config.json" || name == "cases.json",
            };
            if wanted {
                let bytes = fs::read(&path).map_err(|e| named(&path, e))?;
                if name == "cases.json" {
                    let rules = lifecycle_documents(&bytes).map_err(|e| named(&path, io::Error::other(e)))?;
                    seeds.extend(rules.into_iter().map(|rules| (name.to_string(), rules)));
                    continue;
                }
                if let Some(input) = input(target, &bytes) {
                    let name = path.strip_prefix(here()).unwrap_or(&path).display().to_string();
                    seeds.push((name, input));
                }
            }
        }
    }
    seeds.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    seeds.dedup_by(|a, b| a.1 == b.1);
    Ok(seeds)
}

/// The rules of the table of lifecycle cases, each as JSON and as XML.
fn lifecycle_documents(table: &[u8]) -> serde_json::Result<Vec<Vec<u8>>> {
    let table: Value = serde_json::from_slice(table)?;
    let cases = table["cases"].as_array().into_iter().flatten();
    let documents = cases.flat_map(|case| {
        let configuration = &case["configuration"];
        // What else is beside the rules is a header, not in the XML.
        let rules = xml("Rules", &configuration["Rules"]);
        [
            configuration.to_string(),
            format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>"),
        ]
    });
    Ok(documents.map(String::into_bytes).collect())
}

/// As the AWS command line's JSON for S3 stands in XML: of a list's items each is an element, named in the singular.
fn xml(name: &str, value: &Value) -> String {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| xml(name.strip_suffix('s').unwrap_or(name), item))
            .collect(),
        Value::Object(fields) => {
            let inner: String = fields.iter().map(|(name, value)| xml(name, value)).collect();
            format!("<{name}>{inner}</{name}>")
        }
        Value::String(text) => format!(
            "<{name}>{}</{name}>",
            text.replace('&', "&amp;").replace('<', "&lt;")
        ),
        other => format!("<{name}>{other}</{name}>"),
    }
}

/// The part of a file that the target reads.
fn input(target: Target, file: &[u8]) -> Option<Vec<u8>> {
    if target.name == "java_object" {
        // The properties at the end of a `_metadata`.
        let at = file.windows(4).rposition(|four| four == [0xAC, 0xED, 0, 5])?;
        return Some(file[at..].to_vec());
    }
    if target.name == "sidecar" {
        return crate::sidecar::content_of(file);
    }
    target.input_of(file).map(<[u8]>::to_vec)
}
