//! The messages of findings are what docs/schema/finding.schema.json says: those of every acceptance story, and of every code.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use stayput_cli::replay::{Process, Rehearsal};
use stayput_core::report::finding::{Finding, FindingCode, Severity};
use stayput_core::report::message::message;

mod stories;

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/finding.schema.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("a schema")
}

fn check(validator: &Validator, finding: &Finding) -> Value {
    let value = serde_json::from_str(&message(finding, 256 << 10)).expect("JSON");
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {value}");
    // What the schema doesn't name it can't hold to anything.
    let known = schema();
    for member in value.as_object().expect("an object").keys() {
        assert!(
            known["properties"].get(member).is_some(),
            "{member} isn't in the schema"
        );
    }
    value
}

#[tokio::test]
async fn every_finding_of_every_story_is_what_the_schema_says() {
    let validator = validator();
    let (mut findings, mut codes, mut with_deadline) = (0, BTreeSet::new(), 0);
    let (mut partly_back, mut all_back) = (0, 0);
    for folder in stories::all() {
        let rehearsal = Rehearsal {
            process: Process::Kept,
            ..Rehearsal::default()
        };
        let played = stories::load(&folder).play(&rehearsal).await;
        let played = played.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for (_, finding) in &played.findings {
            let value = check(&validator, finding);
            findings += 1;
            codes.insert(finding.code.text());
            with_deadline += usize::from(!value["deadline"].is_null());
            partly_back += usize::from(!value["recovered"].is_null());
            // What is back has no deadline, and nothing to undo.
            if finding.objects > 0 && finding.back() == finding.objects {
                all_back += 1;
                assert!(value["deadline"].is_null() && value["undo"].is_null(), "{value}");
            }
        }
    }
    assert!(
        findings >= 50 && codes.len() >= 20,
        "{findings} findings, {codes:?}"
    );
    assert!(
        with_deadline + all_back >= 10 && with_deadline >= 5,
        "{with_deadline} with a deadline, {all_back} all of whose objects are back"
    );
    assert!(
        partly_back >= all_back && all_back >= 5,
        "{partly_back}, {all_back}"
    );
}

#[test]
fn every_code_and_severity_is_in_the_schema_and_nothing_else_is() {
    let validator = validator();
    for code in FindingCode::ALL {
        let mut finding = Finding::new(code, "s3://b/cp/j/chk-8/_metadata");
        finding.because = Some("access to it is denied".to_owned());
        finding.rules = vec!["save money".to_owned()];
        finding.broken = vec!["s3://b/cp/j/chk-8/_metadata".to_owned()];
        finding.newest_that_works = Some("s3://b/cp/j/chk-7/_metadata".to_owned());
        check(&validator, &finding);
    }
    let schema = schema();
    let listed = |member: &str| -> BTreeSet<String> {
        let all = schema["properties"][member]["enum"].as_array().expect("a list");
        all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    assert_eq!(
        listed("code"),
        FindingCode::ALL.map(|c| c.text().to_owned()).into()
    );
    let severities = [
        Severity::Notice,
        Severity::Warning,
        Severity::Urgent,
        Severity::Lost,
    ];
    assert_eq!(listed("severity"), severities.map(|s| s.word().to_owned()).into());
}

#[test]
fn what_is_no_finding_is_refused() {
    let validator = validator();
    let finding = Finding::new(FindingCode::PurgedVersion, "s3://b/k");
    let good = check(&validator, &finding);
    for (member, wrong) in [
        ("form", Value::from("stayput.finding.2")),
        ("code", "purged".into()),
        ("severity", "Lost".into()),
        ("about", "".into()),
        ("objects", (-1).into()),
        ("deadline", "tomorrow".into()),
        ("retry_helps", "no".into()),
    ] {
        let mut bad = good.clone();
        bad[member] = wrong;
        assert!(!validator.is_valid(&bad), "{bad}");
        bad.as_object_mut().expect("an object").remove(member);
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}
