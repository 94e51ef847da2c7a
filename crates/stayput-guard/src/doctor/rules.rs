//! What lies here, what the rules will do to it, and what is wrong with it already.

use stayput_core::report::finding::{Finding, FindingCode};

use super::keeping::reaches;
use super::{Check, Code, Diagnosis, Facts, Swept};

/// A rule that aborts uploads earlier than this is short for a job that somebody has stopped.
const STOPPED_DAYS: u32 = 7;

/// Below this share of rows directory markers are no matter of cost.
const MANY: u64 = 10;

fn is_about_roots(finding: &Finding) -> bool {
    matches!(
        finding.code,
        FindingCode::RootEmpty | FindingCode::RootIsJobDirectory
    )
}

fn swept<'f>(facts: &'f Facts, check: &mut Check) -> Option<&'f Swept> {
    let swept = check.given(&facts.swept)?;
    check.unknown.extend(swept.gaps.iter().cloned());
    if swept.snapshots == 0 && swept.findings.is_empty() {
        let why = "no checkpoint and no savepoint was found, so nobody knows what is needed";
        check.unknown.push(why.to_owned());
        return None;
    }
    Some(swept)
}

pub(super) fn roots(facts: &Facts, check: &mut Check) {
    if let Ok(chosen) = &facts.settings
        && !chosen.watches
    {
        check.finds(Diagnosis::new(
            Code::NotWatched,
            facts.place.to_string(),
            "No root of the settings lies here or above.",
        ));
    }
    let Some(swept) = check.given(&facts.swept) else {
        return;
    };
    let found: Vec<Diagnosis> = swept
        .findings
        .iter()
        .filter(|f| is_about_roots(f))
        .map(Diagnosis::of_sweep)
        .collect();
    check.findings.extend(found);
    match swept.snapshots {
        _ if !check.findings.is_empty() => {}
        0 => check
            .unknown
            .push("no checkpoint and no savepoint was found: the prefix may be another".to_owned()),
        n => check.sees(format!("Checkpoints and savepoints that were found: {n}.")),
    }
}

pub(super) fn forecast(facts: &Facts, check: &mut Check) {
    let Some(swept) = swept(facts, check) else {
        return;
    };
    let found: Vec<Diagnosis> = swept
        .findings
        .iter()
        .filter(|f| f.code.is_forecast())
        .map(Diagnosis::of_sweep)
        .collect();
    if found.is_empty() {
        check.sees(format!(
            "The bucket's rules take none of the {} objects that checkpoints and savepoints need.",
            swept.objects
        ));
    }
    check.findings.extend(found);
}

pub(super) fn snapshots(facts: &Facts, check: &mut Check) {
    let Some(swept) = swept(facts, check) else {
        return;
    };
    let is_of_another_check =
        |f: &Finding| f.code.is_forecast() || is_about_roots(f) || f.code == FindingCode::ControlExpires;
    let found: Vec<Diagnosis> = swept
        .findings
        .iter()
        .filter(|f| !is_of_another_check(f))
        .map(Diagnosis::of_sweep)
        .collect();
    if found.is_empty() && swept.gaps.is_empty() {
        check.sees("Nothing that running or resting jobs need is missing.");
    }
    check.findings.extend(found);
}

pub(super) fn abort_rules(facts: &Facts, check: &mut Check) {
    let Some(rules) = check.given(&facts.rules) else {
        return;
    };
    let here = rules.rules.iter().enumerate().filter_map(|(place, rule)| {
        let days = rule.abort_incomplete_upload_days?;
        (rule.enabled && reaches(&rule.filter, facts.place.key())).then_some((place, rule, days))
    });
    let mut any = false;
    for (place, rule, days) in here {
        any = true;
        if days >= STOPPED_DAYS {
            check.sees(format!(
                "The rule {:?} aborts uploads after {days} days.",
                rule.name()
            ));
            continue;
        }
        let mut longer = rules.clone();
        if let Some(rule) = longer.rules.get_mut(place) {
            rule.abort_incomplete_upload_days = Some(STOPPED_DAYS);
        }
        let what = format!(
            "The rule {:?} aborts incomplete uploads after {days} days.",
            rule.name()
        );
        let found = Diagnosis::new(Code::AbortRuleShort, facts.about_bucket(), what);
        check.finds(found.by(facts.rules_command(&longer)));
    }
    if !any {
        check.finds(Diagnosis::new(
            Code::AbortRuleMissing,
            facts.about_bucket(),
            "No rule aborts incomplete uploads here.",
        ));
    }
}

pub(super) fn directory_markers(facts: &Facts, check: &mut Check) {
    let Some(churn) = check.given(&facts.churn) else {
        return;
    };
    let markers = churn.directory_markers;
    if markers > 0 && markers * MANY >= churn.listed {
        let what = format!(
            "{markers} of {} versions and markers here are of directory markers, keys that end in a slash.",
            churn.listed
        );
        check.finds(Diagnosis::new(
            Code::DirectoryMarkerChurn,
            facts.place.to_string(),
            what,
        ));
    } else if churn.complete {
        check.sees(format!(
            "{markers} of {} versions and markers are of directory markers.",
            churn.listed
        ));
    } else {
        check.unknown.push(format!(
            "only {} versions and markers were listed, and {markers} of them are of directory markers",
            churn.listed
        ));
    }
}
