//! Whether what Stayput does works as it should, and where else it has an effect.

use stayput_core::report::finding::FindingCode;

use super::{Check, Code, Diagnosis, Facts};

pub(super) fn conditional_copy(facts: &Facts, check: &mut Check) {
    if facts.of_aws {
        check.sees("AWS's own S3 refuses a copy onto what is visible (If-None-Match of CopyObject).");
        return;
    }
    match check.given(&facts.condition) {
        None => {}
        Some(true) => check.sees(
            "The server refused a copy onto what is visible. Stayput looks before and after each copy all the same, as only AWS promises that \
             the check and the write are one.",
        ),
        Some(false) => check.finds(Diagnosis::new(
            Code::ConditionIgnored,
            facts.about_bucket(),
            "The server copied onto what is visible, although If-None-Match forbade it.",
        )),
    }
}

pub(super) fn control(facts: &Facts, check: &mut Check) {
    let Some(chosen) = check.given(&facts.settings) else {
        return;
    };
    let Some(control) = &chosen.control else {
        check.finds(Diagnosis::new(
            Code::ControlMissing,
            "control",
            "The settings name no control prefix.",
        ));
        return;
    };
    if let Some(listed) = &facts.control
        && check.given(listed).is_some()
    {
        check.sees(format!("{control} can be listed."));
    }
    let Some(swept) = check.given(&facts.swept) else {
        return;
    };
    let expires = swept
        .findings
        .iter()
        .filter(|f| f.code == FindingCode::ControlExpires);
    let found: Vec<Diagnosis> = expires.map(Diagnosis::of_sweep).collect();
    check.findings.extend(found);
}

pub(super) fn replication(facts: &Facts, check: &mut Check) {
    let Some(replicas) = check.given(&facts.replicas) else {
        return;
    };
    let prefix = facts.place.key();
    let here: Vec<_> = replicas
        .iter()
        .filter(|r| r.prefix.starts_with(prefix) || prefix.starts_with(r.prefix.as_str()))
        .collect();
    for replica in &here {
        let what = format!(
            "The rule {:?} replicates to {}{}.",
            replica.rule,
            replica.destination,
            if replica.with_markers {
                ", delete markers too"
            } else {
                ""
            }
        );
        let code = if replica.with_markers {
            Code::ReplicaHides
        } else {
            Code::ReplicaGetsCopies
        };
        check.finds(Diagnosis::new(code, replica.destination.as_str(), what));
    }
    if here.is_empty() {
        check.sees("Nothing here is replicated. Whether another bucket is replicated into this one can't be seen here.");
    }
}
