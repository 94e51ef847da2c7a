//! Parts of the code alone, on files of the repository: `cargo bench -p stayput-bench`.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flink_checkpoint::{Index, Limits, references};
use stayput_core::location::ObjectLocation;
use stayput_core::metadata::take;
use stayput_core::root::Roots;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus")
}

/// The biggest `_metadata` of the corpus.
fn biggest() -> Vec<u8> {
    let folders = fs::read_dir(corpus()).unwrap();
    let files = folders.filter_map(|folder| fs::read(folder.unwrap().path().join("_metadata")).ok());
    files.max_by_key(Vec::len).unwrap()
}

fn reading(criterion: &mut Criterion) {
    let bytes = biggest();
    let mut group = criterion.benchmark_group("reading");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("references", |b| {
        b.iter(|| {
            let mut lengths = 0;
            let read = references(black_box(&bytes), &Limits::default(), &mut |reference| {
                lengths += reference.target.path().len();
                ControlFlow::Continue(())
            });
            (lengths, read.is_ok())
        });
    });
    group.bench_function("index of the tree", |b| {
        b.iter(|| Index::build(black_box(&bytes), &Limits::default()).is_ok());
    });
    let at = ObjectLocation::new("flink-state", "checkpoints/job/chk-8/_metadata");
    group.bench_function("what the catalogue takes", |b| {
        b.iter(|| take(black_box(&bytes), &at, &Roots::default()).is_ok());
    });
    group.bench_function("the document of inspect", |b| {
        b.iter(|| stayput_core::report::summary::json(black_box(&bytes), None).len());
    });
    group.finish();
}

criterion_group!(parts, reading);
criterion_main!(parts);
