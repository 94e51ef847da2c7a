//! Settings that a bucket contradicts: roots under which nothing lies, a control prefix that a rule empties.

use stayput_core::layout;
use stayput_core::lifecycle_rules::{self, RuledObject};
use stayput_core::report::finding::{Finding, FindingCode};
use stayput_core::root::{Root, RootKind};

use super::{Eyes, Journal, Reading};
use crate::memory::LASTING;
use crate::port::{PortErrorKind, VersionsOf};

/// What settings say and the buckets don't.
pub(super) async fn findings<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    unread: &mut Vec<String>,
    unknown: &mut Vec<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in eyes.mandate.roots.iter() {
        let prefix = root.metadata_prefix();
        let about = format!("s3://{}/{prefix}", root.bucket());
        if is_job_directory(root, &prefix) {
            findings.push(Finding::new(FindingCode::RootIsJobDirectory, about.clone()));
        }
        let of = VersionsOf {
            bucket: root.bucket(),
            prefix: &prefix,
            by_directory: true,
            after_key: None,
            pages: Some(1),
        };
        match eyes.reading.versions(of).await {
            Ok(listing) if listing.entries.is_empty() && listing.prefixes.is_empty() => {
                findings.push(Finding::new(FindingCode::RootEmpty, about));
            }
            Ok(_) => {}
            Err(e) if e.kind == PortErrorKind::NotFound => {
                let mut finding = Finding::new(FindingCode::RootEmpty, about);
                finding.meaning = format!(
                    "The bucket {} of this root doesn't exist, so Stayput protects nothing here.",
                    root.bucket()
                );
                findings.push(finding);
            }
            Err(e) if e.is_transient() => unread.push(e.to_string()),
            Err(e) => unknown.push(e.to_string()),
        }
    }
    if let Some(control) = &eyes.mandate.control {
        match eyes.reading.lifecycle(control.bucket()).await {
            Ok(rules) => {
                let taken = LASTING.iter().find_map(|folder| {
                    let key = format!("{}{folder}0", control.key());
                    let document = RuledObject {
                        key: &key,
                        size: 200,
                        written: eyes.now,
                        tags: None,
                    };
                    lifecycle_rules::hides(&rules, document).map(|(rule, _)| rule.name().to_owned())
                });
                if let Some(rule) = taken {
                    let mut finding = Finding::new(FindingCode::ControlExpires, control.to_string());
                    finding.next_step = format!(
                        "Exclude {} from the rule {rule:?} of the bucket {}.",
                        control.key(),
                        control.bucket()
                    );
                    findings.push(finding);
                }
            }
            Err(e) if e.is_transient() => unread.push(e.to_string()),
            Err(e) => unknown.push(e.to_string()),
        }
    }
    findings
}

/// Job directories are named by 32 hex digits.
fn is_job_directory(root: &Root, prefix: &str) -> bool {
    let last = prefix.trim_end_matches('/').rsplit('/').next();
    root.kind == RootKind::Checkpoints && last.is_some_and(layout::is_job_id)
}
