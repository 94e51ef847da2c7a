//! Someone deletes files of a real checkpoint; the real Lambda hears of it from a queue.

use std::time::Duration;

use stayput_tests::cloud::Cloud;
use stayput_tests::deployment::Deployment;
use stayput_tests::system::{bootstrap, ministack};
use stayput_tests::tree::{Files, Tree};

const FLINK: &str = "AROAFLINK";
const SOMEBODY: &str = "AWS:AROASOMEBODY:console";
/// The job that ran first, and the one that took over its newest checkpoint.
const OLD_JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
const NEW_JOB: &str = "3f78e2cd88580e0e298862c640aa6b1e/";

/// Whether the settings say who Flink is.
#[derive(Clone, Copy)]
enum Known {
    Principals,
    Nobody,
}

fn settings(bucket: &str, known: Known) -> String {
    let mut text = format!(
        "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\nsettle = \"2s\"\n\
         [[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n"
    );
    if let Known::Principals = known {
        text.push_str(&format!("[flink]\nprincipals = [\"{FLINK}\"]\n"));
    }
    text
}

fn deploy(name: &str, known: Known) -> Option<Deployment> {
    let (url, bootstrap) = (ministack()?, bootstrap("ministack")?);
    // A poisonous message comes twelve times, and the test waits for that.
    let invisible = Duration::from_secs(1);
    Some(Deployment::new(&url, &bootstrap, name, invisible, |bucket| {
        settings(bucket, known)
    }))
}

/// The tree as the bucket has it, with only what `keep` wants.
fn tree(deployment: &Deployment, keep: impl Fn(&str) -> bool) -> (Tree, Files) {
    let tree = Tree::load("2.3.0-cross-job");
    let mut files = tree.rebased(&format!("s3://{}/flink", deployment.bucket));
    files.retain(|key, _| keep(key));
    (tree, files)
}

/// A key that exactly these checkpoints name.
fn named_by(tree: &Tree, prefix: &str, wanted: impl Fn(&[String]) -> bool) -> String {
    let references = tree.references();
    let found = references
        .iter()
        .find(|(key, by)| key.starts_with(prefix) && wanted(by));
    found
        .map(|(key, _)| key.clone())
        .unwrap_or_else(|| panic!("no such key below {prefix}"))
}

fn only_what_the_newest_needs_comes_back(name: &str, known: Known) {
    let Some(deployment) = deploy(name, known) else {
        return;
    };
    let (tree, files) = tree(&deployment, |key| key.starts_with(OLD_JOB));
    deployment.upload("flink/", &files);
    let shared = format!("{OLD_JOB}shared/");
    let newest = format!("{OLD_JOB}chk-3");
    let needed = named_by(&tree, &shared, |by| {
        by.iter().filter(|c| c.starts_with(OLD_JOB)).eq([&newest])
    });
    let of_a_spare = named_by(&tree, &shared, |by| by == [format!("{OLD_JOB}chk-1")]);
    let of_nobody = format!("{shared}00000000-0000-0000-0000-000000000000");
    deployment.cloud.put(
        &deployment.bucket,
        &format!("flink/{of_nobody}"),
        b"left over by a failed checkpoint",
    );

    for key in [&needed, &of_a_spare, &of_nobody] {
        deployment.delete_as(SOMEBODY, &format!("flink/{key}"));
    }

    let back = deployment.wait_for(&format!("flink/{needed}"), Duration::from_secs(60));
    assert_eq!(back, files[&needed], "{needed} is another file now");
    deployment.wait_until_idle(Duration::from_secs(60));
    assert_eq!(
        deployment.get(&format!("flink/{of_a_spare}")),
        None,
        "only chk-1 names it, an older checkpoint"
    );
    assert_eq!(
        deployment.get(&format!("flink/{of_nobody}")),
        None,
        "no checkpoint names it"
    );
    assert_eq!(deployment.cloud.depth(&deployment.dead_letters), (0, 0));
}

#[test]
fn what_a_stranger_deleted_comes_back_if_the_newest_checkpoint_names_it() {
    only_what_the_newest_needs_comes_back("stranger", Known::Principals);
}

#[test]
fn what_was_deleted_by_nobody_known_comes_back_if_the_newest_checkpoint_names_it() {
    only_what_the_newest_needs_comes_back("unknown", Known::Nobody);
}

fn the_old_jobs_file_comes_back_for_the_new_job(name: &str, known: Known) {
    let Some(deployment) = deploy(name, known) else {
        return;
    };
    // The first job's checkpoints are gone, as they are once the second job has subsumed what it claimed.
    let (tree, files) = tree(&deployment, |key| {
        key.starts_with(NEW_JOB) || key.starts_with(&format!("{OLD_JOB}shared/"))
    });
    deployment.upload("flink/", &files);
    let shared = format!("{OLD_JOB}shared/");
    let newest = format!("{NEW_JOB}chk-5");
    let needed = named_by(&tree, &shared, |by| by.contains(&newest));
    let older = format!("{NEW_JOB}chk-4");
    let of_a_spare = named_by(&tree, &shared, |by| by.contains(&older) && !by.contains(&newest));

    for key in [&needed, &of_a_spare] {
        deployment.delete_as(SOMEBODY, &format!("flink/{key}"));
    }

    let back = deployment.wait_for(&format!("flink/{needed}"), Duration::from_secs(60));
    assert_eq!(back, files[&needed], "{needed} is another file now");
    deployment.wait_until_idle(Duration::from_secs(60));
    assert_eq!(
        deployment.get(&format!("flink/{of_a_spare}")),
        None,
        "only chk-4 names it, an older checkpoint"
    );
}

#[test]
fn a_file_in_the_directory_of_a_job_that_ended_comes_back_for_the_job_that_claimed_it() {
    the_old_jobs_file_comes_back_for_the_new_job("claimed", Known::Principals);
}

#[test]
fn a_claimed_file_comes_back_even_if_nobody_known_deleted_it() {
    the_old_jobs_file_comes_back_for_the_new_job("claimed-unknown", Known::Nobody);
}

#[test]
fn a_poisonous_message_ends_as_a_dead_letter_and_delays_nothing() {
    let Some(deployment) = deploy("poison", Known::Principals) else {
        return;
    };
    let (tree, files) = tree(&deployment, |key| key.starts_with(OLD_JOB));
    deployment.upload("flink/", &files);
    let newest = format!("{OLD_JOB}chk-3");
    let needed = named_by(&tree, &format!("{OLD_JOB}shared/"), |by| by.contains(&newest));

    let poison = r#"{"Records":[{"eventSource":"aws:s3","eventName":"ObjectRemoved:Delete","s3":{"#;
    deployment.cloud.send(&deployment.queue, poison);
    deployment.delete_as(SOMEBODY, &format!("flink/{needed}"));

    let back = deployment.wait_for(&format!("flink/{needed}"), Duration::from_secs(60));
    assert_eq!(back, files[&needed], "{needed} is another file now");
    assert_eq!(
        deployment.cloud.depth(&deployment.dead_letters),
        (0, 0),
        "the message beside the poison had to wait for it"
    );
    deployment.wait_until_idle(Duration::from_secs(90));
    let dead = deployment.cloud.receive(&deployment.dead_letters, 5);
    let bodies: Vec<&str> = dead.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies, [poison]);
}

#[test]
fn the_local_server_answers_as_these_tests_need_it() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = format!("answers-{}", std::process::id());
    cloud.make_versioned_bucket(&bucket);
    cloud.put(&bucket, "a/b", b"one");
    assert_eq!(cloud.list(&bucket, "a/"), ["a/b"]);
    cloud.delete(&bucket, "a/b");
    assert_eq!(cloud.get(&bucket, "a/b"), None);
    assert_eq!(cloud.list(&bucket, "a/"), Vec::<String>::new());
}
