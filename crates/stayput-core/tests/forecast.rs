//! What rules will take of what snapshots need: per job and rule, from which day, whether it can be put back, and which rules would not.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use s3_documents::bucket::Versioning;
use s3_documents::lifecycle::{LifecycleConfiguration, parse};
use stayput_core::catalogue::Catalogue;
use stayput_core::extent::Extent;
use stayput_core::forecast::{Forecast, Forecaster, HarmKind, Listed, PutBack};
use stayput_core::lifecycle_rules::NotKnown;
use stayput_core::location::ObjectLocation;
use stayput_core::report::finding::{FindingCode, Severity};
use stayput_core::snapshot::{Contents, Facts, Snapshot, identity_of};
use stayput_core::timestamp::Timestamp;

const JOB: &str = "cp/2be3ca0123456789abcdef0123456789";
const OTHER_JOB: &str = "cp/fedcba98765432100123456789abcdef";

fn now() -> Timestamp {
    Timestamp::parse("2026-03-10T12:00:00Z").unwrap()
}

fn days_ago(days: u64) -> Timestamp {
    now().minus(Duration::from_secs(days * 86_400))
}

fn at(key: &str) -> ObjectLocation {
    ObjectLocation::new("b", key)
}

fn rules(text: &str) -> LifecycleConfiguration {
    parse(text.as_bytes()).unwrap()
}

/// A snapshot that names these keys, 1,000 bytes each.
fn snapshot(catalogue: &mut Catalogue, metadata: &str, keys: &[String]) {
    let named: Vec<ObjectLocation> = keys.iter().map(|key| at(key)).collect();
    let references = catalogue
        .enter_references(named.iter().map(|location| (location, Extent::Exact(1_000))))
        .unwrap();
    let metadata = at(metadata);
    let (kind, job) = identity_of(&metadata);
    catalogue.insert(Snapshot {
        version: None,
        etag: String::new(),
        size: 500,
        kind,
        job,
        written: now(),
        hidden: None,
        contents: Contents::Read(Facts {
            references,
            checkpoint_id: kind.id().unwrap_or(1),
            operators: Box::new([[1; 16]]),
            backends: Box::new([]),
            directories: Box::new([]),
        }),
        kept: None,
        metadata,
    });
}

/// The year-old job: an incremental checkpoint that shares files of 400, 29 and 2 days, with a private one of today.
fn year_old_job(catalogue: &mut Catalogue) -> Vec<(String, u64)> {
    let files = vec![
        (format!("{JOB}/shared/34d2d0e5-0000-4000-8000-000000000400"), 400),
        (format!("{JOB}/shared/34d2d0e5-0000-4000-8000-000000000029"), 29),
        (format!("{JOB}/shared/34d2d0e5-0000-4000-8000-000000000002"), 2),
        (format!("{JOB}/chk-9000/34d2d0e5-0000-4000-8000-000000000000"), 0),
    ];
    let keys: Vec<String> = files.iter().map(|(key, _)| key.clone()).collect();
    snapshot(catalogue, &format!("{JOB}/chk-9000/_metadata"), &keys);
    snapshot(catalogue, &format!("{JOB}/chk-8999/_metadata"), &keys[..2]);
    let mut all = files;
    all.push((format!("{JOB}/chk-9000/_metadata"), 0));
    all.push((format!("{JOB}/chk-8999/_metadata"), 1));
    all
}

fn listed(days: u64) -> Listed<'static> {
    Listed {
        size: 1_000,
        written: days_ago(days),
        storage_class: None,
        tags: None,
        null_version: None,
    }
}

fn forecast(
    catalogue: &Catalogue,
    files: &[(String, u64)],
    rules: &LifecycleConfiguration,
    versioning: Versioning,
) -> Forecast {
    let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
    let mut forecaster = Forecaster::new(catalogue, needed, now());
    forecaster.bucket("b", rules, versioning);
    for (key, days) in files {
        forecaster.listed(&at(key), &listed(*days));
    }
    // What nobody needs changes nothing.
    forecaster.listed(&at("cp/nobody/x"), &listed(4_000));
    forecaster.finish()
}

/// DESIGN's first story: a rule meant to save money.
const SAVE_MONEY: &str = r#"{"Rules": [{"ID": "save-money", "Status": "Enabled", "Filter": {"Prefix": "cp/"}, "Expiration": {"Days": 30}}]}"#;

#[test]
fn the_rule_that_expires_files_of_incremental_checkpoints_after_30_days_fails() {
    let mut catalogue = Catalogue::new();
    let files = year_old_job(&mut catalogue);
    let save_money = rules(SAVE_MONEY);
    let forecast = forecast(&catalogue, &files, &save_money, Versioning::Enabled);
    assert!(forecast.is_harmful());
    let [bucket] = forecast.buckets.as_slice() else {
        panic!("{forecast:?}")
    };
    assert_eq!((bucket.needed.objects, bucket.unlisted), (6, 0));
    let [harm] = bucket.harms.as_slice() else {
        panic!("{:?}", bucket.harms)
    };
    assert_eq!(harm.kind, HarmKind::Hide);
    assert_eq!((harm.amount.objects, harm.due, harm.of_unknown_age), (6, 1, 0));
    let day = |text: &str| Timestamp::parse(text).unwrap();
    assert_eq!(harm.first, Some(day("2025-03-06T00:00:00Z")));
    assert_eq!(harm.last, Some(day("2026-04-10T00:00:00Z")));
    assert_eq!(harm.by_day[&day("2026-03-12T00:00:00Z")], 1);
    assert!(harm.examples[0].ends_with("0400"), "the oldest goes first");
    assert_eq!(harm.put_back, PutBack::Always);
    // Both checkpoints name the old file, so both break at once.
    let broken: Vec<_> = bucket
        .snapshots
        .iter()
        .map(|s| (s.metadata.key().to_owned(), s.objects, s.from))
        .collect();
    let from = Some(day("2025-03-06T00:00:00Z"));
    assert_eq!(
        broken,
        [
            (format!("{JOB}/chk-8999/_metadata"), 3, from),
            (format!("{JOB}/chk-9000/_metadata"), 5, from)
        ]
    );
    let [age] = bucket.ages.as_slice() else {
        panic!("{:?}", bucket.ages)
    };
    assert_eq!((age.days_today, age.shared), (Some(400), 3));
    let findings = forecast.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code, FindingCode::RuleWillHideNeeded);
    assert_eq!(findings[0].severity, Severity::Urgent);
    assert_eq!(findings[0].broken.len(), 2);
    let text = findings[0].to_string();
    for part in [
        "save-money",
        "6 objects",
        "put-bucket-lifecycle-configuration --bucket b",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_corrected_rules_take_nothing_and_keep_the_others() {
    let mut catalogue = Catalogue::new();
    let files = year_old_job(&mut catalogue);
    let before = rules(
        r#"{"TransitionDefaultMinimumObjectSize": "varies_by_storage_class", "Rules": [
            {"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 3}},
            {"ID": "all", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 60}, "Transitions": [
                {"Days": 10, "StorageClass": "STANDARD_IA"}, {"Days": 20, "StorageClass": "GLACIER"}],
             "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}},
            {"ID": "job", "Status": "Enabled", "Prefix": "cp/2be", "Expiration": {"Date": "2026-06-01T00:00:00Z"}},
            {"ID": "off", "Status": "Disabled", "Filter": {"Prefix": "cp/"}, "Expiration": {"Days": 1}},
            {"ID": "noncurrent", "Status": "Enabled", "Filter": {"Prefix": "cp/"}, "NoncurrentVersionExpiration": {"NoncurrentDays": 14}}]}"#,
    );
    let first = forecast(&catalogue, &files, &before, Versioning::Enabled);
    let bucket = &first.buckets[0];
    // The dated rule comes too late to take anything, and is changed all the same: it would take what is written later.
    assert!(
        first.is_harmful() && bucket.harms.len() == 2,
        "{:?}",
        bucket.harms
    );
    let hides = bucket.harms.iter().find(|h| h.kind == HarmKind::Hide).unwrap();
    assert_eq!(
        hides.put_back,
        PutBack::ForDays {
            days: 14,
            until: Some(Timestamp::parse("2026-03-24T00:00:00Z").unwrap())
        }
    );
    let correction = bucket.correction.as_ref().unwrap();
    assert!(
        correction
            .command
            .contains("--transition-default-minimum-object-size varies_by_storage_class")
    );
    let changed: Vec<_> = correction
        .changes
        .iter()
        .map(|change| (change.rule.id.as_deref().unwrap(), change.reaches_further))
        .collect();
    assert_eq!(changed, [("all", true), ("job", true)]);
    let after = rules(correction.configuration.as_ref().unwrap());
    let second = forecast(&catalogue, &files, &after, Versioning::Enabled);
    assert!(!second.is_harmful(), "{second:?}");
    assert_eq!(second.buckets[0].correction, None);
    let of = |id: &str| after.rules.iter().find(|r| r.id.as_deref() == Some(id)).unwrap();
    for kept in ["logs", "off", "noncurrent"] {
        let old = before
            .rules
            .iter()
            .find(|r| r.id.as_deref() == Some(kept))
            .unwrap();
        assert_eq!(of(kept), old);
    }
    assert_eq!(of("all").transitions.len(), 1, "STANDARD_IA can be read");
    assert_eq!(of("all").abort_incomplete_upload_days, Some(7));
    assert_eq!(of("all").noncurrent_expiration.unwrap().noncurrent_days, 60);
}

#[test]
fn without_a_listing_the_days_are_known_and_no_day() {
    let mut catalogue = Catalogue::new();
    year_old_job(&mut catalogue);
    let save_money = rules(SAVE_MONEY);
    let forecast = forecast(&catalogue, &[], &save_money, Versioning::Enabled);
    let bucket = &forecast.buckets[0];
    assert_eq!((bucket.needed.objects, bucket.unlisted), (6, 6));
    let harm = &bucket.harms[0];
    assert_eq!(
        (harm.amount.objects, harm.of_unknown_age, harm.first),
        (6, 6, None)
    );
    assert!(harm.starting(now()).contains("once they are 30 days old"));
    assert_eq!(bucket.ages[0].days_today, None);
    assert!(
        forecast.findings()[0]
            .meaning
            .contains("hides 6 objects once they are 30 days old")
    );
}

#[test]
fn tags_that_are_not_known_make_a_warning_and_no_correction() {
    let mut catalogue = Catalogue::new();
    let files = year_old_job(&mut catalogue);
    let tagged = rules(
        r#"{"Rules": [{"ID": "tmp", "Status": "Enabled", "Filter": {"Tag": {"Key": "tmp", "Value": "yes"}}, "Expiration": {"Days": 30}}]}"#,
    );
    let forecast = forecast(&catalogue, &files, &tagged, Versioning::Enabled);
    let bucket = &forecast.buckets[0];
    assert_eq!(bucket.harms[0].depends_on, Some(NotKnown::Tags));
    assert!(
        bucket
            .snapshots
            .iter()
            .all(|s| s.objects == 0 && s.perhaps > 0 && s.from.is_none())
    );
    assert_eq!(bucket.correction, None);
    let findings = forecast.findings();
    assert_eq!(
        (findings[0].code, findings[0].severity),
        (FindingCode::RuleMayTakeNeeded, Severity::Warning)
    );
}

#[test]
fn without_versions_what_is_taken_is_gone_and_a_rule_without_anything_left_goes() {
    let mut catalogue = Catalogue::new();
    let files = year_old_job(&mut catalogue);
    let save_money = rules(SAVE_MONEY);
    let never = forecast(&catalogue, &files, &save_money, Versioning::Never);
    let bucket = &never.buckets[0];
    assert_eq!(
        (&bucket.harms[0].kind, bucket.harms[0].put_back),
        (&HarmKind::Delete, PutBack::Never)
    );
    let correction = bucket.correction.as_ref().unwrap();
    assert_eq!(correction.configuration, None);
    assert_eq!(correction.command, "aws s3api delete-bucket-lifecycle --bucket b");
    assert_eq!(never.findings()[0].code, FindingCode::RuleWillDeleteNeeded);
    let suspended = forecast(&catalogue, &files, &save_money, Versioning::Suspended);
    let harm = &suspended.buckets[0].harms[0];
    assert_eq!((harm.put_back, harm.is_unsure()), (PutBack::PerhapsNever, false));
}

#[test]
fn a_claimed_jobs_files_are_needed_by_the_new_job_and_count_for_it() {
    let mut catalogue = Catalogue::new();
    let old = format!("{JOB}/shared/34d2d0e5-0000-4000-8000-000000000400");
    snapshot(
        &mut catalogue,
        &format!("{OTHER_JOB}/chk-3/_metadata"),
        std::slice::from_ref(&old),
    );
    let elsewhere = ObjectLocation::new("other", "x/y");
    let references = catalogue
        .enter_references([(&elsewhere, Extent::Exact(7))])
        .unwrap();
    let id = catalogue
        .at(&at(&format!("{OTHER_JOB}/chk-3/_metadata")))
        .unwrap();
    let _ = (references, id);
    let rule = rules(&SAVE_MONEY.replace("cp/", &format!("{JOB}/")));
    let forecast = forecast(&catalogue, &[(old, 29)], &rule, Versioning::Enabled);
    let bucket = &forecast.buckets[0];
    assert_eq!(bucket.harms.len(), 1);
    assert_eq!(bucket.harms[0].job.prefix, format!("{OTHER_JOB}/"));
    assert_eq!(
        bucket.snapshots[0].metadata.key(),
        format!("{OTHER_JOB}/chk-3/_metadata")
    );
    // The rule is changed, since the old job's directory is still needed.
    assert!(!bucket.correction.as_ref().unwrap().changes[0].reaches_further);
}

#[test]
fn objects_of_other_buckets_are_counted_and_what_is_hidden_already_is_told() {
    let mut catalogue = Catalogue::new();
    let files = year_old_job(&mut catalogue);
    let save_money = rules(SAVE_MONEY);
    let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
    let mut forecaster = Forecaster::new(&catalogue, needed.clone(), now());
    forecaster.bucket("c", &save_money, Versioning::Enabled);
    let other = forecaster.finish();
    assert!(!other.is_harmful());
    assert_eq!(other.without_rules["b"].objects, 6);
    let mut forecaster = Forecaster::new(&catalogue, needed, now());
    forecaster.bucket("b", &save_money, Versioning::Enabled);
    forecaster.hidden(&at(&files[0].0));
    forecaster.hidden(&at("cp/nobody/x"));
    forecaster.listed(
        &at(&files[1].0),
        &Listed {
            storage_class: Some("GLACIER"),
            ..listed(29)
        },
    );
    let bucket = &forecaster.finish().buckets[0];
    assert_eq!(
        (bucket.hidden, bucket.archived.objects, bucket.needed.objects),
        (1, 1, 5)
    );
    assert_eq!(bucket.hidden_examples, [format!("s3://b/{}", files[0].0)]);
}

#[test]
fn an_upload_that_the_state_of_a_sink_names_is_told_when_a_rule_aborts_it() {
    let mut catalogue = Catalogue::new();
    year_old_job(&mut catalogue);
    let chk = at(&format!("{JOB}/chk-9000/_metadata"));
    let abort = rules(
        r#"{"Rules": [{"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": "out/"}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}]}"#,
    );
    let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
    let mut forecaster = Forecaster::new(&catalogue, needed, now());
    forecaster.bucket("b", &abort, Versioning::Enabled);
    forecaster.upload(&chk, &at("out/part-1"), "id-1", Some(days_ago(6)));
    forecaster.upload(&chk, &at("elsewhere/part-1"), "id-2", Some(days_ago(6)));
    forecaster.upload(&at("nobody/asked/_metadata"), &at("out/part-1"), "id-3", None);
    let forecast = forecaster.finish();
    let risk = &forecast.buckets[0].aborts[0];
    assert_eq!((risk.uploads, risk.bounded), (1, 0));
    let finding = &forecast.findings()[0];
    assert_eq!(finding.broken, [chk.to_string()]);
    assert!(!finding.meaning.contains("or earlier"), "{}", finding.meaning);
    assert_eq!(finding.code, FindingCode::RuleWillAbortUploads);
    assert_eq!(
        finding.deadline,
        Some(Timestamp::parse("2026-03-12T00:00:00Z").unwrap())
    );
}

#[test]
fn an_upload_of_unknown_begin_goes_at_the_latest_by_the_oldest_snapshot_that_names_it() {
    let mut catalogue = Catalogue::new();
    year_old_job(&mut catalogue);
    let (newer, older) = (
        at(&format!("{JOB}/chk-9000/_metadata")),
        at(&format!("{JOB}/chk-8999/_metadata")),
    );
    let abort = rules(
        r#"{"Rules": [{"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": "out/"}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}]}"#,
    );
    let asked = |listed: &[(&ObjectLocation, u64)]| {
        let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
        let mut forecaster = Forecaster::new(&catalogue, needed, now());
        forecaster.bucket("b", &abort, Versioning::Enabled);
        for metadata in [&newer, &older] {
            forecaster.upload(metadata, &at("out/part-1"), "id-1", None);
        }
        for (metadata, days) in listed {
            let object = Listed {
                size: 1_000,
                written: days_ago(*days),
                storage_class: None,
                tags: None,
                null_version: None,
            };
            forecaster.listed(metadata, &object);
        }
        forecaster.finish()
    };
    let told = asked(&[(&newer, 2), (&older, 6)]);
    let risk = &told.buckets[0].aborts[0];
    assert_eq!((risk.uploads, risk.bounded, risk.snapshots.len()), (1, 1, 2));
    assert_eq!(
        risk.first,
        Some(Timestamp::parse("2026-03-12T00:00:00Z").unwrap())
    );
    let finding = told
        .findings()
        .into_iter()
        .find(|f| f.code == FindingCode::RuleWillAbortUploads);
    assert!(finding.unwrap().meaning.contains("or earlier"));

    let unlisted = asked(&[]);
    let risk = &unlisted.buckets[0].aborts[0];
    assert_eq!((risk.uploads, risk.bounded, risk.first), (1, 0, None));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// Whatever the rules, the corrected ones surely take nothing, and what they still may take asks for tags.
    #[test]
    fn corrected_rules_never_take_what_is_needed(
        chosen in prop::collection::vec(
            (prop::sample::select(vec!["", "cp/", "cp/2be", "logs/", "cp/zzz"]), 0u8..6, 1u32..500, any::<bool>(), any::<bool>()), 0..6),
        versioning in prop::sample::select(vec![Versioning::Enabled, Versioning::Suspended, Versioning::Never]),
    ) {
        let written: Vec<String> = chosen.iter().map(|(prefix, action, days, tagged, enabled)| {
            let action = match action {
                0 => format!(r#""Expiration": {{"Days": {days}}}"#),
                1 => r#""Expiration": {"Date": "2026-06-01T00:00:00Z"}"#.to_owned(),
                2 => format!(r#""Transitions": [{{"Days": {days}, "StorageClass": "DEEP_ARCHIVE"}}]"#),
                3 => format!(r#""NoncurrentVersionExpiration": {{"NoncurrentDays": {days}}}"#),
                4 => r#""Expiration": {"ExpiredObjectDeleteMarker": true}"#.to_owned(),
                _ => format!(r#""Transitions": [{{"Days": {days}, "StorageClass": "GLACIER_IR"}}]"#),
            };
            let filter = if *tagged {
                format!(r#"{{"And": {{"Prefix": "{prefix}", "Tags": [{{"Key": "k", "Value": "v"}}]}}}}"#)
            } else {
                format!(r#"{{"Prefix": "{prefix}"}}"#)
            };
            let status = if *enabled { "Enabled" } else { "Disabled" };
            format!(r#"{{"Status": "{status}", "Filter": {filter}, {action}}}"#)
        }).collect();
        let before = rules(&format!("{{\"Rules\": [{}]}}", written.join(",")));
        let mut catalogue = Catalogue::new();
        let files = year_old_job(&mut catalogue);
        let first = forecast(&catalogue, &files, &before, versioning);
        let surely = first.buckets[0].harms.iter().any(|h| h.depends_on != Some(NotKnown::Tags));
        let Some(correction) = &first.buckets[0].correction else {
            prop_assert!(!surely, "{:?}", first.buckets[0].harms);
            return Ok(());
        };
        let after = correction.configuration.as_ref().map_or_else(LifecycleConfiguration::default, |text| rules(text));
        let second = forecast(&catalogue, &files, &after, versioning);
        prop_assert!(second.buckets[0].harms.iter().all(|h| h.depends_on == Some(NotKnown::Tags)), "{:?}", second.buckets[0].harms);
        prop_assert_eq!(second.buckets[0].correction.is_some(), false);
    }
}

#[test]
fn a_million_objects_and_twenty_rules_take_little_time() {
    let mut catalogue = Catalogue::new();
    let objects = 1_000_000_u64;
    let key = |n: u64| format!("{JOB}/shared/34d2d0e5-0000-4000-8000-{n:012x}");
    let keys: Vec<String> = (0..objects).map(key).collect();
    snapshot(&mut catalogue, &format!("{JOB}/chk-9000/_metadata"), &keys);
    snapshot(&mut catalogue, &format!("{JOB}/chk-9001/_metadata"), &keys);
    let rule = |n: u32| {
        let prefix = if n == 0 {
            "cp/".to_owned()
        } else {
            format!("logs/{n}/")
        };
        format!(
            r#"{{"ID": "r{n}", "Status": "Enabled", "Filter": {{"Prefix": "{prefix}"}}, "Expiration": {{"Days": 30}}}}"#
        )
    };
    let rules = rules(&format!(
        "{{\"Rules\": [{}]}}",
        (0..20).map(rule).collect::<Vec<_>>().join(",")
    ));
    let needed: Vec<_> = catalogue.iter().map(|(id, _)| id).collect();
    let started = Instant::now();
    let mut forecaster = Forecaster::new(&catalogue, needed, now());
    forecaster.bucket("b", &rules, Versioning::Enabled);
    for (n, key) in (0..).zip(&keys) {
        forecaster.listed(&at(key), &listed(n % 400));
    }
    let forecast = forecaster.finish();
    let took = started.elapsed();
    assert_eq!(forecast.buckets[0].harms[0].amount.objects, objects + 2);
    println!("{objects} objects, 20 rules: {took:?}");
    // Measured at a fraction of this; the machine that tests may be busy.
    assert!(took < Duration::from_secs(30), "{took:?}");
}
