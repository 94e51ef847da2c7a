//! Several jobs in one directory, as with the job id that is all zeroes: each has its own newest checkpoint.

use std::collections::BTreeSet;

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::root::Roots;
use stayput_guard::memory::Memory;

use crate::lab::{
    BUCKET, DAY, HOUR, JOB_ID, Lab, Who, metadata_key, of_job, outcomes, real_metadata, with_id,
};

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

/// chk-8 of one job and chk-1008 of another in the same directory: the keys of both `_metadata`, and of all that lies in both directories.
fn two_jobs(lab: &Lab) -> (String, String, Vec<String>) {
    lab.add_job(ZERO_ID, lab.model.now());
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
    let all = lab.bucket.visible_keys().into_iter();
    let own: Vec<String> = all
        .filter(|k| k.contains(ZERO_ID) && k.contains("/chk-"))
        .collect();
    assert_eq!(own.len(), 10);
    (first, second, own)
}

#[tokio::test]
async fn of_each_the_newest_hidden_one_comes_back() {
    let lab = Lab::new();
    let (first, second, own) = two_jobs(&lab);

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

/// What the other one completes meanwhile, under lower ids, is no new run of this one.
#[tokio::test]
async fn the_other_job_is_no_new_run() {
    let lab = Lab::new();
    let (first, second, own) = two_jobs(&lab);
    lab.model.advance(DAY);
    let of_second: Vec<String> = own.iter().filter(|k| k.contains("/chk-1008/")).cloned().collect();
    let gone = lab.delete_all(Who::Rule, of_second.clone());
    lab.model.advance(HOUR);
    // chk-9 of the first is complete, and chk-10 is under way.
    let bytes = with_id(of_job(real_metadata(8), ZERO_ID), 9);
    for own in lab.own_of_head() {
        let object = lab.bucket.current(&own).and_then(|v| v.object).expect("data");
        for id in [9, 10] {
            let key = own.replace(JOB_ID, ZERO_ID);
            let key = key.replace("/chk-8/", &format!("/chk-{id}/"));
            lab.bucket.put(&key, object.clone());
        }
    }
    lab.bucket
        .put(&first.replace("/chk-8/", "/chk-9/"), bytes.as_slice());
    lab.model.advance(HOUR);
    let report = lab.guard().handle(&gone).await;
    assert_eq!(report.summary.restored, 5, "{:?}", outcomes(&report));
    let copied: BTreeSet<String> = lab.copied().into_iter().collect();
    assert!(copied.contains(&second), "{copied:?}");
    assert_eq!(copied, of_second.into_iter().collect());
}

/// No message told of it, and above it lies what another job wrote.
#[tokio::test]
async fn what_a_rule_took_of_one_comes_back_though_the_other_stands_above_it_and_no_message_came() {
    for above_is_hidden in [false, true] {
        let lab = Lab::new();
        let rule = br#"{"Rules": [{"ID": "wipe", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Date": "2026-11-29T00:00:00Z"}}]}"#;
        lab.bucket
            .set_lifecycle(s3_documents::lifecycle::parse(rule).expect("rules"));
        let (first, second, own) = two_jobs(&lab);
        lab.model.advance(DAY);
        let of_first: Vec<String> = own.iter().filter(|k| k.contains("/chk-8/")).cloned().collect();
        lab.delete_all(Who::Rule, of_first.clone());
        if above_is_hidden {
            // The other job ended.
            lab.bucket.delete(&second);
        }
        lab.model.advance(HOUR);
        lab.guard().sweep().await;
        let copied: BTreeSet<String> = lab.copied().into_iter().collect();
        assert!(copied.contains(&first), "{copied:?}");
        assert_eq!(copied, of_first.into_iter().collect(), "{above_is_hidden}");
    }
}
