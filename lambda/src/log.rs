//! One JSON object a line. Documents (verdicts, findings, summaries) lie in it as they are, not as text.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use stayput_aws::clock::SystemClock;
use stayput_core::shown::ShownJson;
use stayput_guard::port::Clock;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// What our own lines are filtered by.
pub(crate) const TARGET: &str = "stayput";

/// The variable with a level (`debug`), or with directives as `tracing` has them.
const VARIABLE: &str = "STAYPUT_LOG";

/// The field with a JSON object whose members are members of the line: CloudWatch looks for metrics there and no deeper.
const MEMBERS: &str = "metrics";

/// Fields whose text is JSON already.
const DOCUMENTS: [&str; 3] = ["verdict", "finding", "summary"];

/// Begins to log, and makes panics a line of the log.
pub(crate) fn start() -> Result<(), String> {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let directives = match wanted.trim() {
        "" => format!("warn,{TARGET}=info"),
        level if level.bytes().all(|b| b.is_ascii_alphabetic()) => format!("warn,{TARGET}={level}"),
        directives => directives.to_owned(),
    };
    let filter = EnvFilter::try_new(&directives).map_err(|e| {
        format!(
            "{VARIABLE} is {wanted:?}: {e}; write error, warn, info, debug or trace, or directives of tracing"
        )
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .event_format(Lines)
        .with_writer(std::io::stdout)
        .init();
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("(no text)");
        tracing::error!(target: TARGET, at, "a panic, which is a defect of Stayput: {what}");
    }));
    Ok(())
}

/// Writes the lines.
pub(crate) struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let meta = event.metadata();
        let mut line = Map::new();
        line.insert("time".to_owned(), json!(SystemClock.now().to_string()));
        line.insert("level".to_owned(), json!(meta.level().as_str()));
        if meta.target() != TARGET {
            line.insert("target".to_owned(), json!(meta.target()));
        }
        line.append(&mut fields.plain);
        line.append(&mut fields.members);
        let mut text = Value::Object(line).to_string();
        for (name, document) in fields.documents {
            // Before the closing brace; names are ours and need no escapes.
            text.truncate(text.len().saturating_sub(1));
            text.push_str(&format!(",\"{name}\":{document}}}"));
        }
        // Viewers of logs end lines at more than line feeds, and show the rest in a terminal.
        writeln!(writer, "{}", ShownJson(&text))
    }
}

#[derive(Default)]
struct Fields {
    plain: Map<String, Value>,
    members: Map<String, Value>,
    documents: Vec<(&'static str, Box<RawValue>)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.plain
            .insert(field.name().to_owned(), json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MEMBERS
            && let Ok(Value::Object(members)) = serde_json::from_str(value)
        {
            self.members = members;
        } else if DOCUMENTS.contains(&field.name())
            && let Ok(document) = RawValue::from_string(value.to_owned())
        {
            self.documents.push((field.name(), document));
        } else {
            self.plain.insert(field.name().to_owned(), json!(value));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain.insert(field.name().to_owned(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain.insert(field.name().to_owned(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain.insert(field.name().to_owned(), json!(value));
    }
}

#[cfg(test)]
mod kept;
#[cfg(test)]
pub(crate) use kept::written;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line_whatever_somebody_is_called() {
        let names: Vec<&str> = stayput_hostile::names::NAMES.to_vec();
        let text = written(|| {
            for name in &names {
                let document = json!({ "object": format!("s3://b/{name}"), "by": name }).to_string();
                tracing::warn!(target: TARGET, finding = document, request = name, other = ?name, "{name} was deleted by {name}");
                // Something else than a document where a document belongs.
                tracing::warn!(target: TARGET, verdict = name, "{name}");
            }
        });
        let is_unsafe = |c: char| c != '\n' && stayput_core::shown::is_unsafe(c);
        assert!(!text.contains(is_unsafe), "{:?}", text.find(is_unsafe));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 * names.len());
        for (pair, name) in lines.chunks(2).zip(&names) {
            let line: Value = serde_json::from_str(pair[0]).unwrap();
            assert_eq!(line["finding"]["by"], *name);
            assert_eq!(line["request"], *name);
            assert_eq!(line["message"], format!("{name} was deleted by {name}"));
            assert_eq!(line["level"], "WARN");
            let line: Value = serde_json::from_str(pair[1]).unwrap();
            assert_eq!((&line["message"], &line["level"]), (&json!(name), &json!("WARN")));
        }
    }

    #[test]
    fn a_line_is_one_json_object_with_documents_as_they_are() {
        let text = written(|| {
            let document = r#"{"object":"s3://b/\"k\"","left":{"spare":2}}"#;
            tracing::info!(target: TARGET, verdict = document, request = "r\n1", deletions = 3_u64, "two\nlines");
        });
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["verdict"]["left"]["spare"], 2);
        assert_eq!(line["verdict"]["object"], "s3://b/\"k\"");
        assert_eq!(line["message"], "two\nlines");
        assert_eq!(
            (&line["request"], &line["deletions"]),
            (&json!("r\n1"), &json!(3))
        );
    }
}
