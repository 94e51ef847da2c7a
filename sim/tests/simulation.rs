//! The simulation itself: that it is what it says, that it can fail, and that what it found once holds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use s3_model::Model;
use stayput_core::ha;
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::{references, take};
use stayput_core::root::Roots;
use stayput_core::sinks::find;
use stayput_core::timestamp::Timestamp;
use stayput_sim::actors::{Completed, File, Job, Place};
use stayput_sim::clock::BEGINNING;
use stayput_sim::dice::Dice;
use stayput_sim::generate::{Histories, scenario};
use stayput_sim::run::play;
use stayput_sim::scenario::{JobSpec, Layout, Release, SinkSpec, Writer};
use stayput_sim::store::{BUCKET, Store};
use stayput_sim::{crowd, kept, planted};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..6 {
        let told = || {
            let played = play(&scenario(seed, Histories::SHORT), true);
            let lines = played.trace.happenings.iter();
            lines.map(ToString::to_string).collect::<Vec<_>>()
        };
        let first = told();
        assert!(first.len() > 20, "seed {seed}: only {} lines", first.len());
        assert_eq!(first, told(), "seed {seed}");
    }
}

#[test]
fn a_scenario_written_down_is_the_same_scenario() {
    for seed in 0..50 {
        let of_seed = scenario(seed, Histories::ON_TRIAL);
        assert!(of_seed.steps.len() <= 200);
        let text = serde_json::to_string(&of_seed).unwrap();
        assert_eq!(
            serde_json::from_str::<stayput_sim::scenario::Scenario>(&text).unwrap(),
            of_seed
        );
    }
}

#[test]
fn histories_hold_and_something_happens_in_them() {
    let tally = crowd::play_many(0, 60, Histories::SHORT, 1);
    assert_eq!(tally.violations, [], "{tally}");
    assert!(
        tally.copies > 50 && tally.deletions > 500 && tally.calls > 500,
        "{tally}"
    );
}

#[test]
fn in_a_replica_what_somebody_would_fail_over_to_is_whole() {
    let tally = crowd::play_many(0, 60, Histories::REPLICATED, 1);
    assert_eq!(tally.violations, [], "{tally}");
    assert!(tally.copies > 50, "{tally}");
    for what in [
        "objects that came by replication",
        "markers that came by replication",
        "copies in a replica of what the origin has no more",
    ] {
        let times = tally.happened.get(what).copied().unwrap_or(0);
        assert!(times > 0, "{what}: never, in {tally}");
    }
}

/// What is never generated is never tested.
#[test]
fn every_kind_of_job_and_every_hand_happens() {
    let tally = crowd::play_many(0, 700, Histories::ON_TRIAL, 2);
    for what in [
        "jobs with file merging",
        "jobs with a changelog",
        "jobs with ForSt",
        "jobs in a directory of several",
        "jobs with entropy",
        "jobs with an HA store",
        "jobs restored with another parallelism",
        "permissions taken or given back",
        "times that versioning was suspended or enabled",
        "deployments with other settings",
        "calls of a second Stayput",
        "histories told in another order",
        "verdicts but to leave, told in another order",
        "proofs of restores that a second reader checked",
        "jobs with a file sink",
        "jobs with a native sink",
        "calls that a budget of bytes stopped",
        "proofs of tails that the state of a sink names",
        "objects that were un-hidden",
        "versions that a rule moved to an archive",
        "thaws that were asked for",
        "copies of what lay in an archive onto itself",
        "deletions of what was just thawed",
        "copies of a _metadata of which the function is told itself",
        "deployments without a root for checkpoints",
        "deployments that name another's role",
        "copies of what a job deleted itself while the settings named another's role",
    ] {
        let times = tally.happened.get(what).copied().unwrap_or(0);
        assert!(times > 0, "{what}: never, in {tally}");
    }
}

#[test]
fn every_history_that_was_kept_holds() {
    let all = kept::all().unwrap();
    assert!(all.len() >= 20, "only {} were kept", all.len());
    for (name, kept) in all {
        let played = play(&kept.scenario, false);
        assert_eq!(played.violations, [], "{name}: {}", kept.story);
    }
}

#[test]
fn every_planted_fault_still_has_its_place() {
    assert!(planted::ALL.len() >= 24);
    assert_eq!(planted::misplaced(&workspace()).unwrap(), Vec::<String>::new());
    let names: BTreeSet<&str> = planted::ALL.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), planted::ALL.len());
    assert!(
        planted::want(0) && !planted::want(1),
        "the sources themselves hold none"
    );
}

#[test]
fn what_a_job_writes_is_read_as_what_it_says() {
    use Layout::{Changelog, ForSt, Merged, Plain};
    use Writer::{Hadoop, Native};
    let (mut checked, mut with_sinks) = (0, 0);
    for (release, layouts) in [
        (Release::UpTo114, &[Plain][..]),
        (Release::Of116, &[Plain, Changelog]),
        (Release::From119, &[Plain, Changelog, Merged, ForSt]),
        (Release::From119Sequential, &[Plain, Changelog, Merged, ForSt]),
    ] {
        for layout in layouts {
            for (incremental, entropy) in [(true, false), (false, false), (true, true)] {
                let spec = JobSpec {
                    release,
                    retained: 2,
                    retained_on_cancel: true,
                    incremental,
                    subtasks: 2,
                    operators: 3,
                    layout: *layout,
                    zero_id: false,
                    ha: true,
                    readable_pointers: true,
                    entropy,
                    sink: None,
                };
                is_read_as_it_says(spec);
                checked += 1;
                for (writer, inlined) in [(Hadoop, true), (Hadoop, false), (Native, true), (Native, false)] {
                    // Only 2.3 has the native writer, and with file merging the state of sinks lies in segments.
                    let is_written = *layout != Merged && (writer == Hadoop || release == Release::From119);
                    if is_written {
                        let sink = Some(SinkSpec { writer, inlined });
                        is_read_as_it_says(JobSpec { sink, ..spec });
                        with_sinks += 1;
                    }
                }
            }
        }
    }
    assert_eq!((checked, with_sinks), (33, 72));
}

fn is_read_as_it_says(spec: JobSpec) {
    let model = Model::new(Timestamp::from_millis(BEGINNING));
    let mut store = Store::new(&model, &[]);
    let mut dice = Dice::of(7);
    let mut job = Job::new(0, spec, &mut dice);
    for _ in 0..3 {
        assert!(job.begin(&mut store, &mut dice));
        assert!(matches!(job.complete(&mut store, &mut dice), Completed::Well(_)));
    }
    let newest = job.would_restore().unwrap();
    let bytes = store.bytes(&newest.metadata).unwrap();
    let mut read = BTreeSet::new();
    let location = ObjectLocation::new(BUCKET, &*newest.metadata);
    references(&bytes, &location, &mut |object, _| {
        read.insert(object.key().to_owned());
    });
    let taken = take(&bytes, &location, &Roots::new(Vec::new()));
    let Ok(taken) = taken else {
        panic!("{spec:?} isn't read to its end")
    };
    let directories = taken.directories.len();
    let mut sinks = find(&bytes, Some(&location));
    for blob in std::mem::take(&mut sinks.blobs) {
        let state = store.bytes(blob.location.key()).unwrap();
        sinks.take_blob(&blob.whose, &blob.states, &state);
    }
    assert_eq!(sinks.unknown, Vec::<String>::new(), "{spec:?}");
    let tails = sinks
        .tails()
        .into_iter()
        .map(|(tail, (size, _))| (tail.key().to_owned(), size));
    let says_of_tails = newest.files.iter().filter(|f| f.place == Place::Tail);
    assert_eq!(
        tails.collect::<Vec<_>>(),
        says_of_tails
            .map(|f| (f.key.clone(), f.size))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>(),
        "{spec:?}"
    );
    assert_eq!(sinks.files.is_empty(), spec.sink.is_none(), "{spec:?}");
    let of_state = |f: &&File| !matches!(f.place, Place::Tail | Place::Pointer);
    let state = newest.files.iter().filter(of_state);
    let says: BTreeSet<String> = state.map(|f| f.key.clone()).collect();
    assert_eq!(read, says, "{spec:?}");
    let pointer = newest.files.iter().find(|f| f.place == Place::Pointer).unwrap();
    assert!(ha::is_completed_checkpoint(&pointer.key));
    let named = ha::take(&store.bytes(&pointer.key).unwrap(), &Roots::new(Vec::new()));
    let named = named.unwrap_or_else(|e| panic!("{spec:?}: {e:?}")).unwrap();
    let by_pointer: BTreeSet<String> = named
        .references
        .iter()
        .map(|(at, _)| at.key().to_owned())
        .collect();
    assert_eq!(by_pointer, says, "{spec:?}");
    assert_eq!(named.metadata, location, "{spec:?}");
    assert_eq!(named.directories.len(), directories, "{spec:?}");
    assert_eq!(named.checkpoint_id, newest.id, "{spec:?}");
    for (at, extent) in &named.references {
        let size = newest.length_of(at.key()).unwrap();
        assert!(
            extent.is_plain_length(size),
            "{spec:?}: {at} of {size} bytes, {extent:?}"
        );
    }
    let merged = spec.layout == Layout::Merged;
    assert_eq!(
        directories > 0,
        merged,
        "{spec:?} names {directories} directories"
    );
    assert!(newest.is_whole(&store, true));
}

/// Actors and oracle have their own idea of the truth.
#[test]
fn actors_and_oracle_know_nothing_of_stayput() {
    let mut checked = 0;
    let mut folders = ["src/actors", "src/oracle"]
        .map(|f| Path::new(env!("CARGO_MANIFEST_DIR")).join(f))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for word in ["stayput_core", "stayput_guard", "flink_checkpoint"] {
                assert!(!text.contains(word), "{} uses {word}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked >= 13, "only {checked} files");
}

/// Every function of the tests of the crates.
fn names_of_tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![workspace().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let functions = text
                    .lines()
                    .filter_map(|line| line.split_once("fn ")?.1.split(['(', '<']).next());
                names.extend(functions.map(str::to_owned));
            }
        }
    }
    names
}

#[test]
fn what_the_page_on_decisions_names_exists() {
    let text = std::fs::read_to_string(workspace().join("docs/how-it-decides.md")).unwrap();
    let tests = names_of_tests();
    let (mut stories, mut held, mut faults) = (0, 0, 0);
    for word in text.split('`').skip(1).step_by(2) {
        if let Some(story) = word.strip_prefix("stories/").filter(|s| *s != "…") {
            let folder = workspace().join("tests/corpus/stories").join(story);
            assert!(folder.is_dir(), "there is no story {story}");
            stories += 1;
        } else if word.matches('_').count() >= 2
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            assert!(tests.contains(word), "there is no test {word}");
            held += 1;
        }
    }
    for name in text.split("planted: ").skip(1).flat_map(|t| {
        let end = t.find([';', '|', '.', '\n']).unwrap_or(t.len());
        t[..end]
            .split(", ")
            .map(|n| n.trim().trim_matches('*').to_owned())
            .collect::<Vec<_>>()
    }) {
        assert!(
            planted::ALL.iter().any(|p| p.name == name),
            "there is no planted fault {name:?}"
        );
        faults += 1;
    }
    assert!(
        stories >= 25 && held >= 25 && faults >= 12,
        "{stories} stories, {held} tests, {faults} faults"
    );
}
