//! What is said of policies and decisions.

use std::collections::BTreeMap;

use octroi_core::audit::Ruling;
use octroi_core::decision::{Mode, Outcome, Profile};
use octroi_core::policy::Level;
use octroi_core::server::Trust;
use octroi_core::tool::Risk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::operations::servers::GateStatus;
use crate::wire::Wire;

/// A policy, active or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyVersion {
    /// Its id
    pub id: i64,
    /// The level at which it holds
    pub level: Wire<Level>,
    /// Whose it is, at the level `agent`
    pub agent: Option<String>,
    /// Its number among those that were active at the level; null if it never was
    pub version: Option<i64>,
    /// What has become of it
    pub status: PolicyStatus,
    /// The policy, as TOML
    pub source: String,
    /// Who wrote it
    pub author: String,
    /// Why, if it was proposed
    pub rationale: Option<String>,
    /// What was found wrong with it, if it was proposed
    pub check: Option<PolicyCheck>,
    /// When it was written, in milliseconds since 1970
    pub created_at_ms: i64,
    /// When it was decided about
    pub decided_at_ms: Option<i64>,
    /// Who decided
    pub decided_by: Option<String>,
    /// What they said about it
    pub reason: Option<String>,
}

/// What has become of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PolicyStatus {
    /// It waits for a person.
    Proposed,
    /// It is in effect.
    Active,
    /// It was, until another took its place.
    Superseded,
    /// A person said no.
    Rejected,
    /// Its author took it back.
    Withdrawn,
}

/// What speaks against a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCheck {
    /// Whether nothing does
    pub ok: bool,
    /// What does
    pub complaints: Vec<Complaint>,
}

/// Something that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Complaint {
    /// The line; 0 for the whole
    pub line: u64,
    /// What is wrong
    pub message: String,
}

/// The active policy of a level, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivePolicy {
    /// The policy.
    #[serde(flatten)]
    pub policy: PolicyOrNone,
    /// Its rules, each as a sentence
    pub rules: Vec<String>,
    /// The file that it stands in, if it stands in one
    pub file: Option<String>,
    /// Every custom gate, which is asked before any policy
    pub gates: Vec<GateStatus>,
}

/// A policy, or an empty one in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PolicyOrNone {
    /// There is one.
    Policy(Box<PolicyVersion>),
    /// There is none.
    None {
        /// The level that was asked about
        level: Wire<Level>,
        /// Whose, at the level `agent`
        agent: Option<String>,
        /// Always 0
        version: i64,
        /// Always empty
        source: String,
    },
}

impl PolicyOrNone {
    /// The version that would have to be replaced; 0 if there is none.
    pub fn version(&self) -> i64 {
        match self {
            Self::Policy(policy) => policy.version.unwrap_or_default(),
            Self::None { version, .. } => *version,
        }
    }

    /// The policy as TOML; empty if there is none.
    pub fn source(&self) -> &str {
        match self {
            Self::Policy(policy) => &policy.source,
            Self::None { source, .. } => source,
        }
    }

    /// Who wrote it.
    pub fn author(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(&policy.author),
            Self::None { .. } => None,
        }
    }
}

/// What is and was active at a level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyVersions {
    /// The policies, the newest first
    pub versions: Vec<PolicyVersion>,
}

/// A policy that was checked and whose tests were run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestedPolicy {
    /// What speaks against it.
    #[serde(flatten)]
    pub check: PolicyCheck,
    /// Its tests, in their order
    pub tests: Vec<TestOutcome>,
}

/// What came of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestOutcome {
    /// Its name
    pub name: String,
    /// The line where it stands
    pub line: u64,
    /// What it expects: allow, ask, deny, abort or silent
    pub expected: String,
    /// What the policy says, or the error that kept it from saying anything
    pub got: String,
    /// Whether these are the same
    pub passed: bool,
}

/// A call to explain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyRequest {
    /// The tool, as server.tool
    pub tool: String,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Who would call [default: a person]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The mode that the agent would be in [default: the agent's]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Wire<Mode>>,
}

/// What would become of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// What would become of it
    pub decision: Wire<Ruling>,
    /// Why it would not just be made
    pub reason: Option<String>,
    /// Who would call; null for a person
    pub agent: Option<String>,
    /// How strict the gates are with them
    pub profile: Wire<Profile>,
    /// Whether they may act or only look
    pub mode: Wire<Mode>,
    /// What every gate says, in the order in which they are asked
    pub trace: Vec<GateVerdict>,
    /// What the gates know of the tool
    pub tool: DecidedTool,
    /// The policies in effect, the strictest first
    pub policies: Vec<PolicyInEffect>,
    /// What the arguments and the past tell
    pub facts: CallFacts,
}

/// What one gate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// The gate, as `mode` or `quota`
    pub gate: String,
    /// What it says
    pub outcome: Wire<Outcome>,
    /// The rule, clause or program that says it
    pub by: Option<String>,
    /// Why
    pub reason: Option<String>,
}

/// What the gates know of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedTool {
    /// Its canonical id
    pub id: String,
    /// Its server
    pub server: String,
    /// Its name at its server
    pub name: String,
    /// How risky it is taken to be
    pub risk: Wire<Risk>,
    /// What it does to the world
    pub side_effects: Vec<String>,
    /// How far its server is trusted
    pub trust: Wire<Trust>,
    /// Whether calls need the admin token
    pub requires_admin: bool,
    /// Whether it is switched on
    pub enabled: bool,
    /// The hash of its definition
    pub hash: String,
}

/// A policy in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyInEffect {
    /// Its level
    pub level: Wire<Level>,
    /// Which version of it; null if it stands in a file
    pub version: Option<i64>,
}

/// What the arguments of a call and its agent's past tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFacts {
    /// Paths among the arguments
    pub paths: Vec<String>,
    /// Those of them outside the agent's project
    pub paths_outside_project: Vec<String>,
    /// Hosts among the arguments
    pub hosts: Vec<String>,
    /// What SQL among the arguments does
    pub sql_verbs: Vec<String>,
    /// The programs that shell commands among the arguments start
    pub shell_heads: Vec<String>,
    /// Kinds of secrets among the arguments
    pub secrets: Vec<String>,
    /// How long the arguments are, in bytes
    pub payload_bytes: u64,
    /// Whether the agent never called the tool before
    pub is_first_use: bool,
    /// How many calls the agent made within the last minute
    pub calls_last_minute: u64,
}

/// What is in effect for an agent, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySentences {
    /// The agent; null for a person
    pub agent: Option<String>,
    /// How strict the gates are
    pub profile: Wire<Profile>,
    /// Whether it may act or only look
    pub mode: Wire<Mode>,
    /// What the gates do, each in a sentence
    pub gates: Vec<String>,
    /// What the policies say, the strictest first
    pub levels: Vec<LevelRules>,
    /// What becomes of calls that no rule is about
    pub otherwise: Vec<String>,
}

/// What the policy of a level says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelRules {
    /// The level
    pub level: Wire<Level>,
    /// The version of its policy; null if there is none
    pub version: Option<i64>,
    /// Its rules, each as a sentence
    pub rules: Vec<String>,
}

/// What another policy would have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// How many calls were decided again
    pub n_calls: u64,
    /// How many of them come out otherwise
    pub n_flipped: u64,
    /// How many of each kind, as in `allow → deny_continue`
    pub kinds: BTreeMap<String, u64>,
    /// The first thousand of them
    pub flips: Vec<Flip>,
    /// Calls of which nothing can be said
    pub cannot_tell: ReplayGaps,
    /// How many records were read for it
    pub n_read: u64,
}

/// Why nothing can be said of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayGaps {
    /// Their arguments were cut, or hold secrets that were redacted
    pub arguments_not_kept: u64,
    /// Their tool is gone
    pub tool_gone: u64,
    /// Their record cannot be read
    pub unreadable: u64,
}

/// A call that comes out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The number of its record
    pub seq: u64,
    /// When it was made, in milliseconds since 1970
    pub at_ms: u64,
    /// By which agent; null for a person
    pub agent: Option<String>,
    /// The canonical id of the tool
    pub tool: String,
    /// What becomes of it now
    pub from: Wire<Ruling>,
    /// What would become of it
    pub to: Wire<Ruling>,
    /// The rule or clause that makes the difference
    pub rule: Option<String>,
    /// Why
    pub reason: Option<String>,
}

/// The schema for Cedar policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaText {
    /// The schema, in Cedar's own notation
    pub schema: String,
}

/// An agent's policy and its proposals, as the resource shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyState {
    /// The agent
    pub agent_id: String,
    /// Always `agent`
    pub level: Wire<Level>,
    /// The version of the active policy; 0 if there is none
    pub version: i64,
    /// The active policy, as TOML; empty if there is none
    pub content: String,
    /// What the agent proposed
    pub proposals: Vec<ProposalState>,
    /// The resource that has the active policy as text
    pub active_policy_uri: String,
}

/// What has become of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalState {
    /// Its id
    pub id: i64,
    /// What has become of it
    pub status: PolicyStatus,
}
