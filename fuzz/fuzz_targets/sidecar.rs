//! Arbitrary bytes between the head and the seal of a sidecar.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use stayput_hostile::target::Target;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    Target::named("sidecar").expect("a target").check(bytes);
});
