//! What the core makes of arbitrary bytes behind the magic number of `_metadata`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use stayput_hostile::target::Target;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    Target::named("references").expect("a target").check(bytes);
});
