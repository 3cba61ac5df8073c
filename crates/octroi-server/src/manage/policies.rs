//! Tools about policies, for people.

use std::sync::Arc;

use octroi_core::decision::{Effect, Mode, Otherwise, SIX};
use octroi_core::policy::{Document, Expected, Level, Rule};
use octroi_core::tool::Risk;
use octroi_gateway::{
    Caller, Candidate, Gateway, PolicyLevel, PolicyProblem, PolicyRecord, PolicyRefusal, check_result,
    level_of,
};
use serde_json::{Value, json};

use super::servers::{Arguments, Tool, tool};

type Argument = (&'static str, &'static str, bool, &'static str);

const SOURCE: Argument = ("source", "string", true, "The policy, as TOML");
const LEVEL: Argument = ("level", "string", true, "floor, global or agent");
const AGENT: Argument = ("agent_id", "string", false, "Whose, at the level `agent`");
const EXPECTED: Argument =
    ("expected_version", "integer", false, "The version that is to be replaced; 0 if there is none");
const ID: Argument = ("id", "integer", true, "The proposal");

/// All of them.
pub(super) const TOOLS: [Tool; 15] = [
    tool(
        "agents_set_policy",
        "Make a policy the active one of an agent.",
        &[("agent_id", "string", true, "The agent"), SOURCE, EXPECTED],
        false,
    ),
    tool("policy_set_global", "Make a policy the active one for everybody.", &[SOURCE, EXPECTED], false),
    tool(
        "policy_set_floor",
        "Make a policy the active one that nothing below it can loosen.",
        &[SOURCE, EXPECTED],
        false,
    ),
    tool("policy_show", "The active policy of a level.", &[LEVEL, AGENT], true),
    tool("policy_history", "What is and was active at a level, the newest first.", &[LEVEL, AGENT], true),
    tool(
        "policy_check",
        "Say what speaks against making a policy active. Changes nothing.",
        &[SOURCE, ("level", "string", false, "floor, global or agent [default: global]")],
        true,
    ),
    tool(
        "policy_test",
        "Run the tests that stand in a policy; in the active one of a level, if no source is given.",
        &[
            ("source", "string", false, "The policy, as TOML"),
            ("level", "string", false, "floor, global or agent [default: global]"),
            AGENT,
        ],
        true,
    ),
    tool(
        "policy_why",
        "Say what would become of a call, and what every gate says of it. Nothing is called.",
        &[
            ("tool", "string", true, "The tool, as server.tool"),
            ("arguments", "object", false, "Its arguments [default: none]"),
            ("agent_id", "string", false, "Who would call [default: a person]"),
            ("mode", "string", false, "planning or execution [default: the agent's]"),
        ],
        true,
    ),
    tool(
        "policy_explain",
        "What holds for an agent, level by level, in plain sentences.",
        &[("agent_id", "string", false, "The agent [default: a person]")],
        true,
    ),
    tool(
        "policy_replay",
        "Decide recorded calls again with a policy in the place of the active one, and say which come out otherwise.",
        &[
            SOURCE,
            LEVEL,
            (
                "agent_id",
                "string",
                false,
                "Only calls of this agent; whose policy it is, at the level `agent`",
            ),
            ("since_ms", "integer", false, "Only calls since, in milliseconds since 1970 [default: all]"),
        ],
        true,
    ),
    tool(
        "policy_proposals",
        "What agents propose, the newest first.",
        &[
            ("agent_id", "string", false, "Only those of this agent"),
            ("status", "string", false, "Only these: proposed, active, superseded, rejected or withdrawn"),
        ],
        true,
    ),
    tool("policy_proposal", "One proposal, with its source.", &[ID], true),
    tool("agents_approve_proposal", "Make a proposed policy active.", &[ID], false),
    tool(
        "agents_reject_proposal",
        "Say no to a proposed policy.",
        &[ID, ("reason", "string", true, "Why, for the agent")],
        false,
    ),
    tool("policy_schema", "What Cedar policies may say of the tools that there are.", &[], true),
];

/// Answers a call of one of them.
pub(super) async fn run(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    tool: &str,
    arguments: &Arguments,
) -> Result<Value, String> {
    let (by, source) = (&caller.principal, arguments.text("source").unwrap_or_default());
    match tool {
        "agents_set_policy" | "policy_set_global" | "policy_set_floor" => {
            let level = match tool {
                "policy_set_floor" => PolicyLevel::Floor,
                "policy_set_global" => PolicyLevel::Global,
                _ => of_agent(arguments)?,
            };
            let expected = arguments.integer("expected_version");
            let changed = gateway.change_policy(by, level, source, expected).await;
            changed.map(|record| shown(&record)).map_err(told)
        }
        "policy_show" => show(gateway, &level(arguments)?).await,
        "policy_history" => {
            let history = gateway.policy_history(&level(arguments)?).await.map_err(told)?;
            Ok(json!({"versions": history.iter().map(shown).collect::<Vec<_>>()}))
        }
        "policy_check" => Ok(check_result(&gateway.check_policy(word(arguments)?, source))),
        "policy_test" => test(gateway, arguments).await,
        "policy_why" => why(gateway, arguments.text("agent_id"), arguments).await,
        "policy_explain" => explain(gateway, arguments.text("agent_id")).await,
        "policy_replay" => {
            let candidate = Candidate {
                level: level(arguments)?,
                source: source.to_owned(),
                since_ms: arguments.integer("since_ms").unwrap_or_default(),
                agent: arguments.text("agent_id").map(str::to_owned),
            };
            gateway.replay(candidate).await.map(|replay| json!(replay)).map_err(|error| chain(&error))
        }
        "policy_proposals" => {
            let proposals = gateway.proposals(arguments.text("agent_id")).await.map_err(told)?;
            let status = arguments.text("status");
            let wanted = proposals.iter().filter(|one| status.is_none_or(|word| one.status.as_str() == word));
            Ok(json!({"proposals": wanted.map(shown).collect::<Vec<_>>()}))
        }
        "policy_proposal" => {
            let found = gateway.proposal(arguments.integer("id").unwrap_or_default(), None).await;
            let found = found.map_err(told)?.ok_or(PolicyProblem::Refused(PolicyRefusal::Unknown));
            found.map(|record| shown(&record)).map_err(told)
        }
        "agents_approve_proposal" => {
            let approved = gateway.approve_proposal(by, arguments.integer("id").unwrap_or_default()).await;
            approved.map(|record| shown(&record)).map_err(told)
        }
        "agents_reject_proposal" => {
            let (id, reason) = (arguments.integer("id"), arguments.text("reason"));
            let rejected =
                gateway.reject_proposal(by, id.unwrap_or_default(), reason.unwrap_or_default()).await;
            rejected.map(|record| shown(&record)).map_err(told)
        }
        "policy_schema" => match gateway.policy_schema() {
            Ok(schema) => Ok(json!({ "schema": schema })),
            Err(error) => Err(chain(&error)),
        },
        other => Err(format!("there is no tool `{other}`")),
    }
}

/// What would become of a call.
pub(super) async fn why(
    gateway: &Gateway,
    agent: Option<&str>,
    arguments: &Arguments,
) -> Result<Value, String> {
    let mode = match arguments.text("mode") {
        None => None,
        Some(word) => Some(Mode::parse(word).ok_or("`mode` must be planning or execution")?),
    };
    let tool = arguments.text("tool").unwrap_or_default();
    let explanation = gateway.why(agent, tool, &arguments.object("arguments"), mode).await?;
    Ok(json!(explanation))
}

async fn show(gateway: &Gateway, level: &PolicyLevel) -> Result<Value, String> {
    let file = gateway.policy_file(level).map(|file| file.display().to_string());
    let active = gateway.active_policy(level).await.map_err(told)?;
    let mut value = match &active {
        Some(record) => shown(record),
        None => json!({"level": level.as_str(), "agent": level.agent(), "version": 0, "source": ""}),
    };
    let source = active.as_ref().map_or("", |record| record.draft.source.as_str());
    value["rules"] = json!(sentences(source));
    value["file"] = json!(file);
    // They are asked before any policy.
    value["gates"] = json!(gateway.gate_status());
    Ok(value)
}

async fn test(gateway: &Gateway, arguments: &Arguments) -> Result<Value, String> {
    let level = word(arguments)?;
    let source = match arguments.text("source") {
        Some(source) => source.to_owned(),
        None => {
            let level = match level {
                Level::Floor => PolicyLevel::Floor,
                Level::Global => PolicyLevel::Global,
                Level::Agent => of_agent(arguments)?,
            };
            let active = gateway.active_policy(&level).await.map_err(told)?;
            active.map(|record| record.draft.source).unwrap_or_default()
        }
    };
    let tests = gateway.test_policy(&source).unwrap_or_default();
    let each = tests.iter().map(|tested| {
        json!({
            "name": tested.name,
            "line": tested.line,
            "expected": Expected::as_str(tested.expected),
            "got": tested.got(),
            "passed": tested.passed(),
        })
    });
    let mut result = check_result(&gateway.check_policy(level, &source));
    result["tests"] = each.collect();
    Ok(result)
}

async fn explain(gateway: &Gateway, agent: Option<&str>) -> Result<Value, String> {
    let mut levels = vec![PolicyLevel::Floor, PolicyLevel::Global];
    levels.extend(agent.map(|agent| PolicyLevel::Agent(agent.to_owned())));
    let mut told_levels = Vec::new();
    for level in levels {
        let active = gateway.active_policy(&level).await.map_err(told)?;
        let source = active.as_ref().map_or("", |record| record.draft.source.as_str());
        told_levels.push(json!({
            "level": level.as_str(),
            "version": active.as_ref().and_then(|record| record.version),
            "rules": sentences(source),
        }));
    }
    let context = gateway.agent_context(agent);
    let profile = context.profile;
    let gates = SIX.iter().map(|gate| {
        let effect = match profile.effect(*gate) {
            Effect::Deny => "what it objects to is denied",
            Effect::Ask => "a person is asked about what it objects to",
            Effect::Off => "it is off",
        };
        format!("{}: {effect}", gate.as_str())
    });
    let otherwise = Risk::ALL.into_iter().map(|risk| {
        let word = match profile.otherwise(risk) {
            Otherwise::Allow => "made",
            Otherwise::Ask => "asked about",
        };
        format!("a call of {risk} risk is {word}")
    });
    Ok(json!({
        "agent": agent,
        "profile": profile.as_str(),
        "mode": context.mode.as_str(),
        "gates": gates.collect::<Vec<_>>(),
        "levels": told_levels,
        "otherwise": otherwise.collect::<Vec<_>>(),
    }))
}

/// Each rule as a sentence. What cannot be read is told by checking it.
fn sentences(source: &str) -> Vec<String> {
    let document = Document::parse(source).unwrap_or_default();
    let mut sentences: Vec<String> = document.rules.iter().map(Rule::sentence).collect();
    if document.cedar.is_some() {
        sentences.push("cedar: a program says more; it stands in the source".to_owned());
    }
    sentences
}

/// A policy as it is shown.
pub(super) fn shown(record: &PolicyRecord) -> Value {
    let draft = &record.draft;
    let check: Option<Value> = draft.check_result.as_deref().and_then(|text| serde_json::from_str(text).ok());
    json!({
        "id": record.id,
        "level": level_of(&draft.level).as_str(),
        "agent": draft.level.agent(),
        "version": record.version,
        "status": record.status.as_str(),
        "source": draft.source,
        "author": draft.author,
        "rationale": draft.rationale,
        "check": check,
        "created_at_ms": record.created_at_ms,
        "decided_at_ms": record.decided_at_ms,
        "decided_by": record.decided_by,
        "reason": record.decision_reason,
    })
}

fn word(arguments: &Arguments) -> Result<Level, String> {
    match arguments.text("level") {
        None => Ok(Level::Global),
        Some(word) => Level::parse(word).ok_or_else(|| "`level` must be floor, global or agent".to_owned()),
    }
}

fn level(arguments: &Arguments) -> Result<PolicyLevel, String> {
    Ok(match word(arguments)? {
        Level::Floor => PolicyLevel::Floor,
        Level::Global => PolicyLevel::Global,
        Level::Agent => of_agent(arguments)?,
    })
}

fn of_agent(arguments: &Arguments) -> Result<PolicyLevel, String> {
    let agent = arguments.text("agent_id").filter(|agent| !agent.is_empty());
    let agent = agent.ok_or("the level `agent` needs `agent_id`")?;
    Ok(PolicyLevel::Agent(agent.to_owned()))
}

/// What failed, why, and what to do about it.
#[expect(clippy::needless_pass_by_value, reason = "so that it can be given to `map_err`")]
pub(super) fn told(problem: PolicyProblem) -> String {
    let text = chain(&problem);
    match &problem {
        PolicyProblem::Refused(PolicyRefusal::Changed { .. }) => {
            format!("{text} (look at it with `octroi policy show`, then try again)")
        }
        PolicyProblem::Refused(PolicyRefusal::Unknown) => {
            format!("{text} (`octroi policy proposals` lists them)")
        }
        PolicyProblem::Store(error) => format!("{text} ({})", error.hint()),
        PolicyProblem::NotRecorded(error) => format!("{text} ({})", error.hint()),
        _ => text,
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
