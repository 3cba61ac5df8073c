//! Shapes of policies and decisions.

use std::collections::BTreeMap;

use octroi_core::agent::{Mode, Profile};
use octroi_core::audit::Ruling;
use octroi_core::decision::Outcome;
use octroi_core::policy::Level;
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;
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
    /// Its level
    pub level: Wire<Level>,
    /// The agent, for the level `agent`
    pub agent: Option<String>,
    /// Its number among the active policies of the level; null if it never was active
    pub version: Option<i64>,
    /// Its status
    pub status: PolicyStatus,
    /// The policy, as TOML
    pub source: String,
    /// Its author
    pub author: String,
    /// The rationale, if it was proposed
    pub rationale: Option<String>,
    /// The problems that were found, if it was proposed
    pub check: Option<PolicyCheck>,
    /// When it was created, in milliseconds since 1970
    pub created_at_ms: i64,
    /// When it was decided, in milliseconds since 1970
    pub decided_at_ms: Option<i64>,
    /// Who decided
    pub decided_by: Option<String>,
    /// The reason they gave
    pub reason: Option<String>,
}

/// The status of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PolicyStatus {
    /// It is pending review.
    Proposed,
    /// It is in effect.
    Active,
    /// It was replaced by another one.
    Superseded,
    /// A person rejected it.
    Rejected,
    /// Its author withdrew it.
    Withdrawn,
}

/// The result of checking a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyCheck {
    /// Whether there are no problems
    pub ok: bool,
    /// The problems
    pub complaints: Vec<Complaint>,
}

/// A problem of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Complaint {
    /// The line; 0 for the whole policy
    pub line: u64,
    /// The message
    pub message: String,
}

/// The active policy of a level, if any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivePolicy {
    /// The policy.
    #[serde(flatten)]
    pub policy: PolicyOrNone,
    /// Its rules, each as a sentence
    pub rules: Vec<String>,
    /// The file that contains it, if any
    pub file: Option<String>,
    /// All custom gates, which are evaluated before any policy
    pub gates: Vec<GateStatus>,
}

/// A policy, or an empty placeholder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PolicyOrNone {
    /// There is a policy.
    Policy(Box<PolicyVersion>),
    /// There is none.
    None {
        /// The requested level
        level: Wire<Level>,
        /// The agent, for the level `agent`
        agent: Option<String>,
        /// Always 0
        version: i64,
        /// Always empty
        source: String,
    },
}

impl PolicyOrNone {
    /// The current version; 0 if there is none.
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

    /// Its author.
    pub fn author(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(&policy.author),
            Self::None { .. } => None,
        }
    }
}

/// The current and past policies of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyVersions {
    /// The policies, newest first
    pub versions: Vec<PolicyVersion>,
    /// For each of them, its difference from the one before it as a unified diff
    #[serde(default)]
    pub diffs: Vec<String>,
}

/// The check and the test results of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestedPolicy {
    /// The result of the check.
    #[serde(flatten)]
    pub check: PolicyCheck,
    /// Its tests, in their order
    pub tests: Vec<TestOutcome>,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestOutcome {
    /// Its name
    pub name: String,
    /// The line of the test
    pub line: u64,
    /// The expected verdict: allow, ask, deny, abort or silent
    pub expected: String,
    /// The actual verdict, or the error
    pub got: String,
    /// Whether both are equal
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
    /// The agent that would call [default: a person]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The mode of the agent [default: its current mode]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Wire<Mode>>,
}

/// The decision about a hypothetical call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The decision
    pub decision: Wire<Ruling>,
    /// The reason, unless it is allowed
    pub reason: Option<String>,
    /// The agent that would call; null for a person
    pub agent: Option<String>,
    /// How strict the gates are with them
    pub profile: Wire<Profile>,
    /// Whether it may act or only read
    pub mode: Wire<Mode>,
    /// The verdicts of all gates, in their order of evaluation
    pub trace: Vec<GateVerdict>,
    /// The tool as the gates see it
    pub tool: DecidedTool,
    /// The policies in effect, strictest first
    pub policies: Vec<PolicyInEffect>,
    /// The facts from the arguments and the history
    pub facts: CallFacts,
}

/// The verdict of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// The gate, as `mode` or `quota`
    pub gate: String,
    /// Its outcome
    pub outcome: Wire<Outcome>,
    /// The rule, clause or program that decided
    pub by: Option<String>,
    /// Its reason
    pub reason: Option<String>,
    /// The rule or the profile that allows what this gate would ask a person about
    pub answered_by: Option<String>,
}

/// A tool as the gates see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedTool {
    /// Its canonical id
    pub id: String,
    /// Its server
    pub server: String,
    /// The server's name for it
    pub name: String,
    /// Its risk level
    pub risk: Wire<Risk>,
    /// Its side effects
    pub side_effects: Vec<String>,
    /// The trust in its server
    pub trust: Wire<Trust>,
    /// Whether calls need the admin token
    pub requires_admin: bool,
    /// Whether it is enabled
    pub enabled: bool,
    /// The hash of its definition
    pub hash: String,
}

/// A policy in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyInEffect {
    /// Its level
    pub level: Wire<Level>,
    /// Its version; null if it is in a file
    pub version: Option<i64>,
}

/// Facts from the arguments of a call and the history of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFacts {
    /// Paths in the arguments
    pub paths: Vec<String>,
    /// Paths outside the agent's project
    pub paths_outside_project: Vec<String>,
    /// Hosts in the arguments
    pub hosts: Vec<String>,
    /// Verbs of SQL in the arguments
    pub sql_verbs: Vec<String>,
    /// Programs that shell commands in the arguments run
    pub shell_heads: Vec<String>,
    /// Kinds of secrets in the arguments
    pub secrets: Vec<String>,
    /// The size of the arguments, in bytes
    pub payload_bytes: u64,
    /// Whether this is the agent's first call of the tool
    pub is_first_use: bool,
    /// The number of the agent's calls within the last minute
    pub calls_last_minute: u64,
}

/// The policies in effect for an agent, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySentences {
    /// The agent; null for a person
    pub agent: Option<String>,
    /// How strict the gates are
    pub profile: Wire<Profile>,
    /// Whether it may act or only read
    pub mode: Wire<Mode>,
    /// The effects of the gates, each as a sentence
    pub gates: Vec<String>,
    /// The rules of the policies, strictest level first
    pub levels: Vec<LevelRules>,
    /// The defaults for calls that no rule matches
    pub otherwise: Vec<String>,
}

/// The rules of one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelRules {
    /// The level
    pub level: Wire<Level>,
    /// The version of its policy; null if there is none
    pub version: Option<i64>,
    /// Its rules, each as a sentence
    pub rules: Vec<String>,
}

/// The decisions that another policy would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The number of replayed calls
    pub n_calls: u64,
    /// How many of them would be decided differently
    pub n_flipped: u64,
    /// The number of each kind of change, as in `allow → deny_continue`
    pub kinds: BTreeMap<String, u64>,
    /// The first thousand of them
    pub flips: Vec<Flip>,
    /// Calls that could not be replayed
    pub cannot_tell: ReplayGaps,
    /// The number of records that were read
    pub n_read: u64,
}

/// Why some calls could not be replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayGaps {
    /// Their arguments were cut or redacted
    pub arguments_not_kept: u64,
    /// Their tool no longer exists
    pub tool_gone: u64,
    /// Their record is unreadable
    pub unreadable: u64,
}

/// A call that would be decided differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The number of its record
    pub seq: u64,
    /// When it was made, in milliseconds since 1970
    pub at_ms: u64,
    /// The agent that called; null for a person
    pub agent: Option<String>,
    /// The canonical id of the tool
    pub tool: String,
    /// The decision now
    pub from: Wire<Ruling>,
    /// The decision with the other policy
    pub to: Wire<Ruling>,
    /// The rule or clause that makes the difference
    pub rule: Option<String>,
    /// Its reason
    pub reason: Option<String>,
}

/// The schema for Cedar policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaText {
    /// The schema, in Cedar's own notation
    pub schema: String,
}

/// An agent's policy and its proposals, as a resource.
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
    /// The agent's proposals
    pub proposals: Vec<ProposalState>,
    /// The resource with the active policy as text
    pub active_policy_uri: String,
}

/// The status of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalState {
    /// Its id
    pub id: i64,
    /// Its status
    pub status: PolicyStatus,
}
