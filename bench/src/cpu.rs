//! CPU time and memory of processes: wall time on a machine with other work says little.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that this process has used so far, in all its threads.
fn process() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

/// Runs something; gives its result and the CPU time of this process meanwhile, in milliseconds.
pub(crate) fn milliseconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = process();
    let result = work();
    let took = process().saturating_sub(before);
    (result, took.as_secs_f64() * 1e3)
}

/// CPU time of another process in milliseconds, by the scheduler's count in nanoseconds; of its living threads.
pub(crate) fn of_process(pid: u32) -> Result<f64, String> {
    let folder = format!("/proc/{pid}/task");
    let mut sum = 0.0;
    for thread in fs::read_dir(&folder)
        .map_err(|e| format!("{folder}: {e}"))?
        .flatten()
    {
        let file = thread.path().join("schedstat");
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let nanoseconds = text.split(' ').next().and_then(|n| n.parse::<f64>().ok());
        sum += nanoseconds.ok_or_else(|| format!("{}: {text:?}", file.display()))? / 1e6;
    }
    Ok(sum)
}

/// The most memory that a process has occupied so far, in bytes (Linux: `VmHWM`).
pub(crate) fn peak_memory(process: &str) -> Result<f64, String> {
    let file = format!("/proc/{process}/status");
    let text = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let kibibytes = text.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<f64>()
            .ok()
    });
    Ok(kibibytes.ok_or_else(|| format!("{file} has no VmHWM"))? * 1024.0)
}
