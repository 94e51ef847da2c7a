//! A guard that observes says what one that acts does, and changes nothing outside the control prefix.

use s3_documents::bucket::Versioning;
use stayput_guard::batch::{Done, Message};

use crate::lab::{Lab, MINUTE, SETTLE, Who, metadata_key, outcomes};

type Story = (&'static str, fn(&Lab) -> Vec<Message>);

const STORIES: &[Story] = &[
    ("a rule takes shared files", |lab| {
        lab.delete_all(Who::Rule, lab.shared_of_head())
    }),
    ("Alice deletes everything", |lab| {
        let messages = lab.delete_all(Who::Alice, lab.all_keys());
        lab.model.advance(SETTLE);
        messages
    }),
    ("Alice is still at work", |lab| {
        let messages = lab.delete_all(Who::Alice, lab.all_keys());
        lab.model.advance(MINUTE);
        messages
    }),
    ("Flink subsumes chk-7", |lab| {
        let mut keys: Vec<String> = lab.named_by(7).difference(&lab.named_by(8)).cloned().collect();
        keys.push(metadata_key(7));
        lab.delete_all(Who::Flink, keys)
    }),
    ("Flink cuts a discard short", |lab| {
        let messages = lab.delete_all(Who::Flink, lab.own_of_head());
        lab.model.advance(12 * SETTLE);
        messages
    }),
    ("nobody known deletes shared files", |lab| {
        let messages = lab.delete_all(Who::Nobody, &lab.shared_of_head()[..5]);
        lab.model.advance(SETTLE);
        messages
    }),
    ("versioning is suspended", |lab| {
        lab.bucket.set_versioning(Versioning::Suspended);
        lab.delete_all(Who::Rule, lab.shared_of_head())
    }),
    ("versions were purged", |lab| {
        let key = lab.own_of_head()[0].clone();
        let old = lab.newest_data(&key);
        let mut messages = lab.delete_all(Who::Alice, lab.all_keys());
        messages.push(lab.purge(&key, &old));
        lab.model.advance(SETTLE);
        messages
    }),
];

#[tokio::test]
async fn observing_says_what_acting_does() {
    let mut would = 0;
    for (name, story) in STORIES {
        let lab = Lab::new();
        let messages = story(&lab);
        let (client, mut observer) = lab.observer();
        let seen = observer.handle(&messages).await;
        for acted in &seen.verdicts {
            assert!(
                matches!(acted.done, Done::Nothing | Done::WouldCopy),
                "{name}: {:?}",
                acted.done
            );
            would += usize::from(acted.done == Done::WouldCopy);
        }
        let outside: Vec<_> = client
            .calls()
            .into_iter()
            .filter(|c| c.mutates() && c.bucket != lab.control.name())
            .collect();
        assert_eq!(outside, [], "{name}");
        let done = lab.guard().handle(&messages).await;
        assert_eq!(outcomes(&seen), outcomes(&done), "{name}");
        assert_eq!(seen.answers, done.answers, "{name}");
        assert_eq!(seen.summary, done.summary, "{name}");
        let codes = |r: &stayput_guard::batch::BatchReport| -> Vec<_> {
            r.findings
                .iter()
                .map(|f| (f.code, f.about.clone(), f.objects))
                .collect()
        };
        assert_eq!(codes(&seen), codes(&done), "{name}");
    }
    assert!(would >= 26 + 31 + 5, "{would}");
}

#[tokio::test]
async fn observing_the_same_again_says_the_same() {
    for (name, story) in STORIES {
        let lab = Lab::new();
        let messages = story(&lab);
        let (_, mut observer) = lab.observer();
        let first = observer.handle(&messages).await;
        let second = observer.handle(&messages).await;
        assert_eq!(outcomes(&first), outcomes(&second), "{name}");
    }
}
