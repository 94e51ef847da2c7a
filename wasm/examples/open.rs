//! Opens a file as the page does, natively: `open FILE` makes a copy of its bytes for each line `copy` on standard input, and opens the copy for each line
//! `open`; it answers each with a line, the second with the number of handles. What WebAssembly costs is held against it, in turn in the same run.

use std::hint::black_box;
use std::io::BufRead as _;

use stayput_core::inspection::{Opened, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: open FILE")?;
    let file = std::fs::read(file)?;
    let mut bytes = Vec::new();
    let mut last = None;
    for line in std::io::stdin().lock().lines() {
        if line? == "copy" {
            last.take();
            bytes = file.clone();
            println!("copied");
            continue;
        }
        let Opened::Whole(document) = black_box(open(std::mem::take(&mut bytes), None)) else {
            return Err("it can't be read to its end".into());
        };
        println!("{}", document.handles().len());
        last = Some(document);
    }
    Ok(())
}
