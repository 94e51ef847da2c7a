//! A history as a picture: one lane for the bucket, each job, the rules, people, the guard and who judges it, time from top to bottom. One file,
//! which loads nothing from elsewhere.

use std::collections::BTreeSet;

use crate::clock::{DAY, HOUR, MINUTE, Millis, shown};
use crate::trace::{Happening, Lane};

/// Height of a line and of the gap where time passes, in pixels.
const LINE: usize = 17;
const GAP: usize = 26;
const TOP: usize = 70;
const LEFT: usize = 130;
/// Width of a lane.
const WIDTH: usize = 250;
/// So many characters fit into a lane.
const FITS: usize = 42;
/// A pause this long is a gap.
const PAUSE: Millis = 10 * MINUTE;

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
fn kind(happening: &Happening) -> &'static str {
    let text = happening.text.trim_start();
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

/// The page.
pub fn page(title: &str, happenings: &[Happening]) -> String {
    let lanes: Vec<Lane> = happenings
        .iter()
        .map(|h| h.lane)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut body = String::new();
    let mut y = TOP;
    let mut before: Option<Millis> = None;
    for happening in happenings {
        if let Some(before) = before
            && happening.at - before >= PAUSE
        {
            let (from, to) = (LEFT, LEFT + lanes.len() * WIDTH);
            body.push_str(&format!(
                "<line class=\"gap\" x1=\"{from}\" x2=\"{to}\" y1=\"{y}\" y2=\"{y}\"/><text class=\"gap\" x=\"{}\" y=\"{}\">{}</text>\n",
                from + 6,
                y + 12,
                pause(happening.at - before)
            ));
            y += GAP;
        }
        if before != Some(happening.at) {
            body.push_str(&format!(
                "<text class=\"time\" x=\"8\" y=\"{}\">{}</text>\n",
                y + 12,
                shown(happening.at)
            ));
        }
        before = Some(happening.at);
        let lane = lanes.iter().position(|l| *l == happening.lane).unwrap_or(0);
        let x = LEFT + lane * WIDTH;
        let kind = kind(happening);
        let text = shortened(&happening.text);
        let visible: String = if text.chars().count() > FITS {
            text.chars().take(FITS - 1).chain(['…']).collect()
        } else {
            text
        };
        body.push_str(&format!(
            "<g><title>{}</title><rect class=\"{kind}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\"/><text x=\"{}\" y=\"{}\">{}</text></g>\n",
            escaped(&happening.to_string()),
            x + 2,
            WIDTH - 6,
            LINE - 2,
            x + 6,
            y + 12,
            escaped(&visible)
        ));
        y += LINE;
    }
    let mut heads = String::new();
    for (n, lane) in lanes.iter().enumerate() {
        let x = LEFT + n * WIDTH;
        heads.push_str(&format!(
            "<line class=\"lane\" x1=\"{x}\" x2=\"{x}\" y1=\"40\" y2=\"{y}\"/><text class=\"head\" x=\"{}\" y=\"56\">{lane}</text>\n",
            x + 6
        ));
    }
    let (width, height) = (LEFT + lanes.len() * WIDTH + 10, y + 20);
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n{heads}{body}</svg></body></html>\n"
    )
}

const STYLE: &str = "\
body{font:14px system-ui,sans-serif;margin:16px;background:#fff;color:#1b1f24}h1{font-size:17px}\
text{font:11px ui-monospace,monospace;fill:#1b1f24}text.head{font:bold 13px system-ui,sans-serif}text.time{fill:#57606a}\
text.gap{font:italic 12px system-ui,sans-serif;fill:#57606a}line.gap{stroke:#8c959f;stroke-dasharray:4 4}line.lane{stroke:#d0d7de}\
rect{fill:#f0f2f4}rect.deletes{fill:#ffd8d3}rect.restored{fill:#b9f0c4}rect.told{fill:#ffe7a8}rect.violated{fill:#ff8f85;stroke:#8a0f05}\
rect.completes{fill:#cfe4ff}rect.left{fill:#f6f8fa}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_text_is_escaped() {
        assert_eq!(
            shortened("cp/56b0bb7f8f9fb6c39836b38e576f7e31/chk-13/_metadata"),
            "cp/56b0bb…/chk-13/_metadata"
        );
        assert_eq!(escaped("<&\">"), "&lt;&amp;&quot;&gt;");
        let happening = |lane, text: &str| Happening {
            at: 0,
            lane,
            text: text.to_owned(),
        };
        let page = page(
            "a <story>",
            &[
                happening(Lane::Job(0), "deletes a"),
                happening(Lane::Guard, "  Restored (copied) a"),
            ],
        );
        assert!(page.contains("a &lt;story&gt;") && !page.contains("<story>"));
        assert!(page.contains("class=\"deletes\"") && page.contains("class=\"restored\""));
        assert!(
            !page.contains("src=") && !page.contains("href="),
            "nothing is loaded from elsewhere"
        );
    }
}
