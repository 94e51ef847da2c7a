//! The queue that messages wait in: each is sent there as it came, to be delivered when it is due.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use stayput_guard::parking::{MOST_TIMES, QueueUrl};
use stayput_guard::port::{PortError, PortErrorKind};

use crate::connection::Connection;
use crate::failure::Call;

/// The message attribute that says how often a message was parked.
pub const TIMES: &str = "stayput-parked";

/// SQS takes at most so many messages in one request,
const AT_ONCE: usize = 10;
/// and so many bytes, the attributes included: the bound that it had before it took a mebibyte.
const BYTES_AT_ONCE: usize = 256 << 10;
/// What the attribute adds to a message, with room.
const ATTRIBUTE_BYTES: usize = 64;

/// How often a message was parked, by its attribute. `None`: it has none, and never was.
///
/// What nobody can read counts as often enough, so that a message which somebody else marked doesn't go round for ever.
pub fn times(attribute: Option<&str>) -> u32 {
    attribute.map_or(0, |text| text.trim().parse().unwrap_or(MOST_TIMES))
}

/// A message to be parked.
#[derive(Clone, Copy, Debug)]
pub struct ToPark<'a> {
    /// As it came.
    pub body: &'a str,
    /// It is delivered after so long: whole seconds, at most [`LONGEST`](stayput_guard::parking::LONGEST).
    pub after: Duration,
    /// So often it was parked then, this time included.
    pub times: u32,
}

/// A queue that messages are sent to.
#[derive(Clone, Debug)]
pub struct ParkedQueue {
    client: Client,
    url: String,
}

impl ParkedQueue {
    /// Sends through this connection, in its region.
    pub fn new(connection: &Connection, url: &QueueUrl) -> Self {
        Self {
            client: Client::new(connection.sdk()),
            url: url.as_str().to_owned(),
        }
    }

    /// Sends messages, ten in a request, and ends within `patience`. Returns what came of each, in their order. What wasn't answered in time may
    /// have been sent all the same; then the message comes twice.
    pub async fn send(&self, messages: &[ToPark<'_>], patience: Duration) -> Vec<Result<(), PortError>> {
        let mut results: Vec<Result<(), PortError>> = messages
            .iter()
            .map(|_| {
                let late = PortError::new(PortErrorKind::Transient, "SendMessageBatch", &*self.url);
                Err(late.because(format!("SQS didn't answer within {} s", patience.as_secs())))
            })
            .collect();
        let all = async {
            let mut sent = 0;
            for length in batches(messages.iter().map(|m| m.body.len())) {
                let part = &messages[sent..sent + length];
                let outcomes = match self.send_batch(part).await {
                    Ok(outcomes) => outcomes,
                    Err(e) => vec![Err(e); length],
                };
                for (place, outcome) in results[sent..].iter_mut().zip(outcomes) {
                    *place = outcome;
                }
                sent += length;
            }
        };
        // What is done by then is in its place.
        let _ = tokio::time::timeout(patience, all).await;
        results
    }

    async fn send_batch(&self, messages: &[ToPark<'_>]) -> Result<Vec<Result<(), PortError>>, PortError> {
        let call = || Call::about("SendMessageBatch", &self.url);
        let entries = (0_usize..).zip(messages).map(|(n, message)| {
            let times = MessageAttributeValue::builder()
                .data_type("Number")
                .string_value(message.times.to_string())
                .build()
                .map_err(|e| call().nonsense(e.to_string()))?;
            SendMessageBatchRequestEntry::builder()
                .id(n.to_string())
                .message_body(message.body)
                .delay_seconds(i32::try_from(message.after.as_secs()).unwrap_or(i32::MAX))
                .message_attributes(TIMES, times)
                .build()
                .map_err(|e| call().nonsense(e.to_string()))
        });
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let request = self.client.send_message_batch().queue_url(&self.url);
        let answer = request.set_entries(Some(entries)).send().await;
        let answer = answer.map_err(|e| call().failed(&e))?;
        // Only what the queue says that it has is taken for sent.
        let mut results = vec![Err(call().nonsense("the answer doesn't name the message")); messages.len()];
        let place = |id: &str| id.parse::<usize>().ok().filter(|n| *n < messages.len());
        for failed in answer.failed() {
            if let Some(n) = place(failed.id()) {
                let said = failed.message().unwrap_or(failed.code());
                results[n] = Err(call().nonsense(said));
            }
        }
        for done in answer.successful() {
            if let Some(n) = place(done.id()) {
                results[n] = Ok(());
            }
        }
        Ok(results)
    }
}

/// How many messages, of these lengths in bytes, go into each request.
fn batches(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut batches: Vec<usize> = Vec::new();
    let mut bytes = 0;
    for length in lengths {
        let length = length + ATTRIBUTE_BYTES;
        match batches.last_mut() {
            Some(count) if *count < AT_ONCE && bytes + length <= BYTES_AT_ONCE => {
                *count += 1;
                bytes += length;
            }
            _ => {
                batches.push(1);
                bytes = length;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_at_most_ten_messages_and_a_quarter_of_a_mebibyte() {
        assert_eq!(batches([].into_iter()), Vec::<usize>::new());
        assert_eq!(batches(std::iter::repeat_n(1000, 23)), [10, 10, 3]);
        let large = 100 << 10;
        assert_eq!(batches([large, large, large, 5].into_iter()), [2, 2]);
        // Too long for any request: it is tried alone, and SQS says no.
        assert_eq!(batches([5, 2 << 20, 5].into_iter()), [1, 1, 1]);
    }

    #[test]
    fn who_was_never_parked_has_no_mark_and_a_mark_that_nobody_can_read_is_enough() {
        assert_eq!(times(None), 0);
        assert_eq!(times(Some("3")), 3);
        assert_eq!(times(Some("a few")), MOST_TIMES);
        assert_eq!(times(Some("-1")), MOST_TIMES);
    }
}
