//! What an approval is bound to.

/// The call that an approval covers, and what was known when it was requested. The approval is valid only
/// while all of it is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The principal that called.
    pub principal: String,
    /// The agent, for an agent's call.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: String,
    /// The hash of the tool's definition: what the approver believed it to be.
    pub definition_hash: [u8; 32],
    /// The hash of the canonical arguments and other members of `params`.
    pub arguments_hash: [u8; 32],
    /// The revision of the policies that required approval and, once approved, of those in force at that
    /// time.
    pub policy_revision: u64,
}

/// What makes two calls of one caller identical: a repeated call finds its approval by this key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The principal that calls.
    pub principal: String,
    /// The agent, for an agent's call.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: String,
    /// The hash of the canonical arguments.
    pub arguments_hash: [u8; 32],
}

impl Binding {
    /// The first part that differs, named for a message.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        // Destructured, so that a new field cannot be forgotten here.
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

    /// Whether both would show the same request to an approver.
    pub fn is_same_question(&self, other: &Self) -> bool {
        Self { policy_revision: 0, ..self.clone() } == Self { policy_revision: 0, ..other.clone() }
    }

    /// The key by which an identical call finds this approval.
    pub fn call_key(&self) -> CallKey {
        CallKey {
            principal: self.principal.clone(),
            agent: self.agent.clone(),
            tool: self.tool.clone(),
            arguments_hash: self.arguments_hash,
        }
    }
}
