//! Who deleted an object, as far as the evidence tells.

use serde::{Deserialize, Serialize};

/// Who put the marker directly above the data version there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause", content = "by")]
pub enum Cause {
    /// A lifecycle rule.
    Lifecycle,
    /// One of the configured Flink principals.
    Flink,
    /// Any other principal, named here; only when Flink principals are configured.
    Foreign(String),
    /// Our own or another Stayput's role.
    Ours,
    /// Nobody knows.
    Unknown,
}

impl Cause {
    /// Flink's own hand or nobody known: what Flink does at every checkpoint, so never a sign of an accident by itself.
    pub fn is_flink_or_unknown(&self) -> bool {
        matches!(self, Self::Flink | Self::Unknown)
    }

    /// One word for people and for `replay`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Lifecycle => "lifecycle",
            Self::Flink => "Flink",
            Self::Foreign(_) => "foreign",
            Self::Ours => "ours",
            Self::Unknown => "unknown",
        }
    }
}

/// Why nobody is known who deleted an object. Where several are true of one object, the first is what people can do most about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WhyUnknown {
    /// A message names this principal, but no principal is listed as Flink's, so nobody can tell a stranger's.
    NobodyListed(String),
    /// The message came by EventBridge, which names the account and no principal.
    OnlyTheAccount,
    /// The message says nothing of who did it.
    NotSaid,
    /// No message told of it.
    NoMessage,
}

impl WhyUnknown {
    /// The reason, in words, without a full stop.
    pub fn reason(&self) -> String {
        match self {
            Self::NobodyListed(principal) => {
                format!(
                    "{principal} did it, but flink.principals is empty, so that may be Flink or a stranger"
                )
            }
            Self::OnlyTheAccount => {
                "the message came by EventBridge, which names an account and no role".to_owned()
            }
            Self::NotSaid => "the message doesn't say who did it".to_owned(),
            Self::NoMessage => "no message told of it".to_owned(),
        }
    }

    /// What lets the next one be known, in a sentence; only what isn't done already.
    pub fn remedy(&self, flink_is_listed: bool) -> &'static str {
        match (self, flink_is_listed) {
            (Self::NobodyListed(_), _) => {
                "List the unique id of every cluster's role under flink.principals (FlinkRoleIds of the stack): then it is known whose deletion it is."
            }
            (Self::OnlyTheAccount, true) => {
                "Send S3 notifications straight to SQS, which name the role: stayput setup shows how."
            }
            (Self::OnlyTheAccount, false) => {
                "Send S3 notifications straight to SQS, which name the role (stayput setup shows how), and list Flink's roles under flink.principals."
            }
            (Self::NotSaid, _) => "",
            (Self::NoMessage, _) => {
                "If this comes again, stayput doctor says whether the bucket sends its deletions to Stayput."
            }
        }
    }
}

/// The roles whose deletions have a meaning of their own.
#[derive(Clone, Debug, Default)]
pub struct Principals {
    /// Flink's own: every cluster's role, and a replication role.
    pub flink: Vec<String>,
    /// Our own role and those of other Stayputs.
    pub ours: Vec<String>,
}

impl Principals {
    /// The cause of a deletion by `principal`, as an S3 notification names it: `AWS:AROAEXAMPLE:session`, `AIDAEXAMPLE`.
    pub fn cause_of(&self, principal: &str) -> Cause {
        if self.ours.iter().any(|p| is_role(principal, p)) {
            Cause::Ours
        } else if self.flink.iter().any(|p| is_role(principal, p)) {
            Cause::Flink
        } else if self.flink.is_empty() {
            Cause::Unknown
        } else {
            Cause::Foreign(principal.to_owned())
        }
    }
}

/// `X` matches `X`, `AWS:X` and `AWS:X:*`; never a longer id that only begins with X.
fn is_role(principal: &str, role: &str) -> bool {
    let named = |id: &str| {
        let id = id.strip_prefix("AWS:").unwrap_or(id);
        id.split_once(':').map_or(id, |(head, _)| head).to_owned()
    };
    !role.is_empty() && named(principal) == named(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principals() -> Principals {
        Principals {
            flink: vec!["AROAFLINK".into()],
            ours: vec!["AROAOURS".into()],
        }
    }

    #[test]
    fn a_role_id_matches_every_session_of_the_role() {
        for p in ["AROAFLINK", "AWS:AROAFLINK", "AWS:AROAFLINK:job-7"] {
            assert_eq!(principals().cause_of(p), Cause::Flink, "{p}");
        }
        assert_eq!(principals().cause_of("AWS:AROAOURS:x"), Cause::Ours);
    }

    #[test]
    fn a_longer_id_is_another_role() {
        assert_eq!(
            principals().cause_of("AWS:AROAFLINKX:s"),
            Cause::Foreign("AWS:AROAFLINKX:s".into())
        );
    }

    #[test]
    fn nobody_is_told_to_do_what_is_done_already() {
        let sqs = "straight to SQS";
        let listing = "flink.principals";
        let named = WhyUnknown::NobodyListed("AWS:AROAX:job".into());
        assert!(!named.remedy(false).contains(sqs) && named.remedy(false).contains(listing));
        assert!(named.reason().contains("AWS:AROAX:job"));
        let by_event_bridge = WhyUnknown::OnlyTheAccount;
        assert!(
            by_event_bridge.remedy(true).contains(sqs) && !by_event_bridge.remedy(true).contains(listing)
        );
        assert!(by_event_bridge.remedy(false).contains(listing));
        for silent in [WhyUnknown::NotSaid, WhyUnknown::NoMessage] {
            for listed in [false, true] {
                assert!(!silent.remedy(listed).contains(sqs), "{silent:?}");
            }
        }
    }

    #[test]
    fn without_configured_principals_nobody_is_foreign() {
        assert_eq!(Principals::default().cause_of("AWS:ANYBODY"), Cause::Unknown);
    }
}
