//! Operations on policies, for people: reading, checking, trying and changing them.

mod shapes;

use octroi_core::audit::Kind;
use octroi_core::policy::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

pub use shapes::{
    ActivePolicy, CallFacts, Complaint, DecidedTool, Explanation, Flip, GateVerdict, LevelRules, PolicyCheck,
    PolicyInEffect, PolicyOrNone, PolicySentences, PolicyState, PolicyStatus, PolicyVersion, PolicyVersions,
    ProposalState, Replay, ReplayGaps, SchemaText, TestOutcome, TestedPolicy, WhyRequest,
};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AgentsSetPolicy>(),
    OperationEntry::of::<PolicySetGlobal>(),
    OperationEntry::of::<PolicySetFloor>(),
    OperationEntry::of::<PolicyShow>(),
    OperationEntry::of::<PolicyHistory>(),
    OperationEntry::of::<PolicyRollback>(),
    OperationEntry::of::<PolicyCheckSource>(),
    OperationEntry::of::<PolicyTest>(),
    OperationEntry::of::<PolicyWhy>(),
    OperationEntry::of::<PolicyExplain>(),
    OperationEntry::of::<PolicyReplay>(),
    OperationEntry::of::<PolicySchema>(),
];

const SETTING: &[ErrorCode] = &[
    ErrorCode::InvalidArguments,
    ErrorCode::InvalidPolicy,
    ErrorCode::Conflict,
    ErrorCode::ManagedByFile,
    ErrorCode::StorageUnavailable,
];
const SETS: Effect = Effect::Changes { audit: Kind::PolicyChanged };

/// The object of an operation on an agent's or the global policy.
fn object_of(agent_id: Option<&String>) -> ObjectRef<'_> {
    agent_id.map_or(ObjectRef::Gateway, |agent| ObjectRef::Agent(agent))
}

/// Activates a policy for an agent.
pub struct AgentsSetPolicy;

/// A policy for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgentPolicyRequest {
    /// The agent
    pub agent_id: String,
    /// The policy, as TOML
    pub source: String,
    /// The version to be replaced; 0 if there is none [default: the active one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub expected_version: Option<i64>,
}

impl Operation for AgentsSetPolicy {
    type Request = SetAgentPolicyRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "agents_set_policy";
    const TITLE: &'static str = "Set an agent's policy";
    const DESCRIPTION: &'static str = "Activate a policy for an agent.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = SETS;
    const ERRORS: &'static [ErrorCode] = SETTING;

    fn object(request: &SetAgentPolicyRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Activates a policy for all agents.
pub struct PolicySetGlobal;

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPolicyRequest {
    /// The policy, as TOML
    pub source: String,
    /// The version to be replaced; 0 if there is none [default: the active one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub expected_version: Option<i64>,
}

impl Operation for PolicySetGlobal {
    type Request = SetPolicyRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_set_global";
    const TITLE: &'static str = "Set the global policy";
    const DESCRIPTION: &'static str = "Activate a policy for all agents.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = SETS;
    const ERRORS: &'static [ErrorCode] = SETTING;

    fn object(_: &SetPolicyRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Activates the floor policy.
pub struct PolicySetFloor;

impl Operation for PolicySetFloor {
    type Request = SetPolicyRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_set_floor";
    const TITLE: &'static str = "Set the floor policy";
    const DESCRIPTION: &'static str = "Activate the floor policy, which no other policy can loosen.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = SETS;
    const ERRORS: &'static [ErrorCode] = SETTING;

    fn object(_: &SetPolicyRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// A level, and for the level `agent` the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelRequest {
    /// The level
    pub level: Wire<Level>,
    /// The agent, for the level `agent`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Shows the active policy of a level.
pub struct PolicyShow;

impl Operation for PolicyShow {
    type Request = LevelRequest;
    type Response = ActivePolicy;

    const NAME: &'static str = "policy_show";
    const TITLE: &'static str = "Show a policy";
    const DESCRIPTION: &'static str = "The active policy of a level.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &LevelRequest) -> ObjectRef<'_> {
        object_of(request.agent_id.as_ref())
    }
}

/// Activates an earlier version again.
pub struct PolicyRollback;

/// An earlier version of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackRequest {
    /// The level
    pub level: Wire<Level>,
    /// The agent, for the level `agent`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The version to activate again
    pub version: i64,
    /// The version to be replaced [default: the active one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub expected_version: Option<i64>,
}

impl Operation for PolicyRollback {
    type Request = RollbackRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_rollback";
    const TITLE: &'static str = "Go back to an earlier policy";
    const DESCRIPTION: &'static str =
        "Activate an earlier version of a policy again, as a new version. It is checked like any other.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = SETS;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::InvalidPolicy,
        ErrorCode::Conflict,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &RollbackRequest) -> ObjectRef<'_> {
        // The floor and the global policy are for administrators to change.
        request.agent_id.as_deref().map_or(ObjectRef::Administration, ObjectRef::Agent)
    }
}

/// Shows the history of a level.
pub struct PolicyHistory;

impl Operation for PolicyHistory {
    type Request = LevelRequest;
    type Response = PolicyVersions;

    const NAME: &'static str = "policy_history";
    const TITLE: &'static str = "Show a policy's history";
    const DESCRIPTION: &'static str = "The current and past policies of a level, newest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &LevelRequest) -> ObjectRef<'_> {
        object_of(request.agent_id.as_ref())
    }
}

/// Checks a policy, for people.
pub struct PolicyCheckSource;

/// A policy to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckPolicyRequest {
    /// The policy, as TOML
    pub source: String,
    /// The level at which it would be active [default: global]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Wire<Level>>,
}

impl Operation for PolicyCheckSource {
    type Request = CheckPolicyRequest;
    type Response = PolicyCheck;

    const NAME: &'static str = "policy_check";
    const TITLE: &'static str = "Check a policy";
    const DESCRIPTION: &'static str =
        "List the problems that prevent a policy from becoming active. Changes nothing.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &CheckPolicyRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Runs the tests in a policy.
pub struct PolicyTest;

/// A policy whose tests are run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestPolicyRequest {
    /// The policy, as TOML [default: the active one of the level]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The level at which it is or would be active [default: global]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Wire<Level>>,
    /// The agent, for the level `agent`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

impl Operation for PolicyTest {
    type Request = TestPolicyRequest;
    type Response = TestedPolicy;

    const NAME: &'static str = "policy_test";
    const TITLE: &'static str = "Test a policy";
    const DESCRIPTION: &'static str =
        "Run the tests in a policy; in the active one of a level, if no source is given.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &TestPolicyRequest) -> ObjectRef<'_> {
        object_of(request.agent_id.as_ref())
    }
}

/// Explains the decision about a hypothetical call.
pub struct PolicyWhy;

impl Operation for PolicyWhy {
    type Request = WhyRequest;
    type Response = Explanation;

    const NAME: &'static str = "policy_why";
    const TITLE: &'static str = "Explain a decision";
    const DESCRIPTION: &'static str =
        "Explain the decision about a hypothetical call, with the verdicts of all gates. Nothing is called.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(request: &WhyRequest) -> ObjectRef<'_> {
        request.agent_id.as_deref().map_or(ObjectRef::Gateway, ObjectRef::PastAgent)
    }
}

/// Describes the policies in effect for an agent.
pub struct PolicyExplain;

/// An agent or a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainPolicyRequest {
    /// The agent [default: a person]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

impl Operation for PolicyExplain {
    type Request = ExplainPolicyRequest;
    type Response = PolicySentences;

    const NAME: &'static str = "policy_explain";
    const TITLE: &'static str = "Explain policies in sentences";
    const DESCRIPTION: &'static str =
        "The policies in effect for an agent, level by level, in plain sentences.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(request: &ExplainPolicyRequest) -> ObjectRef<'_> {
        object_of(request.agent_id.as_ref())
    }
}

/// Replays recorded calls with another policy.
pub struct PolicyReplay;

/// A policy to replay recorded calls with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The policy, as TOML
    pub source: String,
    /// The level at which it replaces the active one
    pub level: Wire<Level>,
    /// Only calls of this agent; for the level `agent`, the agent of the policy
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Only calls since this moment, in milliseconds since 1970 [default: all]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub since_ms: Option<i64>,
}

impl Operation for PolicyReplay {
    type Request = ReplayRequest;
    type Response = Replay;

    const NAME: &'static str = "policy_replay";
    const TITLE: &'static str = "Replay calls under a policy";
    const DESCRIPTION: &'static str = "Replay recorded calls with a policy instead of the active one, and list those with another decision.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::InvalidArguments, ErrorCode::InvalidPolicy, ErrorCode::AuditUnavailable];

    fn object(request: &ReplayRequest) -> ObjectRef<'_> {
        request.agent_id.as_deref().map_or(ObjectRef::Administration, ObjectRef::Agent)
    }
}

/// Shows the schema for Cedar policies.
pub struct PolicySchema;

impl Operation for PolicySchema {
    type Request = NoArguments;
    type Response = SchemaText;

    const NAME: &'static str = "policy_schema";
    const TITLE: &'static str = "Show the Cedar schema";
    const DESCRIPTION: &'static str = "The Cedar schema of all tools, for writing policies.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
