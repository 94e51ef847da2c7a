//! Everything of one row, and who names an object.

use std::collections::BTreeMap;

use flink_checkpoint::{Extent, Field, Part, StateKind};
use s3_documents::encoding::decode_percent;
use serde::Serialize;

use super::Document;
use super::check::Status;
use crate::handles::{NONE, Names, Row};
use crate::layout::METADATA_FILE;
use crate::location::{Location, ObjectLocation};
use crate::report::summary::{Part as PlacePart, Whose};
use crate::shown::{Quoted, Shown};

/// So many objects and operators are listed of an answer; more are counted.
const LISTED: usize = 20;

/// Everything of one row. Texts aren't escaped, but for sentences.
#[derive(Clone, Debug, Serialize)]
pub struct Detail {
    /// Number of the row.
    pub row: u32,
    /// Where what it names lies, in its one spelling.
    pub location: String,
    /// The path as it is written in the file.
    pub written: String,
    /// `absolute`, `relative` or `directory`.
    pub names: &'static str,
    /// Bytes that the handle says; `None` if it says none.
    pub size: Option<u64>,
    /// What that means: `exactly`, `at_least`, `uncompressed`, `not_said`.
    pub size_means: &'static str,
    /// Bytes of state behind it: of a part of a merged object its length.
    pub state_bytes: Option<u64>,
    /// The first byte of the part, of a merged object.
    pub segment_start: Option<u64>,
    /// What it is for.
    pub role: String,
    /// That in words.
    pub role_in_words: String,
    /// Its operator.
    pub operator: OperatorName,
    /// Its subtask.
    pub subtask: Option<u32>,
    /// First and last key group in it.
    pub key_groups: Option<(u32, u32)>,
    /// Whose directory it lies in.
    pub whose: Whose,
    /// Which part of it; `None` for a path that is no location.
    pub part: Option<PlacePart>,
    /// The job's directory.
    pub directory: Option<String>,
    /// How many handles name the same object.
    pub handles: u32,
    /// The handle's bytes in the file: the first, and the one behind the last.
    pub bytes: (usize, usize),
    /// The name under which the state backend knows the file, such as `000012.sst`.
    pub local_path: Option<String>,
    /// What a check found.
    pub status: Status,
    /// How the snapshot comes to need it, one step each.
    pub chain: Vec<String>,
}

/// An operator, by all its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperatorName {
    /// Position in the file, from 0.
    pub number: u32,
    /// Id, 32 hex digits.
    pub id: String,
    /// Uid.
    pub uid: Option<String>,
    /// Name.
    pub name: Option<String>,
}

/// What breaks if an object vanishes.
#[derive(Clone, Debug, Serialize)]
pub struct Referrers {
    /// What was asked, without spaces around it.
    pub asked: String,
    /// How it was found: `location` (bucket and key, or path), `end_of_path`, `file_name`, `directory` (it is or lies below a directory that is named
    /// as a whole), `metadata` (it is the snapshot's own `_metadata`), or `nothing`.
    pub found_by: &'static str,
    /// The objects, each once; at most 20.
    pub objects: Vec<String>,
    /// How many objects fit.
    pub object_count: u64,
    /// Rows of the handles that name them; at most 20.
    pub rows: Vec<u32>,
    /// How many handles name them.
    pub handles: u64,
    /// Operators that need them, most handles first; at most 20.
    pub operators: Vec<Needing>,
    /// How many operators need them.
    pub operator_count: u64,
    /// What that means for the job, in a sentence or two. Escaped.
    pub sentence: String,
    /// How the snapshot comes to need the first of them.
    pub chain: Vec<String>,
}

/// An operator that needs an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Needing {
    /// Which.
    pub operator: OperatorName,
    /// Its subtasks that do, in order; at most 20.
    pub subtasks: Vec<u32>,
    /// How many do.
    pub subtask_count: u64,
    /// Handles.
    pub handles: u64,
    /// What for.
    pub roles: Vec<String>,
}

impl Document {
    /// Everything of a row. `None`: there is no such row.
    pub fn detail(&self, number: u32) -> Option<Detail> {
        let row = self.handles.all().get(number as usize)?;
        let local_path = self.fields_of_row(number).and_then(|fields| {
            let wanted = Field::LocalPath.to_string();
            let field = fields.fields.into_iter().find(|field| field.field == wanted)?;
            let text = self.bytes.get(field.at + 2..field.at + field.length)?;
            Some(flink_checkpoint::JavaStr::from_bytes(text).to_string())
        });
        let lies = self.handles.lies(row);
        let span = row.span();
        Some(Detail {
            row: number,
            location: self.handles.location(row, &self.bytes).to_string(),
            written: row.path(&self.bytes).to_string(),
            names: match row.names() {
                Names::Absolute => "absolute",
                Names::Relative => "relative",
                Names::Directory => "directory",
            },
            size: row.size(),
            size_means: match row.extent() {
                Extent::Exact(_) => "exactly",
                Extent::AtLeast(_) => "at_least",
                Extent::Changelog(_) => "uncompressed",
                Extent::Unknown => "not_said",
            },
            state_bytes: row.state_bytes(&self.bytes),
            segment_start: row.segment_start(&self.bytes),
            role: row.role().to_string(),
            role_in_words: in_words(row.role()),
            operator: self.operator(row.operator),
            subtask: (row.subtask != NONE).then_some(row.subtask),
            key_groups: row
                .key_groups()
                .filter(|groups| groups.count > 0)
                .map(|groups| (groups.start, groups.start.saturating_add(groups.count - 1))),
            whose: lies.map_or(Whose::Unknown, |lies| lies.whose),
            part: lies.map(|lies| lies.part),
            directory: lies.map(|lies| lies.job.clone()),
            handles: self.handles.handles_of(row),
            bytes: (span.start, span.end),
            local_path,
            status: self.status(number),
            chain: self.chain(row),
        })
    }

    /// An operator, by all its names.
    pub fn operator(&self, number: u32) -> OperatorName {
        let operator = self.summary.operators.get(number as usize);
        OperatorName {
            number,
            id: operator.map(|o| o.id.clone()).unwrap_or_default(),
            uid: operator.and_then(|o| o.uid.clone()),
            name: operator.and_then(|o| o.name.clone()),
        }
    }

    /// How the snapshot comes to need what a row names.
    fn chain(&self, row: &Row) -> Vec<String> {
        let snapshot = match self.home.as_ref() {
            Some(home) => format!("{}/_metadata", home.location),
            None => format!("_metadata of checkpoint {}", self.summary.checkpoint_id),
        };
        let subtask = match row.subtask {
            NONE => String::new(),
            subtask => format!(", subtask {subtask}"),
        };
        let location = self.handles.location(row, &self.bytes).to_string();
        vec![
            Shown(&snapshot).to_string(),
            format!("operator {}{subtask}", Quoted(self.operator_name(row.operator))),
            format!(
                "{}, in the handle at byte {}",
                in_words(row.role()),
                row.span().start
            ),
            match row.names() {
                Names::Directory => format!("everything below {}", Shown(&location)),
                Names::Absolute | Names::Relative => Shown(&location).to_string(),
            },
        ]
    }

    /// What breaks if an object vanishes. It can be named by a key, a URL (`s3://`, `s3a://`, `https://`), an ARN, a path as Flink writes it, or the
    /// end of any of these, such as a file name.
    pub fn referrers(&self, asked: &str) -> Referrers {
        let asked = asked.trim();
        if asked.is_empty() {
            return self.referred(asked, "nothing", Vec::new());
        }
        let wanted = Wanted::parse(asked);
        let metadata = self
            .home
            .as_ref()
            .map(|home| format!("{}/_metadata", home.location));
        if metadata.is_some_and(|metadata| wanted.is(&metadata) || wanted.is_end_of(&metadata))
            || wanted.text() == METADATA_FILE
        {
            return self.referred(asked, "metadata", Vec::new());
        }
        let (mut exact, mut by_end) = (Vec::new(), Vec::new());
        let name = wanted.name();
        for (number, row) in (0..).zip(self.handles.all()) {
            if !self.is_named(row, name) {
                continue;
            }
            let location = self.handles.location(row, &self.bytes).to_string();
            // A relative name of a snapshot that lies nobody knows where can be any file of that name.
            let anywhere = self
                .handles
                .lies(row)
                .is_some_and(|lies| lies.directory.is_empty());
            if wanted.is(&location) {
                exact.push(number);
            } else if anywhere || wanted.is_end_of(&location) {
                by_end.push(number);
            }
        }
        if !exact.is_empty() {
            return self.referred(asked, "location", exact);
        }
        if !by_end.is_empty() {
            let found_by = if wanted.text().contains('/') {
                "end_of_path"
            } else {
                "file_name"
            };
            return self.referred(asked, found_by, by_end);
        }
        let below: Vec<u32> = (0..)
            .zip(self.handles.all())
            .filter(|(_, row)| {
                row.names() == Names::Directory
                    && wanted.is_below(&self.handles.location(row, &self.bytes).to_string())
            })
            .map(|(number, _)| number)
            .collect();
        if !below.is_empty() {
            return self.referred(asked, "directory", below);
        }
        self.referred(asked, "nothing", Vec::new())
    }

    /// Whether what a row names has this as the last part of its path.
    fn is_named(&self, row: &Row, name: &str) -> bool {
        if row.place == NONE {
            // What has no location is found by its path alone.
            return row.path(&self.bytes).as_bytes().ends_with(name.as_bytes());
        }
        let named = row.name(&self.bytes);
        row.names() != Names::Directory
            && (named == name.as_bytes()
                // Java writes some characters in another way than UTF-8.
                || (!named.is_ascii() && flink_checkpoint::JavaStr::from_bytes(named) == *name))
    }

    fn referred(&self, asked: &str, found_by: &'static str, rows: Vec<u32>) -> Referrers {
        let all = self.handles.all();
        let found: Vec<&Row> = rows
            .iter()
            .filter_map(|number| all.get(*number as usize))
            .collect();
        let mut seen = std::collections::HashSet::new();
        let mut objects = Vec::new();
        for row in &found {
            if seen.insert(row.object) && objects.len() < LISTED {
                objects.push(self.handles.location(row, &self.bytes).to_string());
            }
        }
        let mut by_operator: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
        for row in &found {
            by_operator.entry(row.operator).or_default().push(row);
        }
        let operator_count = by_operator.len() as u64;
        let mut operators: Vec<Needing> = by_operator
            .into_iter()
            .map(|(number, rows)| {
                let mut subtasks: Vec<u32> = rows
                    .iter()
                    .map(|row| row.subtask)
                    .filter(|s| *s != NONE)
                    .collect();
                subtasks.sort_unstable();
                subtasks.dedup();
                let mut roles: Vec<String> = rows.iter().map(|row| row.role().to_string()).collect();
                roles.sort_unstable();
                roles.dedup();
                Needing {
                    operator: self.operator(number),
                    subtask_count: subtasks.len() as u64,
                    subtasks: subtasks.into_iter().take(LISTED).collect(),
                    handles: rows.len() as u64,
                    roles,
                }
            })
            .collect();
        operators.sort_by_key(|needing| std::cmp::Reverse(needing.handles));
        operators.truncate(LISTED);
        let mut answer = Referrers {
            asked: asked.to_owned(),
            found_by,
            objects,
            object_count: seen.len() as u64,
            handles: found.len() as u64,
            chain: found.first().map(|row| self.chain(row)).unwrap_or_default(),
            rows: rows.into_iter().take(LISTED).collect(),
            operators,
            operator_count,
            sentence: String::new(),
        };
        answer.sentence = self.sentence(&answer);
        answer
    }

    fn sentence(&self, answer: &Referrers) -> String {
        let what = match self.summary.kind {
            Some(kind) if kind.savepoint => "savepoint",
            Some(_) => "checkpoint",
            None => "snapshot",
        };
        let id = self.summary.checkpoint_id;
        let needed_by = || match answer.operators.first() {
            None => String::new(),
            Some(first) => {
                let others = match answer.operator_count {
                    0 | 1 => String::new(),
                    n => format!(" and {} more", plural(n - 1, "operator", "operators")),
                };
                format!(
                    "{} of operator {}{others}",
                    plural(answer.handles, "handle", "handles"),
                    Quoted(self.operator_name(first.operator.number))
                )
            }
        };
        match answer.found_by {
            "metadata" => format!(
                "It is the _metadata itself: without it {what} {id} can't be restored at all, and nobody can tell any more which files it needs."
            ),
            "location" => format!(
                "Without it {what} {id} can't be restored: {} need{} it.",
                needed_by(),
                if answer.handles == 1 { "s" } else { "" }
            ),
            "end_of_path" | "file_name" => format!(
                "{} here end{} like that. Without {} {what} {id} can't be restored: named by {}.",
                plural(answer.object_count, "object", "objects"),
                if answer.object_count == 1 { "s" } else { "" },
                if answer.object_count == 1 {
                    "it"
                } else {
                    "any of them"
                },
                needed_by()
            ),
            "directory" => format!(
                "It is, or lies below, a directory that {what} {id} names as a whole (file merging). Which files of it are needed can't be told from \
                 here: take all of them as needed."
            ),
            _ => format!(
                "Nothing in {what} {id} names it. That is no proof that nobody needs it: other checkpoints and savepoints can."
            ),
        }
    }
}

fn plural(n: u64, one: &str, many: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// A role in words.
pub fn in_words(role: flink_checkpoint::Role) -> String {
    let state = match role.state {
        StateKind::Coordinator => "state of the coordinator",
        StateKind::ManagedOperator => "operator state (lists and broadcast)",
        StateKind::RawOperator => "raw operator state",
        StateKind::ManagedKeyed => "keyed state",
        StateKind::RawKeyed => "raw keyed state (timers on the heap)",
        StateKind::InputChannel => "records in flight before an input",
        StateKind::ResultSubpartition => "records in flight behind an output",
    };
    let part = match role.part {
        Part::Whole => "",
        Part::Meta => ": what the backend says about its files",
        Part::Shared => ": a file that other checkpoints may share (SST)",
        Part::Private => ": a file of this checkpoint only",
        Part::Changelog => ": a file of the changelog",
        Part::TaskOwnedDir => ": the directory of merged files that a TaskManager owns",
        Part::SharedDir => ": the directory of shared merged files",
    };
    let base = if role.materialized {
        ", in the materialized base"
    } else {
        ""
    };
    format!("{state}{base}{part}")
}

/// What somebody asks about, as locations that it can mean.
struct Wanted {
    /// Locations that it means as a whole.
    whole: Vec<Location>,
    /// The end of a path.
    end: String,
}

impl Wanted {
    fn parse(asked: &str) -> Self {
        let mut whole = Vec::new();
        let lower = asked.to_ascii_lowercase();
        if lower.starts_with("https://") || lower.starts_with("http://") {
            whole.extend(of_https(asked));
        } else if let Some(rest) = asked.strip_prefix("arn:aws:s3:::") {
            whole.extend(
                rest.split_once('/')
                    .map(|(bucket, key)| ObjectLocation::new(bucket, key).into()),
            );
        } else if lower.contains(":/") {
            whole.extend(Location::parse_flink_path(asked).ok());
            // As URIs have it.
            if asked.contains('%') {
                whole.extend(Location::parse_java_uri(asked).ok());
            }
        } else if asked.starts_with('/') {
            // Flink takes a path without a scheme for a local one.
            whole.extend(Location::parse_flink_path(&format!("file:{asked}")).ok());
        }
        let end = match whole.first() {
            Some(Location::S3(object)) => object.key().to_owned(),
            Some(Location::Foreign(foreign)) => foreign.rest().to_owned(),
            None => asked.to_owned(),
        };
        Self { whole, end }
    }

    fn text(&self) -> &str {
        self.end.trim_start_matches('/')
    }

    fn name(&self) -> &str {
        self.end.rsplit('/').next().unwrap_or_default()
    }

    fn is(&self, location: &str) -> bool {
        self.whole.iter().any(|whole| whole.to_string() == location)
            || (self.whole.is_empty() && self.text().contains('/') && key_of(location) == Some(self.text()))
    }

    fn is_end_of(&self, location: &str) -> bool {
        // A whole location that isn't this one is another object, wherever its file has the same name.
        self.whole.is_empty()
            && location
                .strip_suffix(self.text())
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// Whether it is this directory, or below it.
    fn is_below(&self, directory: &str) -> bool {
        let directory = format!("{}/", directory.trim_end_matches('/'));
        let within = |text: &str, directory: &str| {
            text.starts_with(directory) || directory.strip_suffix('/') == Some(text.trim_end_matches('/'))
        };
        self.whole
            .iter()
            .any(|whole| within(&whole.to_string(), &directory))
            || (self.whole.is_empty() && key_of(&directory).is_some_and(|prefix| within(self.text(), prefix)))
    }
}

/// The key of an S3 location that is written out.
fn key_of(location: &str) -> Option<&str> {
    location
        .strip_prefix("s3://")?
        .split_once('/')
        .map(|(_, key)| key)
}

/// The object of `https://bucket.s3.region.amazonaws.com/key` or `https://s3.region.amazonaws.com/bucket/key`, or of another server that has the
/// bucket first in its path.
fn of_https(url: &str) -> Option<Location> {
    let (_, rest) = url.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = decode_percent(path).ok()?;
    let host = host.to_ascii_lowercase();
    let (bucket, key) = match host.split_once(".s3.").or_else(|| host.split_once(".s3-")) {
        Some((bucket, _)) => (bucket.to_owned(), path.into_owned()),
        None => {
            let (bucket, key) = path.split_once('/')?;
            (bucket.to_owned(), key.to_owned())
        }
    };
    Some(ObjectLocation::new(bucket, key).into())
}
