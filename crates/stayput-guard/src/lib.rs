//! The use cases of Stayput over ports: handle deletions, and later sweep, verify, restore, clean.
//!
//! No runtime, no spawn, no SDK: the ports are traits, and [`stayput_core`] decides.
//!
//! An observing guard has no port that could write under a root; it doesn't compile with one:
//!
//! ```compile_fail
//! use stayput_guard::guard::{Acting, Guard};
//! fn observe_with_copies<R, J, C, M>(reading: R, journal: Option<J>, clock: C, copies: M, mandate: stayput_guard::mandate::Mandate)
//! where
//!     R: stayput_guard::port::Reading + Sync,
//!     J: stayput_guard::port::Journal + Sync,
//!     C: stayput_guard::port::Clock,
//!     M: stayput_guard::port::Restoring + Sync,
//! {
//!     let _: Guard<R, J, C, Acting<M>> = Guard::observing(reading, journal, clock, mandate);
//! }
//! ```
#![warn(missing_docs)]

pub mod batch;
pub mod causes;
pub mod doctor;
pub mod guard;
mod inspect;
pub mod mandate;
pub mod memory;
pub mod parking;
pub mod port;
mod restore;
pub mod settings;
mod survey;
pub mod sweep;
pub mod topic;
