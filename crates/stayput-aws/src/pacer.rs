//! At most so many copies a second; half as many when S3 says SlowDown, and twice as many again after each while without it.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Slower than one copy in ten seconds it never gets.
const SLOWEST: Duration = Duration::from_secs(10);

/// Copies that are under way together are all told to slow down: that is one word, not one for each.
const ONE_WORD: Duration = Duration::from_secs(1);

/// After so long without SlowDown it is tried twice as fast.
const QUIET: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Pacer(Mutex<Pace>);

#[derive(Debug)]
struct Pace {
    /// As fast as the settings allow.
    least_gap: Duration,
    gap: Duration,
    next: Option<Instant>,
    /// When the server last had it slow down.
    slowed: Option<Instant>,
    /// When the gap was last changed.
    changed: Option<Instant>,
}

impl Pace {
    fn new(per_second: u32) -> Self {
        let gap = Duration::from_secs(1) / per_second.max(1);
        Self {
            least_gap: gap,
            gap,
            next: None,
            slowed: None,
            changed: None,
        }
    }

    /// When the next copy may begin.
    fn turn(&mut self, now: Instant) -> Instant {
        if self.gap > self.least_gap && self.changed.is_none_or(|at| now.duration_since(at) >= QUIET) {
            self.gap = (self.gap / 2).max(self.least_gap);
            self.changed = Some(now);
        }
        let at = self.next.map_or(now, |next| next.max(now));
        self.next = Some(at + self.gap);
        at
    }

    fn slow_down(&mut self, now: Instant) {
        if self.slowed.is_some_and(|at| now.duration_since(at) < ONE_WORD) {
            return;
        }
        self.gap = (self.gap * 2).min(SLOWEST);
        self.slowed = Some(now);
        self.changed = Some(now);
    }
}

impl Pacer {
    /// `per_second` 0 counts as 1.
    pub(crate) fn new(per_second: u32) -> Self {
        Self(Mutex::new(Pace::new(per_second)))
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) {
        let at = self.0.lock().await.turn(Instant::now());
        tokio::time::sleep_until(at).await;
    }

    /// The server asked to slow down.
    pub(crate) async fn slow_down(&self) {
        self.0.lock().await.slow_down(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How long the next ten copies take from now on.
    fn ten(pace: &mut Pace, now: Instant) -> Duration {
        let first = pace.turn(now);
        let mut last = first;
        for _ in 0..10 {
            last = pace.turn(now);
        }
        last.duration_since(first)
    }

    #[tokio::test]
    async fn copies_are_spread() {
        let pacer = Pacer::new(50);
        let began = Instant::now();
        for _ in 0..3 {
            pacer.turn().await;
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(40), "{took:?}");
    }

    #[test]
    fn slow_down_halves_their_number_once_for_all_that_hear_it_together() {
        let (mut pace, now) = (Pace::new(50), Instant::now());
        assert_eq!(ten(&mut pace, now), Duration::from_millis(200));
        for millisecond in 0..16 {
            pace.slow_down(now + Duration::from_millis(millisecond));
        }
        assert_eq!(ten(&mut pace, now), Duration::from_millis(400));
        pace.slow_down(now + SECOND);
        assert_eq!(ten(&mut pace, now), Duration::from_millis(800));
    }

    #[test]
    fn after_quiet_it_gets_as_fast_as_it_may_again_and_no_faster() {
        let (mut pace, mut now) = (Pace::new(50), Instant::now());
        for _ in 0..20 {
            now += SECOND;
            pace.slow_down(now);
        }
        assert_eq!(pace.gap, SLOWEST);
        let slowest = now;
        while pace.gap > pace.least_gap {
            now += SECOND;
            pace.turn(now);
            assert!(now.duration_since(slowest) <= 100 * SECOND, "{pace:?}");
        }
        assert!(now.duration_since(slowest) >= 80 * SECOND, "not all at once");
        assert_eq!(pace.gap, Duration::from_millis(20));
        pace.turn(now + 60 * SECOND);
        assert_eq!(pace.gap, Duration::from_millis(20));
    }
}
