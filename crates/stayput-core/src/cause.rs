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
    fn without_configured_principals_nobody_is_foreign() {
        assert_eq!(Principals::default().cause_of("AWS:ANYBODY"), Cause::Unknown);
    }
}
