//! Whatever goes wrong on the way, the bucket ends as if nothing had: order, repetition, crashes and lost answers change nothing.

use std::collections::BTreeMap;
use std::path::Path;

use s3_model::Fault;
use stayput_cli::replay::{Played, Process, Rehearsal};
use stayput_guard::port::PortErrorKind;

mod stories;

/// Some of `1..=count`, evenly spread, the first and the last among them.
fn spread(count: usize, at_most: usize) -> Vec<usize> {
    let chosen = count.min(at_most);
    let mut numbers: Vec<usize> = (0..chosen)
        .map(|i| {
            if chosen == 1 {
                1
            } else {
                1 + i * (count - 1) / (chosen - 1)
            }
        })
        .collect();
    numbers.dedup();
    numbers
}

async fn play(folder: &Path, rehearsal: &Rehearsal) -> Played {
    let played = stories::load(folder).play(rehearsal).await;
    played.unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}

async fn undisturbed(folder: &Path) -> Played {
    play(folder, &Rehearsal::default()).await
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

/// What ended otherwise than without the trouble. A key that waits isn't lost: somebody looks again.
fn other_end(disturbed: &Played, plain: &Played) -> Option<String> {
    let missing = plain
        .visible
        .iter()
        .find(|k| !disturbed.visible.contains(k) && !disturbed.waiting.contains(&k.0));
    let added = disturbed.visible.iter().find(|k| !plain.visible.contains(k));
    (missing.is_some() || added.is_some()).then(|| format!("missing {missing:?}, added {added:?}"))
}

/// Differences by story. Those of stories that are known to differ are dropped; a known one without a difference is one itself.
#[derive(Default)]
struct Differences(BTreeMap<String, Vec<String>>);

impl Differences {
    fn add(&mut self, folder: &Path, what: &str, difference: Option<String>) {
        if let Some(difference) = difference {
            self.0
                .entry(name(folder))
                .or_default()
                .push(format!("{what}: {difference}"));
        }
    }

    fn but(mut self, known: &[(&str, &str)]) -> Vec<String> {
        let mut bad = Vec::new();
        for (story, why) in known {
            if self.0.remove(*story).is_none() {
                bad.push(format!("{story}: ends as it should: strike it off ({why})"));
            }
        }
        bad.extend(
            self.0
                .iter()
                .flat_map(|(story, all)| all.iter().map(move |d| format!("{story}: {d}"))),
        );
        bad
    }
}

fn nth(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

#[tokio::test]
async fn the_order_of_messages_changes_no_verdict() {
    let mut compared = 0;
    for folder in stories::all() {
        let plain = undisturbed(&folder).await;
        let reversed = Rehearsal {
            reversed: true,
            ..Rehearsal::default()
        };
        let reversed = play(&folder, &reversed).await;
        assert_eq!(plain.lines, reversed.lines, "{}", folder.display());
        compared += plain.lines.len();
    }
    assert!(compared >= 700, "{compared} verdicts");
}

#[tokio::test]
async fn messages_that_come_twice_are_as_if_they_had_come_once() {
    let (mut bad, mut copied) = (Differences::default(), 0);
    for folder in stories::all() {
        let plain = undisturbed(&folder).await;
        for process in [Process::NewAtEachLook, Process::Kept] {
            let twice = Rehearsal {
                process,
                twice: true,
                ..Rehearsal::default()
            };
            let twice = play(&folder, &twice).await;
            bad.add(&folder, "twice", other_end(&twice, &plain));
            let verdicts = (plain.lines != twice.lines).then(|| "other verdicts".to_owned());
            bad.add(&folder, "twice", verdicts);
            let (once, again) = (copies(&plain), copies(&twice));
            bad.add(
                &folder,
                "twice",
                (once != again).then(|| format!("{once} copies, then {again}")),
            );
            copied += once;
        }
    }
    let bad = bad.but(&[]);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(copied >= 600, "{copied} copies");
}

#[tokio::test]
async fn a_process_that_dies_at_a_write_leaves_it_to_the_next_one() {
    let (mut bad, mut crashes) = (Differences::default(), 0);
    for folder in stories::all() {
        let plain = undisturbed(&folder).await;
        for operation in ["CopyObject", "PutObject"] {
            let writes = plain
                .calls
                .iter()
                .filter(|(_, c)| c.operation == operation)
                .count();
            for number in spread(writes, 4) {
                let fault = Fault::crash().on(operation).from_nth(nth(number));
                let faults = [("before", fault.clone()), ("after", fault.after_the_effect())];
                for (when, fault) in faults {
                    let rehearsal = Rehearsal {
                        faults: vec![fault],
                        ..Rehearsal::default()
                    };
                    let disturbed = play(&folder, &rehearsal).await;
                    assert!(
                        disturbed.calls.iter().any(|(_, c)| c.crashed),
                        "{}",
                        folder.display()
                    );
                    let what = format!("a crash {when} {operation} {number}");
                    bad.add(&folder, &what, other_end(&disturbed, &plain));
                    crashes += 1;
                }
            }
        }
    }
    let bad = bad.but(&[]);
    assert!(bad.is_empty(), "{} of {crashes}:\n{}", bad.len(), bad.join("\n"));
    assert!(crashes >= 300, "{crashes} crashes");
}

#[tokio::test]
async fn an_answer_that_is_lost_is_made_good_when_the_messages_come_again() {
    let (mut bad, mut lost) = (Differences::default(), 0);
    for folder in stories::all() {
        let plain = undisturbed(&folder).await;
        for number in spread(plain.calls.len(), 6) {
            let never_arrived = Fault::answers(PortErrorKind::Throttled).from_nth(nth(number));
            let answer_lost = Fault::answers(PortErrorKind::Transient)
                .from_nth(nth(number))
                .after_the_effect();
            for (what, fault) in [("throttled", never_arrived), ("no answer", answer_lost)] {
                let rehearsal = Rehearsal {
                    faults: vec![fault],
                    twice: true,
                    ..Rehearsal::default()
                };
                let disturbed = play(&folder, &rehearsal).await;
                bad.add(
                    &folder,
                    &format!("{what} at call {number}"),
                    other_end(&disturbed, &plain),
                );
                lost += 1;
            }
        }
    }
    let bad = bad.but(&[]);
    assert!(bad.is_empty(), "{} of {lost}:\n{}", bad.len(), bad.join("\n"));
    assert!(lost >= 1000, "{lost} lost answers");
}

fn copies(played: &Played) -> usize {
    played
        .calls
        .iter()
        .filter(|(_, c)| c.operation == "CopyObject" && c.error.is_none())
        .count()
}
