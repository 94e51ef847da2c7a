//! The bytes of the file and the fields that they are.

use flink_checkpoint::{Field, JavaStr, Limits};
use serde::Serialize;

use super::Document;
use crate::shown::Quoted;

/// So many fields are told at once.
const LISTED: usize = 4_096;
/// So many bytes of a field without a number or text are shown.
const SHOWN_BYTES: usize = 16;

/// Fields whose bytes meet a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fields {
    /// The fields, in the order of the file; at most 4,096.
    pub fields: Vec<FieldAt>,
    /// Whether there are more.
    pub more: bool,
}

/// One field and where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldAt {
    /// What it is, in words.
    pub field: String,
    /// Its first byte.
    pub at: usize,
    /// Its length in bytes.
    pub length: usize,
    /// Its value: a number, a text in quotation marks, or the first bytes in hex. Escaped.
    pub value: String,
}

impl Document {
    /// The fields whose bytes meet `from..to`.
    pub fn fields(&self, from: usize, to: usize) -> Fields {
        let mut fields = Vec::new();
        let mut more = false;
        // It was read to its end before.
        let _ = flink_checkpoint::fields(&self.bytes, &Limits::default(), &mut |field, span| {
            if span.end > from && span.start < to {
                if fields.len() < LISTED {
                    fields.push((field, span));
                } else {
                    more = true;
                }
            }
        });
        Fields {
            fields: fields
                .into_iter()
                .map(|(field, span)| FieldAt {
                    field: field.to_string(),
                    at: span.start,
                    length: span.len(),
                    value: value(field, span.of(&self.bytes).unwrap_or_default()),
                })
                .collect(),
            more,
        }
    }

    /// The fields of a row's handle, and the name or offset that stands before it in its list.
    pub fn fields_of_row(&self, row: u32) -> Option<Fields> {
        let row = self.handles.all().get(row as usize)?;
        let span = row.span();
        let mut fields = self.fields(span.start.saturating_sub(1), span.end);
        // The byte before belongs to what stands before the handle, and only a name or offset there is part of it.
        let before = |field: &FieldAt| {
            [Field::LocalPath, Field::ChangelogOffset]
                .iter()
                .any(|known| known.to_string() == field.field)
        };
        fields
            .fields
            .retain(|field| field.at >= span.start || before(field));
        Some(fields)
    }

    /// The bytes of a range, as far as the file goes.
    pub fn bytes_of(&self, range: std::ops::Range<usize>) -> &[u8] {
        let end = range.end.min(self.bytes.len());
        self.bytes.get(range.start.min(end)..end).unwrap_or_default()
    }
}

fn value(field: Field, bytes: &[u8]) -> String {
    match field {
        Field::LocalPath
        | Field::Path
        | Field::RelativePath
        | Field::InlineName
        | Field::StateHandleId
        | Field::BackendId
        | Field::StorageIdentifier
        | Field::StateName
        | Field::TaskOwnedDirectory
        | Field::SharedDirectory
        | Field::LogicalFileId
        | Field::OperatorName
        | Field::OperatorUid
        | Field::MasterStateName
            if bytes.len() >= 2 =>
        {
            Quoted(&JavaStr::from_bytes(&bytes[2..]).to_string()).to_string()
        }
        Field::Offsets => {
            let mut text: Vec<String> = bytes
                .as_chunks::<8>()
                .0
                .iter()
                .take(8)
                .map(|offset| i64::from_be_bytes(*offset).to_string())
                .collect();
            if bytes.len() > 64 {
                text.push(format!("… ({} in all)", bytes.len() / 8));
            }
            text.join(", ")
        }
        Field::InlineBytes | Field::Change | Field::MasterStatePayload | Field::Properties => hex(bytes),
        Field::OperatorId => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Field::Magic => hex(bytes),
        _ => match *bytes {
            [n] => n.to_string(),
            [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).to_string(),
            [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]).to_string(),
            _ => hex(bytes),
        },
    }
}

fn hex(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes
        .iter()
        .take(SHOWN_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let more = if bytes.len() > SHOWN_BYTES {
        format!(" … ({} bytes)", bytes.len())
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(" "))
}
