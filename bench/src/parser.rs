//! References and the whole tree, with Flink's load of the same file in between.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use flink_checkpoint::{Extent, Index, Limits, references};

use crate::cpu;
use crate::flink::{Flink, Shape};
use crate::fold;
use crate::record::Part;
use crate::series::{RUNS, Series};

/// A million handles as RocksDB's incremental checkpoints have them.
pub(crate) const MILLION: Shape = Shape {
    name: "incremental",
    operators: 20,
    subtasks: 500,
    files: 97,
};
/// A tenth of that.
pub(crate) const HUNDRED_THOUSAND: Shape = Shape {
    name: "incremental",
    operators: 10,
    subtasks: 100,
    files: 97,
};
/// All shapes, a tenth as big: Flink needs much longer for the last two.
const TENTHS: [Shape; 3] = [
    HUNDRED_THOUSAND,
    Shape {
        name: "segment",
        operators: 10,
        subtasks: 100,
        files: 97,
    },
    Shape {
        name: "channel",
        operators: 5,
        subtasks: 100,
        files: 100,
    },
];

/// How many references there are, and a number made of their sizes and paths' lengths.
fn read_references(bytes: &[u8]) -> Result<(u64, u64), String> {
    let (mut count, mut size) = (0u64, 0u64);
    let read = references(bytes, &Limits::default(), &mut |reference| {
        count += 1;
        if let Extent::Exact(exact) = reference.extent {
            size = size.wrapping_add(exact);
        }
        size ^= reference.target.path().len() as u64;
        ControlFlow::Continue(())
    });
    read.map_err(|e| e.to_string())?;
    Ok((count, size))
}

/// Bytes to the tree, every field of it visited.
fn read_tree(bytes: &[u8]) -> Result<u64, String> {
    let index = Index::build(bytes, &Limits::default()).map_err(|e| e.to_string())?;
    let snapshot = index.view(bytes).map_err(|e| e.to_string())?;
    Ok(fold::whole(snapshot))
}

/// Sum of the exact sizes as Flink's `OperatorState.getStateSize` has it for the incremental shape.
fn state_size(bytes: &[u8]) -> Result<u64, String> {
    let mut sum = 0;
    let read = references(bytes, &Limits::default(), &mut |reference| {
        if let Extent::Exact(exact) = reference.extent {
            sum += exact;
        }
        ControlFlow::Continue(())
    });
    read.map_err(|e| e.to_string())?;
    Ok(sum)
}

struct Measured {
    references: Series,
    tree: Series,
    /// CPU of Flink's loading thread, from memory.
    flink: Series,
}

fn side_by_side(flink: &Flink, shape: Shape, work: &Path, part: &mut Part) -> Result<(), String> {
    let file = flink.generate(shape, "00000000000000000000000000000001", work)?;
    let bytes = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut loading = flink.loading(&file)?;
    // Flink's classes are loaded and compiled, and both have seen the file.
    for from in ["memory", "file", "memory"] {
        let load = loading.load(from)?;
        if shape.name == "incremental" && load.state_size != state_size(&bytes)? {
            return Err(format!(
                "Flink read {} bytes of state, we {}",
                load.state_size,
                state_size(&bytes)?
            ));
        }
    }
    let (count, checksum) = (read_references(&bytes)?, read_tree(&bytes)?);
    let mut measured = Measured {
        references: Series::default(),
        tree: Series::default(),
        flink: Series::default(),
    };
    let mut others = [const { Vec::new() }; 5];
    for _ in 0..RUNS {
        let (read, took) = cpu::milliseconds(|| read_references(black_box(&bytes)));
        if read? != count {
            return Err("the references aren't the same in each run".to_owned());
        }
        measured.references.push(took);
        let memory = loading.load("memory")?;
        let (read, took) = cpu::milliseconds(|| read_tree(black_box(&bytes)));
        if read? != checksum {
            return Err("the tree isn't the same in each run".to_owned());
        }
        measured.tree.push(took);
        let stream = loading.load("file")?;
        measured.flink.push(memory.thread);
        for (series, value) in others.iter_mut().zip([
            memory.process,
            memory.wall,
            stream.thread,
            stream.process,
            stream.wall,
        ]) {
            series.push(value);
        }
    }
    let name = format!("{} ({} references, {} bytes)", shape.name, count.0, bytes.len());
    part.row(
        &format!("{name}: references"),
        "ms CPU",
        measured.references.clone(),
    );
    part.row(
        &format!("{name}: whole tree, folded"),
        "ms CPU",
        measured.tree.clone(),
    );
    part.row(
        &format!("{name}: Flink from memory, its thread"),
        "ms CPU",
        measured.flink.clone(),
    );
    let names = [
        ("Flink from memory, its process", "ms CPU"),
        ("Flink from memory", "ms wall"),
        ("Flink from a file, its thread", "ms CPU"),
        ("Flink from a file, its process", "ms CPU"),
        ("Flink from a file", "ms wall"),
    ];
    for ((what, unit), series) in names.into_iter().zip(others) {
        part.row(&format!("{name}: {what}"), unit, series.into_iter().collect());
    }
    let rate = bytes.len() as f64 / measured.references.median() / 1e6;
    part.facts.push(format!(
        "{}: references at {rate:.1} GB/s of a core (median); Flink's load costs {:.0} × as much CPU as the references and {:.0} × as \
         much as the tree if it reads from memory, its peak memory was {:.0} MB",
        shape.name,
        measured.flink.median() / measured.references.median(),
        measured.flink.median() / measured.tree.median(),
        loading.peak_memory()? / 1e6,
    ));
    if shape.operators == MILLION.operators {
        part.at_least("references, per core", rate, 4.0, "GB/s");
        part.at_least(
            "references against Flink's warm load from memory, CPU of its thread alone",
            measured.flink.median() / measured.references.median(),
            80.0,
            "×",
        );
        part.at_least(
            "whole tree against Flink's warm load from memory, CPU of its thread alone",
            measured.flink.median() / measured.tree.median(),
            40.0,
            "×",
        );
        let peak: Series = (0..RUNS)
            .map(|_| peak_of_a_process(&file))
            .collect::<Result<_, _>>()?;
        let of_file = peak.median() / bytes.len() as f64;
        part.row(
            &format!("{name}: peak memory of a process that reads file and tree"),
            "bytes",
            peak,
        );
        part.at_most("peak memory, input included", of_file, 1.35, "× the file");
    }
    Ok(())
}

/// Runs ourselves on the file, so that nothing else is in memory.
fn peak_of_a_process(file: &Path) -> Result<f64, String> {
    let us = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(us)
        .arg("peak")
        .arg(file)
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .map_err(|_| format!("no peak memory: {text:?}"))
}

/// What [`peak_of_a_process`] runs.
pub(crate) fn peak(file: &Path) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    black_box(read_tree(&bytes)?);
    println!("{}", cpu::peak_memory("self")?);
    Ok(())
}

/// A million handles.
pub(crate) fn measure(flink: &Flink, work: &Path) -> Result<Part, String> {
    let mut part = Part::begin();
    side_by_side(flink, MILLION, work, &mut part)?;
    Ok(part.end())
}

/// Smaller files of several shapes.
pub(crate) fn measure_shapes(flink: &Flink, work: &Path) -> Result<Part, String> {
    let mut part = Part::begin();
    for shape in TENTHS {
        side_by_side(flink, shape, work, &mut part)?;
    }
    Ok(part.end())
}
