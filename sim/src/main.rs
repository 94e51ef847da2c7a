//! `stayput-sim`: plays histories and says what didn't hold.

use std::process::ExitCode;
use std::time::Instant;

use stayput_sim::generate;
use stayput_sim::run::play;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| -> Option<u64> {
        let at = words.iter().position(|w| w == name)?;
        words.get(at + 1)?.parse().ok()
    };
    if let Some(seed) = value("--seed") {
        let played = play(&generate::short(seed), true);
        if words.iter().any(|w| w == "--trace") {
            for happening in &played.trace.happenings {
                println!("{happening}");
            }
        }
        for v in &played.violations {
            println!(
                "violated at {}: {}\n  {}",
                stayput_sim::clock::shown(v.at),
                v.invariant,
                v.what
            );
        }
        return if played.violations.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let count = value("--seeds").unwrap_or(1000);
    let from = value("--from").unwrap_or(0);
    let began = Instant::now();
    let (mut steps, mut calls, mut copies, mut unneeded, mut bad, mut events, mut requests) =
        (0, 0, 0, 0, 0, 0, 0.0_f64);
    for seed in from..from + count {
        let played = play(&generate::short(seed), false);
        steps += played.steps;
        calls += played.calls;
        copies += played.copies;
        events += played.events;
        requests = requests.max(played.requests);
        unneeded += played.unneeded.len();
        for u in &played.unneeded {
            println!("seed {seed}: unneeded {u}");
        }
        for v in &played.violations {
            bad += 1;
            println!("seed {seed}: {}: {}", v.invariant, v.what);
        }
    }
    let took = began.elapsed().as_secs_f64();
    println!(
        "{count} histories, {steps} steps, {events} deletions, {calls} calls, {copies} copies, {unneeded} unneeded, {bad} violations, {requests:.1} requests, {took:.1} s, {:.0} a second",
        count as f64 / took
    );
    if bad == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
