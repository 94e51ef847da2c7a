//! XML as S3 writes and takes it: one outermost element with a known name, and faults with the byte at which they stand.

use roxmltree::{Document, Node, ParsingOptions};

use crate::error::Problem;

/// S3 takes at most 1,000 rules; with white space between all elements none of real use comes near this.
const NODES: u32 = 500_000;

/// A document whose outermost element has this name.
pub(crate) fn document<'t>(text: &'t str, name: &str) -> Result<Document<'t>, Problem> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|e| Problem::Xml {
        at: offset(text, e.pos()),
        detail: e.to_string(),
    })?;
    let root = document.root_element();
    let found = root.tag_name().name();
    if found != name {
        return fault(
            root,
            format!("the outermost element is {found}, where {name} is needed"),
        );
    }
    Ok(document)
}

pub(crate) fn fault<T>(node: Node<'_, '_>, detail: String) -> Result<T, Problem> {
    Err(Problem::Xml {
        at: node.range().start,
        detail,
    })
}

/// The byte of a place that the XML reader gives as line and column in characters, both counted from 1.
fn offset(text: &str, at: roxmltree::TextPos) -> usize {
    let (row, column) = (at.row.max(1) as usize, at.col.max(1) as usize);
    let line = match row {
        1 => 0,
        _ => text
            .match_indices('\n')
            .nth(row - 2)
            .map_or(text.len(), |(newline, _)| newline + 1),
    };
    text[line..]
        .char_indices()
        .nth(column - 1)
        .map_or(text.len(), |(within, _)| line + within)
}
