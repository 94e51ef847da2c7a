//! A bucket that has everything, and what can be wrong with one.

use std::time::Duration;

use s3_documents::bucket::Versioning;
use s3_documents::lifecycle;
use s3_documents::notification_configuration::NotificationConfiguration;
use stayput_core::cause::Principals;
use stayput_core::location::ObjectLocation;
use stayput_core::root::{Root, RootKind, Roots, Strategy};
use stayput_core::timestamp::Timestamp;
use stayput_core::version::{VersionEntry, VersionId, VersionKind};
use stayput_guard::doctor::{
    Ability, BucketEncryption, Chosen, ChurnCounter, Code, DefaultRetention, Facts, KeyState, LockMode,
    Replica, Role, Swept, Unknown, Wanted, Writer, needs,
};
use stayput_guard::settings::Mode;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
pub(super) const GOOD_RULES: &str = r#"{"Rules":[{"ID":"keep-a-week","Status":"Enabled","Filter":{"Prefix":""},
    "NoncurrentVersionExpiration":{"NoncurrentDays":7},"AbortIncompleteMultipartUpload":{"DaysAfterInitiation":30}}]}"#;

pub(super) fn sends(parts: &str) -> NotificationConfiguration {
    let text = format!("<NotificationConfiguration>{parts}</NotificationConfiguration>");
    NotificationConfiguration::parse(text.as_bytes()).expect("a notification configuration")
}

pub(super) fn queue(id: &str, event: &str, prefix: &str) -> String {
    let filter = match prefix {
        "" => String::new(),
        p => format!(
            "<Filter><S3Key><FilterRule><Name>prefix</Name><Value>{p}</Value></FilterRule></S3Key></Filter>"
        ),
    };
    format!(
        "<QueueConfiguration><Id>{id}</Id><Queue>arn:aws:sqs:r:1:{id}</Queue><Event>{event}</Event>{filter}</QueueConfiguration>"
    )
}

pub(super) fn both() -> String {
    queue("stayput-lifecycle", "s3:LifecycleExpiration:*", "")
        + &queue("stayput-removals", "s3:ObjectRemoved:*", "")
}

/// A root that un-hides, or copies.
pub(super) fn roots(strategy: Strategy) -> Roots {
    let mut root = Root::new("s3://b/cp/", RootKind::Checkpoints, None).expect("a root");
    root.strategy = strategy;
    Roots::new(vec![root])
}

/// What a role may do that has all that mode restore takes, but not these actions, and is allowed these where nobody takes them.
pub(super) fn abilities(strategy: Strategy, lacks: &[&str], may_too: &[&str]) -> Vec<Ability> {
    let needs = needs(Wanted {
        bucket: "b",
        prefix: "cp/",
        control: Some(("ops", "stayput/")),
        mode: Mode::Restore,
        key: Some("arn:aws:kms:r:1:key/k"),
        roots: &roots(strategy),
    });
    let of = |all: &[(&'static str, String)], needed: bool| {
        let abilities = all.iter().map(|(action, resource)| Ability {
            action: (*action).to_owned(),
            resource: resource.clone(),
            needed,
            allowed: if needed {
                !lacks.contains(action)
            } else {
                may_too.contains(action)
            },
        });
        abilities.collect::<Vec<_>>()
    };
    [of(&needs.needed, true), of(&needs.never, false)].concat()
}

/// A root un-hides, and the role may do so, but for these actions.
pub(super) fn unhides(facts: &mut Facts, lacks: &[&str]) {
    if let (Ok(chosen), Ok(role)) = (&mut facts.settings, &mut facts.role) {
        chosen.unhides = true;
        role.may = Ok(abilities(Strategy::Unhide, lacks, &[]));
    }
}

pub(super) fn row(key: &str, n: u32, size: Option<u64>, age: Duration) -> VersionEntry {
    VersionEntry {
        key: key.to_owned(),
        id: VersionId::new(format!("v{n}")),
        is_latest: n == 0,
        last_modified: NOW.minus(age),
        kind: match size {
            Some(size) => VersionKind::Data {
                size,
                etag: "e".to_owned(),
                storage_class: None,
            },
            None => VersionKind::Marker,
        },
    }
}

/// A gigabyte hidden two days ago, and one that is visible.
pub(super) fn rows() -> Vec<VersionEntry> {
    vec![
        row("cp/a", 0, None, 2 * DAY),
        row("cp/a", 1, Some(1_000_000_000), 20 * DAY),
        row("cp/b", 0, Some(5), DAY),
    ]
}

pub(super) fn churn(rows: &[VersionEntry], complete: bool) -> stayput_guard::doctor::Churn {
    let mut counter = ChurnCounter::new(NOW);
    rows.iter().for_each(|row| counter.count(row));
    counter.finish(complete)
}

/// A bucket that has everything.
pub(super) fn healthy() -> Facts {
    Facts {
        place: ObjectLocation::new("b", "cp/"),
        of_aws: true,
        now: NOW,
        reaction: 7 * DAY,
        versioning: Ok(Versioning::Enabled),
        mfa_delete: Ok(false),
        rules: Ok(lifecycle::parse(GOOD_RULES.as_bytes()).expect("rules")),
        churn: Ok(churn(&rows(), true)),
        swept: Ok(Swept {
            findings: Vec::new(),
            snapshots: 4,
            objects: 40,
            gaps: Vec::new(),
        }),
        retention: Ok(None),
        encryption: Ok(BucketEncryption::ByKms(Some("arn:aws:kms:r:1:key/k".to_owned()))),
        key: Some(Ok(KeyState::Enabled)),
        notifications: Ok(sends(&both())),
        our_targets: Vec::new(),
        replicas: Ok(Vec::new()),
        role: Ok(Role {
            name: "stayput".to_owned(),
            is_stayputs: true,
            may: Ok(abilities(Strategy::Copy, &[], &[])),
        }),
        condition: Err(Unknown::because("not asked")),
        settings: Ok(Chosen {
            mode: Mode::Restore,
            watches: true,
            unhides: false,
            control: Some(ObjectLocation::new("ops", "stayput/")),
            principals: Principals {
                flink: vec!["AROAFLINK".to_owned()],
                ours: vec!["AROAOURS".to_owned()],
            },
        }),
        control: Some(Ok(())),
        writers: Ok(vec![Writer {
            principal: "AWS:AROAFLINK:tm".to_owned(),
            example: "s3://b/cp/j/chk-1/_metadata".to_owned(),
        }]),
    }
}

pub(super) fn rules(text: &str) -> Result<lifecycle::LifecycleConfiguration, Unknown> {
    Ok(lifecycle::parse(text.as_bytes()).expect("rules"))
}

/// A code, what its finding says or does, and what is wrong.
pub(super) type Fault = (Code, &'static str, fn(&mut Facts));

/// One change of a healthy bucket for each code, and a part of what the finding must say or do.
pub(super) fn faults() -> Vec<Fault> {
    vec![
        (Code::DirectoryBucket, "Express", |f| {
            f.place = ObjectLocation::new("b--use1-az4--x-s3", "cp/");
        }),
        (
            Code::VersioningOff,
            "put-bucket-versioning --bucket b --versioning-configuration 'Status=Enabled'",
            |f| {
                f.versioning = Ok(Versioning::Never);
            },
        ),
        (Code::VersioningStopped, "'Status=Enabled'", |f| {
            f.versioning = Ok(Versioning::Suspended);
        }),
        (Code::MfaDelete, "device", |f| f.mfa_delete = Ok(true)),
        (Code::UnhideNeedsDevice, "copies instead", |f| {
            unhides(f, &[]);
            f.mfa_delete = Ok(true);
        }),
        (Code::NoncurrentWindowShort, r#""NoncurrentDays":7"#, |f| {
            f.rules = rules(
                r#"{"Rules":[{"ID":"it's tight","Status":"Enabled","Filter":{"Prefix":"cp/j"},"NoncurrentVersionExpiration":{"NoncurrentDays":1}},
                    {"ID":"all","Status":"Enabled","Filter":{},"NoncurrentVersionExpiration":{"NoncurrentDays":9},"AbortIncompleteMultipartUpload":{"DaysAfterInitiation":9}}]}"#,
            );
        }),
        (Code::NoncurrentForever, "stayput-noncurrent", |f| {
            // The first keeps one newer version, which Flink never writes; the second asks for tags.
            f.rules = rules(
                r#"{"Rules":[{"ID":"a","Status":"Enabled","Filter":{},"NoncurrentVersionExpiration":{"NoncurrentDays":7,"NewerNoncurrentVersions":1},"AbortIncompleteMultipartUpload":{"DaysAfterInitiation":9}},
                    {"ID":"b","Status":"Enabled","Filter":{"Tag":{"Key":"k","Value":"v"}},"NoncurrentVersionExpiration":{"NoncurrentDays":30}}]}"#,
            );
        }),
        (
            Code::NoncurrentArchived,
            "put-bucket-lifecycle-configuration",
            |f| {
                f.rules = rules(
                    r#"{"Rules":[{"ID":"a","Status":"Enabled","Filter":{},"NoncurrentVersionExpiration":{"NoncurrentDays":90},"AbortIncompleteMultipartUpload":{"DaysAfterInitiation":9},
                    "NoncurrentVersionTransitions":[{"NoncurrentDays":1,"StorageClass":"GLACIER"}]}]}"#,
                );
            },
        ),
        (Code::DefaultRetention, "30 days in compliance mode", |f| {
            f.retention = Ok(Some(DefaultRetention {
                mode: LockMode::Compliance,
                days: 30,
            }));
        }),
        (Code::KeyUnusable, "aws kms enable-key --key-id", |f| {
            f.key = Some(Ok(KeyState::Disabled));
        }),
        (Code::KeyUnusable, "aws kms cancel-key-deletion", |f| {
            f.key = Some(Ok(KeyState::PendingDeletion));
        }),
        (Code::NotWatched, "roots", |f| {
            if let Ok(chosen) = &mut f.settings {
                chosen.watches = false;
            }
        }),
        (Code::AbortRuleShort, r#""DaysAfterInitiation":7"#, |f| {
            f.rules = rules(&GOOD_RULES.replace(":30", ":1"));
        }),
        (Code::AbortRuleMissing, "incomplete", |f| {
            f.rules = rules(
                r#"{"Rules":[{"ID":"a","Status":"Enabled","Filter":{},"NoncurrentVersionExpiration":{"NoncurrentDays":7}}]}"#,
            );
        }),
        (
            Code::DirectoryMarkerChurn,
            "s3.directory.marker.retention: keep",
            |f| {
                let mut all = rows();
                all.extend([row("cp/j/", 0, None, DAY), row("cp/j/", 1, Some(0), DAY)]);
                f.churn = Ok(churn(&all, true));
            },
        ),
        (
            Code::NotificationsMissing,
            "stayput setup 's3://b/cp/' --queue QUEUE_ARN",
            |f| {
                f.notifications = Ok(sends(""));
            },
        ),
        (Code::NotificationsWithoutLifecycle, "stayput setup", |f| {
            f.notifications = Ok(sends(&queue("stayput-removals", "s3:ObjectRemoved:*", "")));
        }),
        (Code::NotificationsWithoutRemovals, "not for every key", |f| {
            f.notifications = Ok(sends(
                &(queue("stayput-lifecycle", "s3:LifecycleExpiration:*", "c")
                    + &queue("stayput-removals", "s3:ObjectRemoved:*", "cp/j/")),
            ));
        }),
        (Code::NotificationsByEventbridge, "stayput setup", |f| {
            f.notifications = Ok(sends("<EventBridgeConfiguration/>"));
        }),
        (Code::PrincipalsMissing, "--flink-role NAME", |f| {
            if let Ok(chosen) = &mut f.settings {
                chosen.principals.flink.clear();
            }
            f.writers = Err(Unknown::because("not given"));
        }),
        (Code::WriterNotListed, "--flink-role AROASECOND", |f| {
            let known = f.writers.clone().unwrap_or_default();
            let stranger = Writer {
                principal: "AWS:AROASECOND:tm-1".to_owned(),
                example: "s3://b/cp/k/chk-9/_metadata".to_owned(),
            };
            f.writers = Ok([known, vec![stranger]].concat());
        }),
        (
            Code::PermissionMissing,
            r#""Action":"s3:GetObjectVersion""#,
            |f| {
                if let Ok(role) = &mut f.role {
                    role.may = Ok(abilities(Strategy::Copy, &["s3:GetObjectVersion"], &[]));
                }
            },
        ),
        (
            Code::UnhideNotAllowed,
            r#""Resource":"arn:aws:s3:::b/cp/*""#,
            |f| unhides(f, &["s3:DeleteObjectVersion"]),
        ),
        (
            Code::PermissionToDelete,
            "aws iam list-role-policies --role-name stayput",
            |f| {
                if let Ok(role) = &mut f.role {
                    role.may = Ok(abilities(Strategy::Copy, &[], &["s3:DeleteObject"]));
                }
            },
        ),
        (Code::ConditionIgnored, "If-None-Match", |f| {
            (f.of_aws, f.condition) = (false, Ok(false));
        }),
        (Code::ControlMissing, "control", |f| {
            if let Ok(chosen) = &mut f.settings {
                chosen.control = None;
            }
        }),
        (Code::ReplicaHides, "delete markers too", |f| {
            f.replicas = Ok(vec![replica("cp/job/", true)]);
        }),
        (Code::ReplicaGetsCopies, "arn:aws:s3:::other", |f| {
            f.replicas = Ok(vec![replica("", false)]);
        }),
    ]
}

pub(super) fn replica(prefix: &str, with_markers: bool) -> Replica {
    Replica {
        rule: "dr".to_owned(),
        prefix: prefix.to_owned(),
        destination: "arn:aws:s3:::other".to_owned(),
        with_markers,
    }
}
