//! A relay between two queues that says who deleted what.
//!
//! MiniStack gives every event the same principal, AWS that of the caller. The relay knows who called, since the test
//! told it before it called.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::cloud::{Cloud, Queue};

/// Takes messages off one queue and puts them on another until it goes out of scope.
pub struct Relay {
    callers: Arc<Mutex<HashMap<String, String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Begins. Messages without records, S3's test event, go through as they are.
    pub fn start(cloud: Cloud, from: Queue, to: Queue) -> Self {
        let callers = Arc::new(Mutex::new(HashMap::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (callers, stop) = (callers.clone(), stop.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    for message in cloud.receive(&from, 1) {
                        cloud.send(&to, &named(&message.body, &callers));
                        cloud.done(&from, &message);
                    }
                }
            }
        });
        Self {
            callers,
            stop,
            thread: Some(thread),
        }
    }

    /// From now on, events about this key were caused by this principal.
    pub fn caller(&self, key: &str, principal: &str) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.insert(key.to_owned(), principal.to_owned());
    }
}

fn named(body: &str, callers: &Mutex<HashMap<String, String>>) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(body) else {
        return body.to_owned();
    };
    // Indexing for writing would put in what isn't there.
    let Some(records) = message.get_mut("Records").and_then(Value::as_array_mut) else {
        return body.to_owned();
    };
    let callers = callers.lock().unwrap_or_else(PoisonError::into_inner);
    for record in records {
        let caller = record["s3"]["object"]["key"]
            .as_str()
            .and_then(|key| callers.get(key));
        if let Some(caller) = caller {
            record["userIdentity"]["principalId"] = Value::from(caller.clone());
        }
    }
    message.to_string()
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics when the server is gone; the test then has failed already.
            let _ = thread.join();
        }
    }
}
