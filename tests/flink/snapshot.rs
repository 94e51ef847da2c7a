//! What a snapshot in the bucket names.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use flink_checkpoint::{Limits, Target, references};
use stayput_tests::deployment::Deployment;

/// The key of an object or directory of the deployment's bucket.
///
/// # Panics
/// If the URI isn't in it.
pub(crate) fn key(deployment: &Deployment, uri: &str) -> String {
    let key = uri
        .split_once("://")
        .and_then(|(_, rest)| rest.strip_prefix(&deployment.bucket)?.strip_prefix('/'));
    key.unwrap_or_else(|| panic!("{uri} isn't in {}", deployment.bucket))
        .to_owned()
}

/// The keys of the objects that the `_metadata` in this directory (a URI, as Flink names it) needs.
///
/// # Panics
/// If it isn't visible, or can't be read to its end.
pub(crate) fn needed(deployment: &Deployment, directory: &str) -> BTreeSet<String> {
    let directory = key(deployment, directory);
    let metadata = format!("{directory}/_metadata");
    let bytes = deployment
        .get(&metadata)
        .unwrap_or_else(|| panic!("{metadata} isn't visible"));
    let mut keys = BTreeSet::new();
    references(&bytes, &Limits::default(), &mut |reference| {
        let path = reference.target.path().to_string();
        match reference.target {
            Target::Exclusive(_) => keys.insert(format!("{directory}/{path}")),
            Target::Absolute(_) => keys.insert(key(deployment, &path)),
            Target::Directory(_) => false,
        };
        ControlFlow::Continue(())
    })
    .unwrap_or_else(|e| panic!("{metadata}: {e}"));
    assert!(!keys.is_empty(), "{metadata} names nothing");
    keys
}
