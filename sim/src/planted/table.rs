//! The faults.

use super::Planted;

const CLASS: &str = "crates/stayput-core/src/class.rs";
const LOSS: &str = "crates/stayput-core/src/loss.rs";
const TABLE: &str = "crates/stayput-core/src/verdict/table.rs";
const VERDICT: &str = "crates/stayput-core/src/verdict.rs";
const ANSWER: &str = "crates/stayput-guard/src/guard/answer.rs";

/// All of them; the number of one is its place, counted from 1.
pub const ALL: &[Planted] = &[
    Planted {
        name: "the marker on top counts",
        danger: "who deletes a hidden key again takes the blame for what another did",
        file: "crates/stayput-core/src/version.rs",
        find: "        Some(Hidden { newest, above_data })",
        replace: "        let above_data = if FAULT { newest } else { above_data };\n        Some(Hidden { newest, above_data })",
    },
    Planted {
        name: "the head is the newest by id only",
        danger: "a job that was deployed again restarts its ids, and its checkpoints count for nothing",
        file: CLASS,
        find: "        Heads { by_id, by_time }",
        replace: "        let by_time = if FAULT { None } else { by_time };\n        Heads { by_id, by_time }",
    },
    Planted {
        name: "references across jobs are dropped",
        danger: "a job restored in CLAIM mode loses the files that lie in the old job's directory",
        file: "crates/stayput-core/src/catalogue.rs",
        find: "                if s.facts().is_some_and(|f| self.index.names(f.references, object)) {\n                    let exclusive",
        replace: "                if s.facts().is_some_and(|f| self.index.names(f.references, object))\n                    && !(FAULT && !location.key().starts_with(&s.job.prefix))\n                {\n                    let exclusive",
    },
    Planted {
        name: "a superseded checkpoint is as good as the head",
        danger: "what Flink deletes of old checkpoints comes back for ever",
        file: CLASS,
        find: "        if heads.by_id != Some(subject) && heads.by_time != Some(subject) {",
        replace: "        if !FAULT && heads.by_id != Some(subject) && heads.by_time != Some(subject) {",
    },
    Planted {
        name: "a store that failed ends the job",
        danger: "after one refused checkpoint nothing of the job is protected",
        file: CLASS,
        find: "            let failed_store = by.at",
        replace: "            let failed_store = !FAULT && by.at",
    },
    Planted {
        name: "whoever hides the head ends the job",
        danger: "who deletes _metadata first may delete the rest",
        file: CLASS,
        find: "            if !by.cause.is_flink_or_unknown() {",
        replace: "            if !FAULT && !by.cause.is_flink_or_unknown() {",
    },
    Planted {
        name: "what was complete after the deletion doesn't count",
        danger: "a running job goes on naming a file that nobody brings back",
        file: LOSS,
        find: "            None if written > key_marker => Moment::Of(now),",
        replace: "            None if !FAULT && written > key_marker => Moment::Of(now),",
    },
    Planted {
        name: "lengths aren't compared",
        danger: "half a file comes back in place of the whole one",
        file: LOSS,
        find: "    history\n        .data_versions()\n        .find(fits(true))",
        replace: "    if FAULT {\n        return history.data_versions().next();\n    }\n    history\n        .data_versions()\n        .find(fits(true))",
    },
    Planted {
        name: "Flink's role isn't known",
        danger: "Flink's own clean-up is undone as a stranger's deed",
        file: "crates/stayput-core/src/cause.rs",
        find: "        } else if self.flink.iter().any(|p| is_role(principal, p)) {",
        replace: "        } else if !FAULT && self.flink.iter().any(|p| is_role(principal, p)) {",
    },
    Planted {
        name: "nobody known is a rule",
        danger: "what Flink deletes is taken for a rule's, and comes back at once",
        file: "crates/stayput-guard/src/survey/eyes.rs",
        find: "            .map_or(Cause::Unknown, |(_, cause)| cause))",
        replace: "            .map_or(if FAULT { Cause::Lifecycle } else { Cause::Unknown }, |(_, cause)| cause))",
    },
    Planted {
        name: "claims are ignored",
        danger: "what a claiming job tidies up in the old directory comes back",
        file: TABLE,
        find: "    if cause.is_flink_or_unknown() && referrer.claimed {",
        replace: "    if !FAULT && cause.is_flink_or_unknown() && referrer.claimed {",
    },
    Planted {
        name: "a new run in the directory is ignored",
        danger: "the old _metadata comes back where the new run writes, and the job fails",
        file: TABLE,
        find: "    if new_run(referrer) {",
        replace: "    if !FAULT && new_run(referrer) {",
    },
    Planted {
        name: "quiet isn't asked",
        danger: "a whole deletion on purpose is undone while it goes on",
        file: TABLE,
        find: "    if now >= quiet_from {",
        replace: "    if FAULT || now >= quiet_from {",
    },
    Planted {
        name: "a whole deletion is never intent",
        danger: "what its owner deleted on purpose comes back",
        file: TABLE,
        find: "            let intent = loss.whole\n",
        replace: "            let intent = !FAULT && loss.whole\n",
    },
    Planted {
        name: "a whole deletion is always intent",
        danger: "the only checkpoint of a running job stays away",
        file: TABLE,
        find: "                && (class < Class::Running || referrer.put_back_before",
        replace: "                && (FAULT || class < Class::Running || referrer.put_back_before",
    },
    Planted {
        name: "a discard isn't waited for",
        danger: "files come back in the middle of Flink's own clean-up",
        file: TABLE,
        find: "        .find(|at| now < *at)\n",
        replace: "        .find(|at| !FAULT && now < *at)\n",
    },
    Planted {
        name: "a discarded checkpoint is still wanted",
        danger: "the checkpoints of a job that ended come back",
        file: TABLE,
        find: "        MetadataState::Hidden { cause, .. } => loss.whole || cause.is_flink_or_unknown(),",
        replace: "        MetadataState::Hidden { cause, .. } => !FAULT && (loss.whole || cause.is_flink_or_unknown()),",
    },
    Planted {
        name: "rules may take what rests",
        danger: "a job that its owner stopped for a week has no state any more",
        file: TABLE,
        find: "            Class::Dormant if look.protect != Protect::All =>",
        replace: "            Class::Resting if FAULT => Wish::Report(FindingCode::DormantExpired),\n            Class::Dormant if look.protect != Protect::All =>",
    },
    Planted {
        name: "what can't be judged is restored",
        danger: "beside one file that nobody can read Flink's clean-up is undone",
        file: VERDICT,
        find: "        Cause::Flink | Cause::Unknown | Cause::Ours => Outcome::Report(FindingCode::CannotJudge),",
        replace: "        Cause::Flink | Cause::Unknown | Cause::Ours if FAULT => wanted(deletion, look, now, verdict),\n        Cause::Flink | Cause::Unknown | Cause::Ours => Outcome::Report(FindingCode::CannotJudge),",
    },
    Planted {
        name: "_metadata comes first",
        danger: "a job starts from a checkpoint that isn't whole",
        file: ANSWER,
        find: "        Ok(if !seen.overwritten.is_empty() {",
        replace: "        Ok(if FAULT {\n            ItsFiles::AllThere\n        } else if !seen.overwritten.is_empty() {",
    },
    Planted {
        name: "the budget is ignored",
        danger: "one mistake copies a bucket",
        file: ANSWER,
        find: "            } else if with_this.objects > mandate.objects_per_day",
        replace: "            } else if (!FAULT && with_this.objects > mandate.objects_per_day)",
    },
    Planted {
        name: "the pause is ignored",
        danger: "a person can't stop it",
        file: ANSWER,
        find: "            let (code, why) = if self.eyes.switches.paused {",
        replace: "            let (code, why) = if !FAULT && self.eyes.switches.paused {",
    },
    Planted {
        name: "what waits is answered as done",
        danger: "nobody looks again before the sweep",
        file: ANSWER,
        find: "    match why {\n        LaterReason::Quiet",
        replace: "    match why {\n        _ if FAULT => false,\n        LaterReason::Quiet",
    },
    Planted {
        name: "a copy that failed is answered as done",
        danger: "a throttled minute costs the state",
        file: ANSWER,
        find: "                (_, Done::Failed(why)) => Some(",
        replace: "                (_, Done::Failed(why)) if !FAULT => Some(",
    },
    Planted {
        name: "nobody is told",
        danger: "the deadline passes and nobody knows",
        file: "crates/stayput-guard/src/guard/telling.rs",
        find: "        let mut news = Vec::new();\n",
        replace: "        if FAULT {\n            all.clear();\n        }\n        let mut news = Vec::new();\n",
    },
    Planted {
        name: "a listing that failed is an empty one",
        danger: "what couldn't be read just now isn't needed",
        file: "crates/stayput-guard/src/survey.rs",
        find: "                Err(e) => self.fail(job, e.to_string()),\n            }\n        }\n        for directory in savepoints {",
        replace: "                Err(_) if FAULT => {}\n                Err(e) => self.fail(job, e.to_string()),\n            }\n        }\n        for directory in savepoints {",
    },
    Planted {
        name: "history before the installation is undone",
        danger: "on the first day everything comes back that was ever deleted",
        file: "crates/stayput-guard/src/mandate.rs",
        find: "            marker >= since\n",
        replace: "            FAULT || marker >= since\n",
    },
    Planted {
        name: "a _metadata that was written again isn't read again",
        danger: "a new run's references are those of the old one",
        file: "crates/stayput-guard/src/inspect.rs",
        find: "    if changed {\n        survey.look_up",
        replace: "    if changed && !FAULT {\n        survey.look_up",
    },
];
