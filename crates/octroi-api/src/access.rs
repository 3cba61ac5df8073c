//! Who may use an operation or read a resource: a rule over the principal and the object it asks about.

use octroi_core::{Principal, Role};

/// Which part of `/mcp` a principal talks to. The token decides it, not the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Face {
    /// The management server: what people reach.
    Management,
    /// What agents reach: the tools of their servers, and Octroi's own tools for agents.
    Agent,
}

impl Face {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Management, Self::Agent];

    /// The face that a role talks to.
    pub const fn of(role: Role) -> Self {
        match role {
            Role::Human => Self::Management,
            Role::Agent => Self::Agent,
        }
    }
}

/// A rule that says who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every person, whatever the object.
    People,
    /// An agent, about itself only.
    OwnAgent,
    /// Every person, and an agent about itself.
    PeopleAndOwnAgent,
}

/// What a request is about, as the request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRef<'a> {
    /// The gateway as a whole, or many objects at once.
    Gateway,
    /// Whoever asks.
    Caller,
    /// A server, by name.
    Server(&'a str),
    /// A tool, in any way in which rules and clients write it.
    Tool(&'a str),
    /// An agent, by id.
    Agent(&'a str),
    /// An approval, by id.
    Approval(&'a str),
    /// A proposed policy, by id.
    Proposal(i64),
}

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The gateway's own, or shared by everybody.
    Gateway,
    /// An agent's.
    Agent(&'a str),
    /// There is no such object.
    Nobody,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Permitted,
    /// Nobody knows who asks.
    Unauthenticated,
    /// This kind of principal may not, whatever the object is.
    Forbidden,
    /// It is another's, or it does not exist. Both look the same, so that nobody learns of foreign objects.
    NotFound,
}

/// A setting without which agents do not have something. People have it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSetting {
    /// `[policy] proposals = true`.
    Proposals,
}

impl AgentSetting {
    /// How it is written in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposals => "[policy] proposals = true",
        }
    }
}

impl Access {
    /// Whether a principal may, about an object of this owner.
    pub fn permits(self, principal: Option<&Principal>, owner: Owner<'_>) -> Verdict {
        let Some(principal) = principal else {
            return Verdict::Unauthenticated;
        };
        if !self.has_face(Face::of(principal.role)) {
            return Verdict::Forbidden;
        }
        let own = principal.agent_id.as_deref();
        match (principal.role, owner) {
            // A token that names no agent owns nothing.
            (Role::Agent, _) if own.is_none() => Verdict::Forbidden,
            (Role::Human, Owner::Gateway | Owner::Agent(_)) => Verdict::Permitted,
            (Role::Agent, Owner::Agent(owner)) if own == Some(owner) => Verdict::Permitted,
            (Role::Agent, Owner::Gateway | Owner::Agent(_)) | (Role::Human | Role::Agent, Owner::Nobody) => {
                Verdict::NotFound
            }
        }
    }

    /// Whether it is offered at a face at all.
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
            Self::PeopleAndOwnAgent => "people; agents, what is their own",
        }
    }
}

impl<'a> ObjectRef<'a> {
    /// Whose it is, where the reference says so; `None` where that has to be looked up.
    pub fn owner(self, principal: &'a Principal) -> Option<Owner<'a>> {
        match self {
            Self::Gateway | Self::Server(_) | Self::Tool(_) => Some(Owner::Gateway),
            Self::Caller => Some(principal.agent_id.as_deref().map_or(Owner::Gateway, Owner::Agent)),
            Self::Agent(agent) => Some(Owner::Agent(agent)),
            Self::Approval(_) | Self::Proposal(_) => None,
        }
    }
}
