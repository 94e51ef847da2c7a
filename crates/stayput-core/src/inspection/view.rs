//! Views: which rows, in which order; and windows of them.

use flink_checkpoint::Extent;
use memchr::memmem::Finder;
use serde::Deserialize;

use super::Document;
use super::check::Status;

use crate::handles::places::Lies;
use crate::handles::{NONE, Names, Row, role_of};
use crate::report::summary::Whose;
use crate::shown::Shown;

/// The columns of numbers of a window, in their order. What isn't known is -1.
///
/// `row`: number of the row. `size`: bytes that the handle says. `size_means`: 0 exactly, 1 at least, 2 uncompressed (changelog), 3 not said.
/// `at`, `length`: the handle's bytes in the file. `operator`: position in the file. `subtask`. `key_group_from`, `key_group_to`: both
/// inclusive. `handles`: how many handles name the same object. `names`: 0 absolute path, 1 relative, 2 a directory as a whole.
/// `whose`: 0 own job directory, 1 another job's, 2 outside of any, 3 another bucket, 4 another file system, 5 unknown.
/// `status`: place in [`Status::ALL`]; 0 before a check.
pub const NUMBERS: [&str; 13] = [
    "row",
    "size",
    "size_means",
    "at",
    "length",
    "operator",
    "subtask",
    "key_group_from",
    "key_group_to",
    "handles",
    "names",
    "whose",
    "status",
];

/// The columns of text of a window, in their order: where the object lies, what it is for, the operator's name (or uid, or id), and the
/// job's directory. Escaped as in [`Shown`], so that there is no tab and no line end in them.
pub const TEXTS: [&str; 4] = ["location", "role", "operator", "directory"];

/// What can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Order of the file.
    #[default]
    At,
    /// Directory, then file name, as bytes.
    Location,
    /// Bytes that the handle says; handles that say none come first.
    Size,
    /// Position of the operator in the file.
    Operator,
    /// Subtask.
    Subtask,
    /// First key group; handles without any come first.
    KeyGroup,
    /// What it is for, in the order of Flink's serializer.
    Role,
    /// How many handles name the same object.
    Handles,
    /// The job's directory, by its text.
    Directory,
    /// What a check found, the worst last.
    Status,
}

/// An order. Rows that are equal in it keep the order of the file, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Sort {
    /// By what.
    pub column: Column,
    /// Largest first.
    #[serde(default)]
    pub descending: bool,
}

/// Which rows are wanted: those that fit every field that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// The order.
    pub sort: Sort,
    /// Part of the location, as [`crate::handles::Handles::location`] gives it; case matters.
    pub text: Option<String>,
    /// What it is for: `managed_keyed.shared`; or the beginning of that up to a dot: `managed_keyed`.
    pub role: Option<String>,
    /// Position of the operator in the file.
    pub operator: Option<u32>,
    /// The subtask.
    pub subtask: Option<u32>,
    /// The job's directory, as the column `directory` has it.
    pub directory: Option<String>,
    /// Whose directory it lies in.
    pub whose: Option<Whose>,
    /// What a check found.
    pub status: Option<Status>,
    /// Each object once, by its first handle among those that fit.
    pub each_object_once: bool,
}

/// Rows of a document in some order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub(super) rows: Vec<u32>,
}

impl View {
    /// Number of rows in it.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The numbers of its rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub(super) fn window(&self, from: usize, count: usize) -> &[u32] {
        let from = from.min(self.rows.len());
        let to = from.saturating_add(count).min(self.rows.len());
        &self.rows[from..to]
    }
}

impl Document {
    /// The rows that a query wants, in its order.
    pub fn view(&self, query: &Query) -> View {
        let mut rows = self.select(query);
        if query.each_object_once {
            let mut seen = vec![false; self.handles.objects()];
            rows.retain(|row| {
                let object = self.handles.all()[*row as usize].object;
                seen.get_mut(object as usize)
                    .is_none_or(|seen| !std::mem::replace(seen, true))
            });
        }
        self.sort(&mut rows, query.sort);
        View { rows }
    }

    fn select(&self, query: &Query) -> Vec<u32> {
        let roles: Option<Vec<bool>> = query.role.as_ref().map(|wanted| {
            (0..=u8::MAX)
                .map(|code| {
                    let role = role_of(code).to_string();
                    role.strip_prefix(wanted.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
                .collect()
        });
        let places: Option<Vec<bool>> = (query.directory.is_some() || query.whose.is_some()).then(|| {
            self.handles
                .places()
                .iter()
                .map(|lies| {
                    query.directory.as_ref().is_none_or(|wanted| lies.job == *wanted)
                        && query.whose.is_none_or(|wanted| lies.whose == wanted)
                })
                .collect()
        });
        let fits = |row: &Row| {
            query.operator.is_none_or(|wanted| row.operator == wanted)
                && query.subtask.is_none_or(|wanted| row.subtask == wanted)
                && query.status.is_none_or(|wanted| self.status_of(row) == wanted)
                && roles
                    .as_ref()
                    .is_none_or(|fit| fit[usize::from(row.role_number())])
                && places
                    .as_ref()
                    .is_none_or(|fit| fit.get(row.place as usize).copied().unwrap_or(false))
        };
        let text = query.text.as_deref().filter(|text| !text.is_empty());
        match text {
            Some(text) => self.containing(text, fits),
            None => numbered(self.handles.all())
                .filter(|(_, row)| fits(row))
                .map(|(number, _)| number)
                .collect(),
        }
    }

    /// Rows with this text in their location.
    fn containing(&self, text: &str, fits: impl Fn(&Row) -> bool) -> Vec<u32> {
        let finder = Finder::new(text);
        // By directory: whether it has the text itself, and what of the text is left for the name where its beginning ends the directory.
        let places: Vec<(bool, Vec<&[u8]>)> = self
            .handles
            .places()
            .iter()
            .map(|lies| {
                let mut directory = lies.directory.clone();
                if !directory.is_empty() && !directory.ends_with('/') {
                    directory.push('/');
                }
                let within = finder.find(directory.as_bytes()).is_some();
                let left = (1..text.len())
                    .filter(|at| text.is_char_boundary(*at) && directory.ends_with(&text[..*at]))
                    .map(|at| &text.as_bytes()[at..])
                    .collect();
                (within, left)
            })
            .collect();
        let slowly = |row: &Row| self.handles.location(row, &self.bytes).to_string().contains(text);
        let mut found = Vec::new();
        for (number, row) in numbered(self.handles.all()) {
            if !fits(row) {
                continue;
            }
            let has = match places.get(row.place as usize) {
                Some((within, left)) if row.names() != Names::Directory => {
                    let name = row.name(&self.bytes);
                    *within
                        || finder.find(name).is_some()
                        || left.iter().any(|left| name.starts_with(left))
                        // Java writes some characters in another way than UTF-8.
                        || (!name.is_ascii() && slowly(row))
                }
                _ => slowly(row),
            };
            if has {
                found.push(number);
            }
        }
        found
    }

    fn sort(&self, rows: &mut Vec<u32>, sort: Sort) {
        let all = self.handles.all();
        let row = |number: u32| &all[number as usize];
        let key: Box<dyn Fn(u32) -> u64 + '_> = match sort.column {
            Column::At => {
                if sort.descending {
                    rows.reverse();
                }
                return;
            }
            Column::Location => return self.sort_by_location(rows, sort.descending),
            Column::Size => Box::new(move |n| row(n).size().map_or(0, |size| size.saturating_add(1))),
            Column::Operator => Box::new(move |n| row(n).operator.into()),
            Column::Subtask => Box::new(move |n| row(n).subtask.wrapping_add(1).into()),
            Column::KeyGroup => Box::new(move |n| {
                row(n)
                    .key_groups()
                    .map_or(0, |groups| u64::from(groups.start) + 1)
            }),
            Column::Role => Box::new(move |n| row(n).role_number().into()),
            Column::Status => Box::new(move |n| self.status_of(row(n)) as u64),
            Column::Handles => Box::new(move |n| self.handles.handles_of(row(n)).into()),
            Column::Directory => {
                let ranks = self.ranks(|lies| &lies.job);
                Box::new(move |n| ranks.get(row(n).place as usize).copied().unwrap_or(NONE).into())
            }
        };
        let flip = if sort.descending { u64::MAX } else { 0 };
        let mut pairs: Vec<(u64, u32)> = rows.iter().map(|&number| (key(number) ^ flip, number)).collect();
        pairs.sort_unstable();
        rows.clear();
        rows.extend(pairs.into_iter().map(|(_, number)| number));
    }

    /// The rank of each place by a text of it.
    fn ranks<'r>(&'r self, text: impl Fn(&'r Lies) -> &'r String) -> Vec<u32> {
        let places = self.handles.places();
        let mut texts: Vec<&String> = places.iter().map(&text).collect();
        texts.sort_unstable();
        texts.dedup();
        places
            .iter()
            .map(|lies| {
                texts
                    .binary_search(&text(lies))
                    .ok()
                    .and_then(|rank| u32::try_from(rank).ok())
                    .unwrap_or(NONE)
            })
            .collect()
    }

    fn sort_by_location(&self, rows: &mut Vec<u32>, descending: bool) {
        let ranks = self.ranks(|lies| &lies.directory);
        let all = self.handles.all();
        let flip = if descending { u128::MAX << 32 } else { 0 };
        // The rank of the directory, the first bytes of the name and the number of the row as one number: comparing these is all that most need.
        let mut keys: Vec<u128> = rows
            .iter()
            .map(|&number| {
                let row = &all[number as usize];
                let rank = ranks.get(row.place as usize).copied().unwrap_or(NONE);
                let head = head_of(self.order_name(row));
                (u128::from(rank) << 96 | u128::from(head) << 32 | u128::from(number)) ^ flip
            })
            .collect();
        keys.sort_unstable();
        rows.clear();
        for alike in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let began = rows.len();
            let numbers = alike.iter().map(|key| u32::try_from(key & u128::from(u32::MAX)));
            rows.extend(numbers.flatten());
            if let [_, _, ..] = alike {
                rows[began..].sort_by(|&a, &b| {
                    let name = |number: u32| self.order_name(&all[number as usize]);
                    let ascending = name(a).cmp(name(b));
                    if descending {
                        ascending.reverse()
                    } else {
                        ascending
                    }
                });
            }
        }
    }

    /// What orders a row within its directory: its name, or its path where it has no directory.
    fn order_name(&self, row: &Row) -> &[u8] {
        if row.place == NONE {
            row.path(&self.bytes).as_bytes()
        } else {
            row.name(&self.bytes)
        }
    }

    /// The numbers of a window: for each row those of [`NUMBERS`].
    pub fn numbers(&self, view: &View, from: usize, count: usize) -> Vec<f64> {
        let window = view.window(from, count);
        let mut numbers = Vec::with_capacity(window.len() * NUMBERS.len());
        for number in window {
            let Some(row) = self.handles.all().get(*number as usize) else {
                continue;
            };
            let groups = row.key_groups().filter(|groups| groups.count > 0);
            let means = match row.extent() {
                Extent::Exact(_) => 0.0,
                Extent::AtLeast(_) => 1.0,
                Extent::Changelog(_) => 2.0,
                Extent::Unknown => 3.0,
            };
            let whose = self.handles.lies(row).map_or(Whose::Unknown, |lies| lies.whose);
            let span = row.span();
            numbers.extend([
                f64::from(*number),
                row.size().map_or(-1.0, approximate),
                means,
                approximate(span.start as u64),
                approximate(span.len() as u64),
                f64::from(row.operator),
                if row.subtask == NONE {
                    -1.0
                } else {
                    f64::from(row.subtask)
                },
                groups.map_or(-1.0, |groups| f64::from(groups.start)),
                groups.map_or(-1.0, |groups| {
                    f64::from(groups.start) + f64::from(groups.count) - 1.0
                }),
                f64::from(self.handles.handles_of(row)),
                match row.names() {
                    Names::Absolute => 0.0,
                    Names::Relative => 1.0,
                    Names::Directory => 2.0,
                },
                f64::from(whose as u8),
                f64::from(self.status_of(row) as u8),
            ]);
        }
        numbers
    }

    /// Bytes that the handles of all its rows say together; an object counts each time.
    pub fn bytes_of_view(&self, view: &View) -> f64 {
        let rows = view
            .rows
            .iter()
            .filter_map(|row| self.handles.all().get(*row as usize));
        let sum = rows.fold(0u64, |sum, row| {
            sum.saturating_add(row.state_bytes(&self.bytes).unwrap_or(0))
        });
        approximate(sum)
    }

    /// The texts of a window: for each row those of [`TEXTS`] with tabs between, and line ends between rows.
    pub fn texts(&self, view: &View, from: usize, count: usize) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        for number in view.window(from, count) {
            let Some(row) = self.handles.all().get(*number as usize) else {
                continue;
            };
            if !text.is_empty() {
                text.push('\n');
            }
            let location = self.handles.location(row, &self.bytes).to_string();
            let directory = self.handles.lies(row).map_or("", |lies| &lies.job);
            let operator = self.operator_name(row.operator);
            // Writing to a text can't fail.
            let _ = write!(
                text,
                "{}\t{}\t{}\t{}",
                Shown(&location),
                row.role(),
                Shown(operator),
                Shown(directory)
            );
        }
        text
    }

    /// What to call an operator: its name, else its uid, else its id.
    pub fn operator_name(&self, number: u32) -> &str {
        self.summary
            .operators
            .get(number as usize)
            .map_or("", |operator| {
                operator
                    .name
                    .as_deref()
                    .or(operator.uid.as_deref())
                    .unwrap_or(&operator.id)
            })
    }
}

fn numbered(rows: &[Row]) -> impl Iterator<Item = (u32, &Row)> {
    (0..).zip(rows)
}

/// The first eight bytes, in an order that is that of the whole as far as they go.
fn head_of(name: &[u8]) -> u64 {
    let mut head = [0; 8];
    for (to, from) in head.iter_mut().zip(name) {
        *to = *from;
    }
    u64::from_be_bytes(head)
}

/// Sizes are shown; from 2^53 on JavaScript rounds them.
#[expect(
    clippy::cast_precision_loss,
    reason = "shown to people; sums are made of integers"
)]
fn approximate(n: u64) -> f64 {
    n as f64
}
