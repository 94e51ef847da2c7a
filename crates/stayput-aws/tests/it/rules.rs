//! What a real server's rules do to objects, held against the table that `stayput-core` is held against too.

use std::path::Path;
use std::time::{Duration, Instant};

use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use aws_sdk_s3::types::{
    AbortIncompleteMultipartUpload, ExpirationStatus, LifecycleExpiration, LifecycleRule,
    LifecycleRuleAndOperator, LifecycleRuleFilter, NoncurrentVersionExpiration, Tag,
};
use futures_util::future::join_all;
use serde_json::Value;
use stayput_aws::clock::SystemClock;
use stayput_aws::s3::S3;
use stayput_core::timestamp::Timestamp;
use stayput_core::version::KeyHistory;
use stayput_guard::port::Clock;

use crate::server::{Bucket, Server, on_servers};
use crate::world::whole_second;

on_servers! {
    [Ceph]
    rules_do_to_objects_what_the_table_says;
}

/// The table has so many cases for a server at least.
const CASES: usize = 20;
/// So long is a day of the server's rules.
const DAY: Duration = Duration::from_secs(4);
/// The server looks at its rules every day, but on a loaded machine it may be so many days late. Nothing may ever come early.
const LATE: f64 = 150.0;

/// Where the server does something else than AWS: case, key, what is seen, why.
const DIFFERENCES: [(&str, &str, &str, &str); 0] = [];

/// What was seen to happen to an object, and after how many of the server's days.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Seen {
    effect: &'static str,
    days: f64,
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value[name].as_str()
}

fn number(value: &Value, name: &str) -> Option<i32> {
    value[name].as_i64().map(|n| i32::try_from(n).unwrap())
}

fn tag(value: &Value) -> Tag {
    let tag = Tag::builder()
        .key(text(value, "Key").unwrap())
        .value(text(value, "Value").unwrap());
    tag.build().unwrap()
}

/// One rule as the SDK wants it. What isn't known here must not be in a case for a server.
fn rule(value: &Value) -> LifecycleRule {
    let mut rule = LifecycleRule::builder()
        .id(text(value, "ID").unwrap())
        .status(ExpirationStatus::from(text(value, "Status").unwrap()));
    for (name, part) in value.as_object().unwrap() {
        rule = match name.as_str() {
            "ID" | "Status" => rule,
            #[expect(deprecated, reason = "rules of the old form exist")]
            "Prefix" => rule.prefix(part.as_str().unwrap()),
            "Filter" => {
                let and = part.get("And").map(|and| {
                    let tags = and["Tags"].as_array().unwrap().iter().map(tag).collect();
                    LifecycleRuleAndOperator::builder()
                        .set_prefix(text(and, "Prefix").map(str::to_owned))
                        .set_tags(Some(tags))
                        .build()
                });
                let filter = LifecycleRuleFilter::builder()
                    .set_prefix(text(part, "Prefix").map(str::to_owned))
                    .set_tag(part.get("Tag").map(tag))
                    .set_and(and);
                rule.filter(filter.build())
            }
            "Expiration" => {
                let date =
                    text(part, "Date").map(|d| DateTime::from_str(d, DateTimeFormat::DateTime).unwrap());
                let expiration = LifecycleExpiration::builder()
                    .set_days(number(part, "Days"))
                    .set_date(date)
                    .set_expired_object_delete_marker(part["ExpiredObjectDeleteMarker"].as_bool());
                rule.expiration(expiration.build())
            }
            "NoncurrentVersionExpiration" => {
                let days = number(part, "NoncurrentDays");
                rule.noncurrent_version_expiration(
                    NoncurrentVersionExpiration::builder()
                        .set_noncurrent_days(days)
                        .build(),
                )
            }
            "AbortIncompleteMultipartUpload" => {
                let days = number(part, "DaysAfterInitiation");
                let abort = AbortIncompleteMultipartUpload::builder().set_days_after_initiation(days);
                rule.abort_incomplete_multipart_upload(abort.build())
            }
            other => panic!("{other} isn't known here"),
        };
    }
    rule.build().unwrap()
}

/// Puts an object as a case wants it.
async fn put(bucket: &Bucket, object: &Value) {
    let key = text(object, "key").unwrap();
    if object["upload"] == true {
        let begin = bucket
            .client
            .create_multipart_upload()
            .bucket(&bucket.name)
            .key(key);
        begin.send().await.unwrap();
        return;
    }
    let tags: Vec<String> = object["tags"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    let size = usize::try_from(object["size"].as_u64().unwrap()).unwrap();
    let put = bucket
        .client
        .put_object()
        .bucket(&bucket.name)
        .key(key)
        .body(vec![7; size].into())
        .set_tagging((!tags.is_empty()).then(|| tags.join("&")));
    put.send().await.unwrap();
    if object["noncurrent"].is_object() {
        bucket.delete(key).await;
    }
}

/// Whether an upload of this key is still there.
async fn is_uploading(bucket: &Bucket, key: &str) -> bool {
    let list = bucket.client.list_multipart_uploads().bucket(&bucket.name);
    let list = list.send().await.unwrap();
    list.uploads().iter().any(|upload| upload.key() == Some(key))
}

/// One object while time passes.
struct Watched<'c> {
    case: &'c str,
    object: &'c Value,
    seen: Vec<Seen>,
    /// It was put then or later.
    put_at: Timestamp,
    hidden_at: Option<Timestamp>,
}

impl Watched<'_> {
    fn note(&mut self, effect: &'static str, days: f64) {
        if self.seen.iter().all(|s| s.effect != effect) {
            self.seen.push(Seen { effect, days });
        }
    }

    /// Looks once. Times of markers are the server's own; when something went can only be seen by looking.
    async fn look(&mut self, bucket: &Bucket, versioned: bool) {
        let days = |since: Timestamp| SystemClock.now().since(since).as_secs_f64() / DAY.as_secs_f64();
        let key = text(self.object, "key").unwrap();
        if self.object["upload"] == true {
            if !is_uploading(bucket, key).await {
                self.note("abort", days(self.put_at));
            }
            return;
        }
        let history: KeyHistory = bucket.history(&S3::new(&bucket.connection), key).await;
        let data = history.data_versions().next();
        let was_noncurrent = self.object["noncurrent"].is_object();
        match (data, history.hidden()) {
            (Some(data), Some(hidden)) => {
                let hidden_at = hidden.above_data.last_modified;
                if !was_noncurrent {
                    let after = hidden_at.since(whole_second(data.last_modified));
                    self.note("hide", after.as_secs_f64() / DAY.as_secs_f64());
                }
                self.hidden_at = Some(whole_second(hidden_at));
            }
            (None, _) => {
                let since = self.hidden_at.unwrap_or(self.put_at);
                self.note(if versioned { "purge" } else { "delete" }, days(since));
            }
            _ => {}
        }
    }

    /// What isn't as the table says.
    fn wrong(&self) -> Option<String> {
        let key = text(self.object, "key").unwrap();
        let expected: Vec<&Value> = self.object["expect"].as_array().unwrap().iter().collect();
        let effects: Vec<&str> = expected.iter().map(|e| text(e, "effect").unwrap()).collect();
        let seen: Vec<&str> = self.seen.iter().map(|s| s.effect).collect();
        let known = DIFFERENCES
            .iter()
            .find(|(case, of, ..)| *case == self.case && *of == key);
        if let Some((.., instead, why)) = known {
            let same = seen.join(", ") == *instead;
            return (!same).then(|| {
                format!(
                    "{}: {key}: {instead} was seen once ({why}), now {seen:?}",
                    self.case
                )
            });
        }
        let in_time = expected.iter().zip(&self.seen).all(|(e, seen)| {
            // A date that has passed strikes at once.
            seen.days >= e["day"].as_f64().unwrap_or(0.0)
        });
        (effects != seen || !in_time).then(|| {
            format!(
                "{}: {key}: {} expected, {:?} seen",
                self.case, self.object["expect"], self.seen
            )
        })
    }
}

async fn watch(url: String, case: Value) -> (Vec<String>, usize) {
    let versioned = text(&case, "versioning") != Some("Never");
    let bucket = if versioned {
        Bucket::versioned(&url).await
    } else {
        Bucket::unversioned(&url).await
    };
    let name = text(&case, "name").unwrap();
    let mut watched = Vec::new();
    for object in case["objects"].as_array().unwrap() {
        let put_at = whole_second(SystemClock.now());
        put(&bucket, object).await;
        watched.push(Watched {
            case: name,
            object,
            seen: Vec::new(),
            put_at,
            hidden_at: None,
        });
    }
    let rules = case["configuration"]["Rules"].as_array().unwrap();
    bucket.set_lifecycle(rules.iter().map(rule)).await;
    let all_days: f64 = watched
        .iter()
        .map(|w| w.object["expect"].as_array().unwrap().iter())
        .map(|effects| effects.filter_map(|e| e["day"].as_f64()).sum::<f64>())
        .fold(0.0, f64::max);
    // What shall stay is watched as long as anything happens, and some days more.
    let long_enough = DAY.mul_f64(all_days + 5.0);
    let at_most = DAY.mul_f64(all_days + LATE);
    let began = Instant::now();
    loop {
        for object in &mut watched {
            object.look(&bucket, versioned).await;
        }
        let elapsed = began.elapsed();
        let right = watched.iter().all(|w| w.wrong().is_none());
        if elapsed > at_most || (elapsed > long_enough && right) {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    bucket.without_lifecycle().await;
    let wrong = watched.iter().filter_map(Watched::wrong).collect();
    (wrong, watched.len())
}

async fn rules_do_to_objects_what_the_table_says(server: Server) {
    let Some(url) = server.url() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/lifecycle/cases.json");
    let table = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let table: Value = serde_json::from_slice(&table).unwrap();
    let cases = table["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["ceph"] == true);
    let cases: Vec<Value> = cases.cloned().collect();
    assert!(
        cases.len() >= CASES,
        "only {} cases are for a server",
        cases.len()
    );
    let number = cases.len();
    let done = join_all(cases.into_iter().map(|case| watch(url.clone(), case))).await;
    let objects: usize = done.iter().map(|(_, objects)| objects).sum();
    let wrong: Vec<String> = done.into_iter().flat_map(|(wrong, _)| wrong).collect();
    assert!(
        wrong.is_empty(),
        "{} of {objects}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{number} cases, {objects} objects");
}
