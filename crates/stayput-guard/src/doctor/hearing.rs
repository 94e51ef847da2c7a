//! Whether Stayput hears of deletions, and knows whose they are.

use std::collections::BTreeMap;

use s3_documents::notification_configuration::{EXPIRATIONS, REMOVALS, Sending};
use stayput_core::cause::Cause;
use stayput_core::command::quoted;

use super::{Check, Code, Diagnosis, Facts};

/// Names of configurations that `stayput setup` and infra/README.md give.
const OURS: &str = "stayput-";

pub(super) fn notifications(facts: &Facts, check: &mut Check) {
    let Some(sends) = check.given(&facts.notifications) else {
        return;
    };
    let is_ours = |s: &&Sending| {
        facts.our_targets.contains(&s.arn) || s.id.as_deref().is_some_and(|id| id.starts_with(OURS))
    };
    let heard =
        |sending: &Sending, event: &str| sending.takes(event) && sending.takes_keys_below(facts.place.key());
    // Who subscribes to markers alone hears what matters most, and has chosen so (docs/cost.md).
    let kinds = [
        (
            EXPIRATIONS,
            "s3:LifecycleExpiration:DeleteMarkerCreated",
            Code::NotificationsWithoutLifecycle,
        ),
        (
            REMOVALS,
            "s3:ObjectRemoved:DeleteMarkerCreated",
            Code::NotificationsWithoutRemovals,
        ),
    ];
    let setup = Some(format!("stayput setup {}", quoted(&facts.place.to_string())));
    let mut missing = Vec::new();
    for (all, markers, code) in kinds {
        let ours = sends.sendings.iter().filter(is_ours).find(|s| heard(s, markers));
        if let Some(ours) = ours {
            check.sees(format!("{ours}."));
            continue;
        }
        if sends.to_event_bridge {
            continue;
        }
        let partly = sends.sendings.iter().filter(is_ours).find(|s| s.takes(markers));
        let strangers = sends.sendings.iter().find(|s| heard(s, markers));
        if let Some(stranger) = strangers {
            check.unknown.push(format!(
                "{all} goes to the {} {}, and nobody here knows whether Stayput reads that. If it does, name it with --target",
                stranger.target, stranger.arn
            ));
            continue;
        }
        let what = match partly {
            Some(partly) => format!("{all} is sent, but not for every key here: {partly}."),
            None => format!("{all} isn't sent to Stayput."),
        };
        missing.push(Diagnosis::new(code, facts.about_bucket(), what).by(setup.clone()));
    }
    if sends.to_event_bridge && check.seen.len() < kinds.len() {
        check.finds(
            Diagnosis::new(
                Code::NotificationsByEventbridge,
                facts.about_bucket(),
                "All events go to EventBridge. Whether a rule there sends them to Stayput can't be seen here.",
            )
            .by(setup.clone()),
        );
    }
    if missing.len() == kinds.len() {
        let what = "The bucket doesn't tell Stayput of any deletion.";
        check.finds(Diagnosis::new(Code::NotificationsMissing, facts.about_bucket(), what).by(setup));
    } else {
        check.findings.extend(missing);
    }
}

pub(super) fn principals(facts: &Facts, check: &mut Check) {
    let Some(chosen) = check.given(&facts.settings) else {
        return;
    };
    let listed = &chosen.principals.flink;
    if listed.is_empty() {
        let command = format!(
            "stayput setup {} --flink-role NAME",
            quoted(&facts.place.to_string())
        );
        check.finds(
            Diagnosis::new(
                Code::PrincipalsMissing,
                "flink.principals",
                "The settings list no principal of Flink.",
            )
            .by(command),
        );
    } else {
        check.sees(format!("Flink's principals are {}.", listed.join(", ")));
    }
}

pub(super) fn writers(facts: &Facts, check: &mut Check) {
    let Some(writers) = check.given(&facts.writers) else {
        return;
    };
    let Some(chosen) = check.given(&facts.settings) else {
        return;
    };
    if writers.is_empty() {
        check
            .unknown
            .push("the messages tell of no new _metadata below this place whose writer they name".to_owned());
        return;
    }
    let mut strangers: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    let mut known = 0;
    for writer in writers {
        match chosen.principals.cause_of(&writer.principal) {
            Cause::Flink | Cause::Ours => known += 1,
            _ => {
                let (count, _) = strangers
                    .entry(writer.principal.as_str())
                    .or_insert((0, writer.example.as_str()));
                *count += 1;
            }
        }
    }
    if known > 0 {
        check.sees(format!("{known} new _metadata by principals that are listed."));
    }
    for (principal, (count, example)) in strangers {
        let id = principal.strip_prefix("AWS:").unwrap_or(principal);
        let id = id.split(':').next().unwrap_or(id);
        let what = format!("{principal} wrote {count} _metadata, such as {example}, and isn't listed.");
        let fix = format!(
            "If it is a cluster of yours, or a replication, add {id:?} to flink.principals of the settings."
        );
        let command = format!(
            "stayput setup {} --flink-role {}",
            quoted(&facts.place.to_string()),
            quoted(id)
        );
        check.finds(
            Diagnosis::new(Code::WriterNotListed, principal, what)
                .fix(fix)
                .by(command),
        );
    }
}
