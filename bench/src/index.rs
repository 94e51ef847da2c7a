//! From the bytes of a `_metadata` to an index that answers who names a key.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use stayput_core::location::ObjectLocation;
use stayput_core::metadata::{enter, references};
use stayput_core::reference_index::ReferenceIndex;
use stayput_core::root::Roots;

use crate::cpu;
use crate::flink::Flink;
use crate::parser::MILLION;
use crate::record::Part;
use crate::series::{RUNS, Series};

/// Look-ups that are timed together.
const BATCH: usize = 100;
const JOB: &str = "00000000000000000000000000000001";

/// As the guard does it.
fn build(bytes: &[u8], metadata: &ObjectLocation) -> Result<ReferenceIndex, String> {
    let mut index = ReferenceIndex::new();
    enter(bytes, metadata, &Roots::default(), [], &mut index, None).map_err(|e| format!("{e:?}"))?;
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

/// Nanoseconds of CPU for each look-up, a value for each batch: the clock costs as much as a look-up.
fn look_up(index: &ReferenceIndex, keys: &[ObjectLocation], present: bool) -> Result<Series, String> {
    let batches = keys.chunks(BATCH).map(|batch| {
        let (hits, took) = cpu::milliseconds(|| {
            let hits = batch.iter().filter(|key| index.find(black_box(key)).is_some());
            hits.count()
        });
        if hits != if present { batch.len() } else { 0 } {
            return Err(format!("{hits} of {} keys are in the index", batch.len()));
        }
        Ok(took * 1e6 / batch.len() as f64)
    });
    batches.collect()
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
    let mut keys = Vec::new();
    references(&bytes, &metadata, &mut |location, _| keys.push(location));
    let keys = shuffled(keys);
    let found = look_up(&index, &keys, true)?;
    let others = |key: &ObjectLocation| ObjectLocation::new(key.bucket(), format!("{}x", key.key()));
    let absent: Vec<_> = keys.iter().take(100_000).map(others).collect();
    let absent = look_up(&index, &absent, false)?;
    part.at_most(
        "bytes to an index that is ready for look-ups",
        built.median(),
        150.0,
        "ms CPU",
    );
    part.at_most(
        "look-up of a random key, median of batches of 100",
        found.median(),
        300.0,
        "ns",
    );
    part.facts.push(format!(
        "{} objects; look-ups of {} present keys in random order: {:.0} ns median, {:.0} ns least; of 100,000 absent ones {:.0} ns \
         median. CPU time, in batches of {BATCH}",
        index.objects(),
        keys.len(),
        found.median(),
        found.least(),
        absent.median()
    ));
    part.row("a million references: bytes to index", "ms CPU", built);
    Ok(part.end())
}
