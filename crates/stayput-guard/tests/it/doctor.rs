//! What follows from what is known of a bucket, and that what isn't known is never taken for fine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use s3_documents::lifecycle;
use stayput_core::report::finding::{Finding, FindingCode, Severity};
use stayput_core::root::{Root, RootKind, Roots, Strategy};
use stayput_guard::doctor::{
    CHECKS, Check, Code, DefaultRetention, Diagnosis, Facts, LockMode, Status, Unknown, Wanted, examine,
    needs,
};
use stayput_guard::settings::Mode;

mod facts;

use facts::{churn, faults, healthy, queue, roots, rows, sends, unhides};

fn check<'c>(checks: &'c [Check], name: &str) -> &'c Check {
    checks
        .iter()
        .find(|c| c.check == name)
        .unwrap_or_else(|| panic!("no check {name}"))
}

fn found(facts: &Facts) -> Vec<Diagnosis> {
    examine(facts)
        .into_iter()
        .flat_map(|check| check.findings)
        .collect()
}

#[test]
fn a_bucket_that_has_everything_is_fine_and_every_check_says_what_it_saw() {
    let checks = examine(&healthy());
    assert_eq!(checks.len(), CHECKS.len());
    for check in &checks {
        assert_eq!(check.status, Status::Fine, "{check:?}");
        assert!(!check.seen.is_empty(), "{check:?}");
    }
    let window = check(&checks, "noncurrent_window");
    // One gigabyte in two days, kept for a week.
    assert!(
        window.seen[0]
            .contains("500.0 MB are hidden a day; kept for 7 days they are 3.5 GB, 0.08 dollars a month"),
        "{window:?}"
    );
}

type Change = (&'static str, fn(&mut Facts));

/// Each fact that can be missing, and the check that rests on it.
fn missing() -> Vec<Change> {
    fn why<T>() -> Result<T, Unknown> {
        Err(Unknown::because("access denied"))
    }
    vec![
        ("versioning", |f| f.versioning = why()),
        ("mfa_delete", |f| f.mfa_delete = why()),
        ("noncurrent_window", |f| f.rules = why()),
        ("noncurrent_window", |f| f.churn = why()),
        ("abort_rules", |f| f.rules = why()),
        ("directory_markers", |f| f.churn = why()),
        ("roots", |f| f.swept = why()),
        ("forecast", |f| f.swept = why()),
        ("snapshots", |f| f.swept = why()),
        ("control", |f| f.swept = why()),
        ("object_lock", |f| f.retention = why()),
        ("encryption", |f| f.encryption = why()),
        ("permissions", |f| f.encryption = why()),
        ("encryption", |f| f.key = Some(why())),
        ("encryption", |f| f.key = None),
        ("notifications", |f| f.notifications = why()),
        ("replication", |f| f.replicas = why()),
        ("permissions", |f| f.role = why()),
        ("permissions", |f| {
            if let Ok(role) = &mut f.role {
                role.may = why();
            }
        }),
        ("conditional_copy", |f| f.of_aws = false),
        ("principals", |f| f.settings = why()),
        ("writers", |f| f.settings = why()),
        ("control", |f| f.settings = why()),
        ("control", |f| f.control = Some(why())),
        ("writers", |f| f.writers = why()),
        ("writers", |f| f.writers = Ok(Vec::new())),
        ("forecast", |f| {
            if let Ok(swept) = &mut f.swept {
                swept.gaps.push("a listing was denied".to_owned());
            }
        }),
        ("forecast", |f| {
            if let Ok(swept) = &mut f.swept {
                swept.snapshots = 0;
            }
        }),
        ("directory_markers", |f| f.churn = Ok(churn(&rows(), false))),
        // Somebody's queue takes it, and nobody knows whose.
        ("notifications", |f| {
            f.notifications = Ok(sends(
                &(queue("theirs", "s3:LifecycleExpiration:*", "") + &queue("x", "s3:ObjectRemoved:*", "")),
            ));
        }),
    ]
}

#[test]
fn what_could_not_be_asked_is_unknown_and_never_fine() {
    let mut unknown = BTreeSet::new();
    for (name, take) in missing() {
        let mut facts = healthy();
        take(&mut facts);
        let checks = examine(&facts);
        let check = check(&checks, name);
        assert_eq!(check.status, Status::Unknown, "{check:?}");
        assert!(check.unknown.iter().all(|why| why.len() > 5), "{check:?}");
        unknown.insert(name);
    }
    // All but what the name of the bucket tells.
    assert_eq!(unknown.len(), CHECKS.len() - 1, "{unknown:?}");
}

#[test]
fn every_fault_has_its_code_its_reason_and_what_to_do() {
    let mut codes = BTreeSet::new();
    for (code, says, break_it) in faults() {
        let mut facts = healthy();
        break_it(&mut facts);
        let found = found(&facts);
        let [only] = found.as_slice() else {
            panic!("{}: {found:#?}", code.text())
        };
        assert_eq!(only.code, code.text());
        assert_eq!(only.severity, code.severity());
        assert!(!only.about.is_empty() && only.what.ends_with('.'), "{only:?}");
        let all = format!(
            "{} {} {} {}",
            only.what,
            only.why,
            only.fix,
            only.command.as_deref().unwrap_or_default()
        );
        assert!(all.contains(says), "{}: {says:?} isn't in {all}", code.text());
        codes.insert(code.text());
    }
    let all: BTreeSet<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    assert_eq!(codes, all);
}

#[test]
fn the_rules_that_a_fix_writes_are_rules_and_find_nothing_any_more() {
    let mut mended = 0;
    for (code, _, break_it) in faults() {
        let mut facts = healthy();
        break_it(&mut facts);
        for diagnosis in found(&facts) {
            let Some(command) = diagnosis.command else {
                continue;
            };
            let Some((_, json)) = command.split_once("--lifecycle-configuration ") else {
                continue;
            };
            let json = json.trim_matches('\'').replace(r"'\''", "'");
            let mut facts = healthy();
            facts.rules = Ok(lifecycle::parse(json.as_bytes()).unwrap_or_else(|e| panic!("{e}: {json}")));
            let after = found(&facts);
            assert!(
                after.iter().all(|d| d.code != code.text()),
                "{}: {after:?}",
                code.text()
            );
            mended += 1;
        }
    }
    assert!(mended >= 4, "only {mended}");
}

#[test]
fn what_the_sweep_found_keeps_its_code_and_stands_in_one_check() {
    let codes = [
        (FindingCode::RootEmpty, "roots"),
        (FindingCode::RuleWillHideNeeded, "forecast"),
        (FindingCode::ControlExpires, "control"),
        (FindingCode::DeletedNeeded, "snapshots"),
    ];
    let mut facts = healthy();
    if let Ok(swept) = &mut facts.swept {
        swept.findings = codes
            .iter()
            .map(|(code, _)| Finding::new(*code, "s3://b/cp/j"))
            .collect();
    }
    let checks = examine(&facts);
    for (code, name) in codes {
        let of_check: Vec<&str> = check(&checks, name).findings.iter().map(|f| f.code).collect();
        assert_eq!(of_check, [code.text()], "{name}");
    }
}

#[test]
fn a_queue_of_another_name_counts_where_somebody_says_that_it_leads_to_stayput() {
    let mut facts = healthy();
    facts.notifications = Ok(sends(
        &(queue("a", "s3:LifecycleExpiration:*", "") + &queue("b", "s3:*", "")),
    ));
    facts.our_targets = vec!["arn:aws:sqs:r:1:a".to_owned(), "arn:aws:sqs:r:1:b".to_owned()];
    assert_eq!(check(&examine(&facts), "notifications").status, Status::Fine);
}

#[test]
fn the_command_for_what_isnt_sent_is_whole_or_says_what_to_put_in() {
    let known = "arn:aws:sqs:r:1:known";
    let removals = queue("stayput-removals", "s3:ObjectRemoved:*", "");
    let deletions = queue("stayput-deletions", "s3:ObjectRemoved:*", "");
    let topic = "arn:aws:sns:r:1:known";
    let cases: [(&str, &[&str], &str, bool); 5] = [
        ("", &[], "--queue QUEUE_ARN", false),
        ("", &[known], "--queue 'arn:aws:sqs:r:1:known'", true),
        ("", &[topic], "--topic 'arn:aws:sns:r:1:known'", true),
        (
            &removals,
            &[],
            "--lifecycle-queue LIFECYCLE_QUEUE_ARN --removals-queue 'arn:aws:sqs:r:1:stayput-removals'",
            false,
        ),
        (
            &deletions,
            &[],
            "--queue 'arn:aws:sqs:r:1:stayput-deletions'",
            true,
        ),
    ];
    for (there, targets, options, whole) in cases {
        let mut facts = healthy();
        facts.notifications = Ok(sends(there));
        facts.our_targets = targets.iter().map(|arn| (*arn).to_owned()).collect();
        let check = check(&examine(&facts), "notifications").clone();
        let [found] = check.findings.as_slice() else {
            panic!("{check:?}")
        };
        let command = found.command.as_deref().unwrap_or_default();
        assert_eq!(
            command,
            format!("stayput setup 's3://b/cp/' {options}"),
            "{there}"
        );
        assert_eq!(
            found.fix.contains("in for the word in capitals"),
            !whole,
            "{}",
            found.fix
        );
        assert!(found.fix.contains("with --apply it writes that"), "{}", found.fix);
    }
}

#[test]
fn what_must_be_allowed_is_what_the_policies_of_infra_allow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/policies");
    let allowed = |documents: &[&str]| {
        let mut actions = BTreeSet::new();
        for document in documents {
            let text = std::fs::read_to_string(folder.join(format!("{document}.json"))).expect("a policy");
            let policy: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let statements = policy["Statement"].as_array().expect("statements").iter();
            for statement in statements.filter(|s| s["Effect"] == "Allow") {
                let of = statement["Action"].as_array().expect("a list").iter();
                actions.extend(of.map(|action| action.as_str().expect("text").to_owned()));
            }
        }
        actions
    };
    let control = Some(("ops", "stayput/"));
    let key = Some("arn:aws:kms:r:1:key/k");
    let (copies, unhides) = (roots(Strategy::Copy), roots(Strategy::Unhide));
    let cases = [
        (Mode::Observe, None, None, &unhides, &["read"][..]),
        (Mode::Observe, control, None, &copies, &["read", "control"]),
        (
            Mode::Restore,
            control,
            None,
            &copies,
            &["read", "control", "copy"],
        ),
        (
            Mode::Restore,
            control,
            None,
            &unhides,
            &["read", "control", "copy", "unhide"],
        ),
        (
            Mode::Restore,
            None,
            key,
            &copies,
            &["read", "copy", "kms-read", "kms-write"],
        ),
    ];
    for (mode, control, key, roots, documents) in cases {
        let wanted = Wanted {
            bucket: "b",
            prefix: "cp/",
            control,
            mode,
            key,
            roots,
        };
        let asked: BTreeSet<String> = needs(wanted)
            .needed
            .iter()
            .map(|(action, _)| (*action).to_owned())
            .collect();
        assert_eq!(asked, allowed(documents), "{documents:?}");
    }
}

/// Where in the bucket `b` removing versions is needed and where nobody may, for a place there and these roots.
fn where_versions_go(place: &str, mode: Mode, roots: Vec<Root>) -> (Vec<String>, Vec<String>) {
    let needs = needs(Wanted {
        bucket: "b",
        prefix: place,
        control: Some(("b", "stayput/")),
        mode,
        key: None,
        roots: &Roots::new(roots),
    });
    let of = |list: Vec<(&'static str, String)>| -> Vec<String> {
        let versions = list
            .into_iter()
            .filter(|(action, _)| *action == "s3:DeleteObjectVersion");
        let below = |(_, arn): (&str, String)| {
            let at = arn.strip_prefix("arn:aws:s3:::b/").expect("this bucket");
            at.strip_suffix("stayput-doctor-asks")
                .expect("a made up object")
                .to_owned()
        };
        versions.map(below).collect()
    };
    (of(needs.needed), of(needs.never))
}

/// A place, a mode, roots; where removing versions is needed, and where nobody may.
type Case<'c> = (&'c str, Mode, Vec<Root>, &'c [&'c str], &'c [&'c str]);

#[test]
fn versions_may_go_where_a_root_unhides_in_mode_restore_and_nowhere_else() {
    let root = |uri: &str, strategy: Strategy| {
        let marker = uri.contains("_entropy_").then_some("_entropy_");
        let mut root = Root::new(uri, RootKind::Checkpoints, marker).expect("a root");
        root.strategy = strategy;
        root
    };
    use Strategy::{Copy, Unhide};
    let nested = || vec![root("s3://b/cp/", Unhide), root("s3://b/cp/careful/", Copy)];
    let cases: [Case<'_>; 7] = [
        ("cp/", Mode::Restore, Vec::new(), &[], &["", "cp/", "stayput/"]),
        (
            "cp/",
            Mode::Observe,
            nested(),
            &[],
            &["", "cp/", "cp/careful/", "stayput/"],
        ),
        (
            "cp/",
            Mode::Restore,
            nested(),
            &["cp/"],
            &["", "cp/careful/", "stayput/"],
        ),
        // Of the whole bucket; of a directory in the root.
        (
            "",
            Mode::Restore,
            nested(),
            &["cp/"],
            &["", "cp/careful/", "stayput/"],
        ),
        (
            "cp/job/",
            Mode::Restore,
            nested(),
            &["cp/", "cp/job/"],
            &["", "stayput/"],
        ),
        // What isn't near isn't asked about.
        ("sp/", Mode::Restore, nested(), &[], &["", "sp/", "stayput/"]),
        (
            "cp/",
            Mode::Restore,
            vec![root("s3://b/_entropy_/cp/", Unhide)],
            &["_entropy_/cp/", "cp/"],
            &["", "stayput/"],
        ),
    ];
    for (place, mode, roots, needed, never) in cases {
        let shown = format!("{place:?} {mode:?} {roots:?}");
        let (may, may_not) = where_versions_go(place, mode, roots);
        assert_eq!(may, needed, "{shown}");
        assert_eq!(may_not, never, "{shown}");
    }
}

#[test]
fn where_a_root_unhides_it_is_said_what_that_takes_and_that_locks_dont_hinder_it() {
    let mut facts = healthy();
    unhides(&mut facts, &[]);
    let checks = examine(&facts);
    let permissions = check(&checks, "permissions");
    assert_eq!(permissions.status, Status::Fine, "{permissions:?}");
    let seen = permissions.seen.join(" ");
    assert!(
        seen.contains("s3:DeleteObjectVersion on arn:aws:s3:::b/cp/*: S3 knows no permission"),
        "{seen}"
    );
    facts.retention = Ok(Some(DefaultRetention {
        mode: LockMode::Governance,
        days: 1,
    }));
    let locked = found(&facts);
    assert!(locked[0].what.contains("markers aren't locked"), "{locked:?}");

    // Denied is unknown, and never fine.
    if let Ok(role) = &mut facts.role {
        role.may = Err(Unknown::because("denied"));
    }
    assert_eq!(check(&examine(&facts), "permissions").status, Status::Unknown);
}

#[test]
fn a_permission_that_one_root_takes_is_spare_outside_of_it() {
    let mut facts = healthy();
    unhides(&mut facts, &[]);
    if let Ok(role) = &mut facts.role {
        role.may = Ok(facts::abilities(
            Strategy::Unhide,
            &[],
            &["s3:DeleteObjectVersion"],
        ));
    }
    let found = found(&facts);
    let [spare] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(spare.code, Code::PermissionToDelete.text());
    assert!(
        spare.what.contains("s3:DeleteObjectVersion on arn:aws:s3:::b/*"),
        "{spare:?}"
    );
    assert!(!spare.what.contains("arn:aws:s3:::b/cp/*"), "{spare:?}");

    // Without settings nobody knows whether a root un-hides.
    facts.settings = Err(Unknown::because("no settings are here"));
    let checks = examine(&facts);
    let permissions = check(&checks, "permissions");
    assert_eq!(permissions.status, Status::Unknown, "{permissions:?}");
    assert!(
        permissions.unknown[0].contains("no settings are here"),
        "{permissions:?}"
    );
}

#[test]
fn the_book_has_a_section_for_every_code_and_check_and_for_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut sections = BTreeMap::new();
    for part in text.split("\n### ").skip(1) {
        let (heading, body) = part.split_once('\n').expect("a section with text");
        let body = body.split("\n## ").next().unwrap_or_default().trim().to_owned();
        assert_eq!(
            sections.insert(heading.trim_matches('`').to_owned(), body),
            None,
            "{heading} twice"
        );
    }
    for code in Code::ALL {
        let body = sections
            .remove(code.text())
            .unwrap_or_else(|| panic!("docs/doctor.md has no section `{}`", code.text()));
        let severity = match code.severity() {
            Severity::Notice => "Notice.",
            Severity::Warning => "Warning.",
            Severity::Urgent => "Urgent.",
            Severity::Lost => "Lost.",
        };
        assert!(body.starts_with(severity), "{}: {body}", code.text());
        assert!(body.split_whitespace().count() >= 20, "{}: {body}", code.text());
    }
    assert!(
        sections.is_empty(),
        "nothing has these codes: {:?}",
        sections.keys()
    );
    for (check, _) in CHECKS {
        assert!(
            text.contains(&format!("| `{check}` |")),
            "docs/doctor.md doesn't list the check {check}"
        );
    }
}
