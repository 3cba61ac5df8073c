//! Handlers of operations about policies, for people.

use octroi_api::Wire;
use octroi_api::operations::NoArguments;
use octroi_api::operations::policies::{
    ActivePolicy, CheckPolicyRequest, Complaint, ExplainPolicyRequest, Explanation, LevelRequest, LevelRules,
    PolicyCheck, PolicyOrNone, PolicySentences, PolicyStatus, PolicyVersion, PolicyVersions, Replay,
    ReplayRequest, RollbackRequest, SchemaText, SetAgentPolicyRequest, SetPolicyRequest, TestOutcome,
    TestPolicyRequest, TestedPolicy, WhyRequest,
};
use octroi_core::decision::{Effect, SIX};
use octroi_core::diff::unified;
use octroi_core::policy::{self, Document, Expected, Level, Rule};
use octroi_core::pool::Reach;
use octroi_gateway::{Candidate, PolicyLevel, PolicyRecord, PolicyStatus as StoredStatus, level_of};
use serde_json::Value;

use super::context::OperationContext;
use super::handler::Plan;
use super::servers;
use super::shape::{count, map_response, reshape};
use crate::error::OperationError;
use crate::rescue::chain;

pub(super) async fn set_for_agent(
    context: &OperationContext,
    request: SetAgentPolicyRequest,
) -> Plan<PolicyVersion> {
    let level = policy_level(Level::Agent, Some(request.agent_id))?;
    set(context, level, &request.source, request.expected_version).await
}

pub(super) async fn set_global(context: &OperationContext, request: SetPolicyRequest) -> Plan<PolicyVersion> {
    set(context, PolicyLevel::Global, &request.source, request.expected_version).await
}

pub(super) async fn set_floor(context: &OperationContext, request: SetPolicyRequest) -> Plan<PolicyVersion> {
    set(context, PolicyLevel::Floor, &request.source, request.expected_version).await
}

async fn set(
    context: &OperationContext,
    level: PolicyLevel,
    source: &str,
    expected_version: Option<i64>,
) -> Plan<PolicyVersion> {
    let governance = context.gateway.governance();
    let change = governance.change_policy(context.principal(), level, source, expected_version).await?;
    Ok(map_response(change, |record| version(&record)))
}

pub(super) async fn show(
    context: &OperationContext,
    request: LevelRequest,
) -> Result<ActivePolicy, OperationError> {
    let level = policy_level(request.level.0, request.agent_id)?;
    let governance = context.gateway.governance();
    let active = governance.active_policy(&level).await?;
    let policy = match &active {
        Some(record) => PolicyOrNone::Policy(Box::new(version(record))),
        None => PolicyOrNone::None {
            level: level_of(&level).into(),
            agent: level.agent().map(str::to_owned),
            version: 0,
            source: String::new(),
        },
    };
    Ok(ActivePolicy {
        rules: sentences(policy.source()),
        policy,
        file: governance.policy_file(&level).map(|file| file.display().to_string()),
        gates: servers::gates(context),
    })
}

pub(super) async fn history(
    context: &OperationContext,
    request: LevelRequest,
) -> Result<PolicyVersions, OperationError> {
    let level = policy_level(request.level.0, request.agent_id)?;
    let history = context.gateway.governance().policy_history(&level).await?;
    let name = |record: &PolicyRecord| format!("version {}", record.version.unwrap_or_default());
    let diffs = history.iter().enumerate().map(|(place, record)| {
        let (before, name_before) = history
            .get(place + 1)
            .map_or(("", "nothing".to_owned()), |old| (old.draft.source.as_str(), name(old)));
        unified(before, &record.draft.source, &name_before, &name(record))
    });
    Ok(PolicyVersions { diffs: diffs.collect(), versions: history.iter().map(version).collect() })
}

pub(super) async fn rollback(context: &OperationContext, request: RollbackRequest) -> Plan<PolicyVersion> {
    // An agent's id beside another level was authorised as the agent's.
    if request.level.0 != Level::Agent && request.agent_id.is_some() {
        let reason = "only the level `agent` takes `agent_id`";
        return Err(OperationError::InvalidArguments(reason.to_owned()));
    }
    let level = policy_level(request.level.0, request.agent_id)?;
    let history = context.gateway.governance().policy_history(&level).await?;
    let earlier = history.iter().find(|record| record.version == Some(request.version)).ok_or_else(|| {
        OperationError::not_found_in(
            format!("there is no version {} of this policy", request.version),
            "`octroi policy history` lists the versions",
        )
    })?;
    set(context, level, &earlier.draft.source, request.expected_version).await
}

pub(super) async fn check(
    context: &OperationContext,
    request: CheckPolicyRequest,
) -> Result<PolicyCheck, OperationError> {
    Ok(check_source(context, level_or_global(request.level), &request.source).await)
}

pub(super) async fn test(
    context: &OperationContext,
    request: TestPolicyRequest,
) -> Result<TestedPolicy, OperationError> {
    let level = level_or_global(request.level);
    let governance = context.gateway.governance();
    let source = match request.source {
        Some(source) => source,
        None => {
            let active = governance.active_policy(&policy_level(level, request.agent_id)?).await?;
            active.map(|record| record.draft.source).unwrap_or_default()
        }
    };
    // A source that cannot be parsed has no tests; the check below reports why.
    let tests = governance.test_policy(&source, Reach::of(context.principal())).await.unwrap_or_default();
    let tests = tests.iter().map(|tested| TestOutcome {
        name: tested.name.clone(),
        line: count(tested.line),
        expected: Expected::as_str(tested.expected).to_owned(),
        got: tested.got(),
        passed: tested.passed(),
    });
    let check = check_source(context, level, &source).await;
    Ok(TestedPolicy { check, tests: tests.collect() })
}

pub(super) async fn why(
    context: &OperationContext,
    request: WhyRequest,
) -> Result<Explanation, OperationError> {
    let WhyRequest { tool, arguments, agent_id, mode } = request;
    let arguments = Value::Object(arguments.unwrap_or_default());
    let mode = mode.map(|mode| mode.0);
    let explained = context
        .gateway
        .inspector()
        .why(context.principal(), agent_id.as_deref(), &tool, &arguments, mode)
        .await;
    reshape(explained.map_err(OperationError::not_found)?)
}

pub(super) async fn explain(
    context: &OperationContext,
    request: ExplainPolicyRequest,
) -> Result<PolicySentences, OperationError> {
    let agent = request.agent_id;
    let mut levels = vec![PolicyLevel::Floor, PolicyLevel::Global];
    levels.extend(agent.clone().map(PolicyLevel::Agent));
    let mut rules = Vec::new();
    for level in levels {
        let active = context.gateway.governance().active_policy(&level).await?;
        rules.push(LevelRules {
            level: level_of(&level).into(),
            version: active.as_ref().and_then(|record| record.version),
            rules: sentences(active.as_ref().map_or("", |record| record.draft.source.as_str())),
        });
    }
    let known = context.gateway.inspector().agent_context(agent.as_deref());
    let profile = known.profile;
    let gates = SIX.iter().map(|gate| {
        let effect = match profile.effect(*gate, &known) {
            Effect::Deny => "what it objects to is denied",
            Effect::Ask => "what it objects to needs approval",
            Effect::Off => "it is off",
        };
        format!("{}: {effect}", gate.as_str())
    });
    Ok(PolicySentences {
        agent,
        profile: profile.into(),
        mode: known.mode.into(),
        gates: gates.collect(),
        levels: rules,
        otherwise: profile.describe_defaults().iter().map(ToString::to_string).collect(),
    })
}

pub(super) async fn replay(
    context: &OperationContext,
    request: ReplayRequest,
) -> Result<Replay, OperationError> {
    let candidate = Candidate {
        level: policy_level(request.level.0, request.agent_id.clone())?,
        source: request.source,
        since_ms: request.since_ms.unwrap_or_default(),
        agent: request.agent_id,
    };
    reshape(context.gateway.inspector().replay(candidate).await?)
}

pub(super) async fn schema(context: &OperationContext, _: NoArguments) -> Result<SchemaText, OperationError> {
    let schema = context.gateway.governance().policy_schema(Reach::of(context.principal())).await;
    Ok(SchemaText { schema: schema.map_err(|error| OperationError::Internal(chain(&error)))? })
}

/// The problems of a policy source.
pub(super) async fn check_source(context: &OperationContext, level: Level, source: &str) -> PolicyCheck {
    let principal = context.principal();
    let complaints = context.gateway.governance().check_policy(level, source, Reach::of(principal)).await;
    let complaint =
        |one: &policy::Complaint| Complaint { line: count(one.line), message: one.message.clone() };
    PolicyCheck { ok: complaints.is_empty(), complaints: complaints.iter().map(complaint).collect() }
}

/// A policy, active or not.
pub(crate) fn version(record: &PolicyRecord) -> PolicyVersion {
    let draft = &record.draft;
    PolicyVersion {
        id: record.id,
        level: level_of(&draft.level).into(),
        agent: draft.level.agent().map(str::to_owned),
        version: record.version,
        status: status(record.status),
        source: draft.source.clone(),
        author: draft.author.clone(),
        rationale: draft.rationale.clone(),
        check: draft.check_result.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        created_at_ms: record.created_at_ms,
        decided_at_ms: record.decided_at_ms,
        decided_by: record.decided_by.clone(),
        reason: record.decision_reason.clone(),
    }
}

fn status(status: StoredStatus) -> PolicyStatus {
    match status {
        StoredStatus::Proposed => PolicyStatus::Proposed,
        StoredStatus::Active => PolicyStatus::Active,
        StoredStatus::Superseded => PolicyStatus::Superseded,
        StoredStatus::Rejected => PolicyStatus::Rejected,
        StoredStatus::Withdrawn => PolicyStatus::Withdrawn,
    }
}

fn level_or_global(level: Option<Wire<Level>>) -> Level {
    level.map_or(Level::Global, |level| level.0)
}

fn policy_level(level: Level, agent: Option<String>) -> Result<PolicyLevel, OperationError> {
    match level {
        Level::Floor => Ok(PolicyLevel::Floor),
        Level::Global => Ok(PolicyLevel::Global),
        Level::Agent => {
            let agent = agent.filter(|agent| !agent.is_empty()).ok_or_else(|| {
                OperationError::InvalidArguments("the level `agent` needs `agent_id`".to_owned())
            })?;
            Ok(PolicyLevel::Agent(agent))
        }
    }
}

/// Each rule as a sentence. None if the source cannot be parsed, which the check reports.
fn sentences(source: &str) -> Vec<String> {
    let document = Document::parse(source).unwrap_or_default();
    let mut sentences: Vec<String> = document.rules.iter().map(Rule::sentence).collect();
    if document.cedar.is_some() {
        sentences.push("cedar: the source also contains Cedar policies".to_owned());
    }
    sentences
}
