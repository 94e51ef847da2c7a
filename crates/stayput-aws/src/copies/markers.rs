//! Removing delete markers.

use stayput_core::restoring::Marker;
use stayput_guard::port::{PortError, PortErrorKind, RemoveMarker};

use super::Copies;
use crate::failure::Call;

impl RemoveMarker for Copies {
    async fn remove_marker(&self, marker: &Marker) -> Result<(), PortError> {
        let at = marker.location();
        let call = Call::on("DeleteObject", at.bucket(), at.key());
        self.pacer.turn().await;
        let answer = self
            .client
            .delete_object()
            .bucket(at.bucket())
            .key(at.key())
            .version_id(marker.id().as_str())
            .send()
            .await;
        match self.heed(answer.map_err(|e| call.failed(&e))).await {
            // Said of what is gone already too, by not saying it.
            Ok(answer) if answer.delete_marker() == Some(false) => {
                Err(call.nonsense("the answer says that it was no delete marker"))
            }
            Ok(_) => Ok(()),
            Err(e) if e.kind == PortErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        }
    }
}
