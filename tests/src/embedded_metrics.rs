//! What CloudWatch takes out of lines of a log, by the specification of its embedded metric format; a line that it would refuse is a panic.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The units that CloudWatch knows.
const UNITS: [&str; 27] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

/// The longest line that CloudWatch Logs was ever known to refuse is longer than this, in bytes.
const LONGEST_LINE: usize = 256 << 10;

/// The values of one metric with one set of dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Where the metric is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// In CloudWatch's words.
    pub unit: String,
    /// Names and values of the dimensions.
    pub dimensions: BTreeMap<String, String>,
    /// One, or up to a hundred.
    pub values: Vec<f64>,
}

/// Everything that CloudWatch takes out of these lines. Lines that aren't of that format are passed over, as it does.
///
/// # Panics
/// A line is of that format and breaks a rule of it.
#[must_use]
pub fn measured(lines: &[Value]) -> Vec<Measured> {
    let mut all = Vec::new();
    for line in lines {
        let Some(line) = line.as_object().filter(|line| line.contains_key("_aws")) else {
            continue;
        };
        let length = Value::Object(line.clone()).to_string().len();
        assert!(length <= LONGEST_LINE, "{length} bytes");
        let about = object(&line["_aws"], "_aws");
        let timestamp = about["Timestamp"].as_i64().expect("Timestamp is a number");
        // CloudWatch takes no metric that is older than two weeks or from the future: this tells milliseconds from seconds.
        assert!(
            (1_500_000_000_000..10_000_000_000_000).contains(&timestamp),
            "{timestamp}"
        );
        let directives = array(&about["CloudWatchMetrics"], "CloudWatchMetrics");
        assert!(!directives.is_empty(), "{line:?}");
        for directive in directives {
            of_directive(line, object(directive, "a directive"), &mut all);
        }
    }
    all
}

fn of_directive(line: &Map<String, Value>, directive: &Map<String, Value>, all: &mut Vec<Measured>) {
    let members: BTreeSet<&str> = directive.keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["Dimensions", "Metrics", "Namespace"]));
    let namespace = text(&directive["Namespace"], 1024);
    let sets = array(&directive["Dimensions"], "Dimensions");
    assert!(
        !sets.is_empty(),
        "at least one set of dimensions, which may be empty"
    );
    let sets: Vec<BTreeMap<String, String>> = sets.iter().map(|set| dimensions(line, set)).collect();
    let metrics = array(&directive["Metrics"], "Metrics");
    assert!((1..=100).contains(&metrics.len()), "{} metrics", metrics.len());
    let mut names = BTreeSet::new();
    for metric in metrics {
        let metric = object(metric, "a metric");
        assert!(
            metric
                .keys()
                .all(|k| ["Name", "Unit", "StorageResolution"].contains(&k.as_str()))
        );
        let (name, unit) = (text(&metric["Name"], 1024), text(&metric["Unit"], 64));
        assert!(names.insert(name), "{name} is named twice");
        assert!(UNITS.contains(&unit), "{name}: {unit} is no unit of CloudWatch");
        let value = line.get(name).unwrap_or_else(|| panic!("{name} has no value"));
        let values: Vec<f64> = match value {
            Value::Array(values) => values.iter().map(number).collect(),
            one => vec![number(one)],
        };
        assert!(
            (1..=100).contains(&values.len()),
            "{name}: {} values",
            values.len()
        );
        all.extend(sets.iter().map(|set| Measured {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            dimensions: set.clone(),
            values: values.clone(),
        }));
    }
}

fn dimensions(line: &Map<String, Value>, set: &Value) -> BTreeMap<String, String> {
    let names = array(set, "a set of dimensions");
    assert!(names.len() <= 30, "{} dimensions", names.len());
    let of = |name: &Value| {
        let name = text(name, 250);
        let value = line
            .get(name)
            .unwrap_or_else(|| panic!("the dimension {name} has no value"));
        let value = text(value, 1024);
        assert!(
            value.bytes().all(|b| (0x20..0x7f).contains(&b))
                && !value.trim().is_empty()
                && !value.starts_with(':'),
            "{name}: {value:?}"
        );
        (name.to_owned(), value.to_owned())
    };
    let all: BTreeMap<String, String> = names.iter().map(of).collect();
    assert_eq!(all.len(), names.len(), "a dimension is named twice");
    all
}

fn number(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    // CloudWatch's bounds.
    assert!(
        number == 0.0 || (1e-100..1e100).contains(&number.abs()),
        "{number}"
    );
    number
}

fn text(value: &Value, longest: usize) -> &str {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no text"));
    assert!((1..=longest).contains(&text.chars().count()), "{text:?}");
    text
}

fn object<'v>(value: &'v Value, what: &str) -> &'v Map<String, Value> {
    value
        .as_object()
        .unwrap_or_else(|| panic!("{what} is no object: {value}"))
}

fn array<'v>(value: &'v Value, what: &str) -> &'v Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{what} is no array: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(edit: impl FnOnce(&mut Value)) -> Value {
        let mut line = serde_json::json!({
            "_aws": {"Timestamp": 1_764_500_000_000_i64, "CloudWatchMetrics": [
                {"Namespace": "N", "Dimensions": [[], ["Job"]], "Metrics": [{"Name": "Age", "Unit": "Seconds"}]}
            ]},
            "Age": [3, 4.5],
            "Job": "s3://b/j/",
        });
        edit(&mut line);
        line
    }

    #[test]
    fn a_line_gives_its_values_once_for_each_set_of_dimensions() {
        let taken = measured(&[serde_json::json!({"message": "no metrics"}), line(|_| ())]);
        assert_eq!(taken.len(), 2);
        assert_eq!(
            (&*taken[0].name, &*taken[0].unit, taken[0].dimensions.len()),
            ("Age", "Seconds", 0)
        );
        assert_eq!(taken[1].dimensions["Job"], "s3://b/j/");
        assert_eq!(taken[1].values, [3.0, 4.5]);
    }

    #[test]
    fn what_cloudwatch_would_refuse_is_refused() {
        type Edit = fn(&mut Value);
        let broken: [Edit; 14] = [
            |l| l["_aws"]["Timestamp"] = 1_764_500_000_i64.into(),
            |l| l["_aws"]["Timestamp"] = "now".into(),
            |l| l["_aws"]["CloudWatchMetrics"] = Value::Array(Vec::new()),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Namespace"] = "".into(),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Dimensions"] = Value::Array(Vec::new()),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Dimensions"][1][0] = "Absent".into(),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Unit"] = "Hours".into(),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Name"] = "Absent".into(),
            |l| l["_aws"]["CloudWatchMetrics"][0]["Metrics"] = Value::Array(Vec::new()),
            |l| l["_aws"]["CloudWatchMetrics"][0]["More"] = 1.into(),
            |l| l["Age"] = Value::from(vec![1; 101]),
            |l| l["Age"] = Value::Null,
            |l| l["Job"] = "j\u{f6}b".into(),
            |l| l["Job"] = "x".repeat(1025).into(),
        ];
        for (number, edit) in broken.into_iter().enumerate() {
            let line = line(edit);
            let refused = std::panic::catch_unwind(|| measured(std::slice::from_ref(&line)));
            assert!(refused.is_err(), "{number}: {line}");
        }
    }
}
