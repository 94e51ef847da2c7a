//! Errors of the SDK as the use cases know them.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use stayput_guard::port::{PortError, PortErrorKind};

use unanswered::Unanswered;

mod unanswered;

/// Names the operation and its subject in an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) operation: &'static str,
    /// Empty where another service than S3 is asked; `key` is then the name of what it is asked about.
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
}

impl<'a> Call<'a> {
    pub(crate) fn on(operation: &'static str, bucket: &'a str, key: &'a str) -> Self {
        Self {
            operation,
            bucket,
            key,
        }
    }

    /// A call to another service than S3.
    pub(crate) fn about(operation: &'static str, subject: &'a str) -> Self {
        Self::on(operation, "", subject)
    }

    pub(crate) fn error(self, kind: PortErrorKind) -> PortError {
        let subject = match self.bucket {
            "" => self.key.to_owned(),
            bucket => format!("s3://{bucket}/{}", self.key),
        };
        PortError::new(kind, self.operation, subject)
    }

    /// An answer that breaks S3's rules. The next one may be better.
    pub(crate) fn nonsense(self, what: impl Into<String>) -> PortError {
        self.error(PortErrorKind::Transient).because(what)
    }

    pub(crate) fn failed<E>(self, error: &SdkError<E, HttpResponse>) -> PortError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let unanswered = error.raw_response().is_none().then(|| Unanswered::of(error));
        let kind = match error {
            // Nothing was sent: the arguments can't be made into a request, or nobody said where it should go.
            SdkError::ConstructionFailure(_) => match unanswered {
                Some(Unanswered::NoRegion) => PortErrorKind::NotSetUp,
                _ => PortErrorKind::Unsupported,
            },
            SdkError::ServiceError(service) => {
                let response = service.raw();
                let said = Said {
                    status: response.status().as_u16(),
                    code: error.code(),
                    message: error.message(),
                    is_marker: response.headers().get("x-amz-delete-marker") == Some("true"),
                    is_head: self.operation == "HeadObject",
                };
                said.kind()
            }
            _ => unanswered.unwrap_or(Unanswered::Passing).kind(),
        };
        let mut detail = match (error.code(), error.message()) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (Some(code), None) => code.to_owned(),
            (None, _) => match error.raw_response() {
                Some(response) if error.as_service_error().is_some() => {
                    format!("status {}", response.status().as_u16())
                }
                _ => in_words(error),
            },
        };
        let status = error.raw_response().map(|response| response.status().as_u16());
        let next = match unanswered {
            Some(unanswered) => unanswered.what_next().map(str::to_owned),
            None => self.what_next(kind, status, &detail),
        };
        if let Some(next) = next {
            detail.push_str(". ");
            detail.push_str(&next);
        }
        self.error(kind).because(detail)
    }

    /// What somebody can do about an answer, where that is known.
    fn what_next(self, kind: PortErrorKind, status: Option<u16>, said: &str) -> Option<String> {
        let region = said.starts_with("PermanentRedirect")
            || said.starts_with("AuthorizationHeaderMalformed")
            || said.starts_with("IllegalLocationConstraint")
            || status == Some(301);
        if region {
            return Some(format!(
                "The bucket {} lies in another region than the requests go to: set AWS_REGION to its own, which `aws s3api \
                 get-bucket-location` names",
                self.bucket
            ));
        }
        if kind == PortErrorKind::NotSetUp {
            return Some(
                "The credentials have expired: sign in again (`aws sso login`), or take new ones for AWS_PROFILE or AWS_ACCESS_KEY_ID, \
                 AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
                    .to_owned(),
            );
        }
        if kind != PortErrorKind::Denied {
            return None;
        }
        if [
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
        ]
        .iter()
        .any(|code| said.starts_with(code))
        {
            return Some("The server doesn't know these credentials: look at AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL".to_owned());
        }
        let actions = actions(self.operation);
        (!actions.is_empty()).then(|| format!("It takes {}", actions.join(", ")))
    }
}

/// An error and what caused it, each once, without the types of the SDK.
pub(crate) fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // Further lines list every place where credentials were looked for.
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default();
        let said = said.trim_end_matches(". Attempted:").trim_end_matches('.');
        // Many name only a part of the SDK, or repeat what the one below them says.
        let empty = matches!(said, "" | "dispatch failure" | "other" | "io error");
        if !empty && !words.iter().any(|before| before.contains(said)) {
            words.push(said.to_owned());
        }
        next = error.source();
    }
    words.join(": ")
}

/// The permissions that an operation takes (AWS's service authorization reference).
fn actions(operation: &str) -> &'static [&'static str] {
    match operation {
        "ListObjectsV2" => &["s3:ListBucket"],
        "ListObjectVersions" => &["s3:ListBucketVersions"],
        "GetObject" | "HeadObject" => &[
            "s3:GetObject",
            "s3:GetObjectVersion",
            "kms:Decrypt of its key if it has one",
        ],
        "PutObject" => &["s3:PutObject"],
        "CopyObject" => &[
            "s3:GetObjectVersion",
            "s3:GetObjectVersionTagging",
            "s3:PutObject",
            "s3:PutObjectTagging",
            "kms:Decrypt and kms:GenerateDataKey of its key if it has one",
        ],
        "GetObjectTagging" => &["s3:GetObjectVersionTagging"],
        "CreateMultipartUpload" => &[
            "s3:PutObject",
            "s3:PutObjectTagging",
            "kms:Decrypt and kms:GenerateDataKey of its key if it has one",
        ],
        "UploadPartCopy" => &[
            "s3:GetObjectVersion",
            "s3:PutObject",
            "kms:Decrypt and kms:GenerateDataKey of its key if it has one",
        ],
        "CompleteMultipartUpload" => &["s3:PutObject", "kms:Decrypt of its key if it has one"],
        "RestoreObject" => &["s3:RestoreObject"],
        "ListParts" => &["s3:ListMultipartUploadParts"],
        "AbortMultipartUpload" => &["s3:AbortMultipartUpload"],
        "GetBucketVersioning" => &["s3:GetBucketVersioning"],
        "GetBucketLifecycleConfiguration" => &["s3:GetLifecycleConfiguration"],
        "GetBucketNotificationConfiguration" => &["s3:GetBucketNotification"],
        "PutBucketNotificationConfiguration" => &["s3:PutBucketNotification"],
        "GetObjectLockConfiguration" => &["s3:GetBucketObjectLockConfiguration"],
        "GetBucketEncryption" => &["s3:GetEncryptionConfiguration"],
        "GetBucketReplication" => &["s3:GetReplicationConfiguration"],
        "GetRole" => &["iam:GetRole"],
        "GetUser" => &["iam:GetUser"],
        "SimulatePrincipalPolicy" => &["iam:SimulatePrincipalPolicy"],
        "DescribeKey" => &["kms:DescribeKey"],
        "ReceiveMessage" => &[
            "sqs:ReceiveMessage",
            "kms:Decrypt of the queue's key if it has one",
        ],
        "DeleteMessageBatch" => &["sqs:DeleteMessage"],
        "ChangeMessageVisibilityBatch" => &["sqs:ChangeMessageVisibility"],
        _ => &[],
    }
}

/// What an error answer says.
#[derive(Clone, Copy, Debug)]
struct Said<'a> {
    status: u16,
    code: Option<&'a str>,
    message: Option<&'a str>,
    is_marker: bool,
    is_head: bool,
}

impl Said<'_> {
    /// The code counts before the status: an error may come inside a 200 answer.
    fn kind(self) -> PortErrorKind {
        let message = self.message.unwrap_or_default();
        match self.code.unwrap_or_default() {
            "NoSuchKey" | "NoSuchVersion" | "NoSuchUpload" | "NoSuchBucket" | "NotFound" => {
                return PortErrorKind::NotFound;
            }
            // IAM, KMS and SQS answer 400 to what S3 answers 404 and 403 to.
            "NoSuchEntity"
            | "NotFoundException"
            | "QueueDoesNotExist"
            | "AWS.SimpleQueueService.NonExistentQueue" => return PortErrorKind::NotFound,
            "AccessDenied" | "AccessDeniedException" => return PortErrorKind::Denied,
            // GET or HEAD of a marker by its id.
            "MethodNotAllowed" if self.is_marker => return PortErrorKind::NotFound,
            "InvalidArgument" if message.contains("version id") => return PortErrorKind::NotFound,
            "InvalidObjectState" => return PortErrorKind::Archived,
            "SlowDown"
            | "ServiceUnavailable"
            | "RequestLimitExceeded"
            | "TooManyRequests"
            | "Throttling"
            | "ThrottlingException"
            | "Busy" => return PortErrorKind::Throttled,
            "ConditionalRequestConflict" | "OperationAborted" => return PortErrorKind::Conflict,
            "PreconditionFailed" => return PortErrorKind::Precondition,
            "NotImplemented" => return PortErrorKind::Unsupported,
            "InternalError" | "RequestTimeout" | "RequestTimeTooSkewed" => {
                return PortErrorKind::Transient;
            }
            // What comes by itself where a role is renewed, and to a person by signing in again only.
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
                return PortErrorKind::NotSetUp;
            }
            code if code.starts_with("KMS.") => {
                return if code.contains("Throttling") {
                    PortErrorKind::Throttled
                } else {
                    PortErrorKind::Unreadable
                };
            }
            // SSE-C: the customer's key is asked for.
            "InvalidRequest" if message.contains("Server Side Encryption") => {
                return PortErrorKind::Unreadable;
            }
            _ => {}
        }
        match self.status {
            404 => PortErrorKind::NotFound,
            405 if self.is_marker => PortErrorKind::NotFound,
            401 | 403 => PortErrorKind::Denied,
            409 => PortErrorKind::Conflict,
            412 => PortErrorKind::Precondition,
            429 | 503 => PortErrorKind::Throttled,
            501 | 405 => PortErrorKind::Unsupported,
            408 | 500..=599 | 200 => PortErrorKind::Transient,
            // An answer to HEAD has no body to say why; a key of the customer is what asks for more headers.
            400 if self.is_head => PortErrorKind::Unreadable,
            _ => PortErrorKind::Unsupported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, code: Option<&str>, message: Option<&str>) -> PortErrorKind {
        Said {
            status,
            code,
            message,
            is_marker: false,
            is_head: false,
        }
        .kind()
    }

    #[test]
    fn what_servers_say_is_told_apart_as_decisions_need_it() {
        use PortErrorKind::{
            Archived, Conflict, Denied, NotFound, NotSetUp, Precondition, Throttled, Transient, Unreadable,
            Unsupported,
        };
        let cases = [
            (404, Some("NoSuchKey"), NotFound),
            (404, Some("NoSuchVersion"), NotFound),
            (404, Some("NoSuchBucket"), NotFound),
            (404, Some("NoSuchUpload"), NotFound),
            (404, None, NotFound),
            (403, Some("AccessDenied"), Denied),
            (400, Some("AccessDeniedException"), Denied),
            (400, Some("NoSuchEntity"), NotFound),
            (403, None, Denied),
            (403, Some("InvalidObjectState"), Archived),
            (403, Some("RequestTimeTooSkewed"), Transient),
            (400, Some("ExpiredToken"), NotSetUp),
            (403, Some("ExpiredTokenException"), NotSetUp),
            (400, Some("KMS.DisabledException"), Unreadable),
            (400, Some("KMS.ThrottlingException"), Throttled),
            (503, Some("SlowDown"), Throttled),
            (503, None, Throttled),
            (429, None, Throttled),
            (409, Some("ConditionalRequestConflict"), Conflict),
            (412, Some("PreconditionFailed"), Precondition),
            (501, Some("NotImplemented"), Unsupported),
            (405, Some("MethodNotAllowed"), Unsupported),
            (500, Some("InternalError"), Transient),
            (502, None, Transient),
            // Inside a 200 answer to CopyObject.
            (200, Some("InternalError"), Transient),
            (200, Some("SlowDown"), Throttled),
        ];
        for (status, code, kind) in cases {
            assert_eq!(said(status, code, None), kind, "{status} {code:?}");
        }
    }

    #[test]
    fn objects_with_a_customers_key_are_unreadable_and_markers_by_id_arent_there() {
        let asked = "The object was stored using a form of Server Side Encryption. The correct parameters must be provided";
        assert_eq!(
            said(400, Some("InvalidRequest"), Some(asked)),
            PortErrorKind::Unreadable
        );
        let of_a_marker = Said {
            status: 405,
            code: None,
            message: None,
            is_marker: true,
            is_head: true,
        };
        assert_eq!(of_a_marker.kind(), PortErrorKind::NotFound);
        let head = Said {
            status: 400,
            is_marker: false,
            ..of_a_marker
        };
        assert_eq!(head.kind(), PortErrorKind::Unreadable);
    }
}
