//! Publishing findings to a topic of SNS.

use std::time::Duration;

use aws_sdk_sns::Client;
use aws_sdk_sns::config::{Builder, Region};
use aws_sdk_sns::types::MessageAttributeValue;
use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::report::finding::Finding;
use stayput_core::report::message::message;
use stayput_guard::port::{PortError, PortErrorKind};
use stayput_guard::topic::TopicArn;

use crate::connection::Connection;
use crate::failure::Call;

/// SNS takes 256 KiB, attributes included.
const LONGEST: usize = 255 << 10;
/// So many messages are under way at once.
const AT_ONCE: usize = 8;

/// A topic that findings are published to.
#[derive(Clone, Debug)]
pub struct Topic {
    client: Client,
    arn: String,
}

impl Topic {
    /// Publishes through this connection, in the topic's region.
    pub fn new(connection: &Connection, arn: &TopicArn) -> Self {
        let config = Builder::from(connection.sdk()).region(Region::new(arn.region().to_owned()));
        Self {
            client: Client::from_conf(config.build()),
            arn: arn.as_str().to_owned(),
        }
    }

    /// Publishes each finding as one message with the attributes `code` and `severity`, and ends within `patience`. Returns what came of each,
    /// in their order. What wasn't answered in time may have been published all the same.
    pub async fn publish(&self, findings: &[Finding], patience: Duration) -> Vec<Result<(), PortError>> {
        let mut results: Vec<Result<(), PortError>> = findings
            .iter()
            .map(|_| {
                let late = PortError::new(PortErrorKind::Transient, "Publish", &*self.arn);
                Err(late.because(format!("SNS didn't answer within {} s", patience.as_secs())))
            })
            .collect();
        let all = stream::iter(findings.iter().enumerate())
            .map(|(n, finding)| async move { (n, self.publish_one(finding).await) })
            .buffer_unordered(AT_ONCE)
            .for_each(|(n, result)| {
                if let Some(place) = results.get_mut(n) {
                    *place = result;
                }
                std::future::ready(())
            });
        // What is done by then is in its place.
        let _ = tokio::time::timeout(patience, all).await;
        results
    }

    async fn publish_one(&self, finding: &Finding) -> Result<(), PortError> {
        let call = Call::about("Publish", &self.arn);
        let severity = finding.severity.word();
        let mut request = self
            .client
            .publish()
            .topic_arn(&self.arn)
            // What letters have as their subject: at most 100 characters of ASCII.
            .subject(format!("Stayput, {severity}: {}", finding.code.text()))
            .message(message(finding, LONGEST));
        for (name, value) in [("code", finding.code.text()), ("severity", severity)] {
            let value = MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value)
                .build()
                .map_err(|e| call.nonsense(e.to_string()))?;
            request = request.message_attributes(name, value);
        }
        request.send().await.map_err(|e| call.failed(&e))?;
        Ok(())
    }
}
