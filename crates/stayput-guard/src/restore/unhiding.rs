//! Un-hiding: the markers on top of a key go, and the version below them is visible as it was. Only where a root asks for that.

use stayput_core::restoring::{Permit, Unhiding};

use super::{Done, Hand};
use crate::port::{Journal, PortErrorKind, Reading};
use crate::survey::Eyes;

/// Removes the markers that were just listed on top of the key, and looks again. `None`: it is to be copied instead.
pub(super) async fn unhide<R: Reading + Sync, J: Journal + Sync, H: Hand>(
    eyes: &Eyes<'_, R, J>,
    hand: &H,
    permit: &Permit,
) -> Option<Done> {
    let location = permit.location();
    let history = match eyes.history(location).await {
        Ok(history) => history,
        Err(e) => return Some(Done::Failed(e.to_string())),
    };
    let unhiding = Unhiding::of(permit, &history, eyes.known_rules(location.bucket()), eyes.now).ok()?;
    for marker in unhiding.markers() {
        match hand.remove_marker(marker).await {
            Ok(()) => {}
            // The role may not, or the bucket wants a device for it.
            Err(e) if matches!(e.kind, PortErrorKind::Denied | PortErrorKind::Unsupported) => return None,
            Err(e) => return Some(Done::Failed(e.to_string())),
        }
    }
    let history = match eyes.history(location).await {
        Ok(history) => history,
        Err(e) => return Some(Done::Failed(e.to_string())),
    };
    let source = &permit.source().version;
    Some(match history.current() {
        Some(visible) if visible.id == *source => Done::Unhidden {
            markers: unhiding.markers().len(),
        },
        Some(_) => Done::WrittenByOthers,
        None if history.data_versions().any(|v| v.id == *source) => {
            Done::Failed("somebody hid it again meanwhile".to_owned())
        }
        None => Done::Failed("its version was removed for good meanwhile".to_owned()),
    })
}
