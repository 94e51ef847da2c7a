//! `stayput serve` hears a server's own push notifications, end to end: Ceph posts what was deleted, and what is needed comes back.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use aws_sdk_s3::primitives::SdkBody;
use aws_sdk_sts::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_sts::config::{BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents};
use aws_sdk_sts::error::BoxError;
use serde_json::Value;
use stayput_aws::s3::S3;
use stayput_guard::port::Reading;
use stayput_tests::system::given;

use crate::server::{REGION, Server, on_servers};
use crate::world::{JOB, World};

on_servers! {
    [Ceph]
    what_the_server_pushes_comes_back;
}

const TOKEN: &str = "0123456789abcdef0123";
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends this form, signed as STS's requests are: Ceph's topics are made by the same kind of request, and no client here knows them.
#[derive(Debug)]
struct Form(String);

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Form {
    fn name(&self) -> &'static str {
        "Form"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        *request.body_mut() = SdkBody::from(self.0.as_str());
        request
            .headers_mut()
            .insert("content-length", self.0.len().to_string());
        Ok(())
    }
}

/// Makes a topic that posts to an endpoint; returns its ARN.
async fn make_topic(url: &str, name: &str, endpoint: &str) -> String {
    let config = aws_sdk_sts::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(url)
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let encoded: String = endpoint.bytes().map(|b| format!("%{b:02X}")).collect();
    let form = format!(
        "Action=CreateTopic&Name={name}&Attributes.entry.1.key=push-endpoint&Attributes.entry.1.value={encoded}"
    );
    let asked = aws_sdk_sts::Client::from_conf(config)
        .get_caller_identity()
        .customize()
        .interceptor(Form(form))
        .send()
        .await;
    // It isn't an answer to GetCallerIdentity, so the client calls it an error.
    let error = asked.expect_err("an answer of another kind");
    let body = error.raw_response().and_then(|answer| answer.body().bytes());
    let body = String::from_utf8_lossy(body.unwrap_or_default()).into_owned();
    let arn = body
        .split_once("<TopicArn>")
        .and_then(|(_, rest)| rest.split_once("</TopicArn>"));
    arn.unwrap_or_else(|| panic!("CreateTopic: {body} {error:?}"))
        .0
        .to_owned()
}

/// Ended when the test ends, however it does.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connected(command: &str, url: &str) -> Command {
    let mut command = Command::new(command);
    command
        .env("AWS_ENDPOINT_URL", url)
        .env("AWS_REGION", REGION)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("STAYPUT_TOKEN", TOKEN);
    command
}

async fn what_the_server_pushes_comes_back(server: Server) {
    let Some(url) = server.url() else { return };
    let Some(command) = given("STAYPUT_COMMAND", "ceph") else {
        return;
    };
    let world = World::at(&url).await;
    world.upload(|_| true).await;
    let bucket = world.bucket.name.clone();
    let config = std::env::temp_dir().join(format!("{bucket}-serve.toml"));
    let settings = format!(
        "mode = \"restore\"\nsettle = \"1s\"\ncontrol = \"s3://{bucket}/stayput/\"\n[[roots]]\nuri = \"s3://{bucket}/flink/\"\n\
         kind = \"checkpoints\"\n[flink]\nprincipals = [\"flink\"]\n[stayput]\nrole = \"stayput\"\n"
    );
    std::fs::write(&config, settings).expect("the settings");
    let log = config.with_extension("ndjson");
    let child = connected(&command, &url)
        .args(["serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(&config)
        .stdout(std::fs::File::create(&log).expect("a log"))
        .spawn()
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    let _serving = Serving(child);
    let printed = || std::fs::read_to_string(&log).expect("its log");
    let wait_for = async |field: &str| {
        let began = Instant::now();
        loop {
            let printed = printed();
            // The last line may not be whole yet.
            let lines = printed
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(value) = lines.filter_map(|line| line.get(field).cloned()).next_back() {
                return value;
            }
            assert!(began.elapsed() < PATIENCE, "no line {field}: {printed}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let address = wait_for("started").await["listens"]
        .as_str()
        .expect("an address")
        .to_owned();
    wait_for("sweep").await;

    let topic = make_topic(&url, &bucket, &format!("http://{address}/events/{TOKEN}")).await;
    let setup = connected(&command, &url)
        .args([
            "setup",
            &format!("s3://{bucket}/flink"),
            "--topic",
            &topic,
            "--event",
            "s3:ObjectRemoved:*",
            "--apply",
        ])
        .output()
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    let said = String::from_utf8_lossy(&setup.stderr);
    assert_eq!(
        setup.status.code(),
        Some(0),
        "{}{said}",
        String::from_utf8_lossy(&setup.stdout)
    );

    let needed = world.named_by("chk-5");
    let key = needed
        .iter()
        .find(|key| key.starts_with(&format!("{JOB}shared/")))
        .expect("a shared file");
    world.bucket.delete(key).await;
    let reading = S3::new(&world.bucket.connection);
    let began = Instant::now();
    loop {
        if let Ok(body) = reading.body(&world.bucket.at(key), None, 1 << 20).await {
            assert_eq!(body.bytes, world.files[key], "{key}");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{key} isn't back: {}", printed());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The server names its user, who isn't Flink.
    let verdict = wait_for("verdict").await;
    assert_eq!(
        (&verdict["cause"], &verdict["by"]),
        (&"foreign".into(), &"test".into()),
        "{verdict}"
    );
    for file in [&config, &log] {
        let _ = std::fs::remove_file(file);
    }
}
