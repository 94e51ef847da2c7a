//! Roles and users, as people name them, and the unique ids by which S3's notifications do.

use stayput_aws::identity::{Iam, Principal};
use stayput_guard::port::PortError;

/// A role or user as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The unique id itself.
    Id(String),
    /// A role by its name; the account, if an ARN told it.
    Role {
        /// The name, without its path.
        name: String,
        /// Twelve digits.
        account: Option<String>,
    },
    /// A user by their name.
    User {
        /// The name, without its path.
        name: String,
        /// Twelve digits.
        account: Option<String>,
    },
}

/// Why a principal isn't known.
#[derive(Debug, thiserror::Error)]
pub enum PrincipalError {
    /// No role and no user.
    #[error("{text:?} {why}")]
    NoPrincipal {
        /// As written.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It lies in another account than the credentials are of.
    #[error(
        "{text} lies in the account {account}, and these credentials are of {ours}: ask there with `aws iam get-role --role-name {name} --query \
         Role.RoleId --output text`, and give the id (AROA…) itself"
    )]
    ElsewhereThanWe {
        /// As written.
        text: String,
        /// Its name.
        name: String,
        /// Its account.
        account: String,
        /// Ours.
        ours: String,
    },
    /// IAM refuses, or knows none.
    #[error("{0}")]
    Asked(#[from] PortError),
}

/// Reads a unique id (`AROA…`, `AIDA…`), an ARN of a role, of a role's session or of a user, the name of a role, or `user/NAME`.
///
/// # Errors
/// It is none of these.
pub fn parse(text: &str) -> Result<Named, PrincipalError> {
    let refuse = |why| {
        Err(PrincipalError::NoPrincipal {
            text: text.to_owned(),
            why,
        })
    };
    let upper = |t: &str| t.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if (text.starts_with("AROA") || text.starts_with("AIDA")) && upper(text) {
        return Ok(Named::Id(text.to_owned()));
    }
    if let Some(name) = text.strip_prefix("user/").filter(|name| is_name(name)) {
        return Ok(Named::User {
            name: name.to_owned(),
            account: None,
        });
    }
    if !text.starts_with("arn:") {
        return if is_name(text) {
            Ok(Named::Role {
                name: text.to_owned(),
                account: None,
            })
        } else {
            refuse("is neither a role's name nor an ARN nor a unique id (AROA…)")
        };
    }
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let [_, _, service, _, account, resource] = parts.as_slice() else {
        return refuse("is no whole ARN");
    };
    let account = Some((*account).to_owned());
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match (*service, resource.split_once('/')) {
        ("iam", Some(("role", path))) if !last(path).is_empty() => Ok(Named::Role {
            name: last(path),
            account,
        }),
        ("iam", Some(("user", path))) if !last(path).is_empty() => Ok(Named::User {
            name: last(path),
            account,
        }),
        ("sts", Some(("assumed-role", path))) => match path.split('/').next() {
            Some(name) if !name.is_empty() => Ok(Named::Role {
                name: name.to_owned(),
                account,
            }),
            _ => refuse("names no role"),
        },
        ("iam", None) if *resource == "root" => {
            refuse("is the root user of an account, which may do everything: name the role that is meant")
        }
        _ => refuse("is no role and no user: write the ARN of a role, arn:aws:iam::ACCOUNT:role/NAME"),
    }
}

/// Letters, digits and `_+=,.@-` (IAM user guide, “IAM and AWS STS quotas, name requirements”).
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_+=,.@-".contains(&b))
}

/// The account of an ARN.
pub fn account_of(arn: &str) -> Option<&str> {
    arn.split(':').nth(4).filter(|account| !account.is_empty())
}

/// Asks IAM for the id. `text` is what was written, `ours` the account of the credentials, if it is known.
///
/// # Errors
/// It lies in another account, IAM refuses, or there is none of this name.
pub async fn resolve(
    iam: &Iam,
    text: &str,
    named: &Named,
    ours: Option<&str>,
) -> Result<Principal, PrincipalError> {
    let (name, account) = match named {
        Named::Id(id) => {
            return Ok(Principal {
                id: id.clone(),
                arn: String::new(),
            });
        }
        Named::Role { name, account } | Named::User { name, account } => (name, account),
    };
    if let (Some(account), Some(ours)) = (account, ours)
        && account != ours
    {
        return Err(PrincipalError::ElsewhereThanWe {
            text: text.to_owned(),
            name: name.clone(),
            account: account.clone(),
            ours: ours.to_owned(),
        });
    }
    Ok(match named {
        Named::User { .. } => iam.user(name).await?,
        _ => iam.role(name).await?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Named, parse};

    #[test]
    fn principals_are_read_in_every_form_that_people_have_them_in() {
        let role = |name: &str, account: Option<&str>| Named::Role {
            name: name.to_owned(),
            account: account.map(str::to_owned),
        };
        let ours = Some("111122223333");
        for (text, named) in [
            ("AROAEXAMPLEID", Named::Id("AROAEXAMPLEID".to_owned())),
            ("flink-taskmanager", role("flink-taskmanager", None)),
            ("arn:aws:iam::111122223333:role/flink", role("flink", ours)),
            (
                "arn:aws-cn:iam::111122223333:role/eks/prod/flink",
                role("flink", ours),
            ),
            (
                "arn:aws:sts::111122223333:assumed-role/flink/i-0abc",
                role("flink", ours),
            ),
            (
                "user/ann",
                Named::User {
                    name: "ann".to_owned(),
                    account: None,
                },
            ),
        ] {
            assert_eq!(parse(text).unwrap(), named, "{text}");
        }
        for text in [
            "",
            "arn:aws:iam::111122223333",
            "arn:aws:iam::111122223333:root",
            "arn:aws:s3:::bucket/x",
            "a b",
            "arn:aws:iam::111122223333:role/",
            "arn:aws:sts::111122223333:assumed-role/",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} ")), "{error}");
        }
    }
}
