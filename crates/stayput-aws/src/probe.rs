//! What the server does with a copy: whether it honours `If-None-Match: *`, and whether tags survive. Some take the header and overwrite all the same,
//! and some (Ceph 16) lose the tags of a copy whose metadata is replaced.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{MetadataDirective, TaggingDirective};
use s3_documents::encoding::encode_percent;
use stayput_core::location::ObjectLocation;
use stayput_guard::port::{PortError, PortErrorKind};
use tokio::sync::Mutex;

use crate::failure::Call;

/// The name of the probe's object below the control prefix.
const NAME: &str = "probe";
const TAG: &str = "stayput=probe";

/// What is known of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    /// It is known to honour the condition, at least where nobody else writes.
    pub honours_condition: bool,
    /// It is known to keep the tags of a copy that gets new metadata.
    pub keeps_tags: bool,
}

/// Asks a server, whosever it is, by writing the object `probe` below `control` and copying it onto itself. `control` is a prefix: its key
/// ends in `/` or is empty.
///
/// # Errors
/// The object can't be written or copied.
#[cfg(feature = "tools")]
pub async fn ask_below(
    connection: &crate::connection::Connection,
    control: &ObjectLocation,
) -> Result<Habits, PortError> {
    let at = ObjectLocation::new(control.bucket(), format!("{}{NAME}", control.key()));
    ask_a_stranger(&connection.s3(), &at).await
}

/// Whose server it is: AWS's own keeps what AWS promises, of others it must be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Aws,
    Other,
}

/// Asks once for as long as the process lives.
#[derive(Debug)]
pub(crate) struct Probe {
    control: Option<ObjectLocation>,
    kind: Kind,
    known: Mutex<Option<Habits>>,
}

impl Probe {
    /// Without a control prefix there is no place to ask in, and nothing is known that AWS doesn't promise.
    pub(crate) fn below(control: Option<ObjectLocation>, kind: Kind) -> Self {
        Self {
            control,
            kind,
            known: Mutex::new(None),
        }
    }

    /// Whose server it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// What the server is known to do.
    pub(crate) async fn habits(&self, client: &Client) -> Habits {
        let unknown = Habits {
            honours_condition: false,
            keeps_tags: self.kind == Kind::Aws,
        };
        let Some(control) = &self.control else {
            return unknown;
        };
        let mut known = self.known.lock().await;
        if let Some(habits) = *known {
            return habits;
        }
        let at = ObjectLocation::new(control.bucket(), format!("{}{NAME}", control.key()));
        let asked = match self.kind {
            Kind::Aws => ask(client, &at).await.map(|honours_condition| Habits {
                honours_condition,
                ..unknown
            }),
            Kind::Other => ask_a_stranger(client, &at).await,
        };
        match asked {
            Ok(habits) => {
                *known = Some(habits);
                habits
            }
            Err(e) => {
                // What the server can't do it won't do next time either; everything else is asked again.
                if matches!(e.kind, PortErrorKind::Unsupported | PortErrorKind::Denied) {
                    *known = Some(unknown);
                }
                unknown
            }
        }
    }
}

/// Whether the condition is honoured: two requests the first time, then one.
async fn ask(client: &Client, at: &ObjectLocation) -> Result<bool, PortError> {
    match copy_onto_itself(client, at, true).await {
        Err(e) if e.kind == PortErrorKind::NotFound => {}
        answer => return verdict(answer),
    }
    put(client, at, None).await?;
    verdict(copy_onto_itself(client, at, true).await)
}

/// Both questions, with an object that is known to have a tag.
async fn ask_a_stranger(client: &Client, at: &ObjectLocation) -> Result<Habits, PortError> {
    let tagged = match put(client, at, Some(TAG)).await {
        Ok(()) => true,
        Err(e) if e.is_transient() => return Err(e),
        // It knows no tags, or we may not set any.
        Err(_) => put(client, at, None).await.map(|()| false)?,
    };
    let honours_condition = verdict(copy_onto_itself(client, at, true).await)?;
    let mut keeps_tags = false;
    if tagged {
        if honours_condition {
            copy_onto_itself(client, at, false).await?;
        }
        let call = Call::on("HeadObject", at.bucket(), at.key());
        let head = client
            .head_object()
            .bucket(at.bucket())
            .key(at.key())
            .send()
            .await;
        keeps_tags = head.map_err(|e| call.failed(&e))?.tag_count() == Some(1);
    }
    Ok(Habits {
        honours_condition,
        keeps_tags,
    })
}

async fn put(client: &Client, at: &ObjectLocation, tags: Option<&str>) -> Result<(), PortError> {
    let call = Call::on("PutObject", at.bucket(), at.key());
    client
        .put_object()
        .bucket(at.bucket())
        .key(at.key())
        .body(ByteStream::from_static(
            b"Stayput copies this object onto itself to find out what the server does with a copy.\n",
        ))
        .content_type("text/plain")
        .set_tagging(tags.map(str::to_owned))
        .send()
        .await
        .map(drop)
        .map_err(|e| call.failed(&e))
}

fn verdict(answer: Result<(), PortError>) -> Result<bool, PortError> {
    match answer {
        Ok(()) => Ok(false),
        Err(e) if e.kind == PortErrorKind::Precondition => Ok(true),
        Err(e) => Err(e),
    }
}

/// With the condition it must fail with 412, since the object is there.
async fn copy_onto_itself(client: &Client, at: &ObjectLocation, if_absent: bool) -> Result<(), PortError> {
    let call = Call::on("CopyObject", at.bucket(), at.key());
    client
        .copy_object()
        .bucket(at.bucket())
        .key(at.key())
        .copy_source(format!("{}/{}", at.bucket(), encode_percent(at.key())))
        // A copy onto itself that changes nothing is refused for that reason.
        .metadata_directive(MetadataDirective::Replace)
        .metadata("stayput-probe", "1")
        .tagging_directive(TaggingDirective::Copy)
        .set_if_none_match(if_absent.then(|| "*".to_owned()))
        .send()
        .await
        .map(drop)
        .map_err(|e| call.failed(&e))
}
