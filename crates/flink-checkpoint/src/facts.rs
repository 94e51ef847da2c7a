//! What a catalogue of snapshots needs to know of each, besides its references.

use std::ops::ControlFlow;

use crate::complete::Complete;
use crate::error::Damaged;
use crate::handle::{OperatorHead, OperatorId, OperatorNo};
use crate::java::JavaStr;
use crate::limits::Limits;
use crate::read::{Visitor, visit};
use crate::reference::Reference;

/// Short facts about one snapshot. Borrows from the bytes of the file.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Format version, checkpoint id, counts, properties.
    pub complete: Complete,
    /// Ids of all operators in the order of the file; [`OperatorNo`] is an index here.
    pub operators: Vec<OperatorId>,
    /// Ids of the keyed backends (tags 5 and 11), sorted, each once.
    pub backends: Vec<JavaStr<'a>>,
}

/// Reads the facts and tells `f` every reference, in one pass.
///
/// # Errors
/// As [`crate::references`].
pub fn facts<'a>(
    bytes: &'a [u8],
    limits: &Limits,
    f: &mut impl FnMut(&Reference<'a>),
) -> Result<Facts<'a>, Damaged> {
    struct Collect<'a, 'f, F> {
        operators: Vec<OperatorId>,
        backends: Vec<JavaStr<'a>>,
        f: &'f mut F,
    }
    impl<'a, F: FnMut(&Reference<'a>)> Visitor<'a> for Collect<'a, '_, F> {
        fn operator(&mut self, _: OperatorNo, operator: &OperatorHead<'a>) {
            self.operators.push(operator.id);
        }
        fn keyed_backend(&mut self, _: OperatorNo, id: JavaStr<'a>) {
            self.backends.push(id);
        }
        fn reference(&mut self, reference: &Reference<'a>) -> ControlFlow<()> {
            (self.f)(reference);
            ControlFlow::Continue(())
        }
    }
    let mut collect = Collect {
        operators: Vec::new(),
        backends: Vec::new(),
        f,
    };
    let complete = visit(bytes, limits, &mut collect)?;
    let Collect {
        operators,
        mut backends,
        ..
    } = collect;
    backends.sort_unstable();
    backends.dedup();
    Ok(Facts {
        complete,
        operators,
        backends,
    })
}
