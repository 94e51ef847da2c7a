//! When the program must end, for work that can be handed over to a later call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// With less than this left nothing long is begun any more: requests that are under way must end, and what was done be written down.
const MARGIN: Duration = Duration::from_secs(30);

/// Shared by whoever knows the time and whoever must keep it. Without one, there is no end.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    /// The program is ended in so long. Of a short time at most half is kept back.
    pub fn in_at_most(&self, left: Duration) {
        let stop = Instant::now() + left.saturating_sub(MARGIN.min(left / 2));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    }

    /// Whether nothing long should be begun any more.
    pub fn is_near(&self) -> bool {
        let stop = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stop.is_some_and(|stop| Instant::now() >= stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_near_before_it_comes() {
        let deadline = Deadline::default();
        assert!(!deadline.is_near());
        let shared = deadline.clone();
        shared.in_at_most(Duration::from_secs(120));
        assert!(!deadline.is_near());
        shared.in_at_most(Duration::ZERO);
        assert!(deadline.is_near());
        // Each call sets its own.
        shared.in_at_most(Duration::from_secs(900));
        assert!(!deadline.is_near());
    }
}
