//! What a sweep sees in an archive, or may: whoever needs it most is noted, and the bench asks for its head.

use stayput_core::catalogue::{Catalogue, SnapshotId};
use stayput_core::snapshot::{Contents, Snapshot, Unreadable};
use stayput_core::verdict::NeededBy;

use super::{Class, Eyes, Look, Moment, ObjectLocation};
use crate::inspect::{Inspected, Seen, SeenObjects, VisibleObject};

impl Look {
    /// What a snapshot that stands names, and its class.
    pub(super) fn at_archived<R, J>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        catalogue: &Catalogue,
        (id, metadata, class): (SnapshotId, &ObjectLocation, Class),
        inspected: &Inspected,
        seen: &SeenObjects,
    ) {
        for (location, visible) in visible_of(catalogue, id, seen) {
            let asked = self.asks_for_tiers || visible.is_in_archive_class();
            if asked && visible.may_be_archived(eyes.now) && !inspected.overwritten.contains(location) {
                let metadata = metadata.clone();
                self.may_be_archived(location.clone(), NeededBy::Snapshot { metadata, class });
            }
        }
    }

    /// A `_metadata` whose bytes aren't to be had can lie in an archive itself.
    pub(super) fn at_unreadable<R, J>(
        &mut self,
        eyes: &Eyes<'_, R, J>,
        catalogue: &Catalogue,
        id: SnapshotId,
        snapshot: &Snapshot,
    ) {
        let out_of_reach = matches!(
            snapshot.contents,
            Contents::Unreadable {
                why: Unreadable::OutOfReach(_),
                ..
            }
        );
        if out_of_reach && snapshot.hidden.is_none() {
            self.may_be_archived(
                snapshot.metadata.clone(),
                needed_by(eyes, catalogue, id, snapshot),
            );
        }
    }

    /// Notes who needs an object that lies in an archive or may; the strongest counts, and nobody repairs for spares.
    pub(super) fn may_be_archived(&mut self, location: ObjectLocation, needed_by: NeededBy) {
        let rank = |needed_by: &NeededBy| match needed_by {
            NeededBy::HaStore => Class::Running,
            NeededBy::Snapshot { class, .. } => *class,
        };
        let known = self.archived.get(&location).map(rank);
        if rank(&needed_by) > Class::Spare && known < Some(rank(&needed_by)) {
            self.archived.insert(location, needed_by);
        }
    }
}

/// The visible objects that a snapshot's handles and sinks name.
fn visible_of<'s>(
    catalogue: &'s Catalogue,
    id: SnapshotId,
    seen: &'s SeenObjects,
) -> impl Iterator<Item = (&'s ObjectLocation, &'s VisibleObject)> {
    let references = catalogue.get(id).and_then(|s| s.facts()).map(|f| f.references);
    references
        .into_iter()
        .flat_map(|r| catalogue.index.objects_of(r))
        .chain(catalogue.tails_of(id))
        .filter_map(|object| match seen.get(object) {
            Some((location, Seen::Visible(visible))) => Some((location, visible)),
            Some((_, Seen::Missing(_))) | None => None,
        })
}

/// A snapshot that stands, as who needs something.
pub(super) fn needed_by<R, J>(
    eyes: &Eyes<'_, R, J>,
    catalogue: &Catalogue,
    id: SnapshotId,
    snapshot: &Snapshot,
) -> NeededBy {
    NeededBy::Snapshot {
        metadata: snapshot.metadata.clone(),
        class: catalogue.class(id, Moment::Of(eyes.now), eyes.mandate.policy.dormant_after),
    }
}
