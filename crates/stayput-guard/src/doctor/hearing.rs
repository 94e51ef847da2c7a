//! Whether Stayput hears of deletions, and knows whose they are.

use std::collections::BTreeMap;

use s3_documents::notification_configuration::{EXPIRATIONS, NotificationConfiguration, REMOVALS, Sending};
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
    let setup = |code, what: &str| {
        let (command, fix) = setup_for(facts, sends, code);
        Diagnosis::new(code, facts.about_bucket(), what)
            .fix(fix)
            .by(command)
    };
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
        missing.push(setup(code, &what));
    }
    if sends.to_event_bridge && check.seen.len() < kinds.len() {
        check.finds(setup(
            Code::NotificationsByEventbridge,
            "All events go to EventBridge. Whether a rule there sends them to Stayput can't be seen here.",
        ));
    }
    if missing.len() == kinds.len() {
        let what = "The bucket doesn't tell Stayput of any deletion.";
        check.finds(setup(Code::NotificationsMissing, what));
    } else {
        check.findings.extend(missing);
    }
}

/// The command that lets the bucket send what it doesn't, whole where the targets are known, and what to do with it in words.
fn setup_for(facts: &Facts, sends: &NotificationConfiguration, code: Code) -> (String, String) {
    let place = quoted(&facts.place.to_string());
    let of_us = |id: &str| sends.sendings.iter().find(|s| s.id.as_deref() == Some(id));
    let (target, known) = if let Some(all) = of_us("stayput-deletions") {
        // One queue or topic for all deletions was set up before.
        (option_for(&all.arn), true)
    } else if let (Code::NotificationsWithoutLifecycle, Some(removals)) = (code, of_us("stayput-removals")) {
        let removals = quoted(&removals.arn);
        let queues = format!("--lifecycle-queue LIFECYCLE_QUEUE_ARN --removals-queue {removals}");
        (queues, false)
    } else if let (Code::NotificationsWithoutRemovals, Some(lifecycle)) = (code, of_us("stayput-lifecycle")) {
        let lifecycle = quoted(&lifecycle.arn);
        let queues = format!("--lifecycle-queue {lifecycle} --removals-queue REMOVALS_QUEUE_ARN");
        (queues, false)
    } else if let (Code::NotificationsMissing | Code::NotificationsByEventbridge, [one]) =
        (code, facts.our_targets.as_slice())
    {
        (option_for(one), true)
    } else {
        ("--queue QUEUE_ARN".to_owned(), false)
    };
    let mut fix = code.fix().to_owned();
    if !known {
        fix.push_str(
            " Put the ARN of your queue in for the word in capitals; with the stack of infra/template.yaml, give --notifications FILE with its output \
             Notifications instead of queues.",
        );
    }
    fix.push_str(" The command shows what would change; with --apply it writes that.");
    (format!("stayput setup {place} {target}"), fix)
}

/// The option of `setup` that takes this target for all deletions.
fn option_for(arn: &str) -> String {
    let option = if arn.split(':').nth(2) == Some("sns") {
        "--topic"
    } else {
        "--queue"
    };
    format!("{option} {}", quoted(arn))
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
            .fix(format!(
                "{} Put the name of the role in for NAME, once for each cluster; the command prints settings with their ids.",
                Code::PrincipalsMissing.fix()
            ))
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
