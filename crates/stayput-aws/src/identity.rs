//! Who somebody is, and what they may do, as IAM and STS say.

use aws_sdk_iam::types::PolicyEvaluationDecisionType;
use stayput_guard::doctor::{Ability, Needs};
use stayput_guard::port::{PortError, PortErrorKind};

use crate::connection::Connection;
use crate::failure::Call;

/// Asks IAM.
#[derive(Clone, Debug)]
pub struct Iam {
    client: aws_sdk_iam::Client,
    sts: aws_sdk_sts::Client,
}

/// A role or user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The unique id by which S3's notifications name it: `AROA…`, `AIDA…`.
    pub id: String,
    /// Its ARN, with its path.
    pub arn: String,
}

impl Iam {
    /// Asks through this connection.
    pub fn new(connection: &Connection) -> Self {
        Self {
            client: aws_sdk_iam::Client::new(connection.sdk()),
            sts: aws_sdk_sts::Client::new(connection.sdk()),
        }
    }

    /// A role by its name.
    ///
    /// # Errors
    /// There is none in this account, or IAM refuses.
    pub async fn role(&self, name: &str) -> Result<Principal, PortError> {
        let subject = format!("the role {name}");
        let call = Call::about("GetRole", &subject);
        let answer = self.client.get_role().role_name(name).send().await;
        let answer = answer.map_err(|e| call.failed(&e))?;
        let role = answer
            .role()
            .ok_or_else(|| call.nonsense("the answer has no role"))?;
        Ok(Principal {
            id: role.role_id().to_owned(),
            arn: role.arn().to_owned(),
        })
    }

    /// A user by their name.
    ///
    /// # Errors
    /// There is none in this account, or IAM refuses.
    pub async fn user(&self, name: &str) -> Result<Principal, PortError> {
        let subject = format!("the user {name}");
        let call = Call::about("GetUser", &subject);
        let answer = self.client.get_user().user_name(name).send().await;
        let answer = answer.map_err(|e| call.failed(&e))?;
        let user = answer
            .user()
            .ok_or_else(|| call.nonsense("the answer has no user"))?;
        Ok(Principal {
            id: user.user_id().to_owned(),
            arn: user.arn().to_owned(),
        })
    }

    /// The ARN that these requests come from, as GetCallerIdentity gives it: of a role it names the session, and not the role's path.
    ///
    /// # Errors
    /// STS can't be reached or refuses.
    pub async fn caller(&self) -> Result<String, PortError> {
        let call = Call::about("GetCallerIdentity", "who we are");
        let answer = self.sts.get_caller_identity().send().await;
        let answer = answer.map_err(|e| call.failed(&e))?;
        answer
            .arn()
            .map(str::to_owned)
            .ok_or_else(|| call.nonsense("the answer has no ARN"))
    }

    /// What a principal's own policies allow of what is needed and of what isn't: each action on the resource beside it
    /// (SimulatePrincipalPolicy, which does nothing itself). Policies of buckets and keys aren't part of the answer.
    ///
    /// # Errors
    /// IAM refuses, or doesn't know the principal.
    pub async fn may(&self, principal: &str, needs: &Needs) -> Result<Vec<Ability>, PortError> {
        let call = Call::about("SimulatePrincipalPolicy", principal);
        let asked: Vec<_> = [(&needs.needed, true), (&needs.never, false)]
            .into_iter()
            .flat_map(|(list, needed)| {
                list.iter()
                    .map(move |(action, resource)| (*action, resource, needed))
            })
            .collect();
        let mut resources: Vec<&String> = asked.iter().map(|(_, resource, _)| *resource).collect();
        resources.sort_unstable();
        resources.dedup();
        let mut abilities = Vec::new();
        for resource in resources {
            let actions = asked
                .iter()
                .filter(|(_, of, _)| *of == resource)
                .map(|(action, _, needed)| (*action, *needed));
            let request = self
                .client
                .simulate_principal_policy()
                .policy_source_arn(principal)
                .set_action_names(Some(
                    actions.clone().map(|(action, _)| action.to_owned()).collect(),
                ))
                .resource_arns(resource);
            let answer = request.send().await.map_err(|e| call.failed(&e))?;
            for (action, needed) in actions {
                let result = answer
                    .evaluation_results()
                    .iter()
                    .find(|r| r.eval_action_name() == action);
                let Some(result) = result else {
                    return Err(call
                        .error(PortErrorKind::Unsupported)
                        .because(format!("the answer says nothing of {action}")));
                };
                abilities.push(Ability {
                    action: action.to_owned(),
                    resource: resource.clone(),
                    needed,
                    allowed: *result.eval_decision() == PolicyEvaluationDecisionType::Allowed,
                });
            }
        }
        Ok(abilities)
    }
}
