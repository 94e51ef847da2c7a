//! The infrastructure: its linters, and the function in AWS's container on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{quietly, run};
use crate::provide;
use crate::steps::Steps;

/// The linters of `infra/`. `required`: whether missing tools are a failure.
pub(crate) fn lint(root: &Path, steps: &mut Steps, required: bool) {
    let template = root.join("infra/template.yaml");
    if let Some(sam) = steps.part("install SAM and cfn-lint", required, || provide::sam(root)) {
        steps.check("cfn-lint", || {
            run(Command::new(beside(&sam, "cfn-lint")).arg(&template))
        });
        steps.check("sam validate", || {
            quietly(
                command(&sam)
                    .args(["validate", "--lint", "--region", "eu-west-1", "--template"])
                    .arg(&template),
            )
        });
        steps.check("infra/checks", || {
            run(Command::new(beside(&sam, "python"))
                .args(["-B", "-m", "unittest", "discover", "--start-directory"])
                .arg(root.join("infra/checks")))
        });
    }
    if let Some(checkov) = steps.part("install checkov", required, || provide::checkov(root)) {
        steps.check("checkov", || {
            run(Command::new(checkov)
                .args([
                    "--framework",
                    "cloudformation",
                    "--skip-download",
                    "--compact",
                    "--quiet",
                ])
                .arg("--file")
                .arg(&template))
        });
    }
}

/// The SAM command, which would tell its makers of each call.
pub(crate) fn command(sam: &Path) -> Command {
    let mut command = Command::new(sam);
    command.env("SAM_CLI_TELEMETRY", "0");
    command
}

fn beside(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(name)
}

/// What `sam build` would make, with the function that was built for this machine.
pub(crate) fn built_template(root: &Path, bootstrap: &Path) -> Result<PathBuf, String> {
    let folder = provide::local(root)?.join("built");
    let code = folder.join("code");
    std::fs::create_dir_all(&code).map_err(|e| format!("{}: {e}", code.display()))?;
    std::fs::copy(bootstrap, code.join("bootstrap")).map_err(|e| format!("{}: {e}", bootstrap.display()))?;
    let source = root.join("infra/template.yaml");
    let text = std::fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let built = text.replace("CodeUri: ../lambda", "CodeUri: code");
    let to = folder.join("template.yaml");
    std::fs::write(&to, built).map_err(|e| format!("{}: {e}", to.display()))?;
    Ok(to)
}
