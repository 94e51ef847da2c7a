//! What Flink deletes itself: left or looked at again at the moment, left at the end, in whatever order it is told; never restored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use s3_documents::notification::Record;
use stayput_core::report::finding::FindingCode;
use stayput_guard::batch::Message;

use super::play::{Answer, Kind, Order, Said, Stage, Telling, hear};
use super::recording::{Recording, is_large, recordings};
use crate::lab::HOUR;

/// So many orders besides as sent, reversed and doubled; fewer where nobody is named, since there the order has less to say.
fn seeds(telling: Telling) -> u64 {
    if telling == Telling::Role { 20 } else { 3 }
}

/// So many messages SQS gives at once by default.
const BATCH: usize = 10;
/// After that time every look is due.
const EVERYTHING_IS_DUE: Duration = Duration::from_secs(2 * 3600);

/// When a verdict fell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum When {
    /// While the jobs ran.
    AtTheMoment,
    /// When every look was due after everything had stopped at that moment.
    Stopped,
    /// Likewise, at the end of the recording.
    AtTheEnd,
}

/// Why a verdict on something that was deleted in a recording is as it is: what DESIGN.md says of it. `None`: it says otherwise.
fn explanation(
    recording: &Recording,
    telling: Telling,
    when: When,
    key: &str,
    answer: &Answer,
) -> Option<&'static str> {
    let by_hand = recording.is_hidden_by_hand(key);
    let stopped = when == When::Stopped;
    match answer.kind {
        Kind::Leave => Some("Flink's own"),
        Kind::Later => (when == When::AtTheMoment).then_some("looked at again"),
        Kind::Report(FindingCode::CannotJudge) => {
            (recording.unread > 0).then_some("a checkpoint whose bytes weren't recorded can't be judged by")
        }
        Kind::Report(FindingCode::NeverThere) => {
            let not_written = |(_, metadata): &(FindingCode, String)| recording.comes_after(key, metadata);
            (!answer.findings.is_empty() && answer.findings.iter().all(not_written))
                .then_some("Flink names a file that it never wrote there (FLINK-39964)")
        }
        Kind::Report(FindingCode::DeletedAsAWhole) => (by_hand && telling == Telling::Role)
            .then_some("a person removed a directory whole, and the job had moved on"),
        Kind::Report(FindingCode::DiscardCutShort) => {
            (stopped && telling == Telling::Role).then_some("Flink began to discard the head and stopped")
        }
        // With nobody known, and the settings or EventBridge naming nobody, a head with `_metadata` that lost private files gets them back.
        Kind::Restore if telling != Telling::Role => (stopped
            && answer.findings_are(FindingCode::DeletedNeeded))
        .then_some("nobody known took private files of a head that stands"),
        Kind::Restore => {
            let needed_still = recording.name.contains("noclaim-rm-before-fail");
            let not_whole_yet = stopped;
            (by_hand && (needed_still || not_whole_yet))
                .then_some("a person removed what the job still needed")
        }
        Kind::Report(_) | Kind::Lost => None,
    }
}

/// How often what was said.
#[derive(Default)]
struct Tally {
    verdicts: BTreeMap<(When, String), usize>,
    explained: BTreeMap<(&'static str, String), usize>,
    unexplained: Vec<String>,
    findings: BTreeMap<FindingCode, Vec<String>>,
}

impl Tally {
    fn count(&mut self, recording: &Recording, telling: Telling, when: When, said: &Said) {
        for (key, answer) in said {
            let outcome = match answer.kind {
                Kind::Restore => "restore".to_owned(),
                _ => answer.outcome.clone(),
            };
            *self.verdicts.entry((when, outcome)).or_default() += 1;
            match explanation(recording, telling, when, key, answer) {
                Some(_) if matches!(answer.kind, Kind::Leave | Kind::Later) => {}
                Some(why) => *self.explained.entry((why, recording.name.clone())).or_default() += 1,
                None => self.unexplained.push(format!(
                    "{} {telling:?} {when:?}: {} {:?} {key}",
                    recording.name, answer.outcome, answer.findings
                )),
            }
            for (code, _) in &answer.findings {
                let names = self.findings.entry(*code).or_default();
                if names.last() != Some(&recording.name) {
                    names.push(recording.name.clone());
                }
            }
        }
    }

    fn print(&self, what: &str) {
        println!("{what}");
        for ((when, outcome), count) in &self.verdicts {
            println!("  {count:7} {when:?} {outcome}");
        }
        for ((why, name), count) in &self.explained {
            println!("  {count:7} {name}: {why}");
        }
        for (code, names) in &self.findings {
            println!("  told: {} in {}", code.text(), names.join(", "));
        }
    }
}

/// The verdicts of each moment's own messages, by one process from the first to the last; then everything again at the end.
async fn replay(stage: &mut Stage<'_>, order: Order) -> (Vec<Said>, Said) {
    let moments = stage.recording.moments();
    stage.reset();
    let mut guard = stage.guard();
    let mut by_moment = Vec::with_capacity(moments.len());
    let mut from = 0;
    for to in moments {
        stage.set(to);
        let messages = order.arrange(&stage.messages(from, to));
        by_moment.push(hear(&mut guard, &messages, usize::MAX).await);
        from = to;
    }
    stage.model.advance(EVERYTHING_IS_DUE);
    let all = order.arrange(&stage.messages(0, from));
    (by_moment, hear(&mut guard, &all, usize::MAX).await)
}

#[tokio::test]
async fn what_flink_deleted_is_left_in_whatever_order_it_is_told() {
    let recordings = recordings();
    let mut tally = Tally::default();
    let mut deletions = 0;
    for recording in &recordings {
        deletions += recording.deletions();
        for telling in Telling::ALL {
            let mut stage = Stage::new(recording, telling);
            let as_sent = replay(&mut stage, Order::AsSent).await;
            for said in &as_sent.0 {
                tally.count(recording, telling, When::AtTheMoment, said);
            }
            tally.count(recording, telling, When::AtTheEnd, &as_sent.1);
            for order in Order::others(seeds(telling)) {
                let other = replay(&mut stage, order).await;
                assert!(
                    other == as_sent,
                    "{} {telling:?} {order:?}: {}",
                    recording.name,
                    difference(&as_sent, &other)
                );
            }
        }
    }
    tally.print(&format!("{} recordings, {deletions} deletions", recordings.len()));
    assert_eq!(tally.unexplained, Vec::<String>::new());
    // A new run that meets the directories of an old one destroys them: people are told, and nothing is put back under its feet.
    let reused: BTreeSet<&str> = tally
        .findings
        .get(&FindingCode::DirectoryReused)
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let meets_an_old_head = |name: &&str| {
        ["reuse-tolerant", "rollback-sameid", "flat-two"]
            .iter()
            .any(|case| name.ends_with(case))
    };
    let names: BTreeSet<&str> = recordings
        .iter()
        .map(|r| r.name.as_str())
        .filter(meets_an_old_head)
        .collect();
    assert_eq!(reused, names);
    assert!(
        deletions >= if is_large() { 1900 } else { 100 },
        "only {deletions} deletions"
    );
}

fn difference(one: &(Vec<Said>, Said), other: &(Vec<Said>, Said)) -> String {
    let one = one.0.iter().chain([&one.1]).enumerate();
    let mut found = String::new();
    for ((n, one), other) in one.zip(other.0.iter().chain([&other.1])) {
        for (key, answer) in one {
            if other.get(key) != Some(answer) {
                found = format!("{found}\n{n} {key}: {answer:?} and {:?}", other.get(key));
            }
        }
    }
    found
}

/// What came of a replay, whatever was said on the way.
#[derive(PartialEq, Eq, Clone, Debug)]
struct CameOf {
    /// What was copied.
    copied: BTreeSet<String>,
    /// What people were told, of which `_metadata`.
    told: BTreeSet<(FindingCode, String)>,
}

/// Why a key is left may depend on what came with it: a checkpoint that was hidden is looked for only if a message at hand names it, and
/// nobody misses it otherwise.
#[tokio::test]
async fn messages_that_come_ten_at_a_time_come_to_the_same_in_whatever_order() {
    let mut verdicts = 0;
    for recording in &recordings() {
        let end = recording.happenings.len();
        for telling in Telling::ALL {
            let mut stage = Stage::new(recording, telling);
            let all = stage.messages(0, end);
            let mut expected = None;
            for order in [Order::AsSent].into_iter().chain(Order::others(seeds(telling))) {
                stage.reset();
                stage.set(end);
                stage.model.advance(EVERYTHING_IS_DUE);
                stage.model.take_calls();
                let mut guard = stage.guard();
                let mut said = hear(&mut guard, &order.arrange(&all), BATCH).await;
                // Those that waited come again when everything was heard.
                let waits = |key: &str| said.get(key).is_some_and(|a| a.kind == Kind::Later);
                let again: Vec<Message> = all.iter().filter(|m| keys_of(m).any(waits)).cloned().collect();
                said.extend(hear(&mut guard, &again, BATCH).await);
                verdicts += said.len();
                let waiting: Vec<&String> = said
                    .iter()
                    .filter(|(_, a)| a.kind == Kind::Later)
                    .map(|(k, _)| k)
                    .collect();
                assert!(
                    waiting.is_empty(),
                    "{} {telling:?} {order:?}: {waiting:?}",
                    recording.name
                );
                let came_of = CameOf {
                    copied: stage.copies(),
                    told: said.into_values().flat_map(|a| a.findings).collect(),
                };
                let expected = expected.get_or_insert_with(|| came_of.clone());
                assert_eq!(came_of, *expected, "{} {telling:?} {order:?}", recording.name);
            }
        }
    }
    println!("{verdicts} verdicts");
    assert!(
        verdicts >= if is_large() { 60_000 } else { 5_000 },
        "only {verdicts} verdicts"
    );
}

fn keys_of(message: &Message) -> impl Iterator<Item = &str> {
    message.records.iter().filter_map(|record| match record {
        Record::Deleted(deleted) => Some(&*deleted.key),
        Record::Created(_) | Record::Other(_) | Record::TestEvent => None,
    })
}

/// Everything stops at a moment, for good: the JobManager was killed. Somebody new looks when every look is due.
#[tokio::test]
async fn what_flink_had_deleted_when_it_was_killed_is_not_put_back() {
    let mut tally = Tally::default();
    let mut moments = 0;
    for recording in &recordings() {
        for telling in Telling::ALL {
            let mut stage = Stage::new(recording, telling);
            let after_each: Vec<usize> = (1..=recording.happenings.len())
                .filter(|n| recording.happenings[n - 1].hides())
                .collect();
            moments += after_each.len();
            for moment in after_each {
                stage.set(moment);
                stage.model.advance(EVERYTHING_IS_DUE + HOUR);
                let mut guard = stage.guard();
                let said = hear(&mut guard, &stage.messages(0, moment), usize::MAX).await;
                tally.count(recording, telling, When::Stopped, &said);
                if said.values().any(|a| a.kind == Kind::Restore) {
                    stage.reset();
                }
            }
        }
    }
    tally.print(&format!("{moments} moments"));
    assert_eq!(tally.unexplained, Vec::<String>::new());
}
