//! Where the requests go: region, endpoint, credentials, path style.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_s3::config::{Credentials, Region, RequestChecksumCalculation, SharedHttpClient};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};

use stayput_guard::port::{PortError, PortErrorKind};

use crate::failure::Call;
use crate::requests::Requests;

/// `true` or `false`: whether the bucket stands in the path of a request instead of in its host name.
pub const PATH_STYLE: &str = "STAYPUT_S3_PATH_STYLE";

/// Why no connection can be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// The variable is neither.
    #[error(
        "{PATH_STYLE} is {0:?}: write true or false, or leave it out: it is true for endpoints that aren't AWS's"
    )]
    PathStyle(String),
    /// Nobody says in which region the requests go.
    #[error(
        "no region is set, so no request can be sent: set AWS_REGION, or a region in the profile that AWS_PROFILE names"
    )]
    NoRegion,
    /// Who we are couldn't be asked.
    #[error("{0}")]
    Identity(PortError),
}

/// What all clients share: the environment's region, credentials and endpoints, one pool of connections.
#[derive(Clone, Debug)]
pub struct Connection {
    sdk: SdkConfig,
    path_style: bool,
    foreign: bool,
    requests: Requests,
}

impl Connection {
    /// From the environment: `AWS_REGION`, credentials, `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, [`PATH_STYLE`],
    /// `AWS_MAX_ATTEMPTS`. Makes no request yet.
    ///
    /// # Errors
    /// [`PATH_STYLE`] is neither `true` nor `false`, or there is no region.
    pub async fn from_env() -> Result<Self, ConnectionError> {
        let sdk = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http_client())
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(Duration::from_secs(3))
                    // To the head of the answer. CopyObject of 5 GiB sends it at once and the rest when it is done.
                    .read_timeout(Duration::from_secs(60))
                    .build(),
            )
            .load()
            .await;
        if sdk.region().is_none() {
            return Err(ConnectionError::NoRegion);
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let endpoint = variable("AWS_ENDPOINT_URL_S3")
            .or_else(|| variable("AWS_ENDPOINT_URL"))
            .or_else(|| sdk.endpoint_url().map(str::to_owned));
        let foreign = endpoint.as_deref().is_some_and(|url| !is_aws(url));
        let path_style = match variable(PATH_STYLE).as_deref() {
            None => foreign,
            Some("true") => true,
            Some("false") => false,
            Some(other) => return Err(ConnectionError::PathStyle(other.to_owned())),
        };
        Ok(Self {
            sdk,
            path_style,
            foreign,
            requests: Requests::default(),
        })
    }

    /// To a server of its own at `url`, in path style, with these keys; the environment isn't asked for anything.
    pub async fn to_server(url: &str, region: &str, access_key: &str, secret_key: &str) -> Self {
        let sdk = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http_client())
            .endpoint_url(url)
            .region(Region::new(region.to_owned()))
            .credentials_provider(Credentials::new(access_key, secret_key, None, None, "given"))
            .load()
            .await;
        Self {
            sdk,
            path_style: true,
            foreign: true,
            requests: Requests::default(),
        }
    }

    /// Whether the server is none of AWS's own.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// What counts the requests to S3.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// A client for S3.
    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        let mut config = aws_sdk_s3::config::Builder::from(&self.sdk)
            .force_path_style(self.path_style)
            .interceptor(self.requests.clone());
        if self.foreign {
            // Not every server takes checksums in trailers.
            config = config.request_checksum_calculation(RequestChecksumCalculation::WhenRequired);
        }
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// What the clients of other services are made with.
    #[cfg(any(feature = "tools", feature = "topic"))]
    pub(crate) fn sdk(&self) -> &SdkConfig {
        &self.sdk
    }

    /// The id of the role or user that these requests come from, as events name it: `AROAEXAMPLEID`, without the session's name.
    ///
    /// # Errors
    /// STS can't be reached or refuses.
    pub async fn own_role(&self) -> Result<String, ConnectionError> {
        let sts = aws_sdk_sts::Client::new(&self.sdk);
        let call = Call::about("GetCallerIdentity", "these credentials");
        let instead = |error: PortError| match error.kind {
            // Nothing else would work either.
            PortErrorKind::NotSetUp => error,
            _ => {
                let said = error.detail.clone().unwrap_or_default();
                error.because(format!(
                    "{said}. Or name the role by stayput.role in the settings"
                ))
            }
        };
        let identity = sts.get_caller_identity().send().await;
        let identity = identity.map_err(|e| ConnectionError::Identity(instead(call.failed(&e))))?;
        let id = identity.user_id().unwrap_or_default();
        match id.split(':').next() {
            Some(role) if !role.is_empty() => Ok(role.to_owned()),
            _ => {
                let nameless = call.nonsense("it names no user id");
                Err(ConnectionError::Identity(instead(nameless)))
            }
        }
    }
}

fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

/// Whether an endpoint is one of AWS's own, where the bucket belongs into the host name.
fn is_aws(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    ["amazonaws.com", "amazonaws.com.cn", "api.aws"]
        .iter()
        .any(|domain| host == *domain || host.ends_with(&format!(".{domain}")))
}

#[cfg(test)]
mod tests {
    use super::is_aws;

    #[test]
    fn endpoints_of_aws_are_told_from_others() {
        assert!(is_aws("https://s3.eu-west-1.amazonaws.com"));
        assert!(is_aws(
            "https://bucket.vpce-1a2b3c.s3.eu-west-1.vpce.amazonaws.com/"
        ));
        assert!(is_aws("https://s3.cn-north-1.amazonaws.com.cn:443"));
        assert!(!is_aws("http://127.0.0.1:4566"));
        assert!(!is_aws("https://amazonaws.com.example.org"));
        assert!(!is_aws("https://notamazonaws.com"));
    }
}
