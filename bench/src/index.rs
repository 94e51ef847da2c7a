//! From the bytes of a `_metadata` to an index that answers who names a key.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::reference_index::ReferenceIndex;
use stayput_core::root::Roots;

use crate::cpu;
use crate::flink::Flink;
use crate::parser::MILLION;
use crate::record::Part;
use crate::series::{RUNS, Series};

const JOB: &str = "00000000000000000000000000000001";

fn build(bytes: &[u8], metadata: &ObjectLocation) -> Result<ReferenceIndex, String> {
    let taken = take(bytes, metadata, &Roots::default()).map_err(|e| format!("{:?}", e.why))?;
    let mut index = ReferenceIndex::new();
    index
        .add(
            taken
                .references
                .iter()
                .map(|(location, extent)| (location, *extent)),
        )
        .map_err(|e| e.to_string())?;
    Ok(index)
}

/// The keys in an order that has nothing to do with that of the file, the same in each run.
fn shuffled(mut keys: Vec<ObjectLocation>) -> Vec<ObjectLocation> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..keys.len()).rev() {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state % (at as u64 + 1)).unwrap_or(0);
        keys.swap(at, other);
    }
    keys
}

pub(crate) fn measure(flink: &Flink, work: &Path) -> Result<Part, String> {
    let mut part = Part::begin();
    let file = flink.generate(MILLION, JOB, work)?;
    let bytes = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let metadata = ObjectLocation::new("flink-state", format!("checkpoints/{JOB}/chk-42/_metadata"));
    let mut built = Series::default();
    let mut index = ReferenceIndex::new();
    for _ in 0..RUNS {
        drop(std::mem::take(&mut index));
        let (fresh, took) = cpu::milliseconds(|| build(black_box(&bytes), &metadata));
        index = fresh?;
        built.push(took);
    }
    let taken = take(&bytes, &metadata, &Roots::default()).map_err(|e| format!("{:?}", e.why))?;
    let keys = shuffled(
        taken
            .references
            .into_iter()
            .map(|(location, _)| location)
            .collect(),
    );
    let mut found = Series::default();
    for key in &keys {
        let before = Instant::now();
        let hit = index.find(black_box(key)).is_some();
        let took = before.elapsed();
        if !hit {
            return Err(format!("{key} isn't in the index"));
        }
        found.push(took.as_secs_f64() * 1e9);
    }
    let absent = keys.iter().take(100_000).map(|key| {
        let key = ObjectLocation::new("flink-state", format!("{}x", key.key()));
        let before = Instant::now();
        let hit = index.find(black_box(&key)).is_some();
        (hit, before.elapsed().as_secs_f64() * 1e9)
    });
    let absent: Vec<(bool, f64)> = absent.collect();
    if absent.iter().any(|(hit, _)| *hit) {
        return Err("the index names a key that isn't in the file".to_owned());
    }
    let absent: Series = absent.into_iter().map(|(_, took)| took).collect();
    part.at_most(
        "bytes to an index that is ready for look-ups",
        built.median(),
        150.0,
        "ms CPU",
    );
    part.at_most("look-up of a random key, median", found.median(), 300.0, "ns");
    part.facts.push(format!(
        "{} objects; look-ups of {} present keys in random order: {:.0} ns median, {:.0} ns least; of 100,000 absent ones {:.0} ns \
         median. Both include the clock's two calls, wall time",
        index.objects(),
        keys.len(),
        found.median(),
        found.least(),
        absent.median()
    ));
    part.row("a million references: bytes to index", "ms CPU", built);
    Ok(part.end())
}
