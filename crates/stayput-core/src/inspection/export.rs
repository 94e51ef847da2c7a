//! Rows for other programs, in chunks.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use super::Document;
use super::check::Status;
use super::view::View;
use crate::handles::{NONE, Row};
use crate::report::summary::Whose;
use crate::shown::{Shown, ShownJson};

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated, with a line of names first; names are escaped, and what a spreadsheet would take for a formula is defused by an
    /// apostrophe before it.
    Csv,
    /// One array of objects; names are exact.
    Json,
    /// One location on each line, escaped.
    Text,
}

impl Format {
    /// By its name: `csv`, `json` or `text`.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

const HEAD: &str = "location,size,role,operator,operator_uid,operator_id,subtask,key_group_from,key_group_to,handles,whose,directory,status,at_byte";

/// One row of an export.
#[derive(Serialize)]
pub(super) struct Exported<'a> {
    pub(super) location: String,
    size: Option<u64>,
    role: String,
    pub(super) operator: Option<Cow<'a, str>>,
    pub(super) operator_uid: Option<Cow<'a, str>>,
    pub(super) operator_id: Cow<'a, str>,
    subtask: Option<u32>,
    key_group_from: Option<u32>,
    key_group_to: Option<u32>,
    handles: u32,
    whose: Whose,
    pub(super) directory: Cow<'a, str>,
    status: Status,
    at_byte: usize,
}

impl Document {
    /// The rows `from..from + count` of a view. The chunks of a view, one after the other, are one document: the first has the head, the one
    /// that reaches the end the foot.
    pub fn export(&self, view: &View, from: usize, count: usize, format: Format) -> String {
        self.export_with(view, from, count, format, |_, _| ())
    }

    /// As [`Document::export`], each row changed before it is written.
    pub(super) fn export_with(
        &self,
        view: &View,
        from: usize,
        count: usize,
        format: Format,
        mut change: impl FnMut(&Row, &mut Exported<'_>),
    ) -> String {
        let mut text = String::new();
        if from == 0 {
            text.push_str(match format {
                Format::Csv => HEAD,
                Format::Json => "[",
                Format::Text => "",
            });
            if format == Format::Csv {
                text.push_str("\r\n");
            }
        }
        for (place, row) in (from..).zip(view.window(from, count)) {
            let Some(handle) = self.handles.all().get(*row as usize) else {
                continue;
            };
            let Some(mut row) = self.exported(handle) else {
                continue;
            };
            change(handle, &mut row);
            match format {
                Format::Csv => csv_line(&row, &mut text),
                Format::Json => {
                    text.push_str(if place == 0 { "\n" } else { ",\n" });
                    let json = serde_json::to_string(&row).unwrap_or_default();
                    // Writing to a text can't fail.
                    let _ = write!(text, "{}", ShownJson(&json));
                }
                Format::Text => {
                    let _ = writeln!(text, "{}", Shown(&row.location));
                }
            }
        }
        if format == Format::Json && from.saturating_add(count) >= view.len() {
            text.push_str("\n]\n");
        }
        text
    }

    fn exported(&self, row: &Row) -> Option<Exported<'_>> {
        let operator = self.summary.operators.get(row.operator as usize)?;
        let lies = self.handles.lies(row);
        let groups = row.key_groups().filter(|groups| groups.count > 0);
        Some(Exported {
            location: self.handles.location(row, &self.bytes).to_string(),
            size: row.size(),
            role: row.role().to_string(),
            operator: operator.name.as_deref().map(Cow::Borrowed),
            operator_uid: operator.uid.as_deref().map(Cow::Borrowed),
            operator_id: Cow::Borrowed(&operator.id),
            subtask: (row.subtask != NONE).then_some(row.subtask),
            key_group_from: groups.map(|groups| groups.start),
            key_group_to: groups.map(|groups| groups.start.saturating_add(groups.count - 1)),
            handles: self.handles.handles_of(row),
            whose: lies.map_or(Whose::Unknown, |lies| lies.whose),
            directory: Cow::Borrowed(lies.map_or("", |lies| &lies.job)),
            status: self.status_of(row),
            at_byte: row.span().start,
        })
    }
}

fn csv_line(row: &Exported<'_>, text: &mut String) {
    let number = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
    let cells = [
        row.location.clone(),
        row.size.map_or(String::new(), |size| size.to_string()),
        row.role.clone(),
        row.operator.as_deref().unwrap_or_default().to_owned(),
        row.operator_uid.as_deref().unwrap_or_default().to_owned(),
        row.operator_id.to_string(),
        number(row.subtask),
        number(row.key_group_from),
        number(row.key_group_to),
        row.handles.to_string(),
        word(row.whose),
        row.directory.to_string(),
        word(row.status),
        row.at_byte.to_string(),
    ];
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        csv_cell(cell, text);
    }
    text.push_str("\r\n");
}

/// The stable word of a value, as JSON has it.
fn word(value: impl Serialize) -> String {
    let json = serde_json::to_string(&value).unwrap_or_default();
    json.trim_matches('"').to_owned()
}

/// A cell of CSV. Spreadsheets take what begins with `=`, `+`, `-`, `@`, a tab or a line end for a formula, also behind spaces.
pub fn csv_cell(cell: &str, text: &mut String) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b':' | b'.' | b'_' | b'-');
    if !cell.starts_with('-') && cell.bytes().all(plain) {
        text.push_str(cell);
        return;
    }
    let shown = Shown(cell).to_string();
    let formula = shown.trim_start().starts_with([
        '=', '+', '-', '@', '|', '%', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}',
    ]);
    let quoted = formula || shown.contains(['"', ',', ';', ' ', '\'']);
    if quoted {
        text.push('"');
    }
    if formula {
        text.push('\'');
    }
    text.push_str(&shown.replace('"', "\"\""));
    if quoted {
        text.push('"');
    }
}
