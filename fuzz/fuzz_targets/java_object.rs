//! Arbitrary bytes as a Java object stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use stayput_hostile::target::Target;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    Target::named("java_object").expect("a target").check(bytes);
});
