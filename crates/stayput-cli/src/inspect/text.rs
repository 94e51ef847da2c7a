//! The summary for people.

use std::io::{self, Write};

use stayput_core::report::summary::{
    Amount, Damage, Held, Kind, KnownFrom, Objects, Operator, Part, Properties, Reading, Summary, Whose,
};

use crate::quantity::{Bytes, Count, Table};
use crate::terminal::Shown;

/// How many directories that are named as a whole are shown.
const NAMED: usize = 3;

/// Writes what came of reading one file. `guessed`: nobody said where the checkpoint lies, it is taken to lie where the file was found.
pub(super) fn write(name: &str, reading: &Reading, guessed: bool, out: &mut dyn Write) -> io::Result<()> {
    match reading {
        Reading::Whole(summary) => whole(name, summary, guessed, out),
        Reading::Damaged(damage) => damaged(name, damage, guessed, out),
        Reading::Refused { message, .. } => writeln!(out, "{}: {}", Shown(name), Shown(message)),
    }
}

fn whole(name: &str, summary: &Summary, guessed: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", Shown(name))?;
    let what = match summary.kind {
        Some(Kind { savepoint: true, .. }) => "savepoint",
        Some(Kind { savepoint: false, .. }) => "checkpoint",
        None => "checkpoint or savepoint",
    };
    let source = match summary.kind {
        Some(Kind {
            known_from: KnownFrom::Directory,
            ..
        }) => ", by the name of its directory",
        Some(_) => "",
        None => " (files of this format don't say which)",
    };
    line(
        out,
        "what",
        format_args!("{what} {}{source}", summary.checkpoint_id),
    )?;
    line(
        out,
        "written by",
        format_args!(
            "{} (format {}, {})",
            summary.releases,
            summary.format_version,
            Bytes(summary.metadata_bytes)
        ),
    )?;
    if let Some(at) = &summary.at {
        line(out, "lies in", format_args!("{}", Shown(&at.to_string())))?;
    }
    if let Some(properties) = &summary.properties {
        line(
            out,
            "properties",
            format_args!("{}", Shown(&properties_text(properties))),
        )?;
    }
    let total = summary.objects.total;
    let inlined = match summary.inlined.handles {
        0 => String::new(),
        n => format!(
            ", {} inlined in {}",
            Bytes(summary.inlined.bytes),
            Count(n, "handle", "handles")
        ),
    };
    line(
        out,
        "state",
        format_args!(
            "{} in {}{inlined}",
            Bytes(total.bytes),
            Count(total.objects, "object", "objects")
        ),
    )?;
    objects(&summary.objects, guessed, out)?;
    let answer = if summary.relocatable.answer { "yes" } else { "no" };
    line(
        out,
        "relocatable",
        format_args!("{answer}: {}", summary.relocatable.reason()),
    )?;
    let mut label = "recognised";
    for feature in &summary.features {
        line(out, label, format_args!("{}", feature.meaning()))?;
        label = "";
    }
    let mut label = "master hooks";
    for state in &summary.master_states {
        line(
            out,
            label,
            format_args!("{} ({})", Shown(&state.name), Bytes(state.bytes)),
        )?;
        label = "";
    }
    operators(&summary.operators, out)
}

/// One line with a label.
fn line(out: &mut dyn Write, label: &str, text: std::fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(out, "  {label:<13} {text}")
}

fn properties_text(properties: &Properties) -> String {
    let mut text = properties.name.clone();
    let details = [
        properties
            .savepoint_format
            .map(|format| format!("format {format}")),
        properties
            .sharing_files
            .map(|sharing| format!("sharing files {sharing}")),
        properties
            .then
            .filter(|then| *then != "NONE")
            .map(|then| format!("then {then}")),
        properties.forced.then(|| "forced".to_owned()),
        properties
            .unclaimed
            .then(|| "restored in NO_CLAIM mode".to_owned()),
    ];
    for detail in details.into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&detail);
    }
    match properties.discarded_when.as_slice() {
        [] => text.push_str("; never deleted by Flink itself"),
        when => {
            text.push_str("; deleted by Flink when ");
            text.push_str(&when.join(", "));
        }
    }
    text
}

fn objects(objects: &Objects, guessed: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut places = Table::new(&[1, 2]);
    for lying in &objects.by_place {
        places.row([
            place(lying.whose, lying.part).to_owned(),
            number(lying.amount),
            bytes(lying.amount),
            caveats(lying.amount),
        ]);
    }
    places.write(out, 16)?;
    for unnameable in [
        Count(objects.unnameable, "object", "objects"),
        Count(objects.unnameable_directories, "directory", "directories"),
    ] {
        if unnameable.0 > 0 {
            line(
                out,
                "",
                format_args!("{unnameable} with a path that is no location"),
            )?;
        }
    }
    if objects.none_at_home && guessed {
        line(
            out,
            "note",
            format_args!(
                "none of the absolute paths lies in this job directory: it looks copied. Say with --at where it came from, to tell its \
                 own files from those of other jobs"
            ),
        )?;
    }
    let foreign = objects
        .by_directory
        .iter()
        .any(|directory| directory.whose != Whose::Own);
    if foreign {
        line(out, "directories", format_args!("that hold these objects"))?;
        let mut table = Table::new(&[1, 2]);
        for directory in &objects.by_directory {
            table.row([
                Shown(&directory.directory).to_string(),
                number(directory.amount),
                bytes(directory.amount),
            ]);
        }
        table.write(out, 16)?;
        if objects.directories_left_out > 0 {
            line(out, "", format_args!("and {} more", objects.directories_left_out))?;
        }
    }
    if objects.named_directory_count > 0 {
        line(
            out,
            "and in whole",
            format_args!(
                "{}, to be kept with all below",
                Count(objects.named_directory_count, "directory", "directories")
            ),
        )?;
        for directory in objects.named_directories.iter().take(NAMED) {
            line(out, "", format_args!("  {}", Shown(&directory.path)))?;
        }
        let left_out = objects.named_directory_count.saturating_sub(NAMED as u64);
        if left_out > 0 {
            line(out, "", format_args!("  and {left_out} more, see stayput refs"))?;
        }
    }
    Ok(())
}

fn number(amount: Amount) -> String {
    Count(amount.objects, "object", "objects").to_string()
}

fn bytes(amount: Amount) -> String {
    Bytes(amount.bytes).to_string()
}

/// What makes the bytes inexact.
fn caveats(amount: Amount) -> String {
    let parts = [
        (amount.at_least, "merged, may be longer"),
        (amount.changelog, "changelog, uncompressed length"),
        (amount.of_unknown_length, "of unknown length"),
    ];
    let texts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!("({})", texts.join("; "))
    }
}

fn place(whose: Whose, part: Part) -> &'static str {
    match (whose, part) {
        (_, Part::Exclusive) => "exclusive",
        (Whose::Own, Part::Shared) => "shared",
        (Whose::Own, Part::Taskowned) => "taskowned",
        (Whose::Own, Part::Checkpoint) => "other checkpoints of this job",
        (Whose::Own, Part::Savepoint | Part::Elsewhere) => "elsewhere in its directory",
        (Whose::OtherJob, Part::Shared) => "other job, shared",
        (Whose::OtherJob, Part::Taskowned) => "other job, taskowned",
        (Whose::OtherJob, Part::Checkpoint) => "other job, checkpoint",
        (Whose::OtherJob, Part::Savepoint) => "savepoint",
        (Whose::OtherJob, Part::Elsewhere) | (Whose::Outside, _) => "outside of job directories",
        (Whose::OtherBucket, Part::Shared) => "other bucket, shared",
        (Whose::OtherBucket, Part::Taskowned) => "other bucket, taskowned",
        (Whose::OtherBucket, Part::Checkpoint) => "other bucket, checkpoint",
        (Whose::OtherBucket, Part::Savepoint) => "other bucket, savepoint",
        (Whose::OtherBucket, Part::Elsewhere) => "other bucket",
        (Whose::OtherFileSystem, Part::Shared) => "other file system, shared",
        (Whose::OtherFileSystem, Part::Taskowned) => "other file system, taskowned",
        (Whose::OtherFileSystem, Part::Checkpoint) => "other file system, checkpoint",
        (Whose::OtherFileSystem, Part::Savepoint) => "other file system, savepoint",
        (Whose::OtherFileSystem, Part::Elsewhere) => "other file system",
        (Whose::Unknown, Part::Shared) => "shared of some job",
        (Whose::Unknown, Part::Taskowned) => "taskowned of some job",
        (Whose::Unknown, Part::Checkpoint) => "in a checkpoint's directory",
        (Whose::Unknown, Part::Savepoint) => "in a savepoint's directory",
        (Whose::Unknown, Part::Elsewhere) => "elsewhere",
    }
}

fn operators(operators: &[Operator], out: &mut dyn Write) -> io::Result<()> {
    line(out, "operators", format_args!("{}", operators.len()))?;
    let mut table = Table::new(&[1]);
    for operator in operators {
        // Only the text before format 5 has neither; an empty cell would say less than the id.
        let who = match (&operator.uid, &operator.name) {
            (Some(uid), Some(name)) => format!("{} ({})", Shown(name), Shown(uid)),
            (None, Some(name)) => format!("{} ({})", Shown(name), operator.id),
            (Some(uid), None) => Shown(uid).to_string(),
            (None, None) => operator.id.clone(),
        };
        let scale = format!("{} of {}", operator.parallelism, operator.max_parallelism);
        let mut state: Vec<String> = operator
            .state
            .iter()
            .map(|(kind, held)| held_text(kind, *held))
            .collect();
        if operator.fully_finished {
            state.push("finished".to_owned());
        } else if operator.finished_subtasks > 0 {
            state.push(format!(
                "{} finished",
                Count(operator.finished_subtasks, "subtask", "subtasks")
            ));
        }
        if state.is_empty() {
            state.push("no state".to_owned());
        }
        table.row([who, scale, state.join("; ")]);
    }
    table.write(out, 4)
}

fn held_text(kind: &str, held: Held) -> String {
    let mut text = kind.to_owned();
    if held.objects > 0 {
        text.push_str(&format!(
            " {} in {}",
            Bytes(held.bytes),
            Count(held.objects, "object", "objects")
        ));
    }
    if held.of_unknown_length > 0 {
        text.push_str(&format!(" ({} of unknown length)", held.of_unknown_length));
    }
    if held.inlined_bytes > 0 || held.objects == 0 {
        let and = if held.objects > 0 { " +" } else { "" };
        text.push_str(&format!("{and} {} inlined", Bytes(held.inlined_bytes)));
    }
    text
}

fn damaged(name: &str, damage: &Damage, guessed: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", Shown(name))?;
    line(out, "unreadable", format_args!("{}", Shown(&damage.message)))?;
    line(
        out,
        "at byte",
        format_args!("{} of {}", damage.offset, damage.metadata_bytes),
    )?;
    if let Some(at) = &damage.at {
        line(out, "lies in", format_args!("{}", Shown(&at.to_string())))?;
    }
    let read = &damage.read_so_far;
    match (read.format_version, read.checkpoint_id) {
        (Some(version), Some(id)) => {
            line(
                out,
                "read so far",
                format_args!("checkpoint {id}, format {version}; this is a part only"),
            )?;
            let objects_total = read.objects.total;
            line(
                out,
                "",
                format_args!(
                    "{}, {}, {} with {}, {} inlined",
                    Count(read.operators, "operator", "operators"),
                    Count(read.subtasks, "subtask", "subtasks"),
                    number(objects_total),
                    bytes(objects_total),
                    Bytes(read.inlined_bytes),
                ),
            )?;
            objects(&read.objects, guessed, out)?;
        }
        (Some(version), None) => line(out, "read so far", format_args!("format {version}, nothing else"))?,
        (None, _) => line(out, "read so far", format_args!("nothing"))?,
    }
    line(out, "meaning", format_args!("{}", damage.meaning))?;
    line(
        out,
        "retry",
        format_args!(
            "{}",
            if damage.retry_helps {
                "may help"
            } else {
                "doesn't help: the same bytes give the same error"
            }
        ),
    )?;
    line(out, "next", format_args!("{}", damage.next_step))
}
