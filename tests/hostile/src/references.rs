//! What must hold of what the core makes of any `_metadata`, and of any path in one.

use std::collections::{BTreeMap, BTreeSet};

use flink_checkpoint::{Index, Limits};
use s3_documents::encoding::encode_percent;
use stayput_core::extent::Extent;
use stayput_core::location::{Location, ObjectLocation};
use stayput_core::metadata::{enter, references, take};
use stayput_core::oracle;
use stayput_core::reference_index::{ReferenceIndex, SnapshotNo};
use stayput_core::report::summary::{Reading, read_at};
use stayput_core::root::Roots;
use stayput_core::sidecar::{Of, Recorder, Sidecar};
use stayput_core::snapshot::Facts;

use crate::memory::bounded;

/// Where the file is said to lie.
const DIRECTORY: &str = "s3://bucket/flink/job/chk-7";

/// Makes references, the summary and the whole document of bytes. All agree on whether they are whole and on how many
/// handles there are; every path means one object, however often it is written and read. Gives whether they are whole.
///
/// # Panics
/// Something doesn't hold.
pub fn check(bytes: &[u8]) -> bool {
    let at = ObjectLocation::new("bucket", "flink/job/chk-7/_metadata");
    let most = 24 * bytes.len() + 256 * 1024;
    let mut named = 0;
    let taken = bounded("take", most, || {
        references(bytes, &at, &mut |_, _| named += 1);
        take(bytes, &at, &Roots::new(Vec::new()))
    });
    check_entered(bytes, &at, taken.is_ok());
    let home = Location::parse_flink_path(DIRECTORY).expect("a location");
    let reading = bounded("summary", 2 * most, || read_at(bytes, Some(&home)));
    let index = Index::build(bytes, &Limits::default());
    if let Ok(index) = &index {
        let snapshot = index.view(bytes).expect("the same bytes");
        let document = oracle::document(snapshot, DIRECTORY);
        assert_eq!(document["metadata_bytes"], bytes.len());
        snapshot.references(|reference| {
            if let Some(path) = reference.target.path().as_str() {
                check_path(&path);
            }
        });
    }
    match (&taken, &reading) {
        (Ok(taken), Reading::Whole(summary)) => {
            let counts = taken.complete.counts;
            // Directories on S3 are kept each once.
            let others = counts.references() - named - taken.elsewhere;
            assert!(taken.directories.len() as u64 <= others && others <= counts.directories);
            assert_eq!(summary.objects.handles + counts.directories, counts.references());
        }
        (Err(not), Reading::Damaged(damage)) => {
            assert!(!not.why.to_string().is_empty());
            assert!(damage.offset <= bytes.len() as u64);
        }
        // It is whole, but a path in it is no location.
        (Err(_), Reading::Whole(summary)) => {
            assert!(summary.objects.unnameable + summary.objects.unnameable_directories > 0);
        }
        (Ok(_), _) | (Err(_), Reading::Refused { .. }) => {
            panic!("the summary doesn't agree with the catalogue")
        }
    }
    assert_eq!(index.is_ok(), matches!(reading, Reading::Whole(_)));
    taken.is_ok()
}

/// What was entered while the file was read is what its references name one by one, and what its sidecar says.
fn check_entered(bytes: &[u8], at: &ObjectLocation, whole: bool) {
    let mut one_by_one = BTreeMap::new();
    references(bytes, at, &mut |object, extent| {
        let extents: &mut BTreeSet<Extent> = one_by_one.entry(object).or_default();
        extents.insert(match extent {
            // No object is so long.
            Extent::Exact(n) | Extent::AtLeast(n) | Extent::Changelog(n) if n >> 62 != 0 => Extent::Unknown,
            other => other,
        });
    });
    let mut index = ReferenceIndex::new();
    let roots = Roots::new(Vec::new());
    let of = Of {
        metadata: at,
        etag: "0123456789abcdef",
        size: bytes.len() as u64,
    };
    let recorder = Some(Recorder::of(of, bytes.len().is_multiple_of(2)));
    let entered = enter(bytes, at, &roots, [], &mut index, recorder);
    assert_eq!(entered.is_ok(), whole);
    if let Ok(entered) = entered {
        assert_eq!(names_of(&index, entered.facts.references), one_by_one);
        let sidecar = entered.sidecar.expect("recorded");
        let sidecar = Sidecar::open(sidecar, of).expect("just made");
        assert_eq!(sidecar.has_sinks(), bytes.len().is_multiple_of(2));
        let mut again = ReferenceIndex::new();
        let facts = sidecar.enter(&roots, [], &mut again).expect("room");
        assert_eq!(names_of(&again, facts.references), one_by_one);
        let said = |facts: Facts| {
            (
                facts.checkpoint_id,
                facts.operators,
                facts.backends,
                facts.directories,
            )
        };
        assert_eq!(said(facts), said(entered.facts));
    }
}

fn names_of(index: &ReferenceIndex, snapshot: SnapshotNo) -> BTreeMap<ObjectLocation, BTreeSet<Extent>> {
    let named = |object| {
        (
            index.location(object),
            index.extents(object).into_iter().collect(),
        )
    };
    index.objects_of(snapshot).map(named).collect()
}

/// Reads a path, as Flink writes it and as Java's URIs are written. Gives whether it means anything.
///
/// # Panics
/// The name of what it means doesn't mean that again.
pub fn check_path(path: &str) -> bool {
    let plain = Location::parse_flink_path(path);
    if let Ok(location) = &plain {
        let shown = location.to_string();
        assert_eq!(
            Location::parse_flink_path(&shown).as_ref(),
            Ok(location),
            "{path:?}, shown as {shown:?}"
        );
        if let Location::S3(object) = location {
            let again = ObjectLocation::from_form_encoded(object.bucket(), &object.form_encoded_key());
            assert_eq!(again.as_ref(), Ok(object), "{path:?} in a notification");
            // A bucket stands in a URI as it is, and none has one of these in its name.
            if !object.bucket().contains(['%', '?', '#']) {
                let uri = format!("s3://{}/{}", object.bucket(), encode_percent(object.key()));
                assert_eq!(
                    Location::parse_java_uri(&uri).as_ref(),
                    Ok(location),
                    "{path:?}, as a URI {uri:?}"
                );
            }
        }
    }
    if let Ok(location) = Location::parse_java_uri(path) {
        let shown = location.to_string();
        assert_eq!(
            Location::parse_flink_path(&shown),
            Ok(location),
            "{path:?}, shown as {shown:?}"
        );
    }
    plain.is_ok()
}
