//! Stayput's memory, as objects below the control prefix.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use stayput_core::location::ObjectLocation;
use stayput_guard::port::{Journal, PortError, PortErrorKind, Reading};

use crate::connection::Connection;
use crate::failure::Call;
use crate::s3::S3;

/// The journal below one prefix.
#[derive(Clone, Debug)]
pub struct S3Journal {
    client: Client,
    reading: S3,
    control: ObjectLocation,
}

impl S3Journal {
    /// `control` is a prefix: its key ends in `/` or is empty.
    pub fn new(connection: &Connection, control: ObjectLocation) -> Self {
        Self::with(connection.s3(), control)
    }

    pub(crate) fn with(client: Client, control: ObjectLocation) -> Self {
        Self {
            reading: S3::with(client.clone()),
            client,
            control,
        }
    }

    fn at(&self, name: &str) -> ObjectLocation {
        ObjectLocation::new(self.control.bucket(), format!("{}{name}", self.control.key()))
    }
}

impl Journal for S3Journal {
    async fn read(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, PortError> {
        match self.reading.body(&self.at(name), None, max_bytes).await {
            Ok(body) => Ok(Some(body.bytes)),
            // A missing bucket is a mistake in the settings, not an empty memory.
            Err(e) if e.kind == PortErrorKind::NotFound && !says_no_bucket(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn write(&self, name: &str, document: Vec<u8>) -> Result<(), PortError> {
        let at = self.at(name);
        let call = Call::on("PutObject", at.bucket(), at.key());
        self.client
            .put_object()
            .bucket(at.bucket())
            .key(at.key())
            .content_type(content_type(&document))
            .body(ByteStream::from(document))
            .send()
            .await
            .map(drop)
            .map_err(|e| call.failed(&e))
    }

    async fn names(&self, prefix: &str) -> Result<Vec<String>, PortError> {
        let at = self.at(prefix);
        let listing = self.reading.list(at.bucket(), at.key(), false).await?;
        let below = self.control.key();
        Ok(listing
            .objects
            .iter()
            .filter_map(|o| o.key.strip_prefix(below).map(str::to_owned))
            .collect())
    }
}

/// Sidecars are no JSON, and begin with a magic number.
fn content_type(document: &[u8]) -> &'static str {
    if document.starts_with(b"{") {
        "application/json"
    } else {
        "application/octet-stream"
    }
}

fn says_no_bucket(error: &PortError) -> bool {
    error
        .detail
        .as_deref()
        .is_some_and(|d| d.starts_with("NoSuchBucket"))
}
