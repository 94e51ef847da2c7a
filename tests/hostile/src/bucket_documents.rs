//! What must hold of any bytes that are read as one of a bucket's documents: lifecycle rules, listings, versioning, notifications.

use s3_documents::notification_configuration::NotificationConfiguration;
use s3_documents::{bucket, lifecycle, listing};

use crate::document_error::check_error;
use crate::memory::bounded;

/// Reads bytes as each of the documents. Gives whether they are lifecycle rules.
///
/// # Panics
/// Something doesn't hold.
pub fn check(bytes: &[u8]) -> bool {
    let most = 64 * bytes.len() + 256 * 1024;
    let rules = bounded("lifecycle", most, || lifecycle::parse(bytes));
    if let Ok(configuration) = &rules {
        for rule in &configuration.rules {
            assert!(rule.abort_incomplete_upload_days != Some(0));
            let _ = (rule.name().len(), format!("{rule:?}").len());
        }
    }
    let versions = bounded("versions", most, || listing::parse_versions(bytes));
    if let Ok(versions) = &versions {
        let rows = versions.rows();
        assert!(
            rows.windows(2).all(|pair| pair[0].key() <= pair[1].key()),
            "rows lie in the order of keys"
        );
    }
    let objects = bounded("objects", most, || listing::parse_objects(bytes));
    let versioning = bounded("versioning", most, || bucket::parse_versioning(bytes));
    let configuration = bounded("configuration", most, || bucket::parse_configuration(bytes));
    let sends = bounded("notifications", most, || NotificationConfiguration::parse(bytes));
    if let Ok(sends) = &sends {
        assert_eq!(sends.text().as_bytes(), bytes);
        let unchanged = sends.merged(&[], false).expect("nothing overlaps with nothing");
        assert!(unchanged.changes_nothing() && unchanged.text == sends.text());
        if let Ok(merged) = sends.merged(&[], true) {
            let after = NotificationConfiguration::parse(merged.text.as_bytes());
            assert!(after.is_ok_and(|a| a.to_event_bridge && a.sendings.len() == sends.sendings.len()));
        }
    }
    let whole = rules.is_ok();
    let errors = [
        rules.err(),
        versions.err(),
        objects.err(),
        versioning.err(),
        configuration.err(),
        sends.err(),
    ];
    errors.iter().flatten().for_each(check_error);
    whole
}
