//! A finding as a message for programs: the document of `docs/schema/finding.schema.json`.

use serde::Serialize;

use super::finding::Finding;
use crate::shown::ShownJson;

/// The form of a finding's message; a change that programs would notice gets a new number.
pub const FORM: &str = "stayput.finding.1";

#[derive(Serialize)]
struct Message<'f> {
    form: &'static str,
    #[serde(flatten)]
    finding: &'f Finding,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shortened: bool,
}

/// The message of a finding, at most so many bytes long if the finding without its lists is. Where the lists are too long for that, they are
/// cut, and `shortened` says so.
#[must_use]
pub fn message(finding: &Finding, at_most: usize) -> String {
    let mut text = document(finding, false);
    let mut cut = finding.clone();
    while text.len() > at_most && !(cut.broken.is_empty() && cut.rules.is_empty() && cut.examples.is_empty())
    {
        for list in [&mut cut.broken, &mut cut.rules, &mut cut.examples] {
            list.truncate(list.len() / 2);
        }
        text = document(&cut, true);
    }
    text
}

fn document(finding: &Finding, shortened: bool) -> String {
    let message = Message {
        form: FORM,
        finding,
        shortened,
    };
    // Only maps with keys that aren't text fail, and this has none.
    let text = serde_json::to_string(&message).unwrap_or_default();
    ShownJson(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::FindingCode;

    #[test]
    fn a_message_is_the_finding_and_its_form_and_fits_however_much_is_broken() {
        let mut finding = Finding::new(FindingCode::PurgedVersion, "s3://b/cp/j/chk-8/_metadata");
        for n in 0..20 {
            finding.count(format!("s3://b/cp/j/shared/{n}"));
        }
        let value: serde_json::Value = serde_json::from_str(&message(&finding, 256 << 10)).unwrap();
        let mut plain = serde_json::to_value(&finding).unwrap();
        plain["form"] = FORM.into();
        assert_eq!(value, plain);

        finding.broken = (0..10_000)
            .map(|n| format!("s3://b/cp/j\u{7}/chk-{n}/_metadata"))
            .collect();
        let text = message(&finding, 256 << 10);
        assert!(text.len() <= 256 << 10);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let kept = value["broken"].as_array().unwrap().len();
        assert!((1000..10_000).contains(&kept), "{kept}");
        assert_eq!(
            (&value["shortened"], &value["objects"]),
            (&true.into(), &20.into())
        );
    }
}
