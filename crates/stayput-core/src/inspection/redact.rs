//! Answers without names, for people who share them: buckets, directories, files, operators and hooks get names that say nothing.
//!
//! The same name gets the same replacement each time, so that what lies together is still seen to lie together. Flink's own words (`shared`, `chk-8`,
//! `_metadata`, roles, releases) and all numbers stay.

use std::borrow::Cow;
use std::collections::HashMap;

use super::export::{Exported, Format};
use super::view::View;
use super::{Document, json_of};
use crate::handles::{Names, Row};
use crate::layout::{METADATA_FILE, checkpoint_id, is_job_id};
use crate::location::Location;
use crate::report::summary::Summary;

/// Schemes that say only which kind of file system it is.
const SCHEMES: [&str; 14] = [
    "s3", "s3a", "s3n", "s3p", "gs", "oss", "cosn", "obs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "file",
];

/// The replacements of one snapshot's names. They are the same in all answers that one of these gives.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// By kind and name.
    given: HashMap<(&'static str, String), u64>,
    /// How many of each kind there are.
    counts: HashMap<&'static str, u64>,
}

impl Redaction {
    /// The replacements for a snapshot's names, numbered as its summary has them.
    pub fn of(document: &Document) -> Self {
        let mut redaction = Self::default();
        redaction.summary(document);
        redaction
    }

    /// As [`Document::summary`], without names. Ids of operators stay 32 hex digits.
    pub fn summary(&mut self, document: &Document) -> Summary {
        let mut summary = document.summary().clone();
        summary.at = summary.at.and_then(|at| {
            // A path of made-up names is one again.
            Location::parse_flink_path(&self.path(&at.to_string(), None)).ok()
        });
        for operator in &mut summary.operators {
            operator.id = self.operator_id(&operator.id);
            operator.uid = operator.uid.take().map(|uid| self.word("uid", &uid));
            operator.name = operator.name.take().map(|name| self.word("operator", &name));
        }
        for state in &mut summary.master_states {
            state.name = self.word("master-state", &state.name);
        }
        for directory in &mut summary.objects.by_directory {
            directory.directory = self.path(&directory.directory, None);
        }
        for directory in &mut summary.objects.named_directories {
            directory.path = self.path(&directory.path, None);
        }
        summary
    }

    /// As [`Document::summary_json`], without names.
    pub fn summary_json(&mut self, document: &Document) -> String {
        json_of(&self.summary(document))
    }

    /// As [`Document::export`], without names. Files are told apart by numbers: handles that name the same file have the same.
    pub fn export(
        &mut self,
        document: &Document,
        view: &View,
        from: usize,
        count: usize,
        format: Format,
    ) -> String {
        document.export_with(view, from, count, format, |row, exported| {
            self.row(row, exported);
        })
    }

    fn row(&mut self, row: &Row, exported: &mut Exported<'_>) {
        let file = (row.names() != Names::Directory).then_some(row.object);
        exported.location = self.path(&exported.location, file);
        exported.directory = Cow::Owned(self.path(&exported.directory, None));
        exported.operator_id = Cow::Owned(self.operator_id(&exported.operator_id));
        exported.operator = exported
            .operator
            .take()
            .map(|name| Cow::Owned(self.word("operator", &name)));
        exported.operator_uid = exported
            .operator_uid
            .take()
            .map(|uid| Cow::Owned(self.word("uid", &uid)));
    }

    fn number(&mut self, kind: &'static str, name: &str) -> u64 {
        let key = (kind, name.to_owned());
        if let Some(number) = self.given.get(&key) {
            return *number;
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        self.given.insert(key, *count);
        *count
    }

    fn word(&mut self, kind: &'static str, name: &str) -> String {
        format!("{kind}-{}", self.number(kind, name))
    }

    fn operator_id(&mut self, id: &str) -> String {
        format!("{:032x}", self.number("operator id", id))
    }

    /// A path part by part; `file`: the number of the file that its last part names.
    fn path(&mut self, path: &str, file: Option<u32>) -> String {
        let (mut made, mut rest) = (String::new(), path);
        let scheme = path.split_once(':').filter(|(scheme, _)| !scheme.contains('/'));
        if let Some((scheme, after)) = scheme {
            made = if SCHEMES.contains(&scheme) {
                scheme.to_owned()
            } else {
                self.word("scheme", scheme)
            };
            made.push(':');
            rest = after;
            if let Some(after) = rest.strip_prefix("//") {
                let end = after.find('/').unwrap_or(after.len());
                made.push_str("//");
                if end > 0 {
                    made.push_str(&self.word("bucket", &after[..end]));
                }
                rest = &after[end..];
            }
        }
        let last = rest.rsplit('/').next().unwrap_or_default().len();
        let (directories, name) = rest.split_at(rest.len() - last);
        for (place, part) in directories.split('/').enumerate() {
            if place > 0 {
                made.push('/');
            }
            made.push_str(&self.part(part));
        }
        match file {
            Some(file) if name != METADATA_FILE => {
                made.push_str("file-");
                made.push_str(&(u64::from(file) + 1).to_string());
            }
            _ => made.push_str(&self.part(name)),
        }
        made
    }

    fn part(&mut self, part: &str) -> String {
        match part {
            "" | "shared" | "taskowned" | METADATA_FILE => part.to_owned(),
            _ if checkpoint_id(part).is_some() => part.to_owned(),
            _ if is_job_id(part) => self.word("job", part),
            _ if part.starts_with("savepoint-") => self.word("savepoint", part),
            _ => self.word("directory", part),
        }
    }
}
