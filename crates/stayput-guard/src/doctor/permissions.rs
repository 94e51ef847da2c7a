//! What Stayput's role must be allowed, mode by mode, and mustn't. infra/policies has the same as policies, and a test compares both.

use super::{BucketEncryption, Check, Code, Diagnosis, Facts};
use crate::settings::Mode;

/// What must be asked of IAM, and which of it must be allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Actions, each with the resource's ARN, that the mode takes.
    pub needed: Vec<(&'static str, String)>,
    /// Actions that no mode takes.
    pub never: Vec<(&'static str, String)>,
}

impl Needs {
    /// All that is to be asked.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        self.needed.iter().chain(&self.never).cloned().collect()
    }
}

/// The name of an object that stands for all below a prefix.
const ANY: &str = "stayput-doctor-asks";

/// What a mode takes: reading the bucket, the control prefix (`bucket`, `prefix`) if there is one, writing below `prefix` to restore, and the
/// key if there is one (its ARN).
pub fn needs(
    bucket: &str,
    prefix: &str,
    control: Option<(&str, &str)>,
    mode: Mode,
    key: Option<&str>,
) -> Needs {
    let of_bucket = |name: &str| format!("arn:aws:s3:::{name}");
    let object = |bucket: &str, prefix: &str| format!("arn:aws:s3:::{bucket}/{prefix}{ANY}");
    let mut needs = Needs::default();
    let mut take = |actions: &[&'static str], resource: String| {
        needs
            .needed
            .extend(actions.iter().map(|action| (*action, resource.clone())));
    };
    take(
        &[
            "s3:ListBucket",
            "s3:ListBucketVersions",
            "s3:GetBucketVersioning",
            "s3:GetLifecycleConfiguration",
        ],
        of_bucket(bucket),
    );
    take(&["s3:GetObject", "s3:GetObjectVersion"], object(bucket, prefix));
    if let Some((bucket, prefix)) = control {
        take(&["s3:GetObject", "s3:PutObject"], object(bucket, prefix));
        take(
            &["s3:ListBucket", "s3:GetLifecycleConfiguration"],
            of_bucket(bucket),
        );
    }
    if mode == Mode::Restore {
        take(
            &[
                "s3:PutObject",
                "s3:GetObjectVersionTagging",
                "s3:PutObjectTagging",
                "s3:ListMultipartUploadParts",
                "s3:AbortMultipartUpload",
                "s3:RestoreObject",
            ],
            object(bucket, prefix),
        );
    }
    if let Some(key) = key {
        take(&["kms:Decrypt"], key.to_owned());
        if mode == Mode::Restore || control.is_some() {
            take(&["kms:GenerateDataKey"], key.to_owned());
        }
    }
    needs.never.push(("s3:DeleteObject", object(bucket, prefix)));
    needs
        .never
        .push(("s3:DeleteObjectVersion", object(bucket, prefix)));
    needs
}

pub(super) fn permissions(facts: &Facts, check: &mut Check) {
    let Some(role) = check.given(&facts.role) else {
        return;
    };
    let Some(abilities) = check.given(&role.may) else {
        return;
    };
    let of_deletion = |action: &str| action.starts_with("s3:Delete");
    let (mut missing, mut spare) = (Vec::new(), Vec::new());
    for ability in abilities {
        let named = format!("{} on {}", ability.action, ability.resource.replace(ANY, "*"));
        match (of_deletion(&ability.action), ability.allowed) {
            (false, false) => missing.push(named),
            (true, true) => spare.push(named),
            _ => {}
        }
    }
    let mode = match facts.settings.as_ref().map(|chosen| chosen.mode) {
        Ok(Mode::Restore) => "restore",
        _ => "observe",
    };
    if missing.is_empty() {
        check.sees(format!(
            "{} may do all that mode {mode} takes, by its own policies. Policies of buckets and keys weren't looked at.",
            role.name
        ));
    } else {
        let what = format!("In mode {mode} {} lacks {}.", role.name, missing.join(", "));
        let policy = policy(&missing);
        let command = role.is_stayputs.then(|| {
            stayput_core::command::aws(
                "iam",
                "put-role-policy",
                &[
                    ("RoleName", &role.name),
                    ("PolicyName", "stayput-doctor"),
                    ("PolicyDocument", &policy),
                ],
            )
        });
        check.finds(Diagnosis::new(Code::PermissionMissing, role.name.as_str(), what).by(command));
    }
    if role.is_stayputs && !spare.is_empty() {
        let what = format!("{} is allowed {}.", role.name, spare.join(", "));
        let found = Diagnosis::new(Code::PermissionToDelete, role.name.as_str(), what);
        check.finds(found.by(stayput_core::command::aws(
            "iam",
            "list-role-policies",
            &[("RoleName", role.name.as_str())],
        )));
    }
    match &facts.encryption {
        Ok(BucketEncryption::OfS3) => {}
        Ok(BucketEncryption::ByKms(Some(key))) if key.starts_with("arn:") => {}
        Ok(BucketEncryption::ByKms(_)) => {
            let what =
                "whether the role may use the key: the bucket names it by no ARN, so IAM can't be asked";
            check.unknown.push(what.to_owned());
        }
        Err(why) => check
            .unknown
            .push(format!("whether a key must be allowed: {}", why.because)),
    }
}

/// The smallest policy that allows what is missing.
fn policy(missing: &[String]) -> String {
    let statements: Vec<serde_json::Value> = missing
        .iter()
        .filter_map(|named| named.split_once(" on "))
        .map(|(action, resource)| {
            serde_json::json!({"Effect": "Allow", "Action": action, "Resource": resource})
        })
        .collect();
    serde_json::json!({"Version": "2012-10-17", "Statement": statements}).to_string()
}
