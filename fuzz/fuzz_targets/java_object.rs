//! Arbitrary bytes as a Java object stream.
#![no_main]

use flink_checkpoint::java::read_object;
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fuzz_target!(|bytes: &[u8]| {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = read_object(bytes, 10_000);
    let used = MEMORY.peak_usage().saturating_sub(before);
    assert!(used <= 10_000 * 300, "{used} bytes of memory");
    if let Ok((graph, used)) = result {
        assert!(used <= bytes.len());
        for name in ["a", "checkpointType", "self"] {
            let _ = graph.field(graph.root(), name);
        }
        for (id, node) in graph.nodes() {
            let _ = (
                graph.class(id).map(|class| class.field_names().count()),
                format!("{node:?}").len(),
            );
        }
    }
});
