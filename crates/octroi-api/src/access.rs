//! Access rules: who may use an operation or read a resource.

use octroi_core::{Principal, Role};

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

    /// The face for a role.
    pub const fn of(role: Role) -> Self {
        match role {
            Role::Human => Self::Management,
            Role::Agent => Self::Agent,
        }
    }
}

/// An access rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any person, for any object.
    People,
    /// An agent, for itself only.
    OwnAgent,
    /// Any person, and an agent for itself.
    PeopleAndOwnAgent,
}

/// The object of a request, as the request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRef<'a> {
    /// The gateway as a whole, or many objects together.
    Gateway,
    /// The caller itself.
    Caller,
    /// A server, by name.
    Server(&'a str),
    /// A tool, in any spelling that rules and clients use.
    Tool(&'a str),
    /// An agent, by id.
    Agent(&'a str),
    /// An approval, by id.
    Approval(&'a str),
    /// A proposed policy, by id.
    Proposal(i64),
}

/// The owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The gateway, or everybody.
    Gateway,
    /// An agent.
    Agent(&'a str),
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
    /// The object does not exist or belongs to another agent. Both look the same, so that nobody learns of
    /// the other's.
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
        if !self.has_face(Face::of(principal.role)) {
            return AccessVerdict::Forbidden;
        }
        let own = principal.agent_id.as_deref();
        match (principal.role, owner) {
            // A token without an agent owns nothing.
            (Role::Agent, _) if own.is_none() => AccessVerdict::Forbidden,
            (Role::Human, Owner::Gateway | Owner::Agent(_)) => AccessVerdict::Permitted,
            (Role::Agent, Owner::Agent(owner)) if own == Some(owner) => AccessVerdict::Permitted,
            (Role::Agent, Owner::Gateway | Owner::Agent(_)) | (Role::Human | Role::Agent, Owner::Nobody) => {
                AccessVerdict::NotFound
            }
        }
    }

    /// Whether a face offers it at all.
    pub const fn has_face(self, face: Face) -> bool {
        match face {
            Face::Management => matches!(self, Self::People | Self::PeopleAndOwnAgent),
            Face::Agent => matches!(self, Self::OwnAgent | Self::PeopleAndOwnAgent),
        }
    }

    /// The rule in words, for the reference pages.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::OwnAgent => "agents, for themselves",
            Self::PeopleAndOwnAgent => "people; agents, their own",
        }
    }
}

impl<'a> ObjectRef<'a> {
    /// The owner, if the reference tells it; `None` if it must be looked up.
    pub fn owner(self, principal: &'a Principal) -> Option<Owner<'a>> {
        match self {
            Self::Gateway | Self::Server(_) | Self::Tool(_) => Some(Owner::Gateway),
            Self::Caller => Some(principal.agent_id.as_deref().map_or(Owner::Gateway, Owner::Agent)),
            Self::Agent(agent) => Some(Owner::Agent(agent)),
            Self::Approval(_) | Self::Proposal(_) => None,
        }
    }
}
