//! What shall go wrong.

use stayput_guard::port::PortErrorKind;

use crate::call::Call;
use crate::error::ErrorCode;

/// What a key of a DeleteObjects is to the faults.
pub(crate) const IN_BATCH: &str = "DeleteObjects:key";

/// A planned failure of calls through the ports. Unless told otherwise it meets the first call, once, and the call has no effect.
///
/// ```
/// # use s3_model::Fault;
/// # use stayput_guard::port::PortErrorKind;
/// // The answer to the second copy is lost on its way: the copy is there, the caller doesn't know.
/// let lost = Fault::answers(PortErrorKind::Transient).on("CopyObject").from_nth(2).after_the_effect();
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    answer: Answer,
    operation: Option<&'static str>,
    key_contains: Option<String>,
    first: u32,
    times: Option<u32>,
    after_the_effect: bool,
    seen: u32,
}

/// What the caller gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Error(PortErrorKind),
    Code(ErrorCode),
    Crash,
}

/// What a fault says about one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hit {
    pub(crate) answer: Answer,
    pub(crate) after_the_effect: bool,
}

impl Fault {
    /// The call is answered with this error.
    pub fn answers(kind: PortErrorKind) -> Self {
        Self::new(Answer::Error(kind))
    }

    /// The call is answered with this error of S3's: `SlowDown`, `AccessDenied`, `InternalError`; `RequestTimeout` for an answer that doesn't
    /// come in time, without its effect or ([`Self::after_the_effect`]) with it.
    pub fn code(code: ErrorCode) -> Self {
        Self::new(Answer::Code(code))
    }

    /// The caller dies at this call: it and every later call of this client fail, until [`Model::revive`](crate::Model::revive).
    pub fn crash() -> Self {
        Self::new(Answer::Crash)
    }

    fn new(answer: Answer) -> Self {
        Self {
            answer,
            operation: None,
            key_contains: None,
            first: 1,
            times: Some(1),
            after_the_effect: false,
            seen: 0,
        }
    }

    /// Only calls of this operation, by its API name.
    #[must_use]
    pub fn on(mut self, operation: &'static str) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Only single keys of a DeleteObjects: the request goes well, but its answer has this error for the key.
    #[must_use]
    pub fn in_batches(self) -> Self {
        self.on(IN_BATCH)
    }

    /// Only calls whose key or prefix contains this text.
    #[must_use]
    pub fn key(mut self, contains: impl Into<String>) -> Self {
        self.key_contains = Some(contains.into());
        self
    }

    /// Beginning with the n-th call that fits, counted from 1 and from the moment of planning.
    #[must_use]
    pub fn from_nth(mut self, n: u32) -> Self {
        self.first = n;
        self
    }

    /// So many calls that fit, one after the other.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Every call that fits, without end.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// The call has its effect, and only then the caller gets the error: a lost answer, or a death between a write and what
    /// was to follow it.
    #[must_use]
    pub fn after_the_effect(mut self) -> Self {
        self.after_the_effect = true;
        self
    }

    /// Whether this call is one to fail; counts it if it fits.
    pub(crate) fn meets(&mut self, call: &Call) -> Option<Hit> {
        let fits = self
            .operation
            .map_or(call.operation != IN_BATCH, |o| o == call.operation)
            && self.key_contains.as_deref().is_none_or(|k| call.key.contains(k));
        if !fits {
            return None;
        }
        self.seen = self.seen.saturating_add(1);
        let due = self.seen >= self.first && self.times.is_none_or(|times| self.seen - self.first < times);
        due.then_some(Hit {
            answer: self.answer,
            after_the_effect: self.after_the_effect,
        })
    }
}
