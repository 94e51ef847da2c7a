//! How events reach those who subscribed: late, twice, out of order, or never.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stayput_core::timestamp::Timestamp;

use crate::event::{Event, EventKind};
use crate::world::{World, lock};

/// The form of the messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// S3's own notifications: they name who did it.
    Notification,
    /// EventBridge: it names the account only.
    EventBridge,
}

/// Which events of a bucket are told to whom.
pub struct Destination {
    form: Form,
    names: Vec<String>,
    prefix: String,
    delivery: Delivery,
}

impl Destination {
    /// Everything that happens in the bucket, in this form, at once and once each.
    pub fn new(form: Form) -> Self {
        Self {
            form,
            names: Vec::new(),
            prefix: String::new(),
            delivery: Delivery::prompt(),
        }
    }

    /// Only events of these names; more calls add more. As a notification configuration has it, `s3:ObjectRemoved:*` or
    /// `s3:LifecycleExpiration:DeleteMarkerCreated`; for EventBridge a `detail-type`, `Object Deleted`.
    #[must_use]
    pub fn on(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    /// Only keys that begin so.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Delivered in this way.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    fn wants(&self, event: &Event) -> bool {
        let named = |name: &String| match self.form {
            Form::EventBridge => name == event.kind.detail_type(),
            Form::Notification => is_meant(name, &event.kind),
        };
        event.key.starts_with(&self.prefix) && (self.names.is_empty() || self.names.iter().any(named))
    }
}

/// Whether a name of a notification configuration means an event of this kind.
fn is_meant(name: &str, kind: &EventKind) -> bool {
    let name = name.strip_prefix("s3:").unwrap_or(name);
    match name.strip_suffix(":*") {
        Some(family) => kind
            .name()
            .strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(':')),
        None => name == kind.name(),
    }
}

/// When the messages about an event arrive, seen from when it happened.
pub struct Delivery(Fates);

type Fates = Box<dyn FnMut(&Event) -> Vec<Duration> + Send>;

impl Delivery {
    /// At once, once each, in order.
    pub fn prompt() -> Self {
        Self::by(|_| vec![Duration::ZERO])
    }

    /// As told for each event: so long after it a message arrives. None: the event is lost; two: it comes twice. What arrives
    /// out of order is what has unequal delays.
    pub fn by(when: impl FnMut(&Event) -> Vec<Duration> + Send + 'static) -> Self {
        Self(Box::new(when))
    }

    /// As S3 promises, no better: each event some time up to `latest` later, so in any order; of a million so many are `doubled`
    /// and so many `lost`. The same seed gives the same fates to the same events in the same order.
    pub fn seeded(seed: u64, latest: Duration, doubled: u32, lost: u32) -> Self {
        let mut state = seed;
        // SplitMix64: a counter, and what its bits are mixed to.
        let mut below = move |bound: u64| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % bound.max(1)
        };
        let latest = u64::try_from(latest.as_millis()).unwrap_or(u64::MAX);
        Self::by(move |_| {
            let (lost_at, doubled_at) = (below(1_000_000), below(1_000_000));
            let mut delay = || Duration::from_millis(below(latest.saturating_add(1)));
            match (lost_at < lost.into(), doubled_at < doubled.into()) {
                (true, _) => Vec::new(),
                (false, true) => vec![delay(), delay()],
                (false, false) => vec![delay()],
            }
        })
    }
}

/// A message that has arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Unlike that of any other message, also of a second one about the same event.
    pub id: String,
    /// When it arrived.
    pub at: Timestamp,
    /// What it says, in the form of the destination.
    pub body: String,
    /// The event that it is about: what the sender knows, not what is said.
    pub event: Event,
}

/// What is on its way to one destination.
pub(crate) struct Queue {
    destination: Destination,
    /// By arrival, then by number.
    coming: BTreeMap<(Timestamp, u64), Event>,
    messages: u64,
    lost: Vec<Event>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("coming", &self.coming.len())
            .finish_non_exhaustive()
    }
}

impl Queue {
    pub(crate) fn new(destination: Destination) -> Self {
        Self {
            destination,
            coming: BTreeMap::new(),
            messages: 0,
            lost: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, event: &Event) {
        if !self.destination.wants(event) {
            return;
        }
        let delays = (self.destination.delivery.0)(event);
        if delays.is_empty() {
            self.lost.push(event.clone());
        }
        for delay in delays {
            self.coming
                .insert((event.at.plus(delay), self.messages), event.clone());
            self.messages += 1;
        }
    }
}

/// The receiving end of a [`Destination`]. Clones receive from the same.
#[derive(Clone, Debug)]
pub struct Subscription {
    pub(crate) world: Arc<World>,
    pub(crate) queue: Arc<Mutex<Queue>>,
}

impl Subscription {
    /// The messages that have arrived by now, in the order of their arrival; each is given once.
    pub fn arrived(&self) -> Vec<Delivered> {
        self.take_until(self.world.now())
    }

    /// All messages, those that haven't arrived yet too.
    pub fn all(&self) -> Vec<Delivered> {
        self.take_until(Timestamp::from_millis(i64::MAX))
    }

    fn take_until(&self, end: Timestamp) -> Vec<Delivered> {
        let mut queue = lock(&self.queue);
        let later = queue.coming.split_off(&(end, u64::MAX));
        let arrived = std::mem::replace(&mut queue.coming, later);
        let form = queue.destination.form;
        arrived
            .into_iter()
            .map(|((at, number), event)| Delivered {
                id: format!("00000000-0000-4000-9000-{number:012x}"),
                at,
                body: match form {
                    Form::Notification => event.notification("stayput"),
                    Form::EventBridge => event.event_bridge(),
                },
                event,
            })
            .collect()
    }

    /// When the next message arrives; may have passed.
    pub fn next_arrival(&self) -> Option<Timestamp> {
        lock(&self.queue).coming.first_key_value().map(|((at, _), _)| *at)
    }

    /// How many messages are still to be taken, arrived or not.
    pub fn pending(&self) -> usize {
        lock(&self.queue).coming.len()
    }

    /// The events of which no message will ever come.
    pub fn lost(&self) -> Vec<Event> {
        lock(&self.queue).lost.clone()
    }

    /// What S3 sends to a queue or topic when a notification is configured.
    pub fn test_event(&self, bucket: &str) -> String {
        let now = self.world.now();
        serde_json::json!({
            "Service": "Amazon S3", "Event": "s3:TestEvent", "Time": now.to_string(), "Bucket": bucket,
            "RequestId": "5582815E1AEA5ADF", "HostId": "host",
        })
        .to_string()
    }
}
