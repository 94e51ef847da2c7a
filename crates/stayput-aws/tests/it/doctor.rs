//! `stayput doctor` and `setup` on servers that aren't AWS's: what they don't know is unknown, and what they do is seen.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use stayput_tests::system::given;

use crate::server::{Bucket, REGION, Server, on_servers};

on_servers! {
    [Ceph, SeaweedFs]
    a_server_is_asked_what_it_knows_and_the_rest_is_unknown;
}

async fn a_server_is_asked_what_it_knows_and_the_rest_is_unknown(server: Server) {
    let Some(url) = server.url() else { return };
    let Some(command) = given("STAYPUT_COMMAND", "ceph") else {
        return;
    };
    let bucket = Bucket::versioned(&url).await;
    let name = bucket.name.clone();
    bucket.put("flink/j/shared/a", b"state").await;
    bucket.delete("flink/j/shared/a").await;
    let config = std::env::temp_dir().join(format!("{name}.toml"));
    let settings = format!(
        "control = \"s3://{name}/stayput/\"\n[[roots]]\nuri = \"s3://{name}/flink/\"\nkind = \"checkpoints\"\n[flink]\nprincipals = [\"flink\"]\n"
    );
    std::fs::write(&config, settings).expect("the settings");
    let call = |arguments: &[&str]| {
        let output = Command::new(&command)
            .args(arguments)
            .args(["--output", "json"])
            .env("AWS_ENDPOINT_URL", &url)
            .env("AWS_REGION", REGION)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .output()
            .unwrap_or_else(|e| panic!("{command}: {e}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
        (document, output.status.code())
    };
    let place = format!("s3://{name}/flink");
    let config_text = config.to_string_lossy();
    let (document, status) = call(&["doctor", &place, "--config", &config_text, "--probe"]);
    assert_eq!(status, Some(3), "{document}");
    let checks = document["checks"].as_array().expect("checks");
    let checks: BTreeMap<&str, &Value> = checks
        .iter()
        .map(|check| (check["check"].as_str().unwrap_or_default(), check))
        .collect();
    let status_of = |check: &str| checks[check]["status"].as_str().unwrap_or_default();
    assert_eq!(status_of("versioning"), "fine", "{document}");
    assert_eq!(
        checks["noncurrent_window"]["findings"][0]["code"], "noncurrent_forever",
        "{document}"
    );
    assert_eq!(
        checks["conditional_copy"]["findings"][0]["code"] == "condition_ignored",
        !server.honours_the_condition()
    );
    // Neither has AWS's IAM.
    assert_eq!(status_of("permissions"), "unknown", "{}", checks["permissions"]);
    // SeaweedFS has no notifications at all; like Ceph it shows a configuration with nothing in it, and so nobody is told.
    let told = &checks["notifications"]["findings"][0]["code"];
    assert_eq!(told, "notifications_missing", "{}", checks["notifications"]);
    let _ = std::fs::remove_file(&config);
}
