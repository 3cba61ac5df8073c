//! The authenticated caller: a person, an agent, a session of an agent, or a service.

use std::fmt;
use std::sync::Arc;

mod entries;
mod token;
mod user;

pub use entries::{TokenEntries, TokenEntry, TokenHolder};
pub use token::{AdminToken, NewToken, TokenHash, TokenKind, hash_token, token_id};
pub use user::{BUILT_IN_ADMIN, UserName, UserNameError, UserRole, is_agent_id};

/// The agent that is created on the first start.
pub const DEFAULT_AGENT: &str = "default";
/// The agent of `octroi stdio`.
pub const LOCAL_AGENT: &str = "local";

/// The authenticated sender of a request. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// A person, who reaches management only.
    Person(Arc<Person>),
    /// A program that acts on its own.
    Agent(Arc<AgentIdentity>),
    /// One session of an agent.
    Session(Arc<SessionIdentity>),
    /// A program that monitors the gateway.
    Service(Arc<ServiceIdentity>),
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Person {
    user: Arc<str>,
    role: UserRole,
    token: TokenName,
}

/// An agent and the user it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentIdentity {
    id: Arc<str>,
    agent: Arc<str>,
    owner: Arc<str>,
    token: TokenName,
}

/// A session, its agent, and the user both belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionIdentity {
    id: Arc<str>,
    session: Arc<str>,
    agent: Arc<str>,
    owner: Arc<str>,
    token: TokenName,
}

/// A service, named by the label of its token, and the user who created it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceIdentity {
    id: Arc<str>,
    owner: Arc<str>,
    token: TokenName,
}

/// The token behind a principal, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenName {
    /// Unique among all tokens.
    pub id: Arc<str>,
    /// Its name in quotas and limits. Several tokens may share it.
    pub label: Arc<str>,
}

impl TokenName {
    /// A token whose id is also its label.
    pub fn labelled(id: &str) -> Self {
        let id: Arc<str> = id.into();
        Self { label: Arc::clone(&id), id }
    }
}

/// The kind of a principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A person.
    Person,
    /// An agent.
    Agent,
    /// A session of an agent.
    Session,
    /// A service.
    Service,
}

impl PrincipalKind {
    /// Its name in configuration, records and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "human",
            Self::Agent => "agent",
            Self::Session => "session",
            Self::Service => "service",
        }
    }
}

impl Principal {
    /// A person.
    pub fn person(user: &str, role: UserRole, token: TokenName) -> Self {
        Self::Person(Arc::new(Person { user: user.into(), role, token }))
    }

    /// An agent.
    pub fn agent(agent: &str, owner: &str, token: TokenName) -> Self {
        let id = format!("agent:{agent}").into();
        Self::Agent(Arc::new(AgentIdentity { id, agent: agent.into(), owner: owner.into(), token }))
    }

    /// A person who tries a call as an agent. No other caller has this principal: an approval of the person's call
    /// does not allow the agent to make it, nor the other way round. It ends with the person's token, and counts
    /// under the label of the agent.
    pub fn trying(person: &Self, agent: &str, owner: &str) -> Self {
        let id = format!("{person} as agent:{agent}").into();
        let token = TokenName { id: Arc::clone(&person.token().id), label: format!("agent:{agent}").into() };
        Self::Agent(Arc::new(AgentIdentity { id, agent: agent.into(), owner: owner.into(), token }))
    }

    /// A session of an agent.
    pub fn session(session: &str, agent: &str, owner: &str, token: TokenName) -> Self {
        let id = format!("session:{session}").into();
        let (session, agent, owner) = (session.into(), agent.into(), owner.into());
        Self::Session(Arc::new(SessionIdentity { id, session, agent, owner, token }))
    }

    /// A service.
    pub fn service(owner: &str, token: TokenName) -> Self {
        let id = format!("service:{}", token.label).into();
        Self::Service(Arc::new(ServiceIdentity { id, owner: owner.into(), token }))
    }

    /// The agent in a local client that starts `octroi stdio` without a token. A person uses that client, but
    /// the caller is a program, which must not decide about its own calls.
    pub fn local() -> Self {
        Self::agent(LOCAL_AGENT, BUILT_IN_ADMIN, TokenName::labelled(LOCAL_AGENT))
    }

    /// The agent that is created on the first start; its token is the one to give to clients.
    pub fn default_agent() -> Self {
        Self::agent(DEFAULT_AGENT, BUILT_IN_ADMIN, TokenName::labelled("agent:default"))
    }

    /// The kind of principal.
    pub fn kind(&self) -> PrincipalKind {
        match self {
            Self::Person(_) => PrincipalKind::Person,
            Self::Agent(_) => PrincipalKind::Agent,
            Self::Session(_) => PrincipalKind::Session,
            Self::Service(_) => PrincipalKind::Service,
        }
    }

    /// Unique and stable: approvals, sessions and pending exchanges are bound to it. A person's is the name of
    /// the user; no user's name has a colon, so nobody else can have the same.
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Person(person) => &person.user,
            Self::Agent(agent) => &agent.id,
            Self::Session(session) => &session.id,
            Self::Service(service) => &service.id,
        }
    }

    /// The agent that calls, for an agent and its sessions.
    pub fn agent_id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Agent(agent) => Some(&agent.agent),
            Self::Session(session) => Some(&session.agent),
            Self::Person(_) | Self::Service(_) => None,
        }
    }

    /// The session, for a session.
    pub fn session_id(&self) -> Option<&Arc<str>> {
        match self {
            Self::Session(session) => Some(&session.session),
            Self::Person(_) | Self::Agent(_) | Self::Service(_) => None,
        }
    }

    /// The user: the person, or the owner of what is not a person.
    pub fn user(&self) -> &Arc<str> {
        match self {
            Self::Person(person) => &person.user,
            Self::Agent(agent) => &agent.owner,
            Self::Session(session) => &session.owner,
            Self::Service(service) => &service.owner,
        }
    }

    /// The token it presented.
    pub fn token(&self) -> &TokenName {
        match self {
            Self::Person(person) => &person.token,
            Self::Agent(agent) => &agent.token,
            Self::Session(session) => &session.token,
            Self::Service(service) => &service.token,
        }
    }

    /// Whether it is a person.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// Whether it is an administrator.
    pub fn is_admin(&self) -> bool {
        matches!(self, Self::Person(person) if person.role == UserRole::Admin)
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_an_id_of_its_own() {
        let token = || TokenName::labelled("t");
        for (principal, id, kind, agent, user) in [
            (Principal::person("ana", UserRole::Member, token()), "ana", "human", None, "ana"),
            (Principal::agent("ana", "bob", token()), "agent:ana", "agent", Some("ana"), "bob"),
            (
                Principal::session("ana", "coder", "bob", token()),
                "session:ana",
                "session",
                Some("coder"),
                "bob",
            ),
            (Principal::service("ana", TokenName::labelled("ana")), "service:ana", "service", None, "ana"),
        ] {
            assert_eq!(&**principal.id(), id);
            assert_eq!(principal.kind().as_str(), kind);
            assert_eq!(principal.agent_id().map(|agent| &**agent), agent);
            assert_eq!(&**principal.user(), user);
            assert_eq!(principal.is_person(), kind == "human");
            assert!(!principal.is_admin());
        }
        assert!(Principal::person("ana", UserRole::Admin, token()).is_admin());
    }
}
