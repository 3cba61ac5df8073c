//! Tools about agents: what is set about them, which their calls are decided by.

use octroi_core::decision::{Mode, Profile};
use octroi_core::time::show_time;
use octroi_gateway::{AgentChange, AgentState, Caller, Gateway, SpecChange};
use serde_json::{Value, json};

use super::servers::{Arguments, Tool, tool};
use super::told;

pub(super) const LIST: &str = "resource://agents/list";

const ID: (&str, &str, bool, &str) = ("agent_id", "string", true, "The agent");

pub(super) const TOOLS: [Tool; 4] = [
    tool("agents_list", "Every agent and what is set about it.", &[], true),
    tool("agents_get", "One agent and what is set about it.", &[ID], true),
    tool(
        "agents_update",
        "Set something about an agent. It holds from its next call on; what is left out stays as it is.",
        &[
            ID,
            ("profile", "string", false, "How strict the gates are: strict, guarded or open"),
            ("mode", "string", false, "planning: it may look, not touch; execution: it acts"),
            ("project", "string", false, "What it works on; empty leaves it to the configuration"),
            ("project_root", "string", false, "The directory of that; empty leaves it to the configuration"),
            ("spec_hash", "string", false, "Freeze its specification with this hash"),
            ("unfreeze", "boolean", false, "Open its specification again"),
            ("blacklist", "array", false, "Side effects that it must not have"),
        ],
        false,
    ),
    tool(
        "specs_freeze",
        "Settle what an agent is to build, so that it may act on it.",
        &[ID, ("spec_hash", "string", true, "The hash of the specification")],
        false,
    ),
];

pub(super) async fn run(
    gateway: &Gateway,
    caller: &Caller,
    tool: &str,
    arguments: &Arguments,
) -> Result<Value, String> {
    let id = arguments.text("agent_id").unwrap_or_default();
    let change = match tool {
        "agents_list" => return list(gateway).await,
        "agents_get" => {
            return gateway.agent(id).await.map(|agent| shown(&agent)).map_err(|problem| told(&problem));
        }
        "agents_update" | "specs_freeze" => change(arguments)?,
        other => return Err(format!("there is no tool `{other}`")),
    };
    if change == AgentChange::default() {
        return Err(
            "there is nothing to set; give profile, mode, project or another of its arguments".to_owned()
        );
    }
    let agent = gateway.update_agent(id, change, &caller.principal).await;
    agent.map(|agent| shown(&agent)).map_err(|problem| told(&problem))
}

fn change(arguments: &Arguments) -> Result<AgentChange, String> {
    let text = |name: &str| arguments.text(name).map(str::to_owned);
    let spec = match (text("spec_hash"), arguments.is("unfreeze")) {
        (Some(_), true) => {
            return Err("`spec_hash` freezes and `unfreeze` opens; give one of them".to_owned());
        }
        (Some(hash), false) => Some(SpecChange::Freeze(hash)),
        (None, true) => Some(SpecChange::Unfreeze),
        (None, false) => None,
    };
    let tags = |tags: &Value| {
        let tags = tags.as_array().into_iter().flatten();
        tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect()
    };
    Ok(AgentChange {
        profile: arguments.word("profile", Profile::parse, "strict, guarded or open")?,
        mode: arguments.word("mode", Mode::parse, "planning or execution")?,
        project: text("project"),
        project_root: text("project_root"),
        spec,
        blacklist: arguments.get("blacklist").map(tags),
    })
}

pub(super) async fn list(gateway: &Gateway) -> Result<Value, String> {
    let agents = gateway.agents().await.map_err(|problem| told(&problem))?;
    Ok(json!({"agents": agents.iter().map(shown).collect::<Vec<_>>(), "count": agents.len()}))
}

fn shown(agent: &AgentState) -> Value {
    let context = &agent.context;
    json!({
        "id": agent.id,
        "profile": context.profile.as_str(),
        "mode": context.mode.as_str(),
        "project": context.project,
        "project_root": context.project_root,
        "spec_hash": context.spec_hash,
        "spec_frozen": context.is_spec_frozen,
        "blacklist": context.blacklist,
        "configured": agent.is_configured,
        "set_at": agent.set.as_ref().map(|(at_ms, _)| show_time(*at_ms)),
        "set_by": agent.set.as_ref().map(|(_, by)| by),
    })
}
