//! Inputs that are nearly right: valid ones of every kind, with some of their pieces replaced, left out, doubled or swapped.
//! A number decides which, so that a failure can be had again.

use std::io;

use serde_json::Value;

use crate::corpus;
use crate::make::{Form, Maker, properties};
use crate::names::{BYTES, NAMES};
use crate::random::Random;
use crate::target::{TARGETS, Target};
use crate::tokens::{Kind, Token};

/// What mutants are made of.
#[derive(Debug)]
pub struct Stock {
    events: Vec<Value>,
    documents: Vec<Value>,
}

impl Stock {
    /// Reads the corpora.
    ///
    /// # Errors
    /// They can't be read, or hold too little.
    pub fn load() -> io::Result<Self> {
        let of = |name: &str, at_least: usize| {
            let target = Target::named(name).ok_or_else(|| io::Error::other(name.to_owned()))?;
            let documents: Vec<Value> = corpus::seeds(target)?
                .iter()
                .filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok())
                .collect();
            if documents.len() < at_least {
                return Err(io::Error::other(format!(
                    "only {} documents for {name}",
                    documents.len()
                )));
            }
            Ok(documents)
        };
        Ok(Self {
            events: of("events", 60)?,
            documents: of("bucket_documents", 100)?,
        })
    }

    /// The mutant of this number, and the target that reads it.
    pub fn mutant(&self, seed: u64) -> (Target, Vec<u8>) {
        let mut random = Random::of(seed);
        // Half of them are `_metadata`.
        let name = *random.of_these(&[
            "metadata",
            "metadata",
            "references",
            "references",
            "java_object",
            "java_object",
            "events",
            "bucket_documents",
        ]);
        let target = TARGETS
            .into_iter()
            .find(|target| target.name == name)
            .unwrap_or(TARGETS[0]);
        let input = match name {
            "events" => self.document(&self.events, &mut random),
            "bucket_documents" => self.document(&self.documents, &mut random),
            "java_object" => {
                let object = properties();
                pieces(&object.0, &object.1, &mut random)
            }
            _ => {
                let file = metadata(&mut random);
                target.input_of(&file).map(<[u8]>::to_vec).unwrap_or_default()
            }
        };
        (target, input)
    }

    fn document(&self, of: &[Value], random: &mut Random) -> Vec<u8> {
        let mut document = random.of_these(of).clone();
        for _ in 0..=random.below(4) {
            change(&mut document, self, random);
        }
        let mut bytes = document.to_string().into_bytes();
        if random.one_in(8) {
            let at = random.below(bytes.len() + 1);
            bytes.truncate(at);
        }
        bytes
    }
}

/// A `_metadata` of any layout, whose magic number stays.
fn metadata(random: &mut Random) -> Vec<u8> {
    let form = *random.of_these(&Form::ALL);
    let choices = random.below(400);
    let file = Maker::file(form, &random.bytes(choices));
    let (magic, rest) = file.tokens.split_at(1);
    let mut bytes = file.bytes[magic[0].at.clone()].to_vec();
    bytes.extend(pieces(&file.bytes, rest, random));
    bytes
}

/// The pieces of something, some of them changed.
fn pieces(bytes: &[u8], tokens: &[Token], random: &mut Random) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = tokens
        .iter()
        .map(|token| bytes[token.at.clone()].to_vec())
        .collect();
    let mut kinds: Vec<Kind> = tokens.iter().map(|token| token.kind).collect();
    for _ in 0..random.below(5) {
        if parts.is_empty() {
            break;
        }
        let at = random.below(parts.len());
        match random.below(12) {
            0 => {
                parts.remove(at);
                kinds.remove(at);
            }
            1 => {
                parts.insert(at, parts[at].clone());
                kinds.insert(at, kinds[at]);
            }
            2 => {
                let other = random.below(parts.len());
                parts.swap(at, other);
                kinds.swap(at, other);
            }
            3 => {
                parts.truncate(at);
                kinds.truncate(at);
            }
            4 => {
                // A run of pieces once more, elsewhere: handles in handles, operators twice.
                let end = (at + 1 + random.below(12)).min(parts.len());
                let to = random.below(parts.len());
                let run = parts[at..end].to_vec();
                let run_kinds = kinds[at..end].to_vec();
                parts.splice(to..to, run);
                kinds.splice(to..to, run_kinds);
            }
            _ => parts[at] = other_value(kinds[at], &parts[at], random),
        }
    }
    parts.concat()
}

/// Another value of the same kind.
pub fn other_value(kind: Kind, old: &[u8], random: &mut Random) -> Vec<u8> {
    match kind {
        Kind::U8 if random.one_in(4) => random.bytes(1),
        Kind::U8 => vec![u8::try_from(random.below(20)).unwrap_or(0)],
        Kind::I32 => {
            let old = old.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
            let shift = u32::try_from(random.below(32)).unwrap_or(0);
            let new = *random.of_these(&[
                0,
                1,
                -1,
                2,
                i32::MAX,
                i32::MIN,
                old.wrapping_add(1),
                old.wrapping_sub(1),
                !old,
                1_i32.wrapping_shl(shift),
            ]);
            new.to_be_bytes().to_vec()
        }
        Kind::I64 => {
            let old = old.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes));
            let shift = u32::try_from(random.below(64)).unwrap_or(0);
            let new = *random.of_these(&[
                0,
                1,
                -1,
                i64::MAX,
                i64::MIN,
                old.wrapping_add(1),
                old.wrapping_sub(1),
                !old,
                1_i64.wrapping_shl(shift),
            ]);
            new.to_be_bytes().to_vec()
        }
        Kind::Utf => {
            let text = match random.below(6) {
                0 => random.of_these(&BYTES).to_vec(),
                1 => b"n".repeat(random.below(65_536)),
                2 => format!("s3://{}/{}", random.of_these(&NAMES), random.of_these(&NAMES)).into_bytes(),
                3 => format!(
                    "s3a://b//{}/../{}",
                    random.of_these(&NAMES),
                    random.of_these(&NAMES)
                )
                .into_bytes(),
                _ => random.of_these(&NAMES).as_bytes().to_vec(),
            };
            let mut bytes = u16::try_from(text.len())
                .unwrap_or(u16::MAX)
                .to_be_bytes()
                .to_vec();
            bytes.extend_from_slice(&text);
            bytes
        }
        Kind::Raw => {
            let mut bytes = old.to_vec();
            for _ in 0..=random.below(3) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len());
                    bytes[at] = random.bytes(1)[0];
                }
            }
            bytes
        }
    }
}

/// Replaces, leaves out, doubles or wraps one value somewhere in a document. Text that is itself a document is opened.
fn change(value: &mut Value, stock: &Stock, random: &mut Random) {
    if random.one_in(6) {
        *value = another(value, stock, random);
        return;
    }
    match value {
        Value::Object(map) if !map.is_empty() => {
            let names: Vec<String> = map.keys().cloned().collect();
            let name = random.of_these(&names);
            match random.below(8) {
                0 => {
                    map.remove(name);
                }
                1 => {
                    let copy = map[name].clone();
                    map.insert((*random.of_these(&NAMES)).to_owned(), copy);
                }
                _ => {
                    if let Some(inner) = map.get_mut(name) {
                        change(inner, stock, random);
                    }
                }
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let at = random.below(list.len());
            match random.below(8) {
                0 => {
                    list.remove(at);
                }
                1 => {
                    let copies = 1 + random.below(40);
                    let copy = list[at].clone();
                    list.extend(std::iter::repeat_n(copy, copies));
                }
                _ => change(&mut list[at], stock, random),
            }
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(mut inner) if inner.is_object() => {
                change(&mut inner, stock, random);
                *text = inner.to_string();
            }
            _ => *value = another(value, stock, random),
        },
        _ => *value = another(value, stock, random),
    }
}

fn another(old: &Value, stock: &Stock, random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => Value::from(random.any()),
        2 => Value::from(-1),
        3 => Value::from(1e300),
        4 => Value::Array(vec![old.clone(); random.below(4)]),
        5 => Value::String(old.to_string()),
        6 => random.of_these(&stock.events).clone(),
        7 => Value::String("k".repeat(random.below(5_000))),
        _ => Value::String((*random.of_these(&NAMES)).to_owned()),
    }
}
