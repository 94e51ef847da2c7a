//! What goes into a call and what comes out.

use s3_documents::notification::Record;
use serde::Serialize;
use stayput_core::chain::NamedBy;
use stayput_core::report::finding::Finding;
use stayput_core::report::recovery::{Recovered, Way};
pub use stayput_core::report::verdict::Done;
use stayput_core::report::verdict::VerdictDocument;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::{LaterReason, Verdict};

/// One message, already read. A message that can't be read never reaches the guard.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id, as the queue names it.
    pub id: String,
    /// What it says.
    pub records: Vec<Record>,
}

/// What became of one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Everything in it has been answered, or the sweep takes it.
    Done,
    /// Somebody must look again.
    Again {
        /// Not earlier than this.
        not_before: Timestamp,
        /// Why.
        why: LaterReason,
    },
}

/// What came of a call.
#[derive(Clone, Debug, Default)]
pub struct BatchReport {
    /// One answer per message, in their order.
    pub answers: Vec<(String, Answer)>,
    /// One verdict per object that a message said was deleted, and per object that a returning `_metadata` waits for, in key order.
    pub verdicts: Vec<Acted>,
    /// What people must be told now: each is sent again only when it changes or after a day.
    pub findings: Vec<Finding>,
    /// In numbers.
    pub summary: Summary,
    /// What didn't work and made nothing less safe, for people: one line for each kind of it.
    pub warnings: Vec<String>,
    /// When the last copy of the call had ended. `None`: nothing was judged.
    pub acted_at: Option<Timestamp>,
}

impl BatchReport {
    /// The last copy of the call had ended by then; findings say so of what this call put back.
    pub(crate) fn ended(&mut self, at: Timestamp) {
        self.acted_at = Some(at);
        let of_this_call = |known: &&mut Recovered| matches!(known.how, Way::Copied | Way::Unhidden);
        let recovered = self
            .findings
            .iter_mut()
            .flat_map(|finding| &mut finding.recovered);
        for known in recovered.filter(of_this_call) {
            known.at = at;
        }
    }
}

/// A verdict and what came of carrying it out.
#[derive(Clone, Debug)]
pub struct Acted {
    /// The verdict.
    pub verdict: Verdict,
    /// What was done.
    pub done: Done,
    /// The handle that names the object, of the snapshot whose need decided; not looked up for what is left.
    pub named_by: Option<NamedBy>,
    /// When the bucket's rules purge the version that could come back.
    pub deadline: Option<Timestamp>,
    /// Last-Modified of the marker directly above the data version. `None`: the versions weren't looked at, or there is no marker.
    pub deleted_at: Option<Timestamp>,
}

impl Acted {
    /// The document that every program and person sees.
    pub fn document(&self) -> VerdictDocument {
        VerdictDocument::new(&self.verdict, &self.done, self.named_by.as_ref(), self.deadline)
    }
}

/// A call in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Messages.
    pub messages: u64,
    /// Objects that were judged.
    pub judged: u64,
    /// Those of them that were deleted, by who did it: `lifecycle`, `Flink`, `foreign`, `ours`, `unknown`.
    pub by_cause: std::collections::BTreeMap<&'static str, u64>,
    /// Left, by reason.
    pub left: std::collections::BTreeMap<&'static str, u64>,
    /// The same by job directory: who tidies up, and how much.
    pub left_by_job: std::collections::BTreeMap<String, std::collections::BTreeMap<&'static str, u64>>,
    /// Put back: copied, un-hidden or repaired, or that would have been.
    pub restored: u64,
    /// The bytes of those.
    pub restored_bytes: u64,
    /// Those of `restored` that became visible because their delete markers were removed. None of an observing guard, which can't know
    /// whether a copy would have had to do.
    pub unhidden: u64,
    /// Those of `restored` that were visible in an archive and were copied onto themselves, or would have been.
    pub repaired: u64,
    /// Those of `later` that wait only because the day's budget is spent.
    pub over_budget: u64,
    /// To be looked at again.
    pub later: u64,
    /// Told to people without doing anything.
    pub reported: u64,
    /// Can't be put back.
    pub lost: u64,
    /// Copies that failed.
    pub failed: u64,
    /// Keys outside every root that nobody names.
    pub outside: u64,
    /// Job directories in the catalogue.
    pub jobs: u64,
    /// Snapshots in the catalogue.
    pub snapshots: u64,
    /// Stayput is paused: nothing was restored, whatever is needed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}
