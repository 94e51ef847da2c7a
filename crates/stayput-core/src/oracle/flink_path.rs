//! Paths as Flink's `Path` class prints them.

/// The directory that relative handles belong to: the pointer itself, or its parent if it names `_metadata`.
pub(super) fn exclusive_directory(pointer: &str) -> String {
    let path = normalize(pointer);
    match path.rsplit_once('/') {
        Some((directory, "_metadata")) => directory.to_owned(),
        _ => path,
    }
}

/// Appends a relative path.
pub(super) fn join(directory: &str, relative: &str) -> String {
    let slash = if directory.ends_with('/') { "" } else { "/" };
    normalize(&format!("{directory}{slash}{relative}"))
}

/// Scheme, authority if there is one, and the path without repeated or trailing slashes.
fn normalize(text: &str) -> String {
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if !scheme.contains('/') => (Some(scheme), rest),
        _ => (None, text),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let mut out = String::with_capacity(text.len());
    if let Some(scheme) = scheme {
        out.push_str(scheme);
        out.push(':');
    }
    if !authority.is_empty() {
        out.push_str("//");
        out.push_str(authority);
    }
    let before = out.len();
    let mut last = ' ';
    for c in path.chars() {
        if c != '/' || last != '/' {
            out.push(c);
        }
        last = c;
    }
    if out.len() > before + 1 && out.ends_with('/') {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_flink_prints_them() {
        assert_eq!(exclusive_directory("file:///cp/job/chk-8"), "file:/cp/job/chk-8");
        assert_eq!(
            exclusive_directory("s3://b/cp//job/chk-8/"),
            "s3://b/cp/job/chk-8"
        );
        assert_eq!(
            exclusive_directory("s3://b/cp/chk-8/_metadata"),
            "s3://b/cp/chk-8"
        );
        assert_eq!(join("s3://b/cp/chk-8", "0a"), "s3://b/cp/chk-8/0a");
        assert_eq!(join("file:/", "0a"), "file:/0a");
        assert_eq!(exclusive_directory("/cp/chk-8"), "/cp/chk-8");
    }
}
