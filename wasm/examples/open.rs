//! Opens a file as the page does, natively: `open FILE` prints the milliseconds of CPU that it took as soon as a line comes on standard input, and so on for
//! each line. What WebAssembly costs is held against it, in turn in the same run.

use std::hint::black_box;
use std::io::BufRead as _;
use std::time::Instant;

use stayput_core::inspection::{Opened, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: open FILE")?;
    let bytes = std::fs::read(file)?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let bytes = bytes.clone();
        let began = Instant::now();
        let opened = black_box(open(bytes, None));
        let took = began.elapsed();
        let Opened::Whole(document) = opened else {
            return Err("it can't be read to its end".into());
        };
        println!("{:.1} {}", took.as_secs_f64() * 1e3, document.handles().len());
    }
    Ok(())
}
