//! What Stayput's role must be allowed, mode by mode, and mustn't. infra/policies has the same as policies, and a test compares both.

use stayput_core::location::ObjectLocation;
use stayput_core::root::{Roots, Strategy};

use super::{Ability, BucketEncryption, Check, Code, Diagnosis, Facts};
use crate::settings::Mode;

/// What must be asked of IAM, and which of it must be allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Actions, each with the resource's ARN, that the mode takes.
    pub needed: Vec<(&'static str, String)>,
    /// Actions that aren't taken there, and that could only do harm.
    pub never: Vec<(&'static str, String)>,
}

/// What somebody wants Stayput to do.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// The bucket.
    pub bucket: &'w str,
    /// Below this prefix; it ends in `/` or is empty.
    pub prefix: &'w str,
    /// The control prefix (bucket, prefix), if there is one.
    pub control: Option<(&'w str, &'w str)>,
    /// How far Stayput goes.
    pub mode: Mode,
    /// The ARN of the key that encrypts new objects, where a key of KMS does and is known by one.
    pub key: Option<&'w str>,
    /// The roots of the settings, which say how objects come back.
    pub roots: &'w Roots,
}

/// The name of an object that stands for all below a prefix.
const ANY: &str = "stayput-doctor-asks";

/// The only action that un-hiding takes.
const UNHIDE: &str = "s3:DeleteObjectVersion";

/// What a mode takes: reading the bucket, writing below the control prefix, writing below the prefix to restore, removing versions where a root
/// un-hides and nowhere else, and using the key.
pub fn needs(wanted: Wanted<'_>) -> Needs {
    let Wanted {
        bucket,
        prefix,
        control,
        mode,
        key,
        ..
    } = wanted;
    let of_bucket = |name: &str| format!("arn:aws:s3:::{name}");
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
    for (at, unhidden) in places(wanted) {
        let list = if unhidden {
            &mut needs.needed
        } else {
            &mut needs.never
        };
        list.push((UNHIDE, object(at.bucket(), at.key())));
    }
    needs
}

/// The ARN that stands for all objects below a prefix.
fn object(bucket: &str, prefix: &str) -> String {
    format!("arn:aws:s3:::{bucket}/{prefix}{ANY}")
}

/// Prefixes at which the removal of versions is asked about, and whether un-hiding takes it there: the place itself, the roots at, above and
/// below it, all else in the bucket, and the control prefix.
fn places(wanted: Wanted<'_>) -> Vec<(ObjectLocation, bool)> {
    let Wanted {
        bucket,
        prefix,
        control,
        mode,
        roots,
        ..
    } = wanted;
    let mut prefixes = vec![
        ObjectLocation::new(bucket, prefix),
        ObjectLocation::new(bucket, ""),
    ];
    for root in roots.iter().filter(|root| root.bucket() == bucket) {
        let metadata = root.metadata_prefix();
        if metadata.starts_with(prefix) || prefix.starts_with(&metadata) {
            // With entropy these differ: data files have any letters where the prefix as it is written has its marker.
            prefixes.push(ObjectLocation::new(bucket, metadata));
            prefixes.push(ObjectLocation::new(bucket, root.prefix()));
        }
    }
    prefixes.extend(control.map(|(bucket, prefix)| ObjectLocation::new(bucket, prefix)));
    prefixes.sort();
    prefixes.dedup();
    let unhidden = |at: &ObjectLocation| {
        let below = ObjectLocation::new(at.bucket(), format!("{}{ANY}", at.key()));
        let root = roots.find(&below);
        mode == Mode::Restore && root.is_some_and(|(root, _)| root.strategy == Strategy::Unhide)
    };
    let asked = prefixes.into_iter().map(|at| {
        let unhidden = unhidden(&at);
        (at, unhidden)
    });
    asked.collect()
}

pub(super) fn permissions(facts: &Facts, check: &mut Check) {
    let Some(role) = check.given(&facts.role) else {
        return;
    };
    let Some(abilities) = check.given(&role.may) else {
        return;
    };
    let those =
        |fits: fn(&Ability) -> bool| -> Vec<&Ability> { abilities.iter().filter(|a| fits(a)).collect() };
    let missing = those(|a| a.needed && !a.allowed && a.action != UNHIDE);
    let cant_unhide = those(|a| a.needed && !a.allowed && a.action == UNHIDE);
    let mut spare = those(|a| !a.needed && a.allowed);
    if let Err(why) = &facts.settings {
        // Only the settings say whether a root un-hides.
        let (perhaps, surely): (Vec<_>, Vec<_>) = spare.into_iter().partition(|a| a.action == UNHIDE);
        spare = surely;
        if role.is_stayputs && !perhaps.is_empty() {
            check.unknown.push(format!(
                "whether a root un-hides, for which {} may be meant to have {}: {}",
                role.name,
                named(&perhaps),
                why.because
            ));
        }
    }
    let mode = match facts.settings.as_ref().map(|chosen| chosen.mode) {
        Ok(Mode::Restore) => "restore",
        _ => "observe",
    };
    if missing.is_empty() {
        let but = if cant_unhide.is_empty() {
            ""
        } else {
            " but un-hiding"
        };
        check.sees(format!(
            "{} may do all that mode {mode} takes{but}, by its own policies. Policies of buckets and keys weren't looked at.",
            role.name
        ));
    } else {
        let what = format!("In mode {mode} {} lacks {}.", role.name, named(&missing));
        let command = role
            .is_stayputs
            .then(|| put_role_policy(&role.name, "stayput-doctor", &missing));
        check.finds(Diagnosis::new(Code::PermissionMissing, role.name.as_str(), what).by(command));
    }
    if !cant_unhide.is_empty() {
        let what = format!(
            "A root says strategy = \"unhide\", and {} lacks {}.",
            role.name,
            named(&cant_unhide)
        );
        let command = role
            .is_stayputs
            .then(|| put_role_policy(&role.name, "stayput-doctor-unhide", &cant_unhide));
        check.finds(Diagnosis::new(Code::UnhideNotAllowed, role.name.as_str(), what).by(command));
    }
    let unhides = those(|a| a.needed && a.allowed && a.action == UNHIDE);
    if !unhides.is_empty() {
        check.sees(format!(
            "For un-hiding {} has {}: S3 knows no permission that is good for markers alone.",
            role.name,
            named(&unhides)
        ));
    }
    if role.is_stayputs && !spare.is_empty() {
        let what = format!("{} is allowed {}.", role.name, named(&spare));
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

/// Actions and where, for people.
fn named(abilities: &[&Ability]) -> String {
    let each = abilities
        .iter()
        .map(|a| format!("{} on {}", a.action, all_below(&a.resource)));
    each.collect::<Vec<_>>().join(", ")
}

/// The resource with all objects in place of the one that stood for them.
fn all_below(resource: &str) -> String {
    resource.replace(ANY, "*")
}

fn statement(ability: &Ability) -> serde_json::Value {
    serde_json::json!({"Effect": "Allow", "Action": ability.action, "Resource": all_below(&ability.resource)})
}

fn put_role_policy(role: &str, name: &str, missing: &[&Ability]) -> String {
    let statements: Vec<_> = missing.iter().map(|a| statement(a)).collect();
    let policy = serde_json::json!({"Version": "2012-10-17", "Statement": statements}).to_string();
    stayput_core::command::aws(
        "iam",
        "put-role-policy",
        &[
            ("RoleName", role),
            ("PolicyName", name),
            ("PolicyDocument", &policy),
        ],
    )
}
