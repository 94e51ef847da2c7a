//! Roles and users of a local server, and what they may do.

use crate::cloud::Cloud;

/// A role or user that was made.
pub struct Made {
    /// Its unique id.
    pub id: String,
    /// Its ARN.
    pub arn: String,
}

/// What a user signs with.
pub struct Key {
    /// The access key's id.
    pub id: String,
    /// Its secret.
    pub secret: String,
}

impl Cloud {
    /// Makes a role that may do what a policy document says.
    ///
    /// # Panics
    /// If the server refuses, or its answer has no id.
    pub fn make_role(&self, name: &str, policy: &str) -> Made {
        let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
        let answer = self.form(
            "iam",
            &[
                ("Action", "CreateRole"),
                ("RoleName", name),
                ("AssumeRolePolicyDocument", trust),
            ],
        );
        self.form(
            "iam",
            &[
                ("Action", "PutRolePolicy"),
                ("RoleName", name),
                ("PolicyName", "test"),
                ("PolicyDocument", policy),
            ],
        );
        Made {
            id: within(&answer, "RoleId"),
            arn: within(&answer, "Arn"),
        }
    }

    /// Lets a role do what a policy document says, besides what it may do already.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn allow(&self, role: &str, name: &str, policy: &str) {
        let fields = [
            ("Action", "PutRolePolicy"),
            ("RoleName", role),
            ("PolicyName", name),
            ("PolicyDocument", policy),
        ];
        self.form("iam", &fields);
    }

    /// Makes a user who may do what a policy document says, with a key.
    ///
    /// # Panics
    /// If the server refuses, or its answer has no key.
    pub fn make_user(&self, name: &str, policy: &str) -> (Made, Key) {
        let answer = self.form("iam", &[("Action", "CreateUser"), ("UserName", name)]);
        let made = Made {
            id: within(&answer, "UserId"),
            arn: within(&answer, "Arn"),
        };
        self.form(
            "iam",
            &[
                ("Action", "PutUserPolicy"),
                ("UserName", name),
                ("PolicyName", "test"),
                ("PolicyDocument", policy),
            ],
        );
        let answer = self.form("iam", &[("Action", "CreateAccessKey"), ("UserName", name)]);
        let key = Key {
            id: within(&answer, "AccessKeyId"),
            secret: within(&answer, "SecretAccessKey"),
        };
        (made, key)
    }
}

fn within(answer: &str, name: &str) -> String {
    let found = answer
        .split_once(&format!("<{name}>"))
        .and_then(|(_, rest)| Some(rest.split_once("</")?.0.to_owned()));
    found.unwrap_or_else(|| panic!("the answer has no {name}: {answer}"))
}
