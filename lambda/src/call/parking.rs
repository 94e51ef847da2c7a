//! What becomes of messages that wait: they are parked until they are due, or fail, so that their own queue brings them again.

use std::collections::BTreeMap;

use stayput_aws::parked::ToPark;
use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::LaterReason;
use stayput_guard::parking::{Parking, parking};

use super::{CallSummary, Function};
use crate::log::TARGET;
use crate::watch::Judge;

/// A message as it came.
pub(super) struct Came {
    pub(super) body: String,
    /// So often it was parked before.
    pub(super) times: u32,
}

/// A message that waits.
pub(super) struct Waiting<'a> {
    pub(super) id: &'a str,
    pub(super) came: &'a Came,
    pub(super) not_before: Timestamp,
    pub(super) why: LaterReason,
}

impl<J: Judge, M: Fn() -> J> Function<J, M> {
    /// Parks messages, once for each look. Returns the ids of those that must fail: there is no queue to park them in, or it didn't take them.
    pub(super) async fn park(
        &self,
        waiting: &[Waiting<'_>],
        summary: &mut CallSummary,
        request: &str,
    ) -> Vec<String> {
        if !self.judge.parks() {
            for message in waiting {
                again(message.id, &waits(&message.why, message.not_before), request);
            }
            summary.again += waiting.len();
            return waiting.iter().map(|message| message.id.to_owned()).collect();
        }
        let now = self.judge.now();
        let (mut to_park, mut those, mut enough) = (Vec::new(), Vec::new(), Vec::new());
        for message in waiting {
            match parking(message.not_before, &message.why, message.came.times, now) {
                Parking::Park { after, times } => {
                    to_park.push(ToPark {
                        body: &message.came.body,
                        after,
                        times,
                    });
                    those.push(message);
                }
                Parking::Enough => enough.push(message),
            }
        }
        let mut results = match to_park.as_slice() {
            [] => Vec::new(),
            to_park => self.judge.park(to_park).await,
        }
        .into_iter();
        for message in &enough {
            let why = waits(&message.why, message.not_before);
            tracing::warn!(
                target: TARGET,
                request,
                message_id = message.id,
                "the message is left to the sweep ({why}): it was parked {} times",
                message.came.times
            );
        }
        summary.left_to_sweep += enough.len();
        let mut failed = Vec::new();
        let mut failures: BTreeMap<String, usize> = BTreeMap::new();
        for message in those {
            // Only what the queue has said that it has is taken for parked.
            let why = match results.next() {
                Some(Ok(())) => {
                    summary.parked += 1;
                    continue;
                }
                Some(Err(e)) => e.to_string(),
                None => "it was not answered".to_owned(),
            };
            again(message.id, &why, request);
            *failures.entry(why).or_default() += 1;
            failed.push(message.id.to_owned());
        }
        summary.again += failed.len();
        for (why, count) in failures {
            tracing::error!(
                target: TARGET,
                request,
                "{count} messages couldn't be parked and go back to their queue: {why}"
            );
        }
        failed
    }
}

/// Why a message waits, for people.
pub(super) fn waits(why: &LaterReason, not_before: Timestamp) -> String {
    match why {
        LaterReason::Transient(what) => what.clone(),
        why => format!("{}, not before {not_before}", why.word()),
    }
}

/// Says that a message fails.
pub(super) fn again(message_id: &str, why: &str, request: &str) {
    tracing::debug!(target: TARGET, request, message_id, "the message comes again: {why}");
}
