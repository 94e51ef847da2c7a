//! Why no server answered a request, as far as somebody can do something about it.

use std::error::Error;
use std::io::ErrorKind;

use aws_credential_types::provider::error::CredentialsError;
use stayput_guard::port::PortErrorKind;

/// What kept a request from its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    /// No region is set, so that there is no address and no signature.
    NoRegion,
    /// No credentials are there to sign with.
    NoCredentials,
    /// Those that are set can't be used: a profile that makes no sense, a session that has expired, a service that refuses.
    Credentials,
    /// They couldn't be fetched from where they are to come from; perhaps the next time.
    CredentialsNotFetched,
    /// The other side speaks no TLS, or its certificate isn't trusted.
    Tls,
    /// Nobody listens at the address, or there is no such address.
    NobodyThere,
    /// A time-out, a connection that broke, an answer that is none.
    Passing,
}

impl Unanswered {
    /// From an error and what caused it.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(credentials) = error.downcast_ref::<CredentialsError>() {
                return match credentials {
                    CredentialsError::CredentialsNotLoaded(_) => Self::NoCredentials,
                    CredentialsError::InvalidConfiguration(_) => Self::Credentials,
                    other => Self::of_provider(other),
                };
            }
            if let Some(io) = error.downcast_ref::<std::io::Error>()
                && let Some(known) = Self::of_io(io)
            {
                return known;
            }
            // The SDK gives these no type of their own that others may see. The first it says only of what TLS itself refused.
            let said = error.to_string();
            if said == "TLS handshake failed" {
                return Self::Tls;
            }
            if said.contains("region must be set") || said.contains("Missing Region") {
                return Self::NoRegion;
            }
            if said.starts_with("dns error") {
                return Self::NobodyThere;
            }
            next = error.source();
        }
        Self::Passing
    }

    /// Somebody was asked for credentials and failed: by refusing, which lasts, or as any server may.
    fn of_provider(error: &CredentialsError) -> Self {
        let mut next = error.source();
        while let Some(error) = next {
            let said = error.to_string().to_ascii_lowercase();
            if said.contains("forbidden") || said.contains("expired") {
                return Self::Credentials;
            }
            next = error.source();
        }
        Self::CredentialsNotFetched
    }

    fn of_io(error: &std::io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::AddrNotAvailable => Some(Self::NobodyThere),
            _ => None,
        }
    }

    /// As decisions need it.
    pub(crate) fn kind(self) -> PortErrorKind {
        match self {
            Self::NoRegion | Self::NoCredentials | Self::Credentials | Self::Tls => PortErrorKind::NotSetUp,
            Self::NobodyThere => PortErrorKind::Unreachable,
            Self::CredentialsNotFetched | Self::Passing => PortErrorKind::Transient,
        }
    }

    /// What to do about it, where that is known.
    pub(crate) fn what_next(self) -> Option<&'static str> {
        match self {
            Self::NoRegion => Some("Set AWS_REGION, or a region in the profile that AWS_PROFILE names"),
            Self::NoCredentials => Some(
                "No credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; `aws sts get-caller-identity` \
                 shows who you are",
            ),
            Self::Credentials => Some(
                "The credentials that are set can't be used: look at AWS_PROFILE and ~/.aws/config, or sign in again (`aws sso login`); \
                 `aws sts get-caller-identity` shows who you are",
            ),
            Self::CredentialsNotFetched => {
                Some("`aws sts get-caller-identity` shows whether credentials can be fetched")
            }
            Self::Tls => Some(
                "The server's certificate isn't trusted, or it speaks no TLS: look at AWS_ENDPOINT_URL (http or https), and name the \
                 certificates of an own authority by SSL_CERT_FILE",
            ),
            Self::NobodyThere => {
                Some("Nobody answers there: look at AWS_REGION, AWS_ENDPOINT_URL and the network")
            }
            Self::Passing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn credentials_that_arent_there_are_told_from_those_that_couldnt_be_fetched() {
        let cases = [
            (CredentialsError::not_loaded("none"), PortErrorKind::NotSetUp),
            (
                CredentialsError::invalid_configuration("a loop"),
                PortErrorKind::NotSetUp,
            ),
            (
                CredentialsError::provider_error("503 from STS"),
                PortErrorKind::Transient,
            ),
            (
                CredentialsError::provider_timed_out(Duration::from_secs(5)),
                PortErrorKind::Transient,
            ),
        ];
        for (error, kind) in cases {
            assert_eq!(Unanswered::of(&error).kind(), kind, "{error}");
        }
    }

    #[test]
    fn whoever_a_retry_doesnt_help_is_told_what_to_do() {
        let all = [
            Unanswered::NoRegion,
            Unanswered::NoCredentials,
            Unanswered::Credentials,
            Unanswered::Tls,
            Unanswered::NobodyThere,
        ];
        for unanswered in all {
            assert!(unanswered.what_next().is_some(), "{unanswered:?}");
            assert_ne!(unanswered.kind(), PortErrorKind::Transient);
        }
        let broken = std::io::Error::from(ErrorKind::ConnectionReset);
        assert_eq!(Unanswered::of(&broken), Unanswered::Passing);
    }
}
