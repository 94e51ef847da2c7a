//! A queue of SQS whose messages are taken, answered one by one, and put back where they must wait.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry};
use stayput_guard::port::PortError;

use crate::connection::Connection;
use crate::failure::Call;

/// A queue, by its URL.
#[derive(Clone, Debug)]
pub struct Queue {
    client: Client,
    url: String,
}

/// A message that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its id.
    pub id: String,
    /// What it says.
    pub body: String,
    receipt: String,
}

/// SQS gives at most so many messages at once, and takes as many answers.
pub const AT_ONCE: usize = 10;

impl Queue {
    /// Asks through this connection.
    pub fn new(connection: &Connection, url: &str) -> Self {
        Self {
            client: Client::new(connection.sdk()),
            url: url.to_owned(),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits up to `wait` (at most 20 s) for messages. Nobody else gets them for `hidden`.
    ///
    /// # Errors
    /// As SQS says.
    pub async fn take(&self, wait: Duration, hidden: Duration) -> Result<Vec<Taken>, PortError> {
        let call = Call::about("ReceiveMessage", &self.url);
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(10)
            .wait_time_seconds(seconds(wait).min(20))
            .visibility_timeout(seconds(hidden))
            .send()
            .await
            .map_err(|e| call.failed(&e))?;
        let messages = answer.messages.unwrap_or_default().into_iter();
        Ok(messages
            .filter_map(|m| {
                Some(Taken {
                    id: m.message_id?,
                    body: m.body.unwrap_or_default(),
                    receipt: m.receipt_handle?,
                })
            })
            .collect())
    }

    /// Takes messages off the queue for good.
    ///
    /// # Errors
    /// As SQS says; the messages of which that is so come again.
    pub async fn done(&self, messages: &[&Taken]) -> Result<(), PortError> {
        let call = Call::about("DeleteMessageBatch", &self.url);
        for part in messages.chunks(AT_ONCE) {
            let entries = (0..).zip(part).map(|(n, message): (usize, _)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(n.to_string())
                    .receipt_handle(&message.receipt)
                    .build()
                    .map_err(|e| call.nonsense(e.to_string()))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let request = self.client.delete_message_batch().queue_url(&self.url);
            let answer = request.set_entries(Some(entries)).send().await;
            let answer = answer.map_err(|e| call.failed(&e))?;
            if let Some(failed) = answer.failed().first() {
                return Err(call.nonsense(failed.message().unwrap_or(failed.code())));
            }
        }
        Ok(())
    }

    /// Has messages come again after `delay`, instead of when their time is over.
    ///
    /// # Errors
    /// As SQS says; then they come when their time is over.
    pub async fn again(&self, messages: &[&Taken], delay: Duration) -> Result<(), PortError> {
        let call = Call::about("ChangeMessageVisibilityBatch", &self.url);
        for part in messages.chunks(AT_ONCE) {
            let entries = (0..).zip(part).map(|(n, message): (usize, _)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(n.to_string())
                    .receipt_handle(&message.receipt)
                    .visibility_timeout(seconds(delay))
                    .build()
                    .map_err(|e| call.nonsense(e.to_string()))
            });
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let request = self.client.change_message_visibility_batch().queue_url(&self.url);
            let answer = request.set_entries(Some(entries)).send().await;
            answer.map_err(|e| call.failed(&e))?;
        }
        Ok(())
    }
}

/// SQS knows times up to twelve hours.
fn seconds(time: Duration) -> i32 {
    i32::try_from(time.as_secs().min(43_200)).unwrap_or(43_200)
}
