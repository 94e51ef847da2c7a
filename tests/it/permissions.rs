//! The policies of infra/ are what the function asks for, in each mode: nothing is missing, and nothing is spare.
//!
//! The function's requests are recorded on the wire and named by the permissions that they need, as the table “Actions, resources and condition
//! keys for Amazon S3” of the service authorization reference and the pages of CopyObject and of object tagging have them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stayput_tests::cloud::{Cloud, REGION};
use stayput_tests::emulator::Emulator;
use stayput_tests::recorder::{Recorder, Request};
use stayput_tests::system::{bootstrap, emulator, ministack};
use stayput_tests::tree::Tree;

const JOB: &str = "dcece6f052f11be38b0597169690f7b8/";
const SCHEDULE: &[u8] = br#"{"source": "aws.scheduler", "detail-type": "Scheduled Event"}"#;

/// An action on a resource, as policies name them: `s3:GetObject`, `arn:aws:s3:::bucket/key`.
type Need = (String, String);

/// What a request needs.
fn needs(request: &Request) -> Vec<Need> {
    if let Some((operation, document)) = &request.document {
        return vec![need_of_document(operation, document)];
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let (bucket, key) = path
        .trim_start_matches('/')
        .split_once('/')
        .unwrap_or((path.trim_start_matches('/'), ""));
    let asks = |name: &str| query.split('&').any(|part| part.split('=').next() == Some(name));
    let arn = |bucket: &str, key: &str| match key {
        "" => format!("arn:aws:s3:::{bucket}"),
        key => format!("arn:aws:s3:::{bucket}/{key}"),
    };
    let need = |action: &str| (format!("s3:{action}"), arn(bucket, key));
    let of_version = asks("versionId");
    match (request.method.as_str(), key.is_empty()) {
        ("POST", true) if bucket.is_empty() => needs_of_form(request.form.as_deref().unwrap_or_default()),
        ("GET", true) if asks("list-type") => vec![need("ListBucket")],
        ("GET", true) if asks("versions") => vec![need("ListBucketVersions")],
        ("GET", true) if asks("versioning") => vec![need("GetBucketVersioning")],
        ("GET", true) if asks("lifecycle") => vec![need("GetLifecycleConfiguration")],
        ("GET", false) if asks("uploadId") => vec![need("ListMultipartUploadParts")],
        ("DELETE", false) if asks("uploadId") => vec![need("AbortMultipartUpload")],
        ("DELETE", false) if of_version => vec![need("DeleteObjectVersion")],
        ("GET", false) if asks("tagging") && of_version => vec![need("GetObjectVersionTagging")],
        ("POST", false) if asks("restore") => vec![need("RestoreObject")],
        // Begins an upload, with tags or without, or completes it.
        ("POST", false) if asks("uploads") && request.tags => {
            vec![need("PutObject"), need("PutObjectTagging")]
        }
        ("POST", false) if asks("uploads") || asks("uploadId") => vec![need("PutObject")],
        ("GET" | "HEAD", false) if of_version => vec![need("GetObjectVersion")],
        ("GET" | "HEAD", false) => vec![need("GetObject")],
        ("PUT", false) => {
            let mut all = vec![need("PutObject")];
            if let Some(source) = &request.copies {
                let (from, version) = source
                    .split_once("?versionId=")
                    .map_or((source.as_str(), ""), |parts| parts);
                let (bucket, key) = from
                    .trim_start_matches('/')
                    .split_once('/')
                    .expect("a key to copy from");
                let read = if version.is_empty() {
                    "GetObject"
                } else {
                    "GetObjectVersion"
                };
                all.push((format!("s3:{read}"), arn(bucket, key)));
                // The object that the copies of the probe are made of has no tags on AWS, and then nothing is asked about them.
                if request.tags && !key.ends_with("/probe") {
                    all.push((format!("s3:{read}Tagging"), arn(bucket, key)));
                    all.push(need("PutObjectTagging"));
                }
            }
            all
        }
        _ => panic!("a request that no policy was written for: {request:?}"),
    }
}

/// What a request to SNS or STS needs.
fn needs_of_form(form: &str) -> Vec<Need> {
    let field = |name: &str| {
        let value = form
            .split('&')
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default().replace("%3A", ":")
    };
    match field("Action").as_str() {
        // Nobody can forbid it.
        "GetCallerIdentity" => Vec::new(),
        "Publish" => vec![("sns:Publish".to_owned(), field("TopicArn"))],
        other => panic!("a request that no policy was written for: {other:?} in {form}"),
    }
}

/// What a request to SQS needs. A batch needs what one message does.
fn need_of_document(operation: &str, document: &str) -> Need {
    assert_eq!(operation, "AmazonSQS.SendMessageBatch", "{document}");
    let document: Value = serde_json::from_str(document).unwrap_or_else(|e| panic!("{document}: {e}"));
    let url = document["QueueUrl"].as_str().unwrap_or_default();
    let name = url.rsplit('/').next().unwrap_or_default();
    let arn = format!("arn:aws:sqs:{REGION}:000000000000:{name}");
    ("sqs:SendMessage".to_owned(), arn)
}

/// A statement of a policy: what it allows, where.
struct Statement {
    name: String,
    actions: Vec<String>,
    resources: Vec<String>,
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().expect("a list in a policy");
    all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

/// The topic of findings, as the server names it.
fn topic() -> String {
    format!("arn:aws:sns:{REGION}:000000000000:permissions-findings")
}

/// The queue for what waits.
const PARKED: &str = "permissions-parked";

/// The statements about S3, SNS and SQS of these documents, for a bucket with state and one with the memory.
fn statements(documents: &[&str], bucket: &str, control: &str) -> Vec<Statement> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/policies");
    let mut found = Vec::new();
    for document in documents {
        let path = folder.join(format!("{document}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let text = [
            ("AWS::Partition", "aws"),
            ("StateBucket", bucket),
            ("ControlBucket", control),
            ("ControlPrefix", "stayput/"),
            ("CheckpointKeys", "flink/*"),
            ("SavepointPrefix", "savepoints/"),
            ("HaPrefix", "ha/"),
            ("FindingsTopic", &topic()),
            (
                "ParkedQueue.Arn",
                &format!("arn:aws:sqs:{REGION}:000000000000:{PARKED}"),
            ),
        ]
        .iter()
        .fold(text, |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value)
        });
        assert!(!text.contains("${"), "{document}: {text}");
        let policy: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{document}: {e}"));
        for statement in policy["Statement"].as_array().expect("statements") {
            if document == &"unhide" && statement["Effect"] == "Deny" {
                // What it denies is all but what it allows, and hiding.
                continue;
            }
            assert_eq!(statement["Effect"], "Allow", "{document}");
            found.push(Statement {
                name: format!("{document}.{}", statement["Sid"].as_str().expect("a Sid")),
                actions: texts(&statement["Action"]),
                resources: texts(&statement["Resource"]),
            });
        }
    }
    found
}

/// Stars at the end are all that our documents have.
fn covers(pattern: &str, arn: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => {
            assert!(!start.contains('*'), "{pattern}");
            arn.starts_with(start)
        }
        None => pattern == arn,
    }
}

/// A bucket of its own, with a job. Returns the shared files that its newest checkpoint needs.
fn fill(cloud: &Cloud, bucket: &str) -> Vec<String> {
    cloud.make_versioned_bucket(bucket);
    let tree = Tree::load("2.3.0-cross-job");
    let mut files = tree.rebased(&format!("s3://{bucket}/flink"));
    files.retain(|key, _| key.starts_with(JOB));
    let (metadata, state): (Vec<_>, Vec<_>) = files.iter().partition(|(key, _)| key.ends_with("/_metadata"));
    for (key, bytes) in state.iter().chain(&metadata) {
        cloud.put(bucket, &format!("flink/{key}"), bytes);
    }
    tree.references()
        .into_iter()
        .filter(|(key, by)| key.starts_with(&format!("{JOB}shared/")) && by.contains(&format!("{JOB}chk-3")))
        .map(|(key, _)| format!("flink/{key}"))
        .collect()
}

/// S3's message about a marker, straight to the function.
fn notification(bucket: &str, key: &str, marker: &str) -> Vec<u8> {
    event("ObjectRemoved:DeleteMarkerCreated", bucket, key, marker)
}

/// S3's message of this name about a version.
fn event(name: &str, bucket: &str, key: &str, version: &str) -> Vec<u8> {
    json!({"Records": [{
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": REGION, "eventTime": "2026-11-30T03:00:00.000Z",
        "eventName": name, "userIdentity": {"principalId": "AWS:AROASOMEBODY:console"},
        "requestParameters": {"sourceIPAddress": "203.0.113.7"},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket, "arn": format!("arn:aws:s3:::{bucket}")},
               "object": {"key": key, "versionId": version, "sequencer": "0055AED6DCD90281E5"}},
    }]})
    .to_string()
    .into_bytes()
}

/// The same as a queue's only message.
fn in_a_queue(notification: &[u8]) -> Vec<u8> {
    let body = String::from_utf8_lossy(notification);
    json!({"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": body}]})
        .to_string()
        .into_bytes()
}

/// An upload as the function would remember one that it had begun: the document of its memory, and the upload.
fn remember_upload(cloud: &Cloud, memory: &str, bucket: &str, key: &str, name: &str, source: &str) {
    let upload = cloud.begin_upload(bucket, key);
    let size = cloud.get(bucket, key).map_or(0, |bytes| bytes.len());
    // No marker of this test is newer.
    let begun = "2099-01-01T00:00:00Z";
    let document = json!({
        "bucket": bucket, "key": key, "upload": upload, "source": source, "size": size, "part": 256 << 20,
        "begun": begun, "ended": false,
    });
    let name = format!("stayput/upload/{name}");
    cloud.put(memory, &name, document.to_string().as_bytes());
}

/// The name of the document about an upload onto this key.
fn name_of_upload(bucket: &str, key: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [bucket, key] {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that the function asks for when files that are needed go, one told of and one not; the second one is large.
fn asked_for(bucket: &str, control: Option<&str>, settings: &str, strategy: &str) -> Option<BTreeSet<Need>> {
    let (Some(emulator), Some(url), Some(bootstrap)) = (emulator(), ministack(), bootstrap("rie")) else {
        return None;
    };
    let cloud = Cloud::at(&url);
    if settings.contains("findings_topic") {
        assert_eq!(cloud.make_topic("permissions-findings"), topic());
    }
    let parked = settings
        .contains("parked_queue")
        .then(|| cloud.make_queue(PARKED, &json!({})));
    let needed = fill(&cloud, bucket);
    let memory = control;
    let control = control.map(|control| {
        cloud.make_versioned_bucket(control);
        format!("control = \"s3://{control}/stayput/\"\n")
    });
    let control = control.unwrap_or_default();
    let size = |key: &String| cloud.get(bucket, key).map_or(0, |bytes| bytes.len());
    let told = needed.iter().min_by_key(|key| size(key)).expect("shared files");
    let untold = needed.iter().max_by_key(|key| size(key)).expect("shared files");
    assert!(size(told) < size(untold), "{needed:?}");
    let archived = needed.iter().find(|key| *key != told && *key != untold);
    let archived = archived.expect("a third shared file");
    let bytes = cloud.get(bucket, archived).unwrap_or_default();
    cloud.put_in_class(bucket, archived, &bytes, "GLACIER");
    // One more is moved to an archive, and nobody deletes it.
    let moved = needed.iter().find(|key| ![told, untold, archived].contains(key));
    let moved = moved.expect("a fourth shared file");
    let bytes = cloud.get(bucket, moved).unwrap_or_default();
    cloud.put_in_class(bucket, moved, &bytes, "DEEP_ARCHIVE");
    let thawed = (archived.as_str(), cloud.version(bucket, archived));
    let (above, source) = (size(told), cloud.version(bucket, untold));
    let recorder = Recorder::before(&url);
    let settings = format!(
        "{settings}{control}copy_in_parts_above = \"{above}B\"\nsettle = \"1s\"\n[[roots]]\nuri = \"s3://{bucket}/flink/\"\nkind = \"checkpoints\"\nstrategy = \"{strategy}\"\n\
         [[roots]]\nuri = \"s3://{bucket}/savepoints/\"\nkind = \"savepoints\"\n\
         [[roots]]\nuri = \"s3://{bucket}/ha/\"\nkind = \"ha\"\n[flink]\nprincipals = [\"AROAFLINK\"]\n"
    );
    let variables = [
        ("STAYPUT_CONFIG", settings.as_str()),
        ("AWS_ENDPOINT_URL", recorder.url()),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ];
    let mut function = Emulator::start(&emulator, &bootstrap, &variables);
    let marker = cloud.delete(bucket, told);
    if let Some(parked) = parked {
        // Nobody knows yet whether more is being deleted.
        let called = function.call(&in_a_queue(&notification(bucket, told, &marker)));
        assert_eq!(called.failed(), Some(Vec::new()), "{}", called.answer);
        assert_eq!(cloud.receive(&parked, 5).len(), 1, "{:?}", called.log);
    }
    std::thread::sleep(Duration::from_secs(2));
    let called = function.call(&notification(bucket, told, &marker));
    assert_eq!(called.error(), None, "{}", called.answer);
    let done = |log: &[Value]| log.iter().any(|l| l["verdict"]["outcome"] == "restore");
    assert!(done(&called.log), "{:?}", called.log);
    if let Some(memory) = memory {
        // The one is gone on with, the other isn't needed any more.
        remember_upload(
            &cloud,
            memory,
            bucket,
            untold,
            &name_of_upload(bucket, untold),
            &source,
        );
        remember_upload(&cloud, memory, bucket, told, "of-a-key-that-is-visible", &marker);
    }
    let whole = cloud.get(bucket, untold);
    cloud.delete(bucket, untold);
    cloud.delete(bucket, archived);
    std::thread::sleep(Duration::from_secs(2));
    let called = function.call(SCHEDULE);
    assert_eq!(called.error(), None, "{}", called.answer);
    assert!(done(&called.log), "{:?}", called.log);
    let of_moved = format!("s3://{bucket}/{moved}");
    let thaws = |l: &Value| l["verdict"]["object"] == of_moved.as_str() && l["verdict"]["outcome"] == "later";
    assert!(called.log.iter().any(thaws), "{:?}", called.log);
    if settings.contains("mode = \"restore\"") {
        assert_eq!(cloud.uploads(bucket), Vec::<String>::new());
        assert!(
            whole.is_some() && cloud.get(bucket, untold) == whole,
            "it is back"
        );
    }
    // A new checkpoint is looked at, and so is what was thawed; neither takes another permission.
    let metadata = format!("flink/{JOB}chk-3/_metadata");
    let created = (metadata.as_str(), cloud.version(bucket, &metadata));
    for (name, (key, version)) in [
        ("ObjectCreated:Put", created),
        ("ObjectRestore:Completed", thawed),
    ] {
        let before = recorder.requests().len();
        let called = function.call(&in_a_queue(&event(name, bucket, key, &version)));
        // The server can't thaw what is hidden, so that restoring fails and comes again; what it asks for is what counts here.
        assert_eq!(called.error(), None, "{name}: {}", called.answer);
        assert!(
            recorder.requests().len() > before,
            "{name}: nothing was looked at"
        );
    }
    let requests = recorder.take();
    assert!(requests.len() >= 10, "{requests:?}");
    Some(requests.iter().flat_map(needs).collect())
}

fn allows(s: &Statement, (action, arn): &Need) -> bool {
    s.actions.contains(action) && s.resources.iter().any(|pattern| covers(pattern, arn))
}

fn compare(mode: &str, asked: &BTreeSet<Need>, statements: &[Statement]) {
    nothing_is_missing(mode, asked, statements);
    nothing_is_spare(mode, asked, statements);
}

fn nothing_is_missing(mode: &str, asked: &BTreeSet<Need>, statements: &[Statement]) {
    let missing: Vec<&Need> = asked
        .iter()
        .filter(|need| !statements.iter().any(|s| allows(s, need)))
        .collect();
    assert!(missing.is_empty(), "mode {mode}: no policy allows {missing:#?}");
}

fn nothing_is_spare(mode: &str, asked: &BTreeSet<Need>, statements: &[Statement]) {
    let mut spare = Vec::new();
    for statement in statements {
        for action in &statement.actions {
            let used = |need: &&Need| need.0 == *action && allows(statement, need);
            if !asked.iter().any(|need| used(&need)) {
                spare.push(format!("{}: {action}", statement.name));
            }
        }
    }
    assert!(spare.is_empty(), "mode {mode}: nobody asks for {spare:#?}");
}

#[test]
fn observing_asks_for_what_its_policy_allows_and_for_all_of_it() {
    let bucket = "permissions-observe";
    if let Some(asked) = asked_for(bucket, None, "", "copy") {
        compare("observe", &asked, &statements(&["read"], bucket, ""));
    }
}

#[test]
fn observing_with_a_memory_writes_there_alone() {
    let (bucket, control) = ("permissions-memory", "permissions-memory-ops");
    if let Some(asked) = asked_for(bucket, Some(control), "", "copy") {
        let allowed = statements(&["read", "control"], bucket, control);
        compare("observe", &asked, &allowed);
    }
}

#[test]
fn restoring_asks_for_what_its_policies_allow_and_for_all_of_it() {
    let (bucket, control) = ("permissions-restore", "permissions-restore-ops");
    if let Some(asked) = asked_for(bucket, Some(control), "mode = \"restore\"\n", "copy") {
        let allowed = statements(&["read", "control", "copy"], bucket, control);
        compare("restore", &asked, &allowed);
    }
}

#[test]
fn unhiding_asks_for_what_its_policies_allow_and_for_all_of_it() {
    let (bucket, control) = ("permissions-unhide", "permissions-unhide-ops");
    if let Some(asked) = asked_for(bucket, Some(control), "mode = \"restore\"\n", "unhide") {
        let allowed = statements(&["read", "control", "copy", "unhide"], bucket, control);
        nothing_is_missing("unhide", &asked, &allowed);
        // What it copies with is there for what can't be un-hidden, and was seen in use above.
        nothing_is_spare("unhide", &asked, &statements(&["unhide"], bucket, control));
        assert!(asked.iter().all(|(action, _)| action != "s3:DeleteObject"));
    }
}

#[test]
fn telling_asks_for_what_its_policy_allows_and_for_all_of_it() {
    let bucket = "permissions-tell";
    let settings = format!("findings_topic = \"{}\"\n", topic());
    if let Some(asked) = asked_for(bucket, None, &settings, "copy") {
        compare(
            "observe, telling",
            &asked,
            &statements(&["read", "tell"], bucket, ""),
        );
    }
}

#[test]
fn parking_asks_for_what_its_policy_allows_and_for_all_of_it() {
    let Some(url) = ministack() else { return };
    let bucket = "permissions-park";
    let settings = format!("parked_queue = \"{url}/000000000000/{PARKED}\"\n");
    if let Some(asked) = asked_for(bucket, None, &settings, "copy") {
        let allowed = statements(&["read", "park"], bucket, "");
        compare("observe, parking", &asked, &allowed);
    }
}
