//! The reference index stays small: 40 MB for a million distinct objects, 6 bytes for each further pair of object and snapshot.

use peak_alloc::PeakAlloc;
use stayput_core::extent::Extent;
use stayput_core::location::ObjectLocation;
use stayput_core::reference_index::ReferenceIndex;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const OBJECTS: usize = 1_000_000;
const FURTHER: u64 = 4;

/// Spreads numbers as random ones are (the finalizer of SplitMix64).
fn mixed(n: u64) -> u64 {
    let x = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A UUID that depends on its number.
fn name(n: u64) -> String {
    let (x, y) = (mixed(n), mixed(!n));
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        x >> 32,
        (x >> 16) & 0xFFFF,
        x & 0xFFF,
        (y >> 52) & 0xFFF,
        y & 0xFFFF_FFFF_FFFF
    )
}

fn location(n: u64) -> ObjectLocation {
    ObjectLocation::new(
        "flink-state",
        format!("checkpoints/2be3cab7043c112ec2d02bfe50f0feb2/shared/{}", name(n)),
    )
}

#[test]
fn a_million_objects_and_many_snapshots_that_share_most_of_them() {
    let before = MEMORY.current_usage();
    let mut index = ReferenceIndex::new();
    let objects = OBJECTS as u64;
    let add = |index: &mut ReferenceIndex, numbers: &mut dyn Iterator<Item = u64>| {
        let owned: Vec<ObjectLocation> = numbers.map(location).collect();
        let snapshot = index
            .add(owned.iter().map(|l| (l, Extent::Exact(67_108_864))))
            .expect("far from full");
        (snapshot, owned.len() as u64)
    };
    let (first, _) = add(&mut index, &mut (0..objects));
    let distinct = MEMORY.current_usage() - before;
    let per_object = distinct as f64 / OBJECTS as f64;
    println!("{OBJECTS} distinct objects: {per_object:.1} bytes each");
    assert!(per_object <= 40.0, "{per_object:.1} bytes per distinct object");

    // Each further snapshot names nine of ten objects, another tenth missing each time and spread as compaction spreads it.
    let mut pairs = 0u64;
    for n in 1..=FURTHER {
        let (_, named) = add(
            &mut index,
            &mut (0..objects).filter(|k| !mixed(k + n * objects).is_multiple_of(10)),
        );
        pairs += named;
    }
    let further = MEMORY.current_usage() - before - distinct;
    let per_pair = further as f64 / pairs as f64;
    println!("{pairs} further pairs: {per_pair:.2} bytes each");
    assert!(per_pair <= 6.0, "{per_pair:.2} bytes per further pair");
    let object = index.find(&location(77)).expect("it was added");
    assert!(index.names(first, object));
    assert_eq!(index.objects(), OBJECTS);
}
