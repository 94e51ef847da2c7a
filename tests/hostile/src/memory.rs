//! How much memory something takes at most. Counts only in binaries that make [`PeakAlloc`] their allocator, and for
//! all threads: nothing may run beside it.

use peak_alloc::PeakAlloc;

/// Runs `f` and checks that it took at most `most` bytes.
///
/// # Panics
/// It took more.
pub fn bounded<R>(what: &str, most: usize, f: impl FnOnce() -> R) -> R {
    PeakAlloc.reset_peak_usage();
    let before = PeakAlloc.current_usage();
    let result = f();
    let used = PeakAlloc.peak_usage().saturating_sub(before);
    assert!(used <= most, "{what}: {used} bytes of memory, more than {most}");
    result
}

/// Whether this binary counts at all.
pub fn is_counted() -> bool {
    PeakAlloc.current_usage() > 0
}
