//! A guard that only observes, knows nothing yet, and writes its journal where no other reads it.

use s3_documents::bucket::Versioning;
use s3_model::{Model, ModelBucket};
use stayput_guard::batch::Message;
use stayput_guard::guard::Guard;

use super::outcome::said;
use super::{Function, ObservingGuard, Said, at_once};
use crate::store::Event;

/// A guard that knows nothing yet.
pub struct Anew<'f> {
    function: &'f Function,
    client: Model,
    control: ModelBucket,
    guard: ObservingGuard,
}

impl Function {
    /// A guard as this function has them, but new, observing, and with a journal of its own, by this name.
    pub fn anew(&self, name: &str) -> Anew<'_> {
        let client = self.instances[0].client.another_client();
        let control = client.create_bucket(name, Versioning::Never);
        control.clear();
        let guard = self.observing(&client, &control);
        Anew {
            function: self,
            client,
            control,
            guard,
        }
    }

    fn observing(&self, client: &Model, control: &ModelBucket) -> ObservingGuard {
        let m = || client.clone();
        let journal = self.world.journal.then(|| client.journal(control, "stayput/"));
        Guard::observing(m(), journal, m(), self.mandate.clone())
    }
}

impl Anew<'_> {
    /// Tells these events in one batch, each in a message of its own: the verdicts.
    pub fn hear(&mut self, events: &[Event]) -> Vec<Said> {
        let told = events.iter().enumerate();
        let messages: Vec<Message> = told
            .filter_map(|(n, event)| {
                Some(Message {
                    id: n.to_string(),
                    records: vec![self.function.record(event)?],
                })
            })
            .collect();
        let report = at_once(self.guard.handle(&messages));
        report.verdicts.iter().map(said).collect()
    }

    /// A new process with the same journal.
    #[must_use]
    pub fn once_more(mut self) -> Self {
        self.guard = self.function.observing(&self.client, &self.control);
        self
    }
}
