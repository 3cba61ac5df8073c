//! What agents may do about policies, each for itself, and the resources that show policies.

use std::sync::Arc;

use octroi_core::Role;
use octroi_core::policy::Level;
use octroi_gateway::{Caller, Gateway, PolicyLevel, check_result};
use serde_json::{Value, json};

use super::policies::{shown, told, why};
use super::servers::{Arguments, Tool, tool};

const ACTIVE: &str = "resource://approval-policy/policy";
/// Under this name others look for it.
const ACTIVE_ALIAS: &str = "resource://approval-policy/policy.py";
const PROPOSAL: &str = "resource://approval-policy/proposals/";
const AGENTS: &str = "resource://agents/";
const TOML: &str = "application/toml";
const JSON: &str = "application/json";

/// The tools of agents.
pub(super) const TOOLS: [Tool; 3] = [
    tool(
        "policy_propose",
        "Propose a policy for yourself. A person decides about it; until then nothing changes.",
        &[
            ("source", "string", true, "The whole policy, as TOML; it replaces your active one"),
            ("rationale", "string", true, "Why, for the person who decides"),
        ],
        false,
    ),
    tool(
        "policy_withdraw",
        "Take a proposal of yours back.",
        &[("id", "integer", true, "The proposal")],
        false,
    ),
    tool(
        "policy_check",
        "Say what is wrong with a policy, or what would become of a call. Nothing is called or changed.",
        &[
            ("source", "string", false, "A policy, as TOML"),
            ("tool", "string", false, "Instead of a policy: the tool of a call, as server.tool"),
            ("arguments", "object", false, "The arguments of the call [default: none]"),
        ],
        true,
    ),
];

/// Answers an agent.
pub(super) async fn run(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    tool: &str,
    arguments: &Arguments,
) -> Result<Value, String> {
    let by = &caller.principal;
    let source = arguments.text("source");
    match tool {
        "policy_propose" => {
            let rationale = arguments.text("rationale").unwrap_or_default();
            let proposed = gateway.propose_policy(by, source.unwrap_or_default(), rationale).await;
            proposed.map(|record| shown(&record)).map_err(told)
        }
        "policy_withdraw" => {
            let withdrawn = gateway.withdraw_policy(by, arguments.integer("id").unwrap_or_default()).await;
            withdrawn.map(|record| shown(&record)).map_err(told)
        }
        "policy_check" => match (source, arguments.text("tool")) {
            (Some(source), None) => Ok(check_result(&gateway.check_policy(Level::Agent, source))),
            (None, Some(_)) => {
                let agent = by.agent_id.as_deref().ok_or("this token names no agent")?;
                why(gateway, Some(agent), arguments).await
            }
            (Some(_), Some(_)) | (None, None) => {
                Err("give either `source`, or `tool` and `arguments`".to_owned())
            }
        },
        other => Err(format!("there is no tool `{other}`")),
    }
}

/// A resource that shows policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyUri<'a> {
    /// The active policy: an agent's own for the agent, everybody's for a person.
    Active,
    /// An agent's policy and its proposals.
    State(&'a str),
    /// An agent's policy as text.
    Source(&'a str),
    /// An agent's proposals.
    Proposals(&'a str),
    /// One proposal.
    Proposal(i64),
}

impl<'a> PolicyUri<'a> {
    pub(super) fn parse(uri: &'a str) -> Option<Self> {
        if uri == ACTIVE || uri == ACTIVE_ALIAS {
            return Some(Self::Active);
        }
        if let Some(id) = uri.strip_prefix(PROPOSAL) {
            return id.parse().ok().map(Self::Proposal);
        }
        let (agent, what) = uri.strip_prefix(AGENTS)?.split_once("/policy/")?;
        match what {
            "state" => Some(Self::State(agent)),
            "source" => Some(Self::Source(agent)),
            "proposals" => Some(Self::Proposals(agent)),
            _ => None,
        }
    }

    /// Whether it shows something of this agent.
    pub(super) async fn is_of(self, gateway: &Gateway, agent: &str) -> bool {
        match self {
            Self::Active => true,
            Self::State(of) | Self::Source(of) | Self::Proposals(of) => of == agent,
            Self::Proposal(id) => gateway.proposal(id, Some(agent)).await.is_ok_and(|found| found.is_some()),
        }
    }

    /// Type and text; nothing if it is not there, or not for this caller.
    pub(super) async fn read(self, gateway: &Gateway, caller: &Caller) -> Option<(&'static str, String)> {
        // An agent sees what is its own; of others it does not learn that they exist.
        let own = match caller.principal.role {
            Role::Human => None,
            Role::Agent => Some(caller.principal.agent_id.as_deref()?),
        };
        let is_visible = |agent: &str| own.is_none_or(|own| own == agent);
        match self {
            Self::Active => {
                let level = own.map_or(PolicyLevel::Global, |own| PolicyLevel::Agent(own.to_owned()));
                Some((TOML, source(gateway, level).await?.0))
            }
            Self::Source(agent) if is_visible(agent) => {
                Some((TOML, source(gateway, PolicyLevel::Agent(agent.to_owned())).await?.0))
            }
            Self::State(agent) if is_visible(agent) => {
                let (content, version) = source(gateway, PolicyLevel::Agent(agent.to_owned())).await?;
                let proposals = gateway.proposals(Some(agent)).await.ok()?;
                let proposals =
                    proposals.iter().map(|record| json!({"id": record.id, "status": record.status.as_str()}));
                let state = json!({
                    "agent_id": agent,
                    "level": "agent",
                    "version": version,
                    "content": content,
                    "proposals": proposals.collect::<Vec<_>>(),
                    "active_policy_uri": format!("{AGENTS}{agent}/policy/source"),
                });
                Some((JSON, state.to_string()))
            }
            Self::Proposals(agent) if is_visible(agent) => {
                let proposals = gateway.proposals(Some(agent)).await.ok()?;
                let proposals: Vec<Value> = proposals.iter().map(shown).collect();
                Some((JSON, json!({ "proposals": proposals }).to_string()))
            }
            Self::Proposal(id) => {
                let found = gateway.proposal(id, own).await.ok()??;
                Some((JSON, shown(&found).to_string()))
            }
            Self::Source(_) | Self::State(_) | Self::Proposals(_) => None,
        }
    }
}

/// The active policy of a level and its version; an empty one if there is none.
async fn source(gateway: &Gateway, level: PolicyLevel) -> Option<(String, i64)> {
    let active = gateway.active_policy(&level).await.ok()?;
    Some(
        active.map_or_else(Default::default, |record| {
            (record.draft.source, record.version.unwrap_or_default())
        }),
    )
}

/// The resources as the list has them.
pub(super) fn resources(description: &str) -> Vec<Value> {
    let one = |uri: &str, name: &str| json!({"uri": uri, "name": name, "description": description, "mimeType": TOML});
    vec![one(ACTIVE, "policy"), one(ACTIVE_ALIAS, "policy-alias")]
}

/// The templates as the list has them.
pub(super) fn templates() -> Vec<Value> {
    let one = |uri: &str, name: &str, description: &str, mime_type: &str| json!({"uriTemplate": uri, "name": name, "description": description, "mimeType": mime_type});
    vec![
        one(
            "resource://agents/{agent_id}/policy/state",
            "policy-state",
            "An agent's policy and its proposals",
            JSON,
        ),
        one("resource://agents/{agent_id}/policy/source", "policy-source", "An agent's policy as text", TOML),
        one(
            "resource://agents/{agent_id}/policy/proposals",
            "policy-proposals",
            "What an agent proposed",
            JSON,
        ),
        one("resource://approval-policy/proposals/{id}", "policy-proposal", "One proposal", JSON),
    ]
}

#[cfg(test)]
mod tests {
    use super::PolicyUri::{self, Active, Proposal, Proposals, Source, State};

    #[test]
    fn uris_of_policies() {
        for (uri, expected) in [
            ("resource://approval-policy/policy", Some(Active)),
            ("resource://approval-policy/policy.py", Some(Active)),
            ("resource://approval-policy/policy/", None),
            ("resource://approval-policy/proposals/7", Some(Proposal(7))),
            ("resource://approval-policy/proposals/x", None),
            ("resource://agents/coder/policy/state", Some(State("coder"))),
            ("resource://agents/coder/policy/source", Some(Source("coder"))),
            ("resource://agents/coder/policy/proposals", Some(Proposals("coder"))),
            ("resource://agents/coder/policy/", None),
            ("resource://agents/coder/approvals/7", None),
            ("resource://servers/list", None),
        ] {
            assert_eq!(PolicyUri::parse(uri), expected, "{uri}");
        }
    }
}
