//! Messages that wait, kept by a queue until they are due: when each comes next, and when it has come often enough.
//!
//! Nothing but a count goes along with a message. A look is due by the age of a delete marker, so whoever takes the message judges it as if it
//! were new.

use std::time::Duration;

use stayput_core::timestamp::Timestamp;
use stayput_core::verdict::LaterReason;

/// A message is parked so often, then the sweep takes what it told of. AWS ends a chain of calls that a function makes itself after some 16.
pub const MOST_TIMES: u32 = 6;

/// A queue of SQS keeps a message back no longer than this at a time.
pub const LONGEST: Duration = Duration::from_secs(15 * 60);

/// What waits for no known moment is looked at again after this, then after twice as long, and so on: six times are more than the hour after which
/// people are told of a `_metadata` whose files don't come.
const FIRST_RETRY: Duration = Duration::from_secs(150);

/// What to do with a message that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parking {
    /// Keep it back.
    Park {
        /// For so long: whole seconds, from one to [`LONGEST`].
        after: Duration,
        /// So often it was parked then, this time included.
        times: u32,
    },
    /// It was parked [`MOST_TIMES`] times. The sweep takes it.
    Enough,
}

/// What to do with a message that was parked `times` times and waits for `why`, not before `not_before`.
pub fn parking(not_before: Timestamp, why: &LaterReason, times: u32, now: Timestamp) -> Parking {
    if times >= MOST_TIMES {
        return Parking::Enough;
    }
    let due = not_before.since(now);
    let wait = match why {
        LaterReason::Transient(_) | LaterReason::WaitsForItsFiles | LaterReason::CopyUnderWay => {
            due.max(FIRST_RETRY * 2_u32.pow(times))
        }
        LaterReason::Quiet
        | LaterReason::MayBeADiscard
        | LaterReason::NewerUnderWay
        | LaterReason::Thaw(_)
        | LaterReason::Paused
        | LaterReason::BudgetSpent
        | LaterReason::OnItsWay
        | LaterReason::OncePerDay => due,
    };
    // Rounded up: a look that comes early is a look more.
    let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Parking::Park {
        after: Duration::from_secs(whole).clamp(Duration::from_secs(1), LONGEST),
        times: times + 1,
    }
}

/// The URL of a standard queue of SQS: `https://sqs.eu-west-1.amazonaws.com/111122223333/stayput-parked`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueUrl(String);

/// Why a text can't name the queue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAQueue {
    /// It has another form.
    #[error(
        "parked_queue {0:?} is no URL of an SQS queue: write https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, not its ARN"
    )]
    Form(String),
    /// FIFO queues can't keep one message back and pass on another.
    #[error("parked_queue {0} is a FIFO queue, which can't delay single messages: name a standard queue")]
    Fifo(String),
}

impl QueueUrl {
    /// Takes the URL of a standard queue, or a name that a server may take for one.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NotAQueue> {
        if text.is_empty() || text.starts_with("arn:") || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(NotAQueue::Form(text.to_owned()));
        }
        if text.ends_with(".fifo") {
            return Err(NotAQueue::Fifo(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has the form that queues have on AWS: a host, an account, a name. SAM's local function is given the name alone.
    pub fn is_whole(&self) -> bool {
        let rest = ["https://", "http://"]
            .iter()
            .find_map(|scheme| self.0.strip_prefix(scheme));
        let parts: Vec<&str> = rest.map(|rest| rest.split('/').collect()).unwrap_or_default();
        parts.len() == 3 && parts.iter().all(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn park(seconds: u64, times: u32) -> Parking {
        Parking::Park {
            after: Duration::from_secs(seconds),
            times,
        }
    }

    #[test]
    fn a_message_comes_when_its_look_is_due_and_not_before() {
        let now = at("2026-11-30T10:00:00.250Z");
        let due = |text: &str, times| parking(at(text), &LaterReason::Quiet, times, now);
        assert_eq!(due("2026-11-30T10:05:00Z", 0), park(300, 1));
        assert_eq!(due("2026-11-30T10:05:00.250Z", 1), park(300, 2));
        // Over already, as judging takes its time.
        assert_eq!(due("2026-11-30T09:00:00Z", 1), park(1, 2));
        assert_eq!(due("2026-11-30T11:00:00Z", 2), park(900, 3));
    }

    #[test]
    fn an_hour_is_waited_for_in_quarters_of_an_hour_and_the_last_look_still_comes() {
        let deleted = at("2026-11-30T10:00:00Z");
        let last_look = deleted.plus(Duration::from_secs(3600));
        let (mut now, mut times) = (deleted, 0);
        while let Parking::Park {
            after,
            times: so_often,
        } = parking(last_look, &LaterReason::Quiet, times, now)
        {
            (now, times) = (now.plus(after), so_often);
            if now >= last_look {
                break;
            }
        }
        assert_eq!((now, times), (last_look, 4));
    }

    #[test]
    fn what_waits_for_no_known_moment_comes_after_ever_longer_pauses_for_more_than_an_hour_and_six_times_are_enough()
     {
        let now = at("2026-11-30T10:00:00Z");
        let transient = LaterReason::Transient("SlowDown".to_owned());
        let in_five_minutes = now.plus(Duration::from_secs(300));
        for (why, not_before, pauses) in [
            (transient, now, [150, 300, 600, 900, 900, 900]),
            (
                LaterReason::WaitsForItsFiles,
                in_five_minutes,
                [300, 300, 600, 900, 900, 900],
            ),
        ] {
            let seen: Vec<Parking> = (0..=7)
                .map(|times| parking(not_before, &why, times, now))
                .collect();
            let mut wanted: Vec<Parking> = (1..=6)
                .zip(pauses)
                .map(|(times, seconds)| park(seconds, times))
                .collect();
            wanted.extend([Parking::Enough, Parking::Enough]);
            assert_eq!(seen, wanted);
            assert!(pauses.iter().sum::<u64>() > 3600);
        }
    }

    #[test]
    fn an_arn_or_a_fifo_queue_is_refused_and_what_has_no_account_is_not_whole() {
        for (text, whole) in [
            (
                "https://sqs.eu-west-1.amazonaws.com/111122223333/stayput-ParkedQueue-1AB",
                true,
            ),
            ("http://127.0.0.1:4566/000000000000/parked_2", true),
            ("ParkedQueue", false),
            ("https://sqs.eu-west-1.amazonaws.com", false),
            ("https://sqs.eu-west-1.amazonaws.com/parked", false),
            ("https:///111122223333/parked", false),
            ("https://sqs.eu-west-1.amazonaws.com/111122223333/", false),
        ] {
            let url = QueueUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.is_whole()), (text, whole));
        }
        for wrong in [
            "",
            "arn:aws:sqs:eu-west-1:111122223333:parked",
            "https://a/1111 2222/parked",
        ] {
            assert_eq!(QueueUrl::parse(wrong), Err(NotAQueue::Form(wrong.to_owned())));
        }
        let fifo = "https://sqs.eu-west-1.amazonaws.com/111122223333/parked.fifo";
        assert_eq!(QueueUrl::parse(fifo), Err(NotAQueue::Fifo(fifo.to_owned())));
    }
}
