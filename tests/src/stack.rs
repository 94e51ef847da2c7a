//! infra/template.yaml as a stack on a local server: the SAM command deploys it, and the server's CloudFormation makes what it says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cloud::{Cloud, REGION};

/// Where the SAM command and the function lie.
pub struct Kit {
    /// The SAM command.
    pub sam: PathBuf,
    /// The function's binary for this machine.
    pub bootstrap: PathBuf,
}

/// A stack that was deployed.
pub struct Stack {
    /// Its name.
    pub name: String,
    /// Its outputs, by their keys.
    pub outputs: BTreeMap<String, String>,
}

impl Kit {
    /// Deploys the template, or deploys it again with other parameters.
    ///
    /// # Panics
    /// If the SAM command fails; says what it said.
    pub fn deploy(&self, cloud: &Cloud, name: &str, parameters: &[(&str, &str)]) -> Stack {
        let template = self.built(name);
        let code = format!("{name}-code");
        cloud.make_versioned_bucket(&code);
        let given: Vec<String> = parameters
            .iter()
            .map(|(n, value)| format!("{n}={value}"))
            .chain(["Architecture=x86_64".to_owned()])
            .collect();
        let output = Command::new(&self.sam)
            .args(["deploy", "--stack-name", name, "--s3-bucket", &code])
            .args(["--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"])
            .args(["--no-progressbar", "--template"])
            .arg(&template)
            .arg("--parameter-overrides")
            .args(&given)
            .env("AWS_ENDPOINT_URL", cloud.url())
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_DEFAULT_REGION", REGION)
            .env("SAM_CLI_TELEMETRY", "0")
            .output()
            .unwrap_or_else(|e| panic!("{}: {e}", self.sam.display()));
        assert!(
            output.status.success(),
            "sam deploy {}: {}\n{}\n{}",
            given.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Stack {
            name: name.to_owned(),
            outputs: cloud.stack_outputs(name),
        }
    }

    /// What `sam build` would make, with the function that was built for this machine.
    fn built(&self, name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("stayput-{name}"));
        let code = folder.join("code");
        fs::create_dir_all(&code).unwrap_or_else(|e| panic!("{}: {e}", code.display()));
        fs::copy(&self.bootstrap, code.join("bootstrap"))
            .unwrap_or_else(|e| panic!("{}: {e}", self.bootstrap.display()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/template.yaml");
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let built = text.replace("CodeUri: ../lambda", "CodeUri: code");
        assert_ne!(text, built, "the template names its code otherwise");
        let to = folder.join("template.yaml");
        fs::write(&to, built).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
        to
    }
}

impl Stack {
    /// An output.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn output(&self, key: &str) -> &str {
        let outputs = &self.outputs;
        outputs
            .get(key)
            .unwrap_or_else(|| panic!("{} has no output {key}: {outputs:?}", self.name))
    }

    /// Lets the bucket send what the output `Notifications` says.
    ///
    /// # Panics
    /// If the output isn't what infra/README.md says, or the server refuses.
    pub fn let_send(&self, cloud: &Cloud, bucket: &str) {
        let asked: Value = serde_json::from_str(self.output("Notifications"))
            .unwrap_or_else(|e| panic!("Notifications: {e}"));
        let queues = asked["QueueConfigurations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let parts: String = queues
            .iter()
            .map(|queue| {
                let events: String = (queue["Events"].as_array().into_iter().flatten())
                    .map(|event| format!("<Event>{}</Event>", text(event)))
                    .collect();
                let rules: String = (queue["Filter"]["Key"]["FilterRules"]
                    .as_array()
                    .into_iter()
                    .flatten())
                .map(|rule| {
                    let (name, value) = (text(&rule["Name"]), text(&rule["Value"]));
                    format!("<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>")
                })
                .collect();
                let filter = match rules.as_str() {
                    "" => String::new(),
                    rules => format!("<Filter><S3Key>{rules}</S3Key></Filter>"),
                };
                format!(
                    "<QueueConfiguration><Id>{}</Id><Queue>{}</Queue>{events}{filter}</QueueConfiguration>",
                    text(&queue["Id"]),
                    text(&queue["QueueArn"])
                )
            })
            .collect();
        assert!((2..=3).contains(&queues.len()), "{asked}");
        cloud.put_notifications(bucket, &parts);
    }
}
