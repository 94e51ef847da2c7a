//! A history as a picture: a column for each job, the rules, people, the bucket, the guard and who judges it, from cause to effect, and time from top to
//! bottom. One file, which loads nothing from elsewhere and runs no script; what is cut opens with a click, and shows whole under the pointer.

use std::collections::BTreeSet;

use crate::clock::{DAY, HOUR, MINUTE, Millis, SECOND, shown};
use crate::trace::{Happening, Lane};

/// A pause this long is a gap.
const PAUSE: Millis = 10 * MINUTE;
/// So many lines alike are one that opens.
const ALIKE: usize = 4;
/// What the bucket became is told once in so long.
const AT_ONCE: Millis = 2 * SECOND;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Names are long and differ in their first digits: what is between is left out.
fn shortened(text: &str) -> String {
    let mut out = String::new();
    let mut digits = 0;
    for c in text.chars() {
        let of_name = c.is_ascii_hexdigit() || c == '-';
        digits = if of_name { digits + 1 } else { 0 };
        match digits {
            0..=12 => out.push(c),
            13 => {
                let keep = out.len() - 6;
                out.truncate(keep);
                out.push('…');
            }
            _ => {}
        }
    }
    out
}

/// What a line is about, as a class of the style sheet.
fn kind(text: &str) -> &'static str {
    if text.starts_with("VIOLATED") {
        "violated"
    } else if text.starts_with("Restored") || text.starts_with("copied") {
        "restored"
    } else if text.starts_with("Left") {
        "left"
    } else if text.starts_with("tells") || text.starts_with("Reported") || text.starts_with("Lost") {
        "told"
    } else if text.contains("deletes") || text.contains("expires") || text.contains("removes") {
        "deletes"
    } else if text.starts_with("completes") || text.starts_with("is restored") {
        "completes"
    } else {
        "other"
    }
}

fn pause(between: Millis) -> String {
    if between >= 2 * DAY {
        format!("{} days later", between / DAY)
    } else if between >= 2 * HOUR {
        format!("{} hours later", between / HOUR)
    } else {
        format!("{} minutes later", between / MINUTE)
    }
}

/// From cause to effect; jobs by their number.
fn order(lane: Lane) -> (u8, usize) {
    match lane {
        Lane::Job(n) => (0, n),
        Lane::Rules => (1, 0),
        Lane::People => (2, 0),
        Lane::Replication => (3, 0),
        Lane::Bucket => (4, 0),
        Lane::Guard => (5, 0),
        Lane::Oracle => (6, 0),
    }
}

/// What stands side by side: a cell in some of the columns, each with what happened there.
struct Row<'h> {
    at: Millis,
    cells: Vec<(usize, Vec<&'h Happening>)>,
}

/// Cause stands left of effect, so a row goes on as long as the columns don't turn back.
fn rows<'h>(happenings: &'h [Happening], lanes: &[Lane]) -> Vec<Row<'h>> {
    let mut rows: Vec<Row<'h>> = Vec::new();
    for (n, happening) in happenings.iter().enumerate() {
        let told_again = || {
            let mut soon = happenings[n + 1..]
                .iter()
                .take_while(|h| h.at - happening.at < AT_ONCE);
            soon.any(|h| h.lane == Lane::Bucket)
        };
        if happening.lane == Lane::Bucket && told_again() {
            continue;
        }
        let column = lanes.iter().position(|l| *l == happening.lane).unwrap_or(0);
        let together = |row: &&mut Row<'h>| {
            let same_time = row.at / SECOND == happening.at / SECOND;
            same_time && row.cells.last().is_some_and(|(last, _)| *last <= column)
        };
        match rows.last_mut().filter(together) {
            Some(row) => match row.cells.last_mut() {
                Some((last, cell)) if *last == column => cell.push(happening),
                _ => row.cells.push((column, vec![happening])),
            },
            None => rows.push(Row {
                at: happening.at,
                cells: vec![(column, vec![happening])],
            }),
        }
    }
    rows
}

/// The first words of a line, up to the first name of an object: lines with the same are alike.
fn head(text: &str) -> String {
    let words = text.split_whitespace().take_while(|w| !w.contains('/'));
    words.collect::<Vec<_>>().join(" ")
}

/// The line, and what is said in brackets behind it.
fn parted(text: &str) -> (&str, &str) {
    match (text.rfind(" ["), text.ends_with(']')) {
        (Some(at), true) => (&text[..at], &text[at + 2..text.len() - 1]),
        _ => (text, ""),
    }
}

fn line(happening: &Happening) -> String {
    let text = happening.text.trim_start();
    let (what, aside) = parted(text);
    let aside = if aside.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escaped(&shortened(aside)))
    };
    format!(
        "<p class=\"{}\" title=\"{}\">{}{aside}</p>\n",
        kind(text),
        escaped(&happening.to_string()),
        escaped(&shortened(what))
    )
}

fn cell(column: usize, happenings: &[&Happening]) -> String {
    let mut out = format!("<div style=\"grid-column:{}\">\n", column + 2);
    for alike in happenings.chunk_by(|a, b| head(&a.text) == head(&b.text)) {
        let lines: String = alike.iter().map(|h| line(h)).collect();
        match alike {
            [first, .., last] if alike.len() >= ALIKE => {
                let kind = kind(first.text.trim_start());
                let title = escaped(&format!("{first}\n…\n{last}"));
                out.push_str(&format!(
                    "<details><summary class=\"{kind}\" title=\"{title}\">{} × {}</summary>\n{lines}</details>\n",
                    alike.len(),
                    escaped(&head(&first.text))
                ));
            }
            _ => out.push_str(&lines),
        }
    }
    out.push_str("</div>\n");
    out
}

/// The page.
pub fn page(title: &str, happenings: &[Happening]) -> String {
    let lanes: BTreeSet<Lane> = happenings.iter().map(|h| h.lane).collect();
    let mut lanes: Vec<Lane> = lanes.into_iter().collect();
    lanes.sort_by_key(|lane| order(*lane));
    let widths: String = lanes
        .iter()
        // The guard has most to say.
        .map(|lane| match lane {
            Lane::Guard => " minmax(0,2.2fr)",
            Lane::Bucket => " minmax(0,.8fr)",
            _ => " minmax(0,1fr)",
        })
        .collect();
    let mut body = String::from("<header class=\"row\"><span></span>");
    body.extend(lanes.iter().map(|lane| format!("<b>{lane}</b>")));
    body.push_str("</header>\n");
    let mut before: Option<Millis> = None;
    for row in rows(happenings, &lanes) {
        if let Some(before) = before
            && row.at - before >= PAUSE
        {
            body.push_str(&format!("<p class=\"gap\">{}</p>\n", pause(row.at - before)));
        }
        let time = if before.is_some_and(|before| before / SECOND == row.at / SECOND) {
            String::new()
        } else {
            shown(row.at)
        };
        before = Some(row.at);
        let cells: String = row.cells.iter().map(|(column, of)| cell(*column, of)).collect();
        body.push_str(&format!(
            "<section class=\"row\"><time>{time}</time>\n{cells}</section>\n"
        ));
    }
    let title = escaped(title);
    let style = STYLE.replace("WIDTHS", &widths);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{style}</style></head>\n<body><h1>{title}</h1>\n<main>\n{body}</main></body></html>\n"
    )
}

const STYLE: &str = include_str!("picture/style.css");

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(at: Millis, lane: Lane, text: &str) -> Happening {
        Happening {
            at,
            lane,
            text: text.to_owned(),
        }
    }

    #[test]
    fn names_are_cut_and_text_is_escaped() {
        assert_eq!(
            shortened("cp/56b0bb7f8f9fb6c39836b38e576f7e31/chk-13/_metadata"),
            "cp/56b0bb…/chk-13/_metadata"
        );
        assert_eq!(escaped("<&\">"), "&lt;&amp;&quot;&gt;");
        let page = page(
            "a <story>",
            &[
                happening(0, Lane::Job(0), "deletes a"),
                happening(0, Lane::Guard, "  Restored (copied) a"),
            ],
        );
        assert!(page.contains("a &lt;story&gt;") && !page.contains("<story>"));
        assert!(page.contains("class=\"deletes\"") && page.contains("class=\"restored\""));
        assert!(
            !page.contains("src=") && !page.contains("href=") && !page.contains("url("),
            "nothing is loaded from elsewhere"
        );
    }

    #[test]
    fn what_follows_at_once_stands_in_one_row_and_what_turns_back_in_the_next() {
        let told = [
            happening(0, Lane::People, "Person deletes cp/a"),
            happening(10, Lane::Bucket, "3 objects"),
            happening(20, Lane::People, "Person deletes cp/b"),
            happening(30, Lane::Bucket, "2 objects"),
            happening(40, Lane::Guard, "sweeps"),
            happening(50, Lane::People, "Person deletes cp/c"),
        ];
        let lanes = [Lane::People, Lane::Bucket, Lane::Guard];
        let cells: Vec<Vec<(usize, usize)>> = rows(&told, &lanes)
            .iter()
            .map(|row| row.cells.iter().map(|(column, of)| (*column, of.len())).collect())
            .collect();
        assert_eq!(cells, [vec![(0, 2), (1, 1), (2, 1)], vec![(0, 1)]]);
    }

    #[test]
    fn many_lines_alike_are_one_that_opens_and_none_is_lost() {
        let told: Vec<Happening> = (0..6)
            .map(|n| {
                happening(
                    0,
                    Lane::Guard,
                    &format!("  Left (spare) cp/file-{n} [Flink, spare, for nobody]"),
                )
            })
            .collect();
        let page = page("a story", &told);
        assert!(page.contains("<summary class=\"left\"") && page.contains("6 × Left (spare)"));
        for n in 0..6 {
            assert!(page.contains(&format!("cp/file-{n}<small>")), "{n}");
        }
    }
}
