//! One snapshot opened for somebody who looks around in it: every handle as a row, questions about them, views of them.
//!
//! The web page is a thin layer over this, and whoever embeds the core. Small answers are documents ([`serde::Serialize`]); rows are many, so they
//! are asked for in windows and never all at once. [`Document::summary`] is the same document as the command prints.

use flink_checkpoint::Index;

use crate::handles::Handles;
use crate::location::{Location, LocationError};
use crate::report::summary::home::Home;
use crate::report::summary::{self, Summary};
use crate::whereabouts;

pub mod check;
pub mod compare;
pub mod detail;
pub mod export;
pub mod glance;
pub mod listing;
pub mod operators;
pub mod pointer;
pub mod raw;
pub mod redact;
pub mod rules;
pub mod terms;
pub mod tree;
pub mod view;
pub mod wrong_file;

#[cfg(test)]
mod tests;

use check::Status;

/// Name and version of the form of the documents made here. Fields are only added under one version.
pub const FORM: &str = "stayput.inspection.1";

/// What came of opening a file.
#[derive(Debug)]
pub enum Opened {
    /// It is a snapshot that was read to its end.
    Whole(Box<Document>),
    /// It isn't, or can't be read: why, as JSON text.
    Not(String),
}

/// A snapshot, its bytes and its handles.
#[derive(Debug)]
pub struct Document {
    bytes: Vec<u8>,
    index: Index,
    summary: Summary,
    handles: Handles,
    /// Where it lies: as somebody said, else as its own paths tell.
    home: Option<Home>,
    place_was_said: bool,
    /// By object: what a check found; empty before one.
    statuses: Vec<Status>,
}

/// Opens the bytes of a file. `at` says where it lies, as a Flink path: its directory, or `_metadata` itself. Where nobody says it, the paths in
/// the file do, as far as they can; [`Document::summary`] then knows nothing of it, as the command's.
pub fn open(bytes: Vec<u8>, at: Option<&str>) -> Opened {
    let Ok(said) = at.map(Location::parse_flink_path).transpose() else {
        return Opened::Not(summary::json(&bytes, at));
    };
    let mut home = said.as_ref().map(Home::of);
    let Ok((index, mut handles)) = Handles::read(&bytes, home.as_ref()) else {
        return Opened::Not(wrong_file::json(&bytes, said.as_ref()));
    };
    let summary = match index.view(&bytes) {
        Ok(snapshot) => summary::whole(snapshot, &handles, home.as_ref()),
        Err(_) => return Opened::Not(summary::json(&bytes, at)),
    };
    if home.is_none() {
        let told = whereabouts::told_by_handles(&handles, index.complete().checkpoint_id);
        home = told.as_ref().map(Home::of);
        if let Some(home) = &home {
            handles.seen_from(home);
        }
    }
    Opened::Whole(Box::new(Document {
        place_was_said: said.is_some(),
        bytes,
        index,
        summary,
        handles,
        home,
        statuses: Vec::new(),
    }))
}

impl Document {
    /// The same snapshot seen from where somebody says that it lies, as if it had been opened with that. What a check found is forgotten.
    ///
    /// # Errors
    /// `at` is no Flink path: nothing is changed.
    pub fn lies_at(&mut self, at: &str) -> Result<(), LocationError> {
        let home = Home::of(&Location::parse_flink_path(at)?);
        if self.handles.can_be_seen_from(&home) {
            self.handles.seen_from(&home);
        } else if let Ok((index, handles)) = Handles::read(&self.bytes, Some(&home)) {
            (self.index, self.handles) = (index, handles);
        }
        if let Ok(snapshot) = self.index.view(&self.bytes) {
            self.summary = summary::whole(snapshot, &self.handles, Some(&home));
        }
        self.home = Some(home);
        self.place_was_said = true;
        self.statuses = Vec::new();
        Ok(())
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The snapshot at a glance, as the command has it.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The same as JSON text: byte for byte what [`summary::json`] gives.
    pub fn summary_json(&self) -> String {
        json_of(&self.summary)
    }

    /// Every handle that names an object or a directory, in the order of the file.
    pub fn handles(&self) -> &Handles {
        &self.handles
    }

    /// Where it lies, if anything tells.
    pub fn at(&self) -> Option<&Location> {
        self.home.as_ref().map(|home| &home.location)
    }

    /// Memory that is kept for it beside the bytes of the file, in bytes.
    pub fn memory(&self) -> usize {
        self.index.memory() + self.handles.memory() + self.statuses.capacity()
    }
}

/// A whole snapshot's summary as the JSON text that [`summary::json`] gives.
fn json_of(summary: &Summary) -> String {
    #[derive(serde::Serialize)]
    struct Whole<'a> {
        reading: &'static str,
        #[serde(flatten)]
        summary: &'a Summary,
    }
    let whole = Whole {
        reading: "whole",
        summary,
    };
    serde_json::to_string(&whole).unwrap_or_default()
}
