//! What S3 answers when it doesn't do what it was asked to.

use std::fmt;

use stayput_guard::port::PortErrorKind;

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $text:literal, $status:literal, $kind:ident;)+) => {
        /// S3's error codes, as far as the model gives them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ErrorCode {
            $($(#[$meta])* $name,)+
        }

        impl ErrorCode {
            /// The code's text, as in the body of an answer.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The status of the answer.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// What it means to the guard's ports.
            pub(crate) fn kind(self) -> PortErrorKind {
                match self { $(Self::$name => PortErrorKind::$kind,)+ }
            }
        }
    };
}

codes! {
    /// The caller may not; also: object lock keeps the version.
    AccessDenied = "AccessDenied", 403, Denied;
    /// The bucket holds something still.
    BucketNotEmpty = "BucketNotEmpty", 409, Conflict;
    /// Somebody writes the same key at this moment.
    ConditionalRequestConflict = "ConditionalRequestConflict", 409, Conflict;
    /// A part that isn't the last has less than 5 MiB.
    EntityTooSmall = "EntityTooSmall", 400, Unsupported;
    /// S3 has a fault of its own; whether there was an effect isn't said.
    InternalError = "InternalError", 500, Transient;
    /// A value that S3 doesn't take.
    InvalidArgument = "InvalidArgument", 400, Unsupported;
    /// The storage class forbids it: archived bytes can't be read.
    InvalidObjectState = "InvalidObjectState", 403, Archived;
    /// A part that isn't there, or that has another ETag.
    InvalidPart = "InvalidPart", 400, Unsupported;
    /// The parts aren't in ascending order.
    InvalidPartOrder = "InvalidPartOrder", 400, Unsupported;
    /// No byte of the object lies in the range.
    InvalidRange = "InvalidRange", 416, Unsupported;
    /// A request that makes no sense for this object.
    InvalidRequest = "InvalidRequest", 400, Unsupported;
    /// Unreadable without the key that it is encrypted with.
    KmsDisabled = "KMS.DisabledException", 400, Unreadable;
    /// The document of the request is wrong.
    MalformedXml = "MalformedXML", 400, Unsupported;
    /// GET or HEAD of a delete marker by its id.
    MethodNotAllowed = "MethodNotAllowed", 405, NotFound;
    /// No such bucket.
    NoSuchBucket = "NoSuchBucket", 404, NotFound;
    /// No such key, or a delete marker hides it.
    NoSuchKey = "NoSuchKey", 404, NotFound;
    /// Object lock can't be without versions.
    InvalidBucketState = "InvalidBucketState", 409, Conflict;
    /// The object has no retention or legal hold.
    NoSuchObjectLockConfiguration = "NoSuchObjectLockConfiguration", 404, NotFound;
    /// No such upload, or it was completed or aborted.
    NoSuchUpload = "NoSuchUpload", 404, NotFound;
    /// No such version.
    NoSuchVersion = "NoSuchVersion", 404, NotFound;
    /// The server doesn't have this.
    NotImplemented = "NotImplemented", 501, Unsupported;
    /// Not changed: `If-None-Match` of a GET or HEAD.
    NotModified = "NotModified", 304, Precondition;
    /// A condition of the request doesn't hold.
    PreconditionFailed = "PreconditionFailed", 412, Precondition;
    /// The answer didn't come in time; whether there was an effect isn't known.
    RequestTimeout = "RequestTimeout", 400, Transient;
    /// It is being thawed already.
    RestoreAlreadyInProgress = "RestoreAlreadyInProgress", 409, Conflict;
    /// Too many requests.
    SlowDown = "SlowDown", 503, Throttled;
}

impl ErrorCode {
    /// The code that S3 gives in such a case.
    pub(crate) fn of_kind(kind: PortErrorKind) -> Self {
        match kind {
            PortErrorKind::NotFound => Self::NoSuchKey,
            PortErrorKind::Denied => Self::AccessDenied,
            PortErrorKind::Throttled => Self::SlowDown,
            PortErrorKind::Conflict => Self::ConditionalRequestConflict,
            PortErrorKind::Precondition => Self::PreconditionFailed,
            PortErrorKind::TooLarge { .. } => Self::InvalidRequest,
            PortErrorKind::Archived => Self::InvalidObjectState,
            PortErrorKind::Unreadable => Self::KmsDisabled,
            PortErrorKind::Unsupported => Self::NotImplemented,
            PortErrorKind::Transient | PortErrorKind::Unreachable | PortErrorKind::NotSetUp => {
                Self::InternalError
            }
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status(), self.as_str())
    }
}

impl std::error::Error for ErrorCode {}
