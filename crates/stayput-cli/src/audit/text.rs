//! The forecast for people.

use std::io::{self, Write};

use stayput_core::command::aws_s3api;
use stayput_core::forecast::{Amount, BucketForecast, Forecast, Harm, JobAge};

use crate::quantity::{Bytes, Count, Table};
use crate::terminal::Shown;

/// How many objects and snapshots are shown of each; the rest is counted.
const SHOWN: usize = 3;

/// Writes what the rules will do to what `snapshots` snapshots need.
pub(super) fn write(
    forecast: &Forecast,
    snapshots: usize,
    listed: bool,
    notes: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    for bucket in &forecast.buckets {
        headline(forecast, bucket, snapshots, out)?;
        for harm in &bucket.harms {
            writeln!(out)?;
            write_harm(forecast, harm, out)?;
        }
        breaks(forecast, bucket, out)?;
        trouble_now(bucket, out)?;
        uploads(forecast, bucket, out)?;
        ages(forecast, bucket, out)?;
        correction(bucket, out)?;
        let mut all: Vec<String> = Vec::new();
        if bucket.unlisted > 0 {
            all.push(if listed {
                format!(
                    "No listing shows {}: another place, or gone. They were judged by their keys alone.",
                    Count(bucket.unlisted, "needed object", "needed objects")
                )
            } else {
                "Without a listing no day can be named. Give one with --listing: `aws s3api list-object-versions --bucket … --prefix …`.".to_owned()
            });
        }
        if bucket.perhaps_archived > 0 {
            all.push(format!(
                "{} or move to a class of which nobody can tell here whether it stays readable, such as INTELLIGENT_TIERING with its archive \
                 tiers: look with `{}`.",
                Count(bucket.perhaps_archived, "needed object lies in", "needed objects lie in"),
                aws_s3api(
                    "list-bucket-intelligent-tiering-configurations",
                    &[("Bucket", &bucket.bucket)]
                )
            ));
        }
        for (other, amount) in &forecast.without_rules {
            all.push(format!(
                "{} in the bucket {other}, whose rules aren't here: audit it with its own rules and --bucket {other}.",
                lie(*amount)
            ));
        }
        all.extend(notes.iter().cloned());
        if !all.is_empty() {
            writeln!(out)?;
        }
        for note in all {
            writeln!(out, "note: {}", Shown(&note))?;
        }
    }
    Ok(())
}

fn lie(amount: Amount) -> String {
    Count(amount.objects, "needed object lies", "needed objects lie").to_string()
}

fn headline(
    forecast: &Forecast,
    bucket: &BucketForecast,
    snapshots: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let answer = if bucket.harms.is_empty() && bucket.aborts.iter().any(|abort| abort.uploads > 0) {
        "ABORT UPLOADS THAT ARE NEEDED, and take no object that is"
    } else if bucket.harms.is_empty() {
        "take nothing that is needed"
    } else if bucket.harms.iter().all(Harm::is_unsure) {
        "may take what is needed"
    } else {
        "TAKE WHAT IS NEEDED"
    };
    let needed = bucket.needed;
    writeln!(
        out,
        "The rules of s3://{} {answer} ({} in {} of {}; at {})",
        Shown(&bucket.bucket),
        Bytes(needed.bytes),
        Count(needed.objects, "object", "objects"),
        Count(snapshots as u64, "snapshot", "snapshots"),
        forecast.now
    )
}

fn write_harm(forecast: &Forecast, harm: &Harm, out: &mut dyn Write) -> io::Result<()> {
    let amount = harm.amount;
    writeln!(
        out,
        "{} {} ({}) {}",
        Shown(&harm.rule.to_string()),
        Shown(&harm.does()),
        Bytes(amount.bytes),
        harm.starting(forecast.now)
    )?;
    line(out, "job", &harm.job.to_string())?;
    if let Some(condition) = harm.condition_text() {
        line(out, "if", condition)?;
    }
    if let (Some(first), Some(last)) = (harm.first, harm.last)
        && first != last
    {
        line(
            out,
            "until",
            &format!("{}, when the last of today's goes", last.day()),
        )?;
    }
    let mut label = "objects";
    for example in harm.examples.iter().take(SHOWN) {
        line(out, label, example)?;
        label = "";
    }
    let more = amount
        .objects
        .saturating_sub(harm.examples.len().min(SHOWN) as u64);
    if more > 0 {
        line(out, "", &format!("and {more} more"))?;
    }
    line(out, "put back", &harm.put_back_text())
}

fn breaks(forecast: &Forecast, bucket: &BucketForecast, out: &mut dyn Write) -> io::Result<()> {
    if bucket.snapshots.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nsnapshots that can't be restored then")?;
    let mut ordered: Vec<_> = bucket.snapshots.iter().collect();
    ordered.sort_by_key(|s| (s.objects == 0, s.from.is_none(), s.from));
    let mut table = Table::new(&[]);
    for snapshot in ordered.iter().take(SHOWN * 3) {
        let when = match snapshot.from {
            Some(from) if from <= forecast.now => "any moment".to_owned(),
            Some(from) => format!("from {}", from.day()),
            None if snapshot.objects == 0 => "perhaps".to_owned(),
            None => "some day".to_owned(),
        };
        let objects = if snapshot.objects == 0 {
            snapshot.perhaps
        } else {
            snapshot.objects
        };
        table.row([
            when,
            Shown(&snapshot.metadata.to_string()).to_string(),
            format!("loses {}", Count(objects, "object", "objects")),
        ]);
    }
    table.write(out, 2)?;
    if ordered.len() > SHOWN * 3 {
        writeln!(out, "  and {} more", ordered.len() - SHOWN * 3)?;
    }
    Ok(())
}

fn trouble_now(bucket: &BucketForecast, out: &mut dyn Write) -> io::Result<()> {
    if bucket.hidden > 0 {
        writeln!(
            out,
            "\n{} hidden by a delete marker already, so a snapshot that needs them can't be restored now:",
            Count(bucket.hidden, "needed object is", "needed objects are")
        )?;
        for example in bucket.hidden_examples.iter().take(SHOWN) {
            writeln!(out, "  {}", Shown(example))?;
        }
    }
    if bucket.archived.objects > 0 {
        writeln!(
            out,
            "\n{} in an archive class already, so no job can read them before they are thawed and copied",
            lie(bucket.archived)
        )?;
    }
    Ok(())
}

fn uploads(forecast: &Forecast, bucket: &BucketForecast, out: &mut dyn Write) -> io::Result<()> {
    for abort in &bucket.aborts {
        writeln!(
            out,
            "\n{} aborts unfinished uploads under {:?} after {}",
            Shown(&abort.rule.to_string()),
            abort.prefix,
            Count(u64::from(abort.days), "day", "days")
        )?;
        if abort.uploads > 0 {
            writeln!(
                out,
                "  among them {} that the state of a sink names: taken {}",
                Count(abort.uploads, "upload", "uploads"),
                abort.starting(forecast.now)
            )?;
            for example in abort.examples.iter().take(SHOWN) {
                writeln!(out, "  {}", Shown(example))?;
            }
        } else {
            writeln!(
                out,
                "  An exactly-once file sink keeps ids of unfinished uploads in its state; none that was read names one that this rule\n  \
                 takes. Of state that wasn't read, a snapshot that is older than that can't be restored without losing its data."
            )?;
        }
    }
    Ok(())
}

fn ages(forecast: &Forecast, bucket: &BucketForecast, out: &mut dyn Write) -> io::Result<()> {
    let known: Vec<(&JobAge, _, _, u32)> = bucket
        .ages
        .iter()
        .filter_map(|age| Some((age, age.oldest.as_ref()?, age.oldest_written?, age.days_today?)))
        .collect();
    if bucket.harms.is_empty() && known.is_empty() {
        return Ok(());
    }
    for (age, oldest, written, days) in known {
        writeln!(out, "\n{}", Shown(&age.job.to_string()))?;
        line(
            out,
            "oldest needed",
            &format!(
                "{} old: {oldest}",
                Count(forecast.now.since(written).as_secs() / 86_400, "day", "days")
            ),
        )?;
        line(
            out,
            "days",
            &format!(
                "a rule with fewer than {days} takes it at once; {}",
                no_number_is_safe(age)
            ),
        )?;
    }
    Ok(())
}

fn no_number_is_safe(age: &JobAge) -> String {
    if age.shared > 0 {
        format!(
            "no number is safe: {} with older snapshots, and such a file stays needed as long as no compaction rewrites it",
            Count(age.shared, "object is shared", "objects are shared")
        )
    } else {
        "nothing of it is shared with older snapshots, so a running job is safe with more days than it ever stops, but a snapshot that is \
         kept ages as a whole"
            .to_owned()
    }
}

fn correction(bucket: &BucketForecast, out: &mut dyn Write) -> io::Result<()> {
    let Some(correction) = &bucket.correction else {
        return Ok(());
    };
    writeln!(out, "\nwhat to change")?;
    for change in &correction.changes {
        writeln!(
            out,
            "  {}: {}",
            Shown(&change.rule.to_string()),
            Shown(&change.what)
        )?;
        if change.reaches_further {
            writeln!(
                out,
                "    It also takes objects outside these jobs. S3 has no filter that leaves a prefix out: give what shall still expire a rule \
                 with its own prefix."
            )?;
        }
    }
    match &correction.configuration {
        Some(configuration) => {
            writeln!(
                out,
                "\nAll rules, corrected. Save them as rules.json, then type\n  {}\n",
                Shown(&correction.command)
            )?;
            writeln!(out, "{}", crate::terminal::ShownJson(configuration))
        }
        None => writeln!(out, "\nNo rule is left. Type\n  {}", Shown(&correction.command)),
    }
}

/// One line with a label.
fn line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {label:<13} {}", Shown(text))
}
