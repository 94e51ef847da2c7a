//! What happened, for people: by lane, in order.

use std::fmt;

use crate::clock::{Millis, shown};
use crate::function::{Called, Did};

/// Who acts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// The bucket.
    Bucket,
    /// A job.
    Job(usize),
    /// Lifecycle rules.
    Rules,
    /// People and scripts.
    People,
    /// What replicates another bucket to this one.
    Replication,
    /// The function.
    Guard,
    /// Who judges it.
    Oracle,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket => f.write_str("bucket"),
            Self::Job(n) => write!(f, "job {n}"),
            Self::Rules => f.write_str("rules"),
            Self::People => f.write_str("people"),
            Self::Replication => f.write_str("comes"),
            Self::Guard => f.write_str("guard"),
            Self::Oracle => f.write_str("oracle"),
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Happening {
    /// When.
    pub at: Millis,
    /// Who.
    pub lane: Lane,
    /// What.
    pub text: String,
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}  {:<7} {}",
            shown(self.at),
            self.lane.to_string(),
            self.text
        )
    }
}

/// What happened, if anybody asked for it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    asked: bool,
    /// In order.
    pub happenings: Vec<Happening>,
}

impl Trace {
    /// A trace that remembers, or one that doesn't.
    pub fn new(asked: bool) -> Self {
        Self {
            asked,
            happenings: Vec::new(),
        }
    }

    /// Whether anybody asked for it.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// Something happens.
    pub fn note(&mut self, at: Millis, lane: Lane, text: impl FnOnce() -> String) {
        if self.asked {
            self.happenings.push(Happening {
                at,
                lane,
                text: text(),
            });
        }
    }

    /// A call of the function.
    pub fn note_call(&mut self, at: Millis, called: &Called) {
        if !self.asked {
            return;
        }
        let what = if called.sweep {
            "sweeps".to_owned()
        } else {
            format!("takes {} messages (events {:?})", called.messages, called.events)
        };
        let died = if called.died { " and dies" } else { "" };
        self.note(at, Lane::Guard, || {
            format!(
                "instance {} {what}{died}, {} requests",
                called.instance, called.requests
            )
        });
        for said in &called.said {
            self.note(at, Lane::Guard, || {
                let about = said.about.as_deref().unwrap_or("nobody");
                let class = said.class.unwrap_or("no class");
                format!(
                    "  {:?} ({}) {} [{}, {class}, for {about}]",
                    said.did, said.why, said.key, said.cause
                )
            });
        }
        for told in &called.told {
            self.note(at, Lane::Guard, || {
                format!(
                    "  tells {} about {}: {} objects",
                    told.code, told.about, told.objects
                )
            });
        }
        for (key, version) in &called.copied {
            let quiet = called
                .said
                .iter()
                .any(|s| s.key == *key && s.did == Did::Restored);
            if !quiet {
                self.note(at, Lane::Guard, || {
                    format!("  copied {key} from {version}, and doesn't know it")
                });
            }
        }
        for (key, version) in &called.thaws {
            self.note(at, Lane::Guard, || {
                format!("  asks for version {version} of {key}")
            });
        }
        for (key, version) in &called.repaired {
            self.note(at, Lane::Guard, || {
                format!("  copied {key} from {version} onto itself")
            });
        }
        for (key, marker) in &called.markers_removed {
            self.note(at, Lane::Guard, || format!("  removes marker {marker} of {key}"));
        }
    }
}
