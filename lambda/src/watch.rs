//! The guard, as a call asks for it.

pub(crate) use stayput_aws::watch::Watch;
use stayput_core::report::finding::Finding;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::port::PortError;
use stayput_guard::sweep::SweepReport;

/// What a call asks for. The Lambda's own tests answer it in other ways.
pub(crate) trait Judge {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport;
    async fn sweep(&mut self) -> SweepReport;
    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError>;
}

impl Judge for Watch {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        Self::handle(self, messages).await
    }

    async fn sweep(&mut self) -> SweepReport {
        Self::sweep(self).await
    }

    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        Self::findings_sent(self, findings).await
    }
}
