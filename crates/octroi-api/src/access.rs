//! Access rules: who may use an operation or read a resource.

use octroi_core::{Principal, PrincipalKind, ServerKey};

/// The part of `/mcp` that a principal sees. The token decides it, not the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Face {
    /// The management server, for people.
    Management,
    /// For agents: the tools of their servers, and Octroi's own tools for agents.
    Agent,
}

impl Face {
    /// All faces.
    pub const ALL: [Self; 2] = [Self::Management, Self::Agent];

    /// The face for a kind of principal; services have none.
    pub const fn of(kind: PrincipalKind) -> Option<Self> {
        match kind {
            PrincipalKind::Person => Some(Self::Management),
            PrincipalKind::Agent | PrincipalKind::Session => Some(Self::Agent),
            PrincipalKind::Service => None,
        }
    }
}

/// An access rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Administrators.
    Admins,
    /// People: administrators for every object, members for what is everybody's or their own.
    People,
    /// An agent, for itself only.
    OwnAgent,
    /// People as above, and an agent for itself.
    PeopleAndOwnAgent,
}

/// The object of a request, as the request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRef<'a> {
    /// The gateway as a whole, or many objects together. A list has what its caller may see.
    Gateway,
    /// What only administrators have to do with.
    Administration,
    /// The caller itself.
    Caller,
    /// A server, by name or id.
    Server(&'a str),
    /// A server by its key, as a resource names it.
    ServerKey(&'a ServerKey),
    /// A server that is changed, by name or id. What everybody shares is the administrators'.
    ManagedServer(&'a str),
    /// The same, also one that was deleted.
    PastServer(&'a str),
    /// A session, by id.
    Session(&'a str),
    /// A tool, in any spelling that rules and clients use.
    Tool(&'a str),
    /// An agent, by id.
    Agent(&'a str),
    /// An agent, by id, that may not exist yet.
    NewAgent(&'a str),
    /// An agent, by id, that may not exist any more.
    PastAgent(&'a str),
    /// A user, by name.
    User(&'a str),
    /// A token, by id.
    Token(&'a str),
    /// An approval, by id.
    Approval(&'a str),
    /// A proposed policy, by id.
    Proposal(i64),
}

/// Whom an object belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// Everybody.
    Everyone,
    /// The administrators.
    Admins,
    /// A user.
    User(&'a str),
    /// An agent, and with it the agent's owner.
    Agent {
        /// The agent.
        agent: &'a str,
        /// Its owner.
        user: &'a str,
    },
    /// There is no such object.
    Nobody,
}

/// The verdict of an access rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessVerdict {
    /// The request is permitted.
    Permitted,
    /// The caller is unknown.
    Unauthenticated,
    /// This kind of principal is never permitted.
    Forbidden,
    /// Only administrators are permitted.
    AdminsOnly,
    /// The object does not exist or belongs to somebody else. Both look the same, so that nobody learns of the
    /// other's.
    NotFound,
}

/// A setting that agents need for a feature. People always have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSetting {
    /// `[policy] proposals = true`.
    Proposals,
}

impl AgentSetting {
    /// Its spelling in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposals => "[policy] proposals = true",
        }
    }
}

impl Access {
    /// Whether a principal is permitted, for an object of this owner.
    pub fn permits(self, principal: Option<&Principal>, owner: Owner<'_>) -> AccessVerdict {
        let Some(principal) = principal else {
            return AccessVerdict::Unauthenticated;
        };
        if !Face::of(principal.kind()).is_some_and(|face| self.has_face(face)) {
            return AccessVerdict::Forbidden;
        }
        match principal {
            Principal::Person(_) => self.permits_person(principal, owner),
            Principal::Agent(_) | Principal::Session(_) => match owner {
                Owner::Agent { agent, .. } if principal.agent_id().is_some_and(|own| **own == *agent) => {
                    AccessVerdict::Permitted
                }
                Owner::Everyone | Owner::Admins | Owner::User(_) | Owner::Agent { .. } | Owner::Nobody => {
                    AccessVerdict::NotFound
                }
            },
            Principal::Service(_) => AccessVerdict::Forbidden,
        }
    }

    fn permits_person(self, person: &Principal, owner: Owner<'_>) -> AccessVerdict {
        // A member does not learn from it whether the object exists.
        if self == Self::Admins && !person.is_admin() {
            return AccessVerdict::AdminsOnly;
        }
        match owner {
            Owner::Nobody => AccessVerdict::NotFound,
            Owner::Everyone => AccessVerdict::Permitted,
            _ if person.is_admin() => AccessVerdict::Permitted,
            Owner::Admins => AccessVerdict::AdminsOnly,
            Owner::User(user) | Owner::Agent { user, .. } if **person.user() == *user => {
                AccessVerdict::Permitted
            }
            Owner::User(_) | Owner::Agent { .. } => AccessVerdict::NotFound,
        }
    }

    /// Whether a face offers it at all.
    pub const fn has_face(self, face: Face) -> bool {
        match face {
            Face::Management => matches!(self, Self::Admins | Self::People | Self::PeopleAndOwnAgent),
            Face::Agent => matches!(self, Self::OwnAgent | Self::PeopleAndOwnAgent),
        }
    }

    /// The rule in words, for the reference pages.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Admins => "administrators",
            Self::People => "people; members, what is theirs",
            Self::OwnAgent => "agents, for themselves",
            Self::PeopleAndOwnAgent => "people; members and agents, what is theirs",
        }
    }
}

impl ObjectRef<'_> {
    /// The owner, if the reference tells it; `None` if it must be looked up.
    pub const fn owner(self) -> Option<Owner<'static>> {
        match self {
            Self::Gateway | Self::Tool(_) => Some(Owner::Everyone),
            Self::Administration => Some(Owner::Admins),
            Self::Caller
            | Self::Server(_)
            | Self::ServerKey(_)
            | Self::ManagedServer(_)
            | Self::PastServer(_)
            | Self::Session(_)
            | Self::Agent(_)
            | Self::NewAgent(_)
            | Self::PastAgent(_)
            | Self::User(_)
            | Self::Token(_)
            | Self::Approval(_)
            | Self::Proposal(_) => None,
        }
    }
}
