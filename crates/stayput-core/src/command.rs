//! Commands that a person may paste, made of names that anybody may have chosen.

use serde_json::{Map, Value};

use crate::shown::is_unsafe;

/// A command of `aws s3api` with these parameters, named as S3's API names them: `VersionId` becomes `--version-id`.
///
/// It is one line without a control character, safe to paste into any POSIX shell, and means these very values: no part of a name
/// becomes a command, an option, or the name of a local file that the AWS command would read (`file://…`).
pub fn aws_s3api(operation: &str, parameters: &[(&str, &str)]) -> String {
    aws("s3api", operation, parameters)
}

/// The same for another service of the AWS command, whose parameters are named as its API names them.
pub fn aws(service: &str, operation: &str, parameters: &[(&str, &str)]) -> String {
    let mut command = format!("aws {service} {operation}");
    if parameters.iter().all(|(_, value)| is_an_argument(value)) {
        for (name, value) in parameters {
            command += &format!(" {} {}", option(name), quoted(value));
        }
    } else {
        let input: Map<String, Value> = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect();
        command += &format!(" --cli-input-json '{}'", ascii(&Value::from(input).to_string()));
    }
    command
}

/// `VersionId` as `--version-id`.
fn option(name: &str) -> String {
    let mut option = String::from("-");
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            option.push('-');
        }
        option.push(c.to_ascii_lowercase());
    }
    option
}

/// Whether the AWS command takes the text for what it is, and a terminal shows it.
pub fn is_an_argument(text: &str) -> bool {
    let means_more = ["-", "file://", "fileb://", "http://", "https://"];
    !text.contains(is_unsafe) && !means_more.iter().any(|start| text.starts_with(start))
}

/// One argument for a POSIX shell, whatever the text.
pub fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// JSON that means the same, of ASCII characters only and without `'`. These can stand only within its strings.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\'' || !matches!(c, ' '..='~') {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aws_s3api;

    #[test]
    fn names_are_arguments_and_nothing_else() {
        let of = |bucket: &str| aws_s3api("delete-bucket-lifecycle", &[("Bucket", bucket)]);
        let cases = [
            ("flink-state", "--bucket flink-state"),
            ("b; rm -rf ~", "--bucket 'b; rm -rf ~'"),
            ("$(id)`id`", "--bucket '$(id)`id`'"),
            ("it's", r"--bucket 'it'\''s'"),
            ("", "--bucket ''"),
            (
                "--endpoint-url",
                r#"--cli-input-json '{"Bucket":"--endpoint-url"}'"#,
            ),
            ("file://x'", r#"--cli-input-json '{"Bucket":"file://x\u0027"}'"#),
            ("a\nb\u{202e}", r#"--cli-input-json '{"Bucket":"a\nb\u202e"}'"#),
        ];
        for (bucket, arguments) in cases {
            let expected = format!("aws s3api delete-bucket-lifecycle {arguments}");
            assert_eq!(of(bucket), expected, "{bucket:?}");
        }
        assert_eq!(
            aws_s3api("delete-object", &[("Bucket", "b"), ("VersionId", "v")]),
            "aws s3api delete-object --bucket b --version-id v"
        );
    }
}
