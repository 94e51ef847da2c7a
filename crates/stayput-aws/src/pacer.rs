//! At most so many copies a second, and half as many from each SlowDown on.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Slower than one copy in ten seconds it never gets.
const SLOWEST: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Pacer(Mutex<Pace>);

#[derive(Debug)]
struct Pace {
    gap: Duration,
    next: Option<Instant>,
}

impl Pacer {
    /// `per_second` 0 counts as 1.
    pub(crate) fn new(per_second: u32) -> Self {
        let gap = Duration::from_secs(1) / per_second.max(1);
        Self(Mutex::new(Pace { gap, next: None }))
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) {
        let at = {
            let mut pace = self.0.lock().await;
            let now = Instant::now();
            let at = pace.next.map_or(now, |next| next.max(now));
            pace.next = Some(at + pace.gap);
            at
        };
        tokio::time::sleep_until(at).await;
    }

    /// The server asked to slow down.
    pub(crate) async fn slow_down(&self) {
        let mut pace = self.0.lock().await;
        pace.gap = (pace.gap * 2).min(SLOWEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn copies_are_spread_and_slow_down_halves_their_number() {
        let pacer = Pacer::new(50);
        let began = Instant::now();
        for _ in 0..3 {
            pacer.turn().await;
        }
        let first = began.elapsed();
        assert!(first >= Duration::from_millis(40), "{first:?}");
        pacer.slow_down().await;
        let began = Instant::now();
        for _ in 0..3 {
            pacer.turn().await;
        }
        let slowed = began.elapsed();
        assert!(slowed >= Duration::from_millis(80), "{slowed:?}");
    }
}
