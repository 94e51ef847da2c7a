//! All that real systems wrote and all that fuzzing found, through every target. One test, since memory is counted for
//! all threads.

use std::time::Instant;

use peak_alloc::PeakAlloc;
use stayput_hostile::memory::is_counted;
use stayput_hostile::mutate::Stock;
use stayput_hostile::target::TARGETS;
use stayput_hostile::{corpus, metadata};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// So many inputs of real systems there are at least, and so many that fuzzing found, by target.
const AT_LEAST: [(&str, usize, usize); 6] = [
    ("metadata", 100, 150),
    ("references", 100, 600),
    ("java_object", 5, 150),
    ("events", 90, 1_500),
    ("bucket_documents", 120, 1_500),
    ("sidecar", 100, 200),
];

#[test]
fn what_must_hold_holds_of_every_known_input() {
    assert!(is_counted(), "memory isn't counted");
    for target in TARGETS {
        let began = Instant::now();
        let seeds = corpus::seeds(target).expect("the test corpus");
        let found = corpus::found(target).expect("the pack");
        let (_, seeds_at_least, found_at_least) = AT_LEAST
            .into_iter()
            .find(|(name, ..)| *name == target.name)
            .expect("every target has a number");
        assert!(
            seeds.len() >= seeds_at_least,
            "{}: only {} seeds",
            target.name,
            seeds.len()
        );
        assert!(
            found.len() >= found_at_least,
            "{}: only {} inputs found",
            target.name,
            found.len()
        );
        let inputs = seeds.iter().map(|(_, input)| input).chain(&found);
        let whole = inputs.filter(|input| target.check(input)).count();
        if target.name == "bucket_documents" {
            let rules = seeds.iter().filter(|(_, input)| target.check(input)).count();
            assert!(rules >= 100, "only {rules} seeds are lifecycle rules");
        }
        println!(
            "{}: {} seeds and {} found inputs, {whole} of them whole, {:.1} s",
            target.name,
            seeds.len(),
            found.len(),
            began.elapsed().as_secs_f64()
        );
    }
    // A few mutants, so that a plain `cargo test` meets some; `cargo xtask test` makes them for a minute.
    let stock = Stock::load().expect("the corpora");
    for seed in 0..500 {
        let (target, input) = stock.mutant(seed);
        target.check(&input);
    }
    // The magic number is part of what is read.
    assert!(!metadata::check(b""));
}
