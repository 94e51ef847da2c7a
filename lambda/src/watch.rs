//! The guard, as a call asks for it.

use std::collections::BTreeMap;

use stayput_aws::requests::Requests;
use stayput_aws::watch::Watch;
use stayput_core::report::finding::Finding;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::port::PortError;
use stayput_guard::sweep::SweepReport;

/// What a call asks for. The Lambda's own tests answer it in other ways.
pub(crate) trait Judge {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport;
    async fn sweep(&mut self) -> SweepReport;
    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError>;
    /// Requests to S3 since this was asked last, by the operation's API name.
    fn requests(&self) -> BTreeMap<String, u64>;
}

/// The guard on S3.
pub(crate) struct Watched {
    pub(crate) guard: Watch,
    pub(crate) requests: Requests,
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

    fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.take()
    }
}
