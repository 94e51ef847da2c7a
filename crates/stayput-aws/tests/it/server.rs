//! A server that `cargo xtask test` has started, and a bucket of one's own in it.

use std::sync::atomic::{AtomicU32, Ordering};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, BucketVersioningStatus, ExpirationStatus, LifecycleExpiration,
    LifecycleRule, LifecycleRuleFilter, VersioningConfiguration,
};
use stayput_aws::connection::Connection;
use stayput_core::location::ObjectLocation;
use stayput_core::version::{KeyHistory, VersionId};
use stayput_guard::port::{Reading, VersionsOf};

pub(crate) const REGION: &str = "us-east-1";

/// A server that the ports are tried on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Server {
    /// It takes `If-None-Match` of a copy and ignores it.
    MiniStack,
    /// It ignores it too, tells no version id of a copy, and loses the tags of one whose metadata is replaced. It carries lifecycle rules out.
    Ceph,
    /// It honours the condition.
    SeaweedFs,
}

impl Server {
    /// Its URL. Without it a test is skipped and says so, unless `STAYPUT_REQUIRE` names the server.
    pub(crate) fn url(self) -> Option<String> {
        let (variable, part, flag) = match self {
            Self::MiniStack => ("STAYPUT_MINISTACK", "ministack", ""),
            Self::Ceph => ("STAYPUT_CEPH", "ceph", " --all"),
            Self::SeaweedFs => ("STAYPUT_SEAWEEDFS", "seaweedfs", " --all"),
        };
        if let Ok(url) = std::env::var(variable) {
            return Some(url);
        }
        let required = std::env::var("STAYPUT_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name.trim() == part),
            "STAYPUT_REQUIRE names {part}, but {variable} isn't set: run the tests by `cargo xtask test`"
        );
        println!("skipped: {variable} isn't set; `cargo xtask test{flag}` sets it");
        None
    }

    pub(crate) fn honours_the_condition(self) -> bool {
        self == Self::SeaweedFs
    }
}

/// Makes a test of each function on each of these servers.
macro_rules! on_servers {
    ($servers:tt $($test:ident;)+) => {
        $( mod $test { $crate::server::on_servers!(@ $test $servers); } )+
    };
    (@ $test:ident [$($server:ident),+]) => {
        $(
            #[tokio::test]
            #[expect(non_snake_case, reason = "the name of a server")]
            async fn $server() {
                super::$test($crate::server::Server::$server).await;
            }
        )+
    };
}
pub(crate) use on_servers;

/// One bucket, the connection under test, and a client by which the test does what Stayput can't: write and delete.
pub(crate) struct Bucket {
    pub(crate) connection: Connection,
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Bucket {
    /// A new bucket that keeps versions.
    pub(crate) async fn versioned(url: &str) -> Self {
        let bucket = Self::unversioned(url).await;
        bucket.set_versioning(BucketVersioningStatus::Enabled).await;
        bucket
    }

    /// A new bucket with object lock.
    pub(crate) async fn locked(url: &str) -> Self {
        Self::new(url, true).await
    }

    pub(crate) async fn unversioned(url: &str) -> Self {
        Self::new(url, false).await
    }

    async fn new(url: &str, locked: bool) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "stayput-aws-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(url)
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .force_path_style(true)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        let client = Client::from_conf(config);
        let create = client.create_bucket().bucket(&name);
        let create = create.set_object_lock_enabled_for_bucket(locked.then_some(true));
        create.send().await.unwrap();
        Self {
            connection: Connection::to_server(url, REGION, "test", "test").await,
            client,
            name,
        }
    }

    pub(crate) async fn set_versioning(&self, status: BucketVersioningStatus) {
        self.client
            .put_bucket_versioning()
            .bucket(&self.name)
            .versioning_configuration(VersioningConfiguration::builder().status(status).build())
            .send()
            .await
            .unwrap();
    }

    /// From now on rules, by name and prefix, hide what is so many days old.
    pub(crate) async fn expire(&self, prefixes: &[(&str, &str)], days: u32) {
        let days = i32::try_from(days).unwrap();
        let rules = prefixes.iter().map(|(id, prefix)| {
            LifecycleRule::builder()
                .id(*id)
                .status(ExpirationStatus::Enabled)
                .filter(LifecycleRuleFilter::builder().prefix(*prefix).build())
                .expiration(LifecycleExpiration::builder().days(days).build())
                .build()
                .unwrap()
        });
        self.set_lifecycle(rules).await;
    }

    pub(crate) async fn set_lifecycle(&self, rules: impl IntoIterator<Item = LifecycleRule>) {
        let rules: Vec<LifecycleRule> = rules.into_iter().collect();
        let configuration = BucketLifecycleConfiguration::builder().set_rules(Some(rules));
        let put = self
            .client
            .put_bucket_lifecycle_configuration()
            .bucket(&self.name);
        put.lifecycle_configuration(configuration.build().unwrap())
            .send()
            .await
            .unwrap();
    }

    /// No rule hides anything any more. The server has the more time for the rules of others.
    pub(crate) async fn without_lifecycle(&self) {
        let delete = self.client.delete_bucket_lifecycle().bucket(&self.name);
        delete.send().await.unwrap();
    }

    pub(crate) fn at(&self, key: &str) -> ObjectLocation {
        ObjectLocation::new(&*self.name, key)
    }

    pub(crate) async fn put(&self, key: &str, bytes: &[u8]) -> VersionId {
        let answer = self
            .client
            .put_object()
            .bucket(&self.name)
            .key(key)
            .body(bytes.to_vec().into())
            .metadata("owner", "team")
            .content_type("application/x-flink")
            .send()
            .await
            .unwrap();
        VersionId::new(answer.version_id().unwrap_or("null"))
    }

    /// Hides the object; returns the marker.
    pub(crate) async fn delete(&self, key: &str) -> VersionId {
        let answer = self
            .client
            .delete_object()
            .bucket(&self.name)
            .key(key)
            .send()
            .await
            .unwrap();
        VersionId::new(answer.version_id().unwrap_or("null"))
    }

    /// The versions of exactly this key, as the port lists them.
    pub(crate) async fn history(&self, reading: &impl Reading, key: &str) -> KeyHistory {
        let of = VersionsOf {
            bucket: &self.name,
            prefix: key,
            by_directory: false,
            after_key: None,
            pages: None,
        };
        let mut entries = reading.versions(of).await.unwrap().entries;
        entries.retain(|e| e.key == key);
        KeyHistory::new(entries)
    }
}
