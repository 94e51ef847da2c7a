//! A finding: what people and programs are told of one snapshot, or of one object that no readable snapshot explains.

use serde::Serialize;

use super::recovery::{Recovered, Way, sentences};
use crate::timestamp::Timestamp;

mod code;

pub use code::{FindingCode, Severity};

/// A finding about one snapshot, or one object that no readable snapshot explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was found.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: a `_metadata`, or the object itself.
    pub about: String,
    /// How many objects it concerns.
    pub objects: u64,
    /// The first ten of them, as URLs.
    pub examples: Vec<String>,
    /// Until when it can be undone: when the bucket's rules purge the first version of what isn't back. `None`: no rule does, or all of it is
    /// back. Of a forecast: the first midnight from which the rule takes something.
    pub deadline: Option<Timestamp>,
    /// Whether the job's restore succeeds later by itself.
    pub retry_helps: bool,
    /// What it means, for people.
    pub meaning: String,
    /// Of what can't be read, or isn't known: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What to do, for people.
    pub next_step: String,
    /// The lifecycle rules to change, by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Which of the objects are back, or would be if Stayput didn't only observe: one entry for each way. The others are as they were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<Recovered>,
    /// A command that undoes it for the first object that isn't back, where there is one. It removes delete markers and no data.
    pub undo: Option<String>,
    /// Of a loss: every visible snapshot that names what is lost. Of a forecast: every snapshot that names what will be taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// Of a loss: the newest checkpoint of the same directory of which nothing is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_that_works: Option<String>,
}

/// How many keys a finding lists.
pub const EXAMPLES: usize = 10;

impl Finding {
    /// A finding of this code about one thing, not yet about any object.
    pub fn new(code: FindingCode, about: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            about: about.into(),
            objects: 0,
            examples: Vec::new(),
            deadline: None,
            retry_helps: code.retry_helps(),
            meaning: code.meaning().to_owned(),
            because: None,
            next_step: code.next_step().to_owned(),
            rules: Vec::new(),
            recovered: Vec::new(),
            undo: None,
            broken: Vec::new(),
            newest_that_works: None,
        }
    }

    /// Counts one more object.
    pub fn count(&mut self, object: impl std::fmt::Display) {
        self.objects += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(object.to_string());
        }
    }

    /// Says of one of its objects how it came back, or would: at this time, so that this version is what is visible.
    pub fn recovers(
        &mut self,
        how: Way,
        object: impl std::fmt::Display,
        version: Option<&str>,
        at: Timestamp,
    ) {
        // Only a hand puts anything back; a person's retry of the job would fail as before.
        self.retry_helps &= how.is_back();
        if let Some(known) = self.recovered.iter_mut().find(|known| known.how == how) {
            known.objects += 1;
            known.at = known.at.max(at);
            return;
        }
        self.recovered.push(Recovered {
            how,
            objects: 1,
            at,
            example: object.to_string(),
            version: version.map(str::to_owned),
        });
        self.recovered.sort_by_key(|known| known.how);
    }

    /// How many of its objects are visible again.
    pub fn back(&self) -> u64 {
        let back = self.recovered.iter().filter(|known| known.how.is_back());
        back.map(|known| known.objects).sum()
    }

    /// What the command in [`Self::undo`] does, for people.
    pub fn undo_does(&self) -> String {
        let which = match (self.objects, self.back()) {
            (0 | 1, _) => "the deletion",
            (_, 0) => "the deletion of the first one",
            _ => "the deletion of the first one that isn't back",
        };
        // Whoever reads this may see it after the object is back, and a command that deletes frightens people.
        format!("To undo {which}, if it is still hidden (this removes its delete marker and no data)")
    }

    /// Names one of the rules that this is about, once.
    pub fn name_rule(&mut self, rule: &str) {
        if self.rules.iter().all(|known| known != rule) {
            self.rules.push(rule.to_owned());
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} {}", self.code.text(), self.about, self.meaning)?;
        if let Some(because) = &self.because {
            write!(f, " The reason: {because}.")?;
        }
        if self.objects > 0 {
            write!(
                f,
                " {} object{} concerned",
                self.objects,
                if self.objects == 1 { " is" } else { "s are" }
            )?;
            if let Some(first) = self.examples.first() {
                write!(f, ", such as {first}")?;
            }
            f.write_str(".")?;
        }
        f.write_str(&sentences(&self.recovered, self.objects))?;
        if let Some(deadline) = self.deadline {
            if self.code.is_forecast() {
                write!(f, " The rules can be changed until {deadline}.")?;
            } else {
                write!(f, " It can be undone until {deadline}.")?;
            }
        }
        if let Some(works) = &self.newest_that_works {
            write!(f, " The newest that still works: {works}.")?;
        } else if self.severity == Severity::Lost {
            f.write_str(" No checkpoint of this directory is known to work.")?;
        }
        write!(f, " Next: {}", self.next_step)?;
        if !self.rules.is_empty() {
            let (s, names) = (
                if self.rules.len() == 1 { "" } else { "s" },
                self.rules.join(", "),
            );
            write!(f, " Rule{s}: {names}.")?;
        }
        if let Some(undo) = &self.undo {
            write!(f, " {}: {undo}", self.undo_does())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_deletes_says_what_it_undoes_and_that_no_data_goes() {
        let mut finding = Finding::new(FindingCode::DeletedNeeded, "s3://b/cp/chk-8/_metadata".to_owned());
        assert!(!finding.to_string().contains("undo the deletion"), "{finding}");
        finding.undo = Some("aws s3api delete-object --bucket b --key k --version-id m".to_owned());
        let text = finding.to_string();
        assert!(
            text.ends_with("(this removes its delete marker and no data): aws s3api delete-object --bucket b --key k --version-id m"),
            "{text}"
        );
    }

    #[test]
    fn every_code_has_its_own_stable_text_that_serde_agrees_with() {
        let mut texts: Vec<_> = FindingCode::ALL.iter().map(|c| c.text()).collect();
        for code in FindingCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.text());
            assert!(
                code.meaning().ends_with('.') && code.next_step().ends_with('.'),
                "{}",
                code.text()
            );
        }
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), FindingCode::ALL.len());
    }

    #[test]
    fn a_finding_lists_ten_objects_and_counts_all() {
        let mut finding = Finding::new(FindingCode::DeletedAsAWhole, "s3://b/cp/j/chk-8/_metadata");
        for n in 0..31 {
            finding.count(format!("s3://b/{n}"));
        }
        assert_eq!((finding.objects, finding.examples.len()), (31, 10));
        assert!(
            finding
                .to_string()
                .contains("31 objects are concerned, such as s3://b/0.")
        );
    }
}
