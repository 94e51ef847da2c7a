//! Several jobs in one directory, as with the job id that is all zeroes: each has its own newest checkpoint.

use std::collections::BTreeSet;

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::root::Roots;
use stayput_guard::memory::Memory;

use crate::lab::{BUCKET, DAY, HOUR, JOB_ID, Lab, Who, metadata_key, of_job, real_metadata, with_id};

const ZERO_ID: &str = "00000000000000000000000000000000";

/// The same checkpoint of other operators.
fn of_other_operators(mut bytes: Vec<u8>, metadata: &str) -> Vec<u8> {
    let location = ObjectLocation::new(BUCKET, metadata);
    let taken = take(&bytes, &location, &Roots::new(Vec::new())).expect("a real one");
    assert!(!taken.operators.is_empty());
    for operator in &taken.operators {
        let id = operator.as_slice();
        let at = bytes.windows(16).position(|w| w == id).expect("its id");
        for byte in &mut bytes[at..at + 16] {
            *byte = !*byte;
        }
    }
    bytes
}

#[tokio::test]
async fn of_each_the_newest_hidden_one_comes_back() {
    let lab = Lab::new();
    let now = lab.model.now();
    lab.add_job(ZERO_ID, now);
    let first = metadata_key(8).replace(JOB_ID, ZERO_ID);
    let second = metadata_key(1008).replace(JOB_ID, ZERO_ID);
    for own in lab.own_of_head() {
        let object = lab.bucket.current(&own).and_then(|v| v.object).expect("data");
        let key = own.replace(JOB_ID, ZERO_ID).replace("/chk-8/", "/chk-1008/");
        lab.bucket.put(&key, object);
    }
    let bytes = with_id(of_job(real_metadata(8), ZERO_ID), 1008);
    lab.bucket
        .put(&second, of_other_operators(bytes, &second).as_slice());
    let own: Vec<String> = lab
        .bucket
        .visible_keys()
        .into_iter()
        .filter(|k| k.contains(ZERO_ID) && k.contains("/chk-"))
        .collect();
    assert_eq!(own.len(), 10);

    lab.model.advance(DAY);
    let memory = Memory::new(Some(lab.model.another_client().journal(&lab.control, "stayput/")));
    memory.pause(lab.model.now()).await.expect("written");
    lab.guard().handle(&lab.delete_all(Who::Rule, own.clone())).await;
    assert_eq!(lab.copied(), Vec::<String>::new());

    // A new process knows of both.
    lab.control.delete("stayput/switch/pause");
    lab.model.advance(HOUR);
    lab.guard().sweep().await;
    let copied: BTreeSet<String> = lab.copied().into_iter().collect();
    assert!(copied.contains(&first) && copied.contains(&second), "{copied:?}");
    assert_eq!(copied, own.into_iter().collect());
}
