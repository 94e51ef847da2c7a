//! docs/runbook.md has a section for every code that a finding may have, and for no other.

use std::collections::BTreeMap;
use std::path::Path;

use stayput_core::report::finding::{FindingCode, Severity};

/// The sections with a code for a heading, by that code.
fn sections() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runbook.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut found = BTreeMap::new();
    for part in text.split("\n### ").skip(1) {
        let (heading, body) = part.split_once('\n').expect("a section with text");
        let code = heading.trim_matches('`').to_owned();
        let body = body.split("\n## ").next().unwrap_or_default().trim().to_owned();
        assert_eq!(found.insert(code, body), None, "{heading} is there twice");
    }
    found
}

#[test]
fn every_code_has_its_section_and_every_section_its_code() {
    let mut sections = sections();
    for code in FindingCode::ALL {
        let body = sections
            .remove(code.text())
            .unwrap_or_else(|| panic!("docs/runbook.md has no section `{}`", code.text()));
        let severity = match code.severity() {
            Severity::Notice => "Notice.",
            Severity::Warning => "Warning.",
            Severity::Urgent => "Urgent.",
            Severity::Lost => "Lost.",
        };
        assert!(
            body.starts_with(severity),
            "{}: the section doesn't begin with {severity:?}: {body}",
            code.text()
        );
        assert!(body.split_whitespace().count() >= 20, "{}: {body}", code.text());
    }
    assert!(
        sections.is_empty(),
        "no finding has these codes: {:?}",
        sections.keys()
    );
}
