//! `stayput setup` on a local server: what a bucket sends already stays, and what is asked for comes to it.

mod cloud;

use cloud::{file, stayput, upload};
use serde_json::json;
use stayput_guard::settings::Settings;
use stayput_tests::cloud::{Cloud, Queue};
use stayput_tests::system::ministack;

/// A function and a queue of others, with filters.
fn of_others(cloud: &Cloud, bucket: &str) -> Queue {
    let theirs = cloud.make_queue(&format!("{bucket}-thumbs"), &json!({}));
    let queue = format!(
        "<QueueConfiguration><Id>thumbs</Id><Queue>{}</Queue><Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:Delete</Event>\
         <Filter><S3Key><FilterRule><Name>prefix</Name><Value>images &amp; more/</Value></FilterRule>\
         <FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter></QueueConfiguration>",
        theirs.arn
    );
    cloud.put_notifications(bucket, &queue);
    theirs
}

#[test]
fn the_stacks_queues_come_to_what_others_have_and_hear_what_is_deleted() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "setup-merge";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let theirs = of_others(&cloud, bucket);
    let lifecycle = cloud.make_queue("setup-merge-lifecycle", &json!({}));
    let removals = cloud.make_queue("setup-merge-removals", &json!({}));
    let role = cloud.make_role(
        "setup-flink",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#,
    );
    let stack = json!({"QueueConfigurations": [
        {"Id": "stayput-lifecycle", "QueueArn": lifecycle.arn, "Events": ["s3:LifecycleExpiration:*", "s3:ObjectRestore:Completed"]},
        {"Id": "stayput-removals", "QueueArn": removals.arn, "Events": ["s3:ObjectRemoved:*"]},
        {"Id": "stayput-checkpoints", "QueueArn": removals.arn, "Events": ["s3:ObjectCreated:*"],
         "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": "_metadata"}]}}},
    ]});
    let ours = file("ours.json", &stack.to_string());
    let place = format!("s3://{bucket}/flink");
    let before = cloud.setting(bucket, "notification");

    // Their queue takes deletions of pictures: S3 would refuse ours for all keys, and not for those below the prefix.
    let refused = stayput(&cloud, &["setup", &place, "--notifications", &ours]);
    assert_eq!(refused.status, 1, "{refused:?}");
    for part in [
        "Configurations overlap",
        "thumbs: s3:ObjectCreated:*, s3:ObjectRemoved:Delete",
        "--only-below",
        "Nothing was written.",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    let arguments = [
        "setup",
        &place,
        "--notifications",
        &ours,
        "--only-below",
        "--flink-role",
        &role.arn,
    ];
    let shown = stayput(&cloud, &arguments);
    assert_eq!(shown.status, 1, "{shown:?}");
    assert!(
        shown
            .err
            .contains("  + stayput-removals-flink: s3:ObjectRemoved:*"),
        "{}",
        shown.err
    );
    assert!(
        shown.err.contains("--apply writes this") && shown.err.contains(&role.id),
        "{}",
        shown.err
    );
    let settings = Settings::parse(&shown.out).unwrap_or_else(|e| panic!("{e}: {}", shown.out));
    assert_eq!(settings.mandate.principals.flink, [role.id.as_str()]);
    assert_eq!(
        cloud.setting(bucket, "notification"),
        before,
        "showing changed something"
    );

    let applied = stayput(&cloud, &[&arguments[..], &["--apply", "--json"]].concat());
    assert_eq!(applied.status, 0, "{applied:?}");
    let document = applied.json();
    assert_eq!(
        (&document["applied"], &document["form"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        document["principals"],
        json!([{"given": role.arn, "id": role.id}])
    );
    let changes: Vec<_> = document["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["change"].as_str().unwrap())
        .collect();
    assert_eq!(changes, ["kept", "added", "added", "added"]);

    // What others have is there as it was, to the byte; what is deleted below the prefix is told to us.
    let after = cloud.setting(bucket, "notification");
    let (_, element) = before.split_once("<QueueConfiguration>").unwrap();
    let (element, _) = element.split_once("</QueueConfiguration>").unwrap();
    assert!(
        after.contains(element) && element.contains("images &amp; more/"),
        "{after}"
    );
    assert_eq!(after.matches("<Queue>").count(), 4, "{after}");
    let of_test = cloud.receive(&removals, 1);
    of_test.iter().for_each(|m| cloud.done(&removals, m));
    // Of what is written only what can be a checkpoint.
    cloud.put(bucket, "flink/job/chk-9/_metadata", b"x");
    cloud.put(bucket, "flink/job/chk-9/file", b"x");
    cloud.put(bucket, "elsewhere/chk-9/_metadata", b"x");
    let told = cloud.receive(&removals, 5);
    let [of_checkpoint] = told.as_slice() else {
        panic!("{} messages", told.len())
    };
    assert!(
        of_checkpoint.body.contains("ObjectCreated")
            && of_checkpoint.body.contains("flink/job/chk-9/_metadata"),
        "{}",
        of_checkpoint.body
    );
    cloud.done(&removals, of_checkpoint);
    cloud.put(bucket, "elsewhere", b"x");
    cloud.delete(bucket, "elsewhere");
    cloud.delete(bucket, &format!("flink/{}chk-3/_metadata", cloud::JOB));
    let told = cloud.receive(&removals, 5);
    let [told] = told.as_slice() else {
        panic!("{} messages", told.len())
    };
    assert!(told.body.contains("chk-3/_metadata"), "{}", told.body);
    drop(theirs);

    // Without a target there is nothing to add, and that is no sign that all is well.
    let aimless = stayput(&cloud, &arguments[..2]);
    assert_eq!(aimless.status, 0, "{aimless:?}");
    assert!(aimless.err.contains("no target was named"), "{}", aimless.err);

    // Twice is once.
    let again = stayput(&cloud, &[&arguments[..], &["--apply"]].concat());
    assert_eq!(again.status, 0, "{again:?}");
    assert!(
        again.err.contains("Nothing needs to be written."),
        "{}",
        again.err
    );
    assert_eq!(cloud.setting(bucket, "notification"), after);
}

#[test]
fn eventbridge_comes_to_it_and_overlaps_with_nothing() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "setup-bus";
    cloud.make_versioned_bucket(bucket);
    of_others(&cloud, bucket);
    let said = stayput(&cloud, &["setup", "s3://setup-bus/", "--eventbridge", "--apply"]);
    assert_eq!(said.status, 0, "{said:?}");
    let after = cloud.setting(bucket, "notification");
    assert!(
        after.contains("EventBridgeConfiguration") && after.contains("thumbs"),
        "{after}"
    );
    assert_eq!(
        stayput(&cloud, &["setup", "s3://setup-bus/", "--eventbridge"]).status,
        0
    );
}

#[test]
fn new_checkpoints_are_told_of_to_who_asks_for_it() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "setup-checkpoints";
    cloud.make_versioned_bucket(bucket);
    let queue = cloud.make_queue("setup-checkpoints", &json!({}));
    let place = format!("s3://{bucket}/flink");
    let plain = ["setup", &place, "--queue", &queue.arn, "--apply"];
    assert_eq!(stayput(&cloud, &plain).status, 0);
    let before = cloud.setting(bucket, "notification");
    for part in [
        "s3:ObjectRemoved:*",
        "s3:LifecycleExpiration:*",
        "s3:ObjectRestore:Completed",
    ] {
        assert!(before.contains(&format!("<Event>{part}</Event>")), "{before}");
    }
    assert!(!before.contains("ObjectCreated"), "{before}");
    let said = stayput(&cloud, &[&plain[..], &["--new-checkpoints"]].concat());
    assert_eq!(said.status, 0, "{said:?}");
    assert!(
        said.err.contains("  + stayput-checkpoints: s3:ObjectCreated:*")
            && said.err.contains(", keys *_metadata"),
        "{}",
        said.err
    );
    let after = cloud.setting(bucket, "notification");
    assert!(
        after.contains("s3:ObjectCreated:*") && after.contains("<Value>_metadata</Value>"),
        "{after}"
    );
    // Where others hear of everything that is written, S3 would refuse it.
    let others = "setup-checkpoints-others";
    cloud.make_versioned_bucket(others);
    let theirs = format!(
        "<QueueConfiguration><Id>index</Id><Queue>{}</Queue><Event>s3:ObjectCreated:Put</Event></QueueConfiguration>",
        queue.arn
    );
    cloud.put_notifications(others, &theirs);
    let place = format!("s3://{others}/flink");
    let refused = stayput(
        &cloud,
        &[
            "setup",
            &place,
            "--queue",
            &queue.arn,
            "--new-checkpoints",
            "--apply",
        ],
    );
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("Configurations overlap"), "{}", refused.err);
}

#[test]
fn who_was_there_meanwhile_is_not_overwritten() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "setup-race";
    cloud.make_versioned_bucket(bucket);
    let queue = cloud.make_queue("setup-race", &json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let arguments = Parsed::try_parse_from(["setup", "s3://setup-race/cp", "--queue", &queue.arn]).unwrap();
    runtime.block_on(async {
        let connection = Connection::to_server(&url, REGION, "test", "test").await;
        let plan = setup::plan(&arguments.setup, &connection).await.unwrap();
        of_others(&cloud, bucket);
        let theirs = cloud.setting(bucket, "notification");
        let error = setup::apply(&plan, &connection).await.unwrap_err();
        assert!(
            error.to_string().contains("changed between looking and writing"),
            "{error}"
        );
        assert_eq!(error.exit(), Exit::CantTell);
        assert_eq!(cloud.setting(bucket, "notification"), theirs);
    });
}

#[test]
fn what_makes_no_sense_or_cant_be_done_is_said_and_nothing_is_written() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "setup-refused";
    cloud.make_versioned_bucket(bucket);
    let arn = "arn:aws:sqs:us-east-1:000000000000:setup-nobody-made-it";
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["s3://setup-refused/cp", "--queue", arn, "--apply"],
            3,
            "PutBucketNotificationConfiguration on s3://setup-refused/",
        ),
        (
            &["s3://setup-refused/cp", "--queue", "setup-refused"],
            2,
            "write its ARN, arn:aws:sqs",
        ),
        (
            &["s3://setup-refused/cp", "--flink-role", "setup-no-such-role"],
            3,
            "GetRole on the role setup-no-such-role: not found",
        ),
        (
            &[
                "s3://setup-refused/cp",
                "--flink-role",
                "arn:aws:iam::999999999999:role/x",
            ],
            3,
            "lies in the account 999999999999",
        ),
        (
            &["s3://setup-refused/cp", "--flink-role", "arn:aws:s3:::x"],
            2,
            "is no role and no user",
        ),
        (
            &["s3://setup-nobody-made-it/cp", "--queue", arn],
            3,
            "NoSuchBucket",
        ),
        (
            &["s3://setup-refused/cp", "--notifications", "/dev/null"],
            2,
            "it isn't the stack's output Notifications",
        ),
    ];
    for (arguments, status, text) in cases {
        let said = stayput(&cloud, &[&["setup"], arguments].concat());
        assert_eq!(said.status, status, "{arguments:?}: {said:?}");
        assert!(said.err.contains(text), "{arguments:?}: {said:?}");
    }
    assert!(!cloud.setting(bucket, "notification").contains("Queue"));
}

use clap::Parser;
use stayput_aws::connection::Connection;
use stayput_cli::exit::Exit;
use stayput_cli::setup;
use stayput_tests::cloud::REGION;

/// The command's own arguments.
#[derive(Parser)]
struct Parsed {
    #[command(flatten)]
    setup: setup::Arguments,
}
