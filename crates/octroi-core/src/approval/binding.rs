//! What a grant is bound to.

/// The call that a grant is for, and what was known when it was asked for. A grant is good only while
/// all of it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// Who asked.
    pub principal: String,
    /// Which agent, if it was one.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: String,
    /// The hash of the tool's definition: what the approver believed it to be.
    pub definition_hash: [u8; 32],
    /// The hash of the canonical arguments.
    pub arguments_hash: [u8; 32],
    /// The revision of the policies that asked for a person and, once one has approved, under which they
    /// did.
    pub policy_revision: u64,
}

/// What makes two calls identical for the one who makes them: a repeated call finds its approval by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// Who asks.
    pub principal: String,
    /// Which agent, if it is one.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: String,
    /// The hash of the canonical arguments.
    pub arguments_hash: [u8; 32],
}

impl Binding {
    /// The first thing that differs, in words.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        // Taken apart, so that nothing new can be forgotten here.
        let Self { principal, agent, tool, definition_hash, arguments_hash, policy_revision } = self;
        [
            (*principal != other.principal, "who asks"),
            (*agent != other.agent, "the agent"),
            (*tool != other.tool, "the tool"),
            (*definition_hash != other.definition_hash, "the definition of the tool"),
            (*arguments_hash != other.arguments_hash, "the arguments"),
            (*policy_revision != other.policy_revision, "the policy"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }

    /// Whether a person who is asked about this is asked the same.
    pub fn is_same_question(&self, other: &Self) -> bool {
        Self { policy_revision: 0, ..self.clone() } == Self { policy_revision: 0, ..other.clone() }
    }

    /// By which an identical call is found.
    pub fn call_key(&self) -> CallKey {
        CallKey {
            principal: self.principal.clone(),
            agent: self.agent.clone(),
            tool: self.tool.clone(),
            arguments_hash: self.arguments_hash,
        }
    }
}
