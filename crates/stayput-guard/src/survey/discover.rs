//! Descending roots for job directories and savepoints.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use futures_util::stream;
use stayput_core::layout::{self, METADATA_FILE};
use stayput_core::location::ObjectLocation;
use stayput_core::root::RootKind;
use stayput_core::snapshot::JobDirectory;

use super::{Breadth, CONCURRENT, Eyes, Survey};
use crate::port::{Journal, PortError, PortErrorKind, Reading, VersionsOf};

/// Roots are descended so deep for job directories.
const DEPTH: usize = 4;

impl Survey {
    /// Descends all roots for job directories and savepoints. `false` if anything couldn't be listed.
    pub(super) async fn discover<R: Reading + Sync, J: Journal + Sync>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        breadth: Breadth,
        jobs: &mut BTreeSet<JobDirectory>,
        savepoints: &mut BTreeSet<ObjectLocation>,
    ) -> bool {
        let of_snapshots = |kind| matches!(kind, RootKind::Checkpoints | RootKind::Savepoints);
        let other_roots: Vec<(String, String)> = eyes
            .mandate
            .roots
            .iter()
            .filter(|r| !of_snapshots(r.kind))
            .map(|r| (r.bucket().to_owned(), r.metadata_prefix()))
            .collect();
        let mut level: Vec<(String, String)> = eyes
            .mandate
            .roots
            .iter()
            .filter(|r| of_snapshots(r.kind))
            .map(|r| (r.bucket().to_owned(), r.metadata_prefix()))
            .collect();
        let mut complete = true;
        for depth in 0..=DEPTH {
            let listings: Vec<_> = stream::iter(std::mem::take(&mut level))
                .map(|(bucket, prefix)| async move {
                    let listing = see_level(eyes, breadth, &bucket, &prefix).await;
                    (bucket, prefix, listing)
                })
                .buffer_unordered(CONCURRENT)
                .collect()
                .await;
            for (bucket, prefix, listing) in listings {
                let listing = match listing {
                    Ok(listing) => listing,
                    // A bucket that doesn't exist holds nothing; the sweep says so.
                    Err(e) if e.kind == PortErrorKind::NotFound => continue,
                    Err(e) => {
                        complete = false;
                        self.failed.push(e.to_string());
                        continue;
                    }
                };
                if listing.holds_metadata {
                    savepoints.insert(ObjectLocation::new(&*bucket, &*prefix));
                }
                for child in listing.directories {
                    if other_roots.iter().any(|(b, p)| *b == bucket && *p == child) {
                        continue;
                    }
                    let name = child[prefix.len()..].trim_end_matches('/');
                    let job = |prefix: &str| JobDirectory {
                        bucket: bucket.clone(),
                        prefix: prefix.to_owned(),
                    };
                    if layout::is_job_id(name) {
                        jobs.insert(job(&child));
                    } else if layout::checkpoint_id(name).is_some() || name == "shared" || name == "taskowned"
                    {
                        jobs.insert(job(&prefix));
                    } else if name.starts_with("savepoint-") {
                        savepoints.insert(ObjectLocation::new(&*bucket, &*child));
                    } else if depth < DEPTH {
                        level.push((bucket.clone(), child));
                    }
                }
            }
        }
        complete
    }
}

/// One level of a root.
struct Level {
    /// Prefixes of directories, full and ending in `/`.
    directories: Vec<String>,
    holds_metadata: bool,
}

/// What lies directly below a prefix; for a sweep also what is hidden there.
async fn see_level<R: Reading + Sync, J: Journal + Sync>(
    eyes: &Eyes<'_, R, J>,
    breadth: Breadth,
    bucket: &str,
    prefix: &str,
) -> Result<Level, PortError> {
    let metadata = format!("{prefix}{METADATA_FILE}");
    match breadth {
        Breadth::Named => {
            let listing = eyes.reading.list(bucket, prefix, true).await?;
            Ok(Level {
                holds_metadata: listing.objects.iter().any(|o| o.key == metadata),
                directories: listing.prefixes,
            })
        }
        Breadth::Everything => {
            let of = VersionsOf {
                bucket,
                prefix,
                by_directory: true,
                after_key: None,
                pages: None,
            };
            let listing = eyes.reading.versions(of).await?;
            Ok(Level {
                holds_metadata: listing.entries.iter().any(|e| e.key == metadata),
                directories: listing.prefixes,
            })
        }
    }
}
