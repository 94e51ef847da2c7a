//! `stayput doctor` on local servers: a bucket with everything wrong, one with everything right, and one that denies.

mod cloud;

use std::collections::BTreeMap;

use cloud::{OwnFile, Said, file, stayput, stayput_as, upload};
use serde_json::{Value, json};
use stayput_tests::cloud::Cloud;
use stayput_tests::iam::Key;
use stayput_tests::system::{guarded_ministack, ministack};

/// What the role of a Stayput that restores may do, in this bucket.
fn policy(bucket: &str) -> String {
    json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Resource": format!("arn:aws:s3:::{bucket}"),
         "Action": ["s3:ListBucket", "s3:ListBucketVersions", "s3:GetBucketVersioning", "s3:GetLifecycleConfiguration"]},
        {"Effect": "Allow", "Resource": format!("arn:aws:s3:::{bucket}/*"),
         "Action": ["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject", "s3:GetObjectVersionTagging", "s3:PutObjectTagging",
                    "s3:ListMultipartUploadParts", "s3:AbortMultipartUpload", "s3:RestoreObject"]},
    ]})
    .to_string()
}

fn settings(name: &str, bucket: &str, principals: &str) -> OwnFile {
    let text = format!(
        "mode = \"restore\"\ncontrol = \"s3://{bucket}/stayput/\"\n[[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\n\
         [flink]\nprincipals = [{principals}]\n[stayput]\nrole = \"AROASTAYPUT\"\n"
    );
    file(name, &text)
}

/// Checks by their names.
fn checks(said: &Said) -> BTreeMap<String, Value> {
    let document = said.json();
    assert_eq!(document["form"], 1);
    let checks = document["checks"].as_array().cloned().unwrap_or_default();
    assert_eq!(checks.len(), 18, "{document}");
    checks
        .into_iter()
        .map(|c| (c["check"].as_str().unwrap().to_owned(), c))
        .collect()
}

fn codes(checks: &BTreeMap<String, Value>) -> Vec<String> {
    let findings = checks
        .values()
        .flat_map(|c| c["findings"].as_array().cloned().unwrap_or_default());
    let mut codes: Vec<String> = findings.map(|f| f["code"].as_str().unwrap().to_owned()).collect();
    codes.sort_unstable();
    codes
}

#[test]
fn a_bucket_as_it_should_be_is_fine_in_every_check() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "doctor-fine";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    cloud.set(
        bucket,
        "lifecycle",
        "<LifecycleConfiguration><Rule><ID>week</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>\
         <NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays></NoncurrentVersionExpiration>\
         <AbortIncompleteMultipartUpload><DaysAfterInitiation>30</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>",
    );
    let queue = cloud.make_queue("doctor-fine", &json!({}));
    let place = format!("s3://{bucket}/flink");
    let done = stayput(&cloud, &["setup", &place, "--queue", &queue.arn, "--apply"]);
    assert_eq!(done.status, 0, "{done:?}");
    cloud.make_role("doctor-fine-role", &policy(bucket));
    let config = settings("fine.toml", bucket, "\"AROAFLINK\"");
    let event = json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": "2026-11-30T03:00:00.000Z",
        "userIdentity": {"principalId": "AWS:AROAFLINK:tm"},
        "s3": {"bucket": {"name": bucket}, "object": {"key": "flink/j/chk-4/_metadata", "size": 9, "eTag": "e", "versionId": "v"}},
    }]});
    let events = file("fine.ndjson", &event.to_string());
    let arguments = [
        "doctor",
        &place,
        "--config",
        &config,
        "--role",
        "doctor-fine-role",
        "--events",
        &events,
        "--json",
    ];

    // Without --probe nothing is written, and so one thing isn't known.
    let said = stayput(&cloud, &arguments);
    assert_eq!(said.status, 3, "{said:?}");
    let seen = checks(&said);
    let not_fine: Vec<&Value> = seen.values().filter(|c| c["status"] != "fine").collect();
    assert_eq!(not_fine.len(), 1, "{not_fine:#?}");
    assert_eq!(not_fine[0]["check"], "conditional_copy");
    assert_eq!(cloud.list(bucket, "stayput/"), Vec::<String>::new());

    // This server takes the condition and overwrites all the same.
    let said = stayput(&cloud, &[&arguments[..], &["--probe"]].concat());
    assert_eq!(said.status, 1, "{said:?}");
    assert_eq!(codes(&checks(&said)), ["condition_ignored"]);
    assert_eq!(cloud.list(bucket, "stayput/"), ["stayput/probe"]);
}

#[test]
fn a_bucket_with_everything_wrong_says_so_with_what_to_paste() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "doctor-wrong";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    for n in 0..40 {
        let marker = format!("flink/{}dir-{n}/", cloud::JOB);
        cloud.put(bucket, &marker, b"");
        cloud.delete(bucket, &marker);
    }
    cloud.set(
        bucket,
        "lifecycle",
        "<LifecycleConfiguration><Rule><ID>save money</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>\
         <Expiration><Days>30</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>\
         <AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>",
    );
    cloud.set(
        bucket,
        "encryption",
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm>\
         <KMSMasterKeyID>arn:aws:kms:us-east-1:000000000000:key/00000000-0000-4000-8000-000000000000</KMSMasterKeyID>\
         </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>",
    );
    let queue = cloud.make_queue("doctor-wrong", &json!({}));
    cloud.put_notifications(
        bucket,
        &format!("<QueueConfiguration><Id>stayput-removals</Id><Queue>{}</Queue><Event>s3:ObjectRemoved:*</Event></QueueConfiguration>", queue.arn),
    );
    cloud.make_role(
        "doctor-wrong-role",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:List*","s3:Get*","s3:DeleteObject"],"Resource":"*"}]}"#,
    );
    let config = settings("wrong.toml", bucket, "");
    let place = format!("s3://{bucket}/flink");
    let said = stayput(
        &cloud,
        &[
            "doctor",
            &place,
            "--config",
            &config,
            "--role",
            "doctor-wrong-role",
            "--output",
            "json",
        ],
    );
    assert_eq!(said.status, 3, "{said:?}");
    let seen = checks(&said);
    let found = codes(&seen);
    for code in [
        "abort_rule_short",
        "control_expires",
        "directory_marker_churn",
        "noncurrent_window_short",
        "notifications_without_lifecycle",
        "permission_missing",
        "permission_to_delete",
        "principals_missing",
        "rule_will_hide_needed",
    ] {
        assert!(found.iter().any(|f| f == code), "{code} isn't in {found:?}");
    }
    // The key isn't there: nobody can say that it can be used.
    assert_eq!(seen["encryption"]["status"], "unknown", "{}", seen["encryption"]);
    let lacks = seen["permissions"]["findings"].to_string();
    assert!(
        lacks.contains("s3:PutObject on arn:aws:s3:::doctor-wrong/flink/*"),
        "{lacks}"
    );

    // The command that it prints for the window is what it says: with these rules the finding is gone.
    let window = seen["noncurrent_window"]["findings"][0]["command"]
        .as_str()
        .unwrap_or_default();
    assert!(
        window.starts_with("aws s3api put-bucket-lifecycle-configuration --bucket doctor-wrong"),
        "{window}"
    );
    assert!(window.contains(r#""NoncurrentDays":7"#), "{window}");
    let text = stayput(&cloud, &["doctor", &place, "--config", &config]);
    assert!(
        text.out
            .contains("urgent   noncurrent_window_short  s3://doctor-wrong"),
        "{}",
        text.out
    );
    assert!(text.out.contains(&format!("         $ {window}")), "{}", text.out);
}

#[test]
fn versioning_lock_and_replication_are_read_as_they_are() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "doctor-never";
    cloud.make_bucket(bucket);
    let of = |bucket: &str| {
        checks(&stayput(
            &cloud,
            &["doctor", &format!("s3://{bucket}/flink"), "--json"],
        ))
    };
    let seen = of(bucket);
    assert_eq!(seen["versioning"]["findings"][0]["code"], "versioning_off");
    assert_eq!(seen["roots"]["findings"][0]["code"], "root_empty");
    cloud.set(
        bucket,
        "versioning",
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
    );
    cloud.make_versioned_bucket("doctor-replica");
    cloud.set(
        bucket,
        "replication",
        "<ReplicationConfiguration><Role>arn:aws:iam::000000000000:role/r</Role><Rule><ID>dr</ID><Status>Enabled</Status><Priority>1</Priority>\
         <Filter><Prefix>flink/</Prefix></Filter><DeleteMarkerReplication><Status>Enabled</Status></DeleteMarkerReplication>\
         <Destination><Bucket>arn:aws:s3:::doctor-replica</Bucket></Destination></Rule></ReplicationConfiguration>",
    );
    assert_eq!(of(bucket)["replication"]["findings"][0]["code"], "replica_hides");
    cloud.set(
        bucket,
        "versioning",
        "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>",
    );
    assert_eq!(
        of(bucket)["versioning"]["findings"][0]["code"],
        "versioning_stopped"
    );

    let locked = "doctor-locked";
    cloud.make_locked_bucket(locked);
    assert_eq!(of(locked)["object_lock"]["status"], "fine");
    cloud.set(
        locked,
        "object-lock",
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>GOVERNANCE</Mode>\
         <Days>30</Days></DefaultRetention></Rule></ObjectLockConfiguration>",
    );
    let lock = &of(locked)["object_lock"]["findings"][0];
    assert_eq!(
        (&lock["code"], lock["what"].as_str()),
        (
            &json!("default_retention"),
            Some("Every new version is locked for 30 days in governance mode.")
        )
    );
}

/// Leave to remove versions of these objects.
fn unhide(resource: &str) -> Value {
    json!({"Effect": "Allow", "Action": ["s3:DeleteObjectVersion"], "Resource": [resource]})
}

/// The policy of a role that restores, and more statements.
fn policy_and(bucket: &str, statements: &[Value]) -> String {
    let mut policy: Value = serde_json::from_str(&policy(bucket)).unwrap();
    let all = policy["Statement"].as_array_mut().unwrap();
    all.extend_from_slice(statements);
    policy.to_string()
}

#[test]
fn a_role_that_is_to_unhide_may_remove_versions_below_its_roots_and_nowhere_else() {
    let Some(url) = guarded_ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "doctor-unhide";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let copies = settings("unhide-copies.toml", bucket, "\"AROAFLINK\"");
    let text = std::fs::read_to_string(&*copies).unwrap();
    let text = text.replace("kind = ", "strategy = \"unhide\"\nkind = ");
    let unhides = file("unhide.toml", &text);
    let observes = file("unhide-observes.toml", &text.replace("restore", "observe"));
    let place = format!("s3://{bucket}/flink");
    let of = |config: &str, role: &str| {
        let arguments = [
            "doctor",
            &place,
            "--config",
            config,
            "--role",
            role,
            "--no-sweep",
            "--json",
        ];
        checks(&stayput(&cloud, &arguments))["permissions"].clone()
    };
    let found = |check: &Value| -> Vec<String> {
        let findings = check["findings"].as_array().cloned().unwrap_or_default();
        findings
            .iter()
            .map(|f| f["code"].as_str().unwrap().to_owned())
            .collect()
    };
    let below = format!("arn:aws:s3:::{bucket}/flink/*");

    // It may not yet, which is no fault unless somebody asks for un-hiding.
    cloud.make_role("doctor-unhide-never", &policy(bucket));
    assert_eq!(of(&copies, "doctor-unhide-never")["status"], "fine");
    assert_eq!(of(&observes, "doctor-unhide-never")["status"], "fine");
    let lacks = of(&unhides, "doctor-unhide-never");
    assert_eq!(found(&lacks), ["unhide_not_allowed"], "{lacks}");
    let command = lacks["findings"][0]["command"].as_str().unwrap();
    let (_, document) = command.split_once("--policy-document ").expect(command);
    let statement =
        serde_json::from_str::<Value>(document.trim_matches('\'')).unwrap()["Statement"][0].clone();
    assert_eq!(statement["Resource"], json!(below));

    // What the command allows is enough, beside the denial of infra/policies/unhide.json too.
    let elsewhere = json!({"Effect": "Deny", "Action": ["s3:DeleteObjectVersion"], "NotResource": [below]});
    cloud.make_role(
        "doctor-unhide-as-told",
        &policy_and(bucket, &[statement, elsewhere]),
    );
    let fine = of(&unhides, "doctor-unhide-as-told");
    assert_eq!(fine["status"], "fine", "{fine}");
    assert!(
        fine["seen"]
            .to_string()
            .contains(&format!("s3:DeleteObjectVersion on {below}")),
        "{fine}"
    );
    // And more than somebody needs who copies, or observes.
    for config in [&copies, &observes] {
        assert_eq!(
            found(&of(config, "doctor-unhide-as-told")),
            ["permission_to_delete"]
        );
    }

    let everywhere = policy_and(bucket, &[unhide(&format!("arn:aws:s3:::{bucket}/*"))]);
    cloud.make_role("doctor-unhide-everywhere", &everywhere);
    let spare = of(&unhides, "doctor-unhide-everywhere");
    assert_eq!(found(&spare), ["permission_to_delete"], "{spare}");
    let what = spare["findings"][0]["what"].as_str().unwrap();
    assert!(
        what.contains(&format!("{bucket}/stayput/*")) && !what.contains("flink"),
        "{what}"
    );

    // Who may not ask IAM doesn't know it.
    let (_, key) = cloud.make_user(
        "doctor-unhide-onlooker",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*","iam:GetRole"],"Resource":"*"}]}"#,
    );
    let arguments = [
        "doctor",
        &place,
        "--config",
        &unhides,
        "--role",
        "doctor-unhide-as-told",
        "--no-sweep",
        "--json",
    ];
    let said = stayput_as(&cloud, &key, &arguments);
    let unknown = &checks(&said)["permissions"];
    assert_eq!(unknown["status"], "unknown", "{unknown}");
    assert!(
        unknown["unknown"]
            .to_string()
            .contains("iam:SimulatePrincipalPolicy"),
        "{unknown}"
    );
}

#[test]
fn what_is_denied_is_unknown_and_says_which_permission_it_takes() {
    let Some(url) = guarded_ministack() else { return };
    let cloud = Cloud::at(&url);
    let bucket = "doctor-denied";
    cloud.make_versioned_bucket(bucket);
    upload(&cloud, bucket);
    let see = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": ["s3:GetBucketVersioning"], "Resource": "*"}]})
    .to_string();
    let (_, key) = cloud.make_user("doctor-onlooker", &see);
    let config = settings("denied.toml", bucket, "\"AROAFLINK\"");
    let place = format!("s3://{bucket}/flink");
    let said = stayput_as(&cloud, &key, &["doctor", &place, "--config", &config, "--json"]);
    assert_eq!(said.status, 3, "{said:?}");
    let seen = checks(&said);
    assert_eq!(seen["versioning"]["status"], "fine", "{said:?}");
    let permissions = [
        ("noncurrent_window", "s3:GetLifecycleConfiguration"),
        ("abort_rules", "s3:GetLifecycleConfiguration"),
        ("directory_markers", "s3:ListBucketVersions"),
        ("object_lock", "s3:GetBucketObjectLockConfiguration"),
        ("encryption", "s3:GetEncryptionConfiguration"),
        ("notifications", "s3:GetBucketNotification"),
        ("replication", "s3:GetReplicationConfiguration"),
        ("permissions", "iam:GetUser"),
        ("control", "s3:ListBucket"),
    ];
    for (check, permission) in permissions {
        let check = &seen[check];
        assert_eq!(check["status"], "unknown", "{check}");
        let why = check["unknown"].to_string();
        assert!(why.contains(&format!("It takes {permission}")), "{check}");
    }
    for check in ["roots", "forecast", "snapshots"] {
        assert_eq!(seen[check]["status"], "unknown", "{}", seen[check]);
    }

    // Nothing at all may be asked: that is an answer too, and never a good one.
    let (_, key) = cloud.make_user(
        "doctor-nobody",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#,
    );
    let seen = checks(&stayput_as(&cloud, &key, &["doctor", &place, "--json"]));
    let fine: Vec<&String> = seen
        .iter()
        .filter(|(_, c)| c["status"] == "fine")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(fine, ["bucket_kind"]);
    let wrong = Key {
        id: key.id,
        secret: "wrong".to_owned(),
    };
    let said = stayput_as(&cloud, &wrong, &["doctor", &place]);
    assert_eq!(said.status, 3, "{said:?}");
}

#[test]
fn what_nobody_can_answer_ends_the_call_with_a_reason() {
    let Some(url) = ministack() else { return };
    let cloud = Cloud::at(&url);
    let cases: [(&[&str], i32, &str); 4] = [
        (&["s3://doctor-nobody-made-it/cp"], 3, "NoSuchBucket"),
        (&["file:///cp"], 2, "it is no place in S3"),
        (
            &["s3://doctor-x/cp", "--config", "/nothere.toml"],
            2,
            "/nothere.toml",
        ),
        (&["s3://doctor-x/cp", "--reaction", "soon"], 2, "--reaction"),
    ];
    for (arguments, status, text) in cases {
        let said = stayput(&cloud, &[&["doctor"], arguments].concat());
        assert_eq!(said.status, status, "{said:?}");
        assert!(said.err.contains(text), "{said:?}");
    }
    let nowhere = Cloud::at("http://127.0.0.1:9");
    let said = stayput(&nowhere, &["doctor", "s3://doctor-x/cp"]);
    assert_eq!(said.status, 3, "{said:?}");
    assert!(said.err.contains("Nobody answers there"), "{said:?}");
}
