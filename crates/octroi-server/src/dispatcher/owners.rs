//! Whom the object of a request belongs to, where the request does not say it.

use std::sync::Arc;

use octroi_api::{ObjectRef, Owner};
use octroi_core::{Principal, Scope, ServerKey};
use octroi_gateway::{Gateway, OperatorError, PolicyError, PolicyRefusal};

use crate::error::OperationError;
use crate::operations::unknown_server;

/// The owner of an object, as it was looked up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FoundOwner {
    Nobody,
    Everyone,
    Admins,
    User(String),
    Agent {
        agent: String,
        user: Arc<str>,
        /// Others who may see it and decide about it, because a rule names them.
        approvers: Vec<String>,
    },
}

impl FoundOwner {
    fn of_agent(gateway: &Gateway, agent: &str) -> Self {
        let user = gateway.identity().owner_of(agent);
        Self::Agent { agent: agent.to_owned(), user, approvers: Vec::new() }
    }

    /// The owner of a server, or of what everybody shares.
    fn of_server(key: &ServerKey, shared: Self) -> Self {
        match &key.scope {
            Scope::System => shared,
            Scope::User(owner) => Self::User(owner.to_string()),
        }
    }

    /// The owner as the access rule compares it with a principal.
    pub(super) fn as_owner<'a>(&'a self, principal: &'a Principal) -> Owner<'a> {
        match self {
            Self::Nobody => Owner::Nobody,
            Self::Everyone => Owner::Everyone,
            Self::Admins => Owner::Admins,
            Self::User(user) => Owner::User(user),
            Self::Agent { agent, approvers, .. }
                if principal.is_person() && approvers.iter().any(|name| **name == **principal.user()) =>
            {
                Owner::Agent { agent, user: principal.user() }
            }
            Self::Agent { agent, user, .. } => Owner::Agent { agent, user },
        }
    }
}

/// Looks up the owner of an object.
pub(super) async fn find(
    gateway: &Gateway,
    principal: &Principal,
    object: ObjectRef<'_>,
) -> Result<FoundOwner, OperationError> {
    Ok(match object {
        ObjectRef::Administration => FoundOwner::Admins,
        ObjectRef::Caller => match principal.agent_id() {
            Some(agent) => FoundOwner::of_agent(gateway, agent),
            None => FoundOwner::Everyone,
        },
        // An agent is itself even if nobody has set anything for it.
        ObjectRef::Agent(agent) if principal.agent_id().is_some_and(|own| **own == *agent) => {
            FoundOwner::of_agent(gateway, agent)
        }
        ObjectRef::Agent(agent) if gateway.governance().knows_agent(agent) => {
            FoundOwner::of_agent(gateway, agent)
        }
        // One that was removed is still its former owner's: the id, and what is recorded of it.
        ObjectRef::NewAgent(agent) | ObjectRef::PastAgent(agent)
            if gateway.governance().knows_agent(agent) || gateway.governance().was_removed(agent) =>
        {
            FoundOwner::of_agent(gateway, agent)
        }
        // What is recorded of it is left. No member has this name.
        ObjectRef::PastAgent(_) => FoundOwner::User(String::new()),
        ObjectRef::NewAgent(_) | ObjectRef::Gateway | ObjectRef::Tool(_) => FoundOwner::Everyone,
        ObjectRef::Server(name) => match gateway.stored_servers().find(principal.user(), name) {
            Some(key) => FoundOwner::of_server(&key, FoundOwner::Everyone),
            None => FoundOwner::Nobody,
        },
        ObjectRef::ServerKey(key) if gateway.stored_servers().knows(key) => {
            FoundOwner::of_server(key, FoundOwner::Everyone)
        }
        ObjectRef::Agent(_) | ObjectRef::ServerKey(_) => FoundOwner::Nobody,
        ObjectRef::ManagedServer(name) => match gateway.stored_servers().find(principal.user(), name) {
            Some(key) => FoundOwner::of_server(&key, FoundOwner::Admins),
            None => FoundOwner::Nobody,
        },
        ObjectRef::PastServer(name) => past_server(gateway, principal, name).await?,
        ObjectRef::Session(id) => match gateway.choices().session(id) {
            Some(session) => FoundOwner::User(session.user),
            None => FoundOwner::Nobody,
        },
        ObjectRef::User(name) => match gateway.identity().user(name) {
            Some(user) => FoundOwner::User(user.name),
            None => FoundOwner::Nobody,
        },
        ObjectRef::Token(id) => match gateway.identity().token(id) {
            Some(token) => FoundOwner::User(token.record.user),
            None => FoundOwner::Nobody,
        },
        ObjectRef::Approval(id) => match gateway.approvals().get(id).await {
            Ok(approval) => match approval.binding.agent {
                Some(agent) => FoundOwner::Agent {
                    user: gateway.identity().owner_of(&agent),
                    approvers: approval.approvers.users().map(str::to_owned).collect(),
                    agent,
                },
                None => FoundOwner::Admins,
            },
            Err(OperatorError::UnknownApproval(_)) => FoundOwner::Nobody,
            Err(error) => return Err(error.into()),
        },
        ObjectRef::Proposal(id) => match gateway.governance().proposal(id, None).await? {
            Some(record) => match record.draft.level.agent() {
                Some(agent) => FoundOwner::of_agent(gateway, agent),
                None => FoundOwner::Admins,
            },
            None => FoundOwner::Nobody,
        },
    })
}

/// The owner of a server that may have been deleted.
async fn past_server(
    gateway: &Gateway,
    principal: &Principal,
    name: &str,
) -> Result<FoundOwner, OperationError> {
    let stored = gateway.stored_servers();
    if let Some(key) = stored.find(principal.user(), name) {
        return Ok(FoundOwner::of_server(&key, FoundOwner::Admins));
    }
    let Some(key) = ServerKey::parse(name) else {
        return Ok(FoundOwner::Nobody);
    };
    let own = ServerKey { scope: Scope::User(Arc::clone(principal.user())), name: key.name.clone() };
    for key in [key, own] {
        if stored.deleted(&key).await?.is_some() {
            // Nobody learns that there was one for everybody.
            return Ok(match FoundOwner::of_server(&key, FoundOwner::Admins) {
                FoundOwner::Admins if !principal.is_admin() => continue,
                owner => owner,
            });
        }
    }
    Ok(FoundOwner::Nobody)
}

/// The error that says that this object does not exist.
pub(super) fn not_found(gateway: &Gateway, principal: &Principal, object: ObjectRef<'_>) -> OperationError {
    match object {
        ObjectRef::Approval(id) => OperatorError::UnknownApproval(id.to_owned()).into(),
        ObjectRef::Proposal(_) => PolicyError::Refused(PolicyRefusal::Unknown).into(),
        ObjectRef::Server(name) | ObjectRef::ManagedServer(name) | ObjectRef::PastServer(name) => {
            unknown_server(gateway, principal, name)
        }
        ObjectRef::ServerKey(key) => unknown_server(gateway, principal, &key.to_string()),
        ObjectRef::Session(id) => OperatorError::UnknownSession(id.to_owned()).into(),
        ObjectRef::Tool(name) => OperationError::not_found(format!("there is no tool `{name}`")),
        ObjectRef::Agent(id) | ObjectRef::PastAgent(id) => OperatorError::UnknownAgent(id.to_owned()).into(),
        // Ids of agents are unique among all users: somebody else has this one.
        ObjectRef::NewAgent(id) => OperatorError::AgentTaken(id.to_owned()).into(),
        ObjectRef::User(name) => OperatorError::UnknownUser(name.to_owned()).into(),
        ObjectRef::Token(id) => OperatorError::UnknownToken(id.to_owned()).into(),
        ObjectRef::Gateway | ObjectRef::Administration | ObjectRef::Caller => OperationError::PeopleOnly,
    }
}
