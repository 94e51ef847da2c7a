//! The guard on S3, by the mode of the settings: it observes or it acts.

use stayput_core::report::finding::Finding;
use stayput_guard::batch::{BatchReport, Message};
use stayput_guard::guard::{Acting, Guard, Observing};
use stayput_guard::port::PortError;
use stayput_guard::settings::{Mode, Settings};
use stayput_guard::sweep::SweepReport;

use crate::clock::SystemClock;
use crate::connection::Connection;
use crate::copies::Copies;
use crate::deadline::Deadline;
use crate::journal::S3Journal;
use crate::s3::S3;

/// A guard on S3.
pub enum Watch {
    /// It has no port that could copy.
    Observing(Box<Guard<S3, S3Journal, SystemClock, Observing>>),
    /// It restores.
    Acting(Box<Guard<S3, S3Journal, SystemClock, Acting<Copies>>>),
}

impl Watch {
    /// `instance` names this process among others under the same control prefix. What takes long is left to a later call when `deadline` is near.
    pub fn new(connection: &Connection, settings: &Settings, instance: &str, deadline: &Deadline) -> Self {
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
                )
                .in_parts_of(settings.part_sizes)
                .thawing(settings.thaw)
                .until(deadline.clone());
                let guard = Guard::acting(reading, journal, SystemClock, copies, mandate);
                Self::Acting(Box::new(guard.of_instance(instance)))
            }
        }
    }

    /// Judges what messages tell of.
    pub async fn handle(&mut self, messages: &[Message]) -> BatchReport {
        match self {
            Self::Observing(guard) => guard.handle(messages).await,
            Self::Acting(guard) => guard.handle(messages).await,
        }
    }

    /// Looks at everything.
    pub async fn sweep(&mut self) -> SweepReport {
        match self {
            Self::Observing(guard) => guard.sweep().await,
            Self::Acting(guard) => guard.sweep().await,
        }
    }

    /// Remembers that people were told.
    ///
    /// # Errors
    /// That couldn't be written down.
    pub async fn findings_sent(&self, findings: &[Finding]) -> Result<(), PortError> {
        match self {
            Self::Observing(guard) => guard.findings_sent(findings).await,
            Self::Acting(guard) => guard.findings_sent(findings).await,
        }
    }
}
