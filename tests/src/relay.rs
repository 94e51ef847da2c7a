//! A relay between two queues that says who deleted what.
//!
//! MiniStack gives every event the same principal, AWS that of the caller; and MiniStack runs no lifecycle rules. The
//! relay knows who called, since whoever deletes says so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::cloud::{Cloud, Queue};

/// Who hid an object.
#[derive(Clone, Debug)]
pub enum By {
    /// A caller, by the principal in the event.
    Principal(String),
    /// A rule of the bucket.
    Lifecycle,
}

#[derive(Default)]
struct Callers {
    /// By the version id of the marker.
    of_markers: HashMap<String, By>,
    everyone_else: Option<By>,
}

#[derive(Default)]
struct Shared {
    callers: Mutex<Callers>,
    holds: AtomicU32,
    /// Taken while messages are under way.
    under_way: Mutex<()>,
    stop: AtomicBool,
}

/// Takes messages off one queue and puts them on another until it goes out of scope.
pub struct Relay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// While it lives, no message is relayed.
pub struct Held<'a> {
    shared: &'a Shared,
    _under_way: MutexGuard<'a, ()>,
}

impl Relay {
    /// Begins. Messages without records, S3's test event, go through as they are.
    pub fn start(cloud: Cloud, from: Queue, to: Queue) -> Self {
        let shared = Arc::<Shared>::default();
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || {
                while !shared.stop.load(Ordering::Relaxed) {
                    if shared.holds.load(Ordering::SeqCst) > 0 {
                        std::thread::sleep(Duration::from_millis(20));
                        continue;
                    }
                    let _under_way = lock(&shared.under_way);
                    for message in cloud.receive(&from, 1) {
                        cloud.send(&to, &named(&message.body, &lock(&shared.callers)));
                        cloud.done(&from, &message);
                    }
                }
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Deletes, and says who did it. `delete` returns the version id of the marker that it made.
    pub fn deleting(&self, by: By, delete: impl FnOnce() -> String) {
        // Locked meanwhile: the event may be here before the answer.
        let mut callers = lock(&self.shared.callers);
        let marker = delete();
        callers.of_markers.insert(marker, by);
    }

    /// Who makes all other markers. Not told, they keep the local server's principal, whom nobody knows.
    pub fn everyone_else_is(&self, by: By) {
        lock(&self.shared.callers).everyone_else = Some(by);
    }

    /// Holds all messages back, as S3 may for minutes, until the answer goes out of scope.
    pub fn hold(&self) -> Held<'_> {
        self.shared.holds.fetch_add(1, Ordering::SeqCst);
        Held {
            shared: &self.shared,
            _under_way: lock(&self.shared.under_way),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared.holds.fetch_sub(1, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn named(body: &str, callers: &Callers) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(body) else {
        return body.to_owned();
    };
    // Indexing for writing would put in what isn't there.
    let Some(records) = message.get_mut("Records").and_then(Value::as_array_mut) else {
        return body.to_owned();
    };
    for record in records {
        let marker = record["s3"]["object"]["versionId"].as_str();
        let by = marker.and_then(|id| callers.of_markers.get(id));
        match by.or(callers.everyone_else.as_ref()) {
            Some(By::Principal(principal)) => {
                record["userIdentity"]["principalId"] = Value::from(principal.clone());
            }
            Some(By::Lifecycle) => {
                // As S3's user guide has these events.
                record["eventName"] = Value::from("LifecycleExpiration:DeleteMarkerCreated");
                record["userIdentity"]["principalId"] = Value::from("s3.amazonaws.com");
                record["requestParameters"]["sourceIPAddress"] = Value::from("s3.amazonaws.com");
            }
            None => {}
        }
    }
    message.to_string()
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics when the server is gone; the test then has failed already.
            let _ = thread.join();
        }
    }
}
