//! The guard, as a call asks for it.

use std::collections::BTreeMap;
use std::time::Duration;

use stayput_aws::clock::SystemClock;
use stayput_aws::parked::{ParkedQueue, ToPark};
use stayput_aws::requests::Requests;
use stayput_aws::topic::Topic;
use stayput_aws::watch::Watch;
use stayput_core::report::finding::Finding;
use stayput_core::timestamp::Timestamp;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::port::{Clock, PortError};
use stayput_guard::sweep::SweepReport;

/// Telling people must not use up the time that Lambda gives for a call.
const PUBLISHING: Duration = Duration::from_secs(10);
/// Nor must parking.
const PARKING: Duration = Duration::from_secs(10);

/// What a call asks for. The Lambda's own tests answer it in other ways.
pub(crate) trait Judge {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport;
    async fn sweep(&mut self) -> SweepReport;
    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError>;
    /// Publishes findings, if there is a topic for them. What came of each, in their order.
    async fn publish(&self, findings: &[Finding]) -> Vec<Result<(), PortError>>;
    /// Whether there is a queue to park messages in.
    fn parks(&self) -> bool;
    /// Sends messages that wait to that queue. What came of each, in their order.
    async fn park(&self, messages: &[ToPark<'_>]) -> Vec<Result<(), PortError>>;
    /// By the clock that verdicts go by.
    fn now(&self) -> Timestamp;
    /// Requests to S3 since this was asked last, by the operation's API name.
    fn requests(&self) -> BTreeMap<String, u64>;
}

/// The guard on S3.
pub(crate) struct Watched {
    pub(crate) guard: Watch,
    pub(crate) requests: Requests,
    pub(crate) topic: Option<Topic>,
    pub(crate) parked: Option<ParkedQueue>,
}

impl Judge for Watched {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        self.guard.handle(messages).await
    }

    async fn sweep(&mut self) -> SweepReport {
        self.guard.sweep().await
    }

    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        self.guard.findings_sent(findings).await
    }

    async fn publish(&self, findings: &[Finding]) -> Vec<Result<(), PortError>> {
        match &self.topic {
            Some(topic) => topic.publish(findings, PUBLISHING).await,
            None => vec![Ok(()); findings.len()],
        }
    }

    fn parks(&self) -> bool {
        self.parked.is_some()
    }

    async fn park(&self, messages: &[ToPark<'_>]) -> Vec<Result<(), PortError>> {
        match &self.parked {
            Some(queue) => queue.send(messages, PARKING).await,
            None => Vec::new(),
        }
    }

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.take()
    }
}
