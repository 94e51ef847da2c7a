//! The guard, by the mode of the settings.

use stayput_aws::clock::SystemClock;
use stayput_aws::connection::Connection;
use stayput_aws::copies::Copies;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;
use stayput_core::report::finding::Finding;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::guard::{Acting, Guard, Observing};
use stayput_guard::port::PortError;
use stayput_guard::settings::{Mode, Settings};
use stayput_guard::sweep::SweepReport;

/// What a call asks for. The Lambda's own tests answer it in other ways.
pub(crate) trait Judge {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport;
    async fn sweep(&mut self) -> SweepReport;
    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError>;
}

/// A guard on S3.
pub(crate) enum Watch {
    Observing(Box<Guard<S3, S3Journal, SystemClock, Observing>>),
    Acting(Box<Guard<S3, S3Journal, SystemClock, Acting<Copies>>>),
}

impl Watch {
    /// `instance` names this process among others under the same control prefix.
    pub(crate) fn new(connection: &Connection, settings: &Settings, instance: &str) -> Self {
        let reading = S3::new(connection);
        let journal = settings
            .mandate
            .control
            .clone()
            .map(|control| S3Journal::new(connection, control));
        let mandate = settings.mandate.clone();
        match settings.mode {
            Mode::Observe => {
                let guard = Guard::observing(reading, journal, SystemClock, mandate);
                Self::Observing(Box::new(guard.of_instance(instance)))
            }
            Mode::Restore => {
                let copies = Copies::new(
                    connection,
                    settings.mandate.control.clone(),
                    settings.copies_per_second,
                );
                let guard = Guard::acting(reading, journal, SystemClock, copies, mandate);
                Self::Acting(Box::new(guard.of_instance(instance)))
            }
        }
    }
}

impl Judge for Watch {
    async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        match self {
            Self::Observing(guard) => guard.handle(messages).await,
            Self::Acting(guard) => guard.handle(messages).await,
        }
    }

    async fn sweep(&mut self) -> SweepReport {
        match self {
            Self::Observing(guard) => guard.sweep().await,
            Self::Acting(guard) => guard.sweep().await,
        }
    }

    async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        match self {
            Self::Observing(guard) => guard.findings_sent(findings).await,
            Self::Acting(guard) => guard.findings_sent(findings).await,
        }
    }
}
