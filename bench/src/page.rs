//! Writes docs/benchmarks.md from the numbers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::record::{Part, Parts, rounded};

/// Parts in the order of the page: name, title, what the figures mean.
const SECTIONS: [(&str, &str, &str); 8] = [
    (
        "parser",
        "Reading a `_metadata`, with Flink beside us",
        "One file that Flink's own serializer wrote, read by Flink 2.3.0 and by us in turn in the same minutes. *References* are \
         the objects that a snapshot names; Flink has no such reading. *Whole tree, folded* builds the tree and puts every \
         byte of every field into a checksum, which is the nearest to what Flink's load does. *Flink from memory* loads from a byte \
         array, *from a file* as Flink itself does, by the stream of its local file system. A warm JVM with the serial collector; \
         *its thread* leaves out garbage collection and compilation, so that goals are held against the figure that is best for Flink.",
    ),
    (
        "shapes",
        "The same for other kinds of checkpoints, a tenth as big",
        "*Incremental* as above, *segment* with merged files, *channel* with bytes in flight of unaligned checkpoints.",
    ),
    (
        "index",
        "From the bytes to an index",
        "What the Lambda does with a checkpoint that it meets for the first time: read it, resolve each name to bucket and key, and \
         enter it into the index that answers which snapshots name a key.",
    ),
    (
        "cold",
        "A process that begins anew",
        "The first call of a new process before thirty jobs, each with one checkpoint of a million references, told of one deletion: \
         without a control prefix it reads every `_metadata`; with one it writes their sidecars the first time, and reads those instead from \
         then on. A bucket in memory; CPU time of guard and bucket.",
    ),
    (
        "deletions",
        "Ten thousand deletions by Flink",
        "The normal event: Flink removes what it no longer needs. The real function under AWS's emulator, before a local S3 \
         that holds ten jobs with one checkpoint of 100,000 references each, which the function has read. Messages as a queue hands \
         them over, in payloads of at most 6 MiB; no checkpoint names the deleted objects, which aren't in the bucket, as nothing \
         asks for them. CPU time of the function's process: HTTP, JSON, deciding and logging.",
    ),
    (
        "deciding",
        "The same without a network",
        "The payloads of those deletions read, and decided by a guard in this process before a bucket in memory: ten jobs with one \
         checkpoint of 100,000 references each, which it has read.",
    ),
    (
        "scale",
        "Storms, and many jobs",
        "The guard in this process before a bucket in memory. *Storm*: ten jobs delete a hundred thousand objects, and of each S3 tells \
         three times: Flink's marker, and some days later that the rule for noncurrent versions took the version and then the marker. \
         *Many*: five hundred jobs with two checkpoints of a thousand files each, beside five thousand directories whose jobs are gone. \
         CPU time with the bucket's own work in it; each run in a world of its own.",
    ),
    (
        "start",
        "Start and size",
        "A new process under AWS's emulator, before a local S3, until the emulator's `INIT REPORT`, and from the call until the \
         answer with the first verdict. Wall time: other work on the machine is in it.",
    ),
];

pub(crate) fn write(parts: &Parts, root: &Path) -> Result<(), String> {
    let missed = fs::read_to_string(root.join("bench/missed.md")).unwrap_or_default();
    let file = root.join("docs/benchmarks.md");
    fs::write(&file, page(parts, &missed)).map_err(|e| format!("{}: {e}", file.display()))
}

fn page(parts: &Parts, missed: &str) -> String {
    let mut page = String::from(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench` from `benchmarks.json`, which holds every single value. One part again: \
         `cargo xtask bench parser`. Parts of the code alone: `cargo bench -p stayput-bench`.\n\n\
         CPU time is that of the process and not of the wall clock, since the machine had other work; least and median are of so many \
         runs as the last column says.\n\n\
         | what | goal | measured | |\n| --- | --- | --- | --- |\n",
    );
    let sections = || {
        SECTIONS
            .iter()
            .filter_map(|(name, title, text)| Some((parts.get(*name)?, title, text)))
    };
    for (part, _, _) in sections() {
        for goal in &part.goals {
            let met = if goal.met { "met" } else { "**missed**" };
            let _ = writeln!(page, "| {} | {} | {} | {met} |", goal.what, goal.goal, goal.got);
        }
    }
    for (part, title, text) in sections() {
        section(&mut page, part, title, text);
    }
    if !missed.is_empty() {
        let _ = write!(page, "\n{missed}");
    }
    page
}

fn section(page: &mut String, part: &Part, title: &str, text: &str) {
    let Part {
        day,
        commit,
        machine,
        load: [before, after],
        ..
    } = part;
    let _ = write!(
        page,
        "\n## {title}\n\n{text}\n\n{day}, commit {commit}; {machine}; load {before} before, {after} after.\n\n\
         | what | unit | least | median | most | runs |\n| --- | --- | --- | --- | --- | --- |\n"
    );
    for row in &part.rows {
        let values = &row.values;
        let [least, median, most] = [values.least(), values.median(), values.most()].map(rounded);
        let _ = writeln!(
            page,
            "| {} | {} | {least} | {median} | {most} | {} |",
            row.what,
            row.unit,
            values.len()
        );
    }
    if !part.facts.is_empty() {
        page.push('\n');
    }
    for fact in &part.facts {
        let _ = writeln!(page, "- {fact}");
    }
}
