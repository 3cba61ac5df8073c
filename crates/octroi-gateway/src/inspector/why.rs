//! Explains the decision about a hypothetical call: the same gates, but nothing is counted, reserved or
//! recorded.

use std::sync::Arc;

use octroi_core::agent::{AgentContext, Mode};
use octroi_core::decision::{Circumstances, CustomVerdict, Decision, Trace};
use octroi_core::facts::Facts;
use octroi_core::pin::PinKind;
use octroi_core::policy::Level;
use octroi_core::principal::{BUILT_IN_ADMIN, TokenName};
use octroi_core::tool::ToolDescriptor;
use octroi_core::{Principal, UserRole};
use serde::Serialize;
use serde_json::{Value, json};

use super::Inspector;
use crate::governance::{Considered, QuotaSubject, ReadArguments, switched_off_reason};

/// The decision about a hypothetical call.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// `allow`, `ask`, `deny_continue` or `deny_abort`.
    pub decision: &'static str,
    /// Why it would not simply be allowed.
    pub reason: Option<String>,
    /// The agent that would call; `None` for a person.
    pub agent: Option<String>,
    /// The strictness profile that applies.
    pub profile: &'static str,
    /// Planning or execution.
    pub mode: &'static str,
    /// The verdict of every gate, in order.
    pub trace: Vec<GateVerdict>,
    /// The attributes of the tool.
    pub tool: Value,
    /// The policies in force, the strictest first.
    pub policies: Vec<InForce>,
    /// The facts from the arguments and the agent's history.
    pub facts: Value,
}

/// The verdict of one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateVerdict {
    /// The gate.
    pub gate: &'static str,
    /// `pass`, `ask` or `deny`.
    pub outcome: &'static str,
    /// The rule, clause or program behind the verdict.
    pub by: Option<String>,
    /// The reason for the verdict.
    pub reason: Option<String>,
    /// The rule or the profile that allows what this gate would ask a person about.
    pub answered_by: Option<String>,
}

/// A policy in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InForce {
    /// The level of the policy.
    pub level: &'static str,
    /// Its version; `None` if it is not stored.
    pub version: Option<i64>,
}

impl Inspector {
    /// The context of an agent, or of a caller that is not one.
    pub fn agent_context(&self, agent: Option<&str>) -> Arc<AgentContext> {
        self.governance.context(&hypothetical_principal(agent, BUILT_IN_ADMIN))
    }

    /// Explains the decision about a call of an agent, or of a person if none is named. The tool may be
    /// written in any form that rules and clients use; it is found as the agent's owner finds it, or the reader.
    pub async fn why(
        &self,
        reader: &Principal,
        agent: Option<&str>,
        tool: &str,
        arguments: &Value,
        mode: Option<Mode>,
    ) -> Result<Explanation, String> {
        let owner =
            agent.map_or_else(|| Arc::clone(reader.user()), |id| self.governance.identity().owner_of(id));
        let (offer, tool) = self.pools.named_tool(reader, &owner, tool)?;
        let server = offer.key();
        let upstream =
            self.servers.upstream(server).ok_or_else(|| format!("there is no server `{server}`"))?;
        let now_ms = self.now_ms();
        let principal = hypothetical_principal(agent, &owner);
        let mut context = AgentContext::clone(&self.governance.context(&principal));
        context.mode = mode.unwrap_or(context.mode);
        let text = arguments.to_string();
        let name = agent.unwrap_or_default();
        let policies = self.governance.policies.load_full();
        let arguments = ReadArguments::of(Some(text.as_bytes()), &tool, &policies, name);
        let subject = QuotaSubject { token: &principal.token().label, agent: name, tool: &tool.descriptor };
        let exceeded = self.governance.exceeded_quota(subject, now_ms);
        let paused = self.governance.paused(name);
        let spec = upstream.spec();
        let switched_off =
            self.servers.switched_off_for(&principal, server).as_ref().map(switched_off_reason);
        let held = offer.held(PinKind::Tool, &tool.descriptor.name);
        let facts = || self.governance.facts(name, &tool, &arguments, &context, now_ms);
        let decide = |custom: &[CustomVerdict]| {
            Considered {
                principal: &principal,
                context: &context,
                has_admin_token: false,
                tool: &tool,
                arguments: &arguments.value,
                exactness: arguments.exactness,
                other_params: None,
                circumstances: Circumstances {
                    paused: paused.as_deref(),
                    server: &spec.key,
                    switched_off: switched_off.as_deref(),
                    invalid_arguments: arguments.complaint.as_deref(),
                    access: &spec.access,
                    held,
                    custom,
                    exceeded: exceeded.as_deref(),
                    policies: &policies,
                },
                find_facts: &facts,
                now_ms,
            }
            .decide()
        };
        // As for a real call, custom gates are not asked about calls that are denied anyway.
        let decision = match decide(&[]) {
            denied @ Decision::Deny(_) => denied,
            Decision::Allow(_) | Decision::Ask(_) => {
                let governance = &self.governance;
                decide(&governance.ask_gates(&principal, &context, &tool, text.as_bytes(), None).await)
            }
        };
        Ok(Explanation {
            decision: decision.as_str(),
            reason: reason_of(&decision),
            agent: agent.map(str::to_owned),
            profile: context.profile.as_str(),
            mode: context.mode.as_str(),
            trace: gate_verdicts(decision.trace()),
            tool: tool_json(&tool.descriptor),
            policies: self.in_force(agent).await,
            facts: facts_json(&facts()),
        })
    }

    /// The policies in force for an agent.
    async fn in_force(&self, agent: Option<&str>) -> Vec<InForce> {
        let active = match &self.persistence {
            Some(persistence) => {
                persistence.store().active_policies().await.map(|active| active.policies).ok()
            }
            None => None,
        };
        let mut found: Vec<InForce> = Vec::new();
        for record in active.into_iter().flatten() {
            if record.draft.level.agent().is_none() || record.draft.level.agent() == agent {
                found.push(InForce { level: record.draft.level.as_str(), version: record.version });
            }
        }
        let policies = self.governance.policies.load();
        let own = agent.and_then(|agent| policies.agents.get(agent));
        for (level, policy) in [
            (Level::Floor, Some(&policies.floor)),
            (Level::Global, Some(&policies.global)),
            (Level::Agent, own),
        ] {
            let is_there = policy.is_some_and(|policy| !policy.document.is_empty());
            if is_there && !found.iter().any(|known| known.level == level.as_str()) {
                found.push(InForce { level: level.as_str(), version: None });
            }
        }
        found
    }
}

/// Why a call is not simply allowed.
pub(crate) fn reason_of(decision: &Decision) -> Option<String> {
    match decision {
        Decision::Allow(_) => None,
        Decision::Ask(question) => Some(question.trace().asks().join("; ")),
        Decision::Deny(denial) => Some(denial.reason.clone()),
    }
}

fn hypothetical_principal(agent: Option<&str>, owner: &str) -> Principal {
    let token = TokenName::labelled("");
    match agent {
        Some(agent) => Principal::agent(agent, owner, token),
        None => Principal::person(owner, UserRole::Member, token),
    }
}

fn gate_verdicts(trace: &Trace) -> Vec<GateVerdict> {
    let each = trace.verdicts().iter().map(|verdict| GateVerdict {
        gate: verdict.gate.as_str(),
        outcome: verdict.outcome.as_str(),
        by: verdict.by.clone(),
        reason: verdict.reason.clone(),
        answered_by: verdict.answered_by.clone(),
    });
    each.collect()
}

fn tool_json(tool: &ToolDescriptor) -> Value {
    let hash = octroi_core::pin::DefinitionHash::from_bytes(tool.definition_hash);
    json!({
        "id": tool.id.as_str(),
        "server": &*tool.source_id,
        "name": &*tool.name,
        "risk": tool.risk.as_str(),
        "side_effects": tool.side_effects.iter().collect::<Vec<_>>(),
        "trust": tool.trust.as_str(),
        "requires_admin": tool.requires_admin,
        "enabled": tool.enabled,
        "hash": hash.to_string(),
    })
}

fn facts_json(facts: &Facts) -> Value {
    json!({
        "paths": facts.paths,
        "paths_outside_project": facts.paths_outside_project,
        "hosts": facts.hosts,
        "sql_verbs": facts.sql_verbs,
        "shell_heads": facts.shell_heads,
        "secrets": facts.secrets,
        "payload_bytes": facts.payload_bytes,
        "is_first_use": facts.is_first_use,
        "calls_last_minute": facts.calls_last_minute,
    })
}
