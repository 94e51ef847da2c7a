//! Whether the server honours `If-None-Match: *` of CopyObject. Some take the header and overwrite all the same.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::MetadataDirective;
use s3_documents::encoding::encode_percent;
use stayput_core::location::ObjectLocation;
use stayput_guard::port::{PortError, PortErrorKind};
use tokio::sync::Mutex;

use crate::failure::Call;

/// The name of the probe's object below the control prefix.
const NAME: &str = "probe";

/// Asks once for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Probe {
    control: Option<ObjectLocation>,
    known: Mutex<Option<bool>>,
}

impl Probe {
    /// Without a control prefix there is no place to ask in, and the answer is always "not known to".
    pub(crate) fn below(control: Option<ObjectLocation>) -> Self {
        Self {
            control,
            known: Mutex::new(None),
        }
    }

    /// Whether the server is known to honour the condition.
    pub(crate) async fn honoured(&self, client: &Client) -> bool {
        let Some(control) = &self.control else {
            return false;
        };
        let mut known = self.known.lock().await;
        if let Some(honoured) = *known {
            return honoured;
        }
        let at = ObjectLocation::new(control.bucket(), format!("{}{NAME}", control.key()));
        match ask(client, &at).await {
            Ok(honoured) => {
                *known = Some(honoured);
                honoured
            }
            Err(e) => {
                // What the server can't do it won't do next time either; everything else is asked again.
                if matches!(e.kind, PortErrorKind::Unsupported | PortErrorKind::Denied) {
                    *known = Some(false);
                }
                false
            }
        }
    }
}

async fn ask(client: &Client, at: &ObjectLocation) -> Result<bool, PortError> {
    match copy_onto_itself(client, at).await {
        Err(e) if e.kind == PortErrorKind::NotFound => {}
        answer => return verdict(answer),
    }
    let call = Call::on("PutObject", at.bucket(), at.key());
    client
        .put_object()
        .bucket(at.bucket())
        .key(at.key())
        .body(ByteStream::from_static(
            b"Stayput copies this object onto itself to find out whether the server honours If-None-Match.\n",
        ))
        .content_type("text/plain")
        .send()
        .await
        .map_err(|e| call.failed(&e))?;
    verdict(copy_onto_itself(client, at).await)
}

fn verdict(answer: Result<(), PortError>) -> Result<bool, PortError> {
    match answer {
        Ok(()) => Ok(false),
        Err(e) if e.kind == PortErrorKind::Precondition => Ok(true),
        Err(e) => Err(e),
    }
}

/// Must fail with 412, since the object is there.
async fn copy_onto_itself(client: &Client, at: &ObjectLocation) -> Result<(), PortError> {
    let call = Call::on("CopyObject", at.bucket(), at.key());
    client
        .copy_object()
        .bucket(at.bucket())
        .key(at.key())
        .copy_source(format!("{}/{}", at.bucket(), encode_percent(at.key())))
        // A copy onto itself that changes nothing is refused for that reason.
        .metadata_directive(MetadataDirective::Replace)
        .metadata("stayput-probe", "1")
        .if_none_match("*")
        .send()
        .await
        .map(drop)
        .map_err(|e| call.failed(&e))
}
