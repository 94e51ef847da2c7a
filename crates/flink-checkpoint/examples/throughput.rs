//! Measures how fast references are read: a file of about 130 MB with a million handles of the commonest kind.
//!
//! `cargo run --release -p flink-checkpoint --example throughput`

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use flink_checkpoint::{Index, Limits, facts, fields, references};

/// One operator, 200 subtasks, 5,000 SST files each: tags 11 and 2.
fn file() -> Vec<u8> {
    const SUBTASKS: u32 = 200;
    const FILES: u32 = 5_000;
    let mut out = Vec::new();
    let utf = |out: &mut Vec<u8>, text: &str| {
        out.extend(u16::try_from(text.len()).unwrap_or(0).to_be_bytes());
        out.extend(text.as_bytes());
    };
    out.extend([0x49, 0x60, 0x67, 0x2D, 0, 0, 0, 3]);
    out.extend(42i64.to_be_bytes());
    out.extend(0i32.to_be_bytes());
    out.extend(1i32.to_be_bytes());
    out.extend([7; 16]);
    out.extend(SUBTASKS.to_be_bytes());
    out.extend(32768i32.to_be_bytes());
    out.push(0);
    out.extend(SUBTASKS.to_be_bytes());
    for subtask in 0..SUBTASKS {
        out.extend(subtask.to_be_bytes());
        out.extend([0; 8]);
        out.push(11);
        out.extend(42i64.to_be_bytes());
        utf(&mut out, "4a6a9158-2ef2-4c32-9dc2-3b3200c106c3");
        out.extend((subtask * 100).to_be_bytes());
        out.extend(100i32.to_be_bytes());
        out.extend(1_000_000i64.to_be_bytes());
        out.push(0);
        out.extend(FILES.to_be_bytes());
        for file in 0..FILES {
            utf(&mut out, &format!("{file:06}.sst"));
            out.push(2);
            out.extend(67_108_864i64.to_be_bytes());
            let id = u64::from(subtask * FILES + file).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let path = format!(
                "s3://flink-state/checkpoints/96de47a692a3dc91fecc1516c6a11a0c/shared/{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                id >> 32,
                id & 0xFFFF,
                id >> 20 & 0xFFF,
                id >> 40 & 0xFFF,
                id & 0xFFFF_FFFF_FFFF
            );
            utf(&mut out, &path);
        }
        out.extend(0i32.to_be_bytes());
        utf(&mut out, "caa6134a-39fb-443e-9e8c-3efde21a6f97");
        out.push(0);
        out.extend([0; 8]);
    }
    out
}

fn best(what: &str, bytes: usize, mut f: impl FnMut()) {
    let times = (0..15).map(|_| {
        let start = Instant::now();
        f();
        start.elapsed()
    });
    let best = times.min().unwrap_or(Duration::ZERO);
    println!(
        "{what:<40} {:>8.1} ms  {:>6.2} GB/s",
        best.as_secs_f64() * 1e3,
        bytes as f64 / best.as_secs_f64() / 1e9
    );
}

fn main() {
    let bytes = file();
    let limits = Limits::default();
    let read = references(&bytes, &limits, &mut |_| ControlFlow::Continue(()));
    println!(
        "{} bytes, {} references",
        bytes.len(),
        read.map_or(0, |complete| complete.counts.references())
    );
    best("references", bytes.len(), || {
        let mut lengths = 0;
        let complete = references(&bytes, &limits, &mut |reference| {
            lengths += reference.target.path().len();
            ControlFlow::Continue(())
        });
        black_box((lengths, complete.is_ok()));
    });
    best("references, every path as text", bytes.len(), || {
        let mut lengths = 0;
        let complete = references(&bytes, &limits, &mut |reference| {
            lengths += reference.target.path().as_str().map_or(0, |text| text.len());
            ControlFlow::Continue(())
        });
        black_box((lengths, complete.is_ok()));
    });
    best("facts", bytes.len(), || {
        black_box(facts(&bytes, &limits, &mut |_| {}).is_ok());
    });
    best("index", bytes.len(), || {
        black_box(Index::build(&bytes, &limits).is_ok());
    });
    if let Ok(index) = Index::build(&bytes, &limits) {
        println!(
            "index memory: {:.3} of the file",
            index.memory() as f64 / bytes.len() as f64
        );
        best("view (checks the bytes)", bytes.len(), || {
            black_box(index.view(&bytes).is_ok());
        });
        if let Ok(snapshot) = index.view(&bytes) {
            best("references from the tree", bytes.len(), || {
                let mut lengths = 0;
                snapshot.references(|reference| lengths += reference.target.path().len());
                black_box(lengths);
            });
        }
    }
    best("fields", bytes.len(), || {
        let mut n = 0usize;
        black_box(fields(&bytes, &limits, &mut |_, span| n += span.len()).is_ok());
        black_box(n);
    });
}
