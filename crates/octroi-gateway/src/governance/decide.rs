//! Decides one request with the current state. It counts, reserves and records nothing.

use std::sync::Arc;

use octroi_core::agent::AgentContext;
use octroi_core::arguments::{self, Exactness};
use octroi_core::call::{Call, ReadOtherParams};
use octroi_core::decision::{Circumstances, CustomVerdict, Decision, Denial, decide, decide_other};
use octroi_core::facts::Facts;
use octroi_core::policy::Policies;
use octroi_core::server::ToolAccess;
use octroi_core::{Principal, ServerKey, SwitchedOff};
use octroi_upstream::{LARGE_REQUEST_BYTES, leave_worker};
use serde_json::Value;

use super::Governance;
use super::quotas::{Counting, QuotaReservation, QuotaSubject};
use crate::catalogue::Tool;

/// Why a call to a server that is switched off is denied.
pub(crate) fn switched_off_reason(switch: &SwitchedOff) -> String {
    format!("its server is switched off: {}", switch.reason())
}

/// Whether a request is refused while its agent is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pausing {
    /// It is refused.
    Stops,
    /// It asks Octroi itself, or about a task that was begun before.
    Spares,
}

/// A tool call to decide.
#[derive(Clone, Copy)]
pub(crate) struct CallToDecide<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) has_admin_token: bool,
    pub(crate) server: &'a ServerKey,
    /// What keeps the server off, if anything does.
    pub(crate) switched_off: Option<&'a SwitchedOff>,
    /// The access rules of the server's entry.
    pub(crate) access: &'a ToolAccess,
    pub(crate) tool: &'a Arc<Tool>,
    /// Why the tool's definition is quarantined, if it is.
    pub(crate) held: Option<&'a str>,
    /// The arguments, as JSON text.
    pub(crate) arguments: Option<&'a [u8]>,
    /// What else it sends in `params`, as JSON text.
    pub(crate) other_params: Option<&'a [u8]>,
    /// Whether it counts as a new call in quotas.
    pub(crate) counting: Counting,
    pub(crate) now_ms: i64,
}

impl<'a> CallToDecide<'a> {
    /// The subject of its quotas.
    pub(crate) fn quota_subject(&self) -> QuotaSubject<'a> {
        let agent = agent_of(self.principal);
        QuotaSubject { token: &self.principal.token().label, agent, tool: &self.tool.descriptor }
    }

    /// Whether deciding it may take so long that others should not wait behind it.
    fn is_heavy(&self) -> bool {
        self.arguments.is_some_and(|arguments| arguments.len() > LARGE_REQUEST_BYTES) || self.tool.is_heavy()
    }

    /// The arguments as JSON text; an empty object if there are none.
    pub(crate) fn arguments_text(&self) -> &'a [u8] {
        self.arguments.unwrap_or(b"{}")
    }
}

/// Everything about a tool call that the gates check, for real and hypothetical calls.
pub(crate) struct Considered<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) context: &'a AgentContext,
    pub(crate) has_admin_token: bool,
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: &'a Value,
    pub(crate) exactness: Exactness,
    pub(crate) other_params: Option<&'a ReadOtherParams>,
    pub(crate) circumstances: Circumstances<'a>,
    pub(crate) find_facts: &'a dyn Fn() -> Facts,
    pub(crate) now_ms: i64,
}

impl Considered<'_> {
    pub(crate) fn decide(&self) -> Decision {
        let Self { principal, context, tool, arguments, find_facts, now_ms, .. } = *self;
        let mut call = Call::new(principal, context, &tool.descriptor, arguments, find_facts, now_ms);
        call.has_admin_token = self.has_admin_token;
        call.exactness = self.exactness;
        call.other_params = self.other_params;
        decide(&call, &self.circumstances)
    }
}

/// Parsed arguments.
pub(crate) struct ReadArguments {
    pub(crate) value: Value,
    /// Whether the value shows how its numbers are written.
    pub(crate) exactness: Exactness,
    pub(crate) n_bytes: u64,
    /// What is wrong with them, if anything is.
    pub(crate) complaint: Option<String>,
}

impl ReadArguments {
    /// Missing arguments are an empty object.
    pub(crate) fn of(raw: Option<&[u8]>, tool: &Tool, policies: &Policies, agent: &str) -> Self {
        let n_bytes = raw.map_or(2, <[u8]>::len) as u64;
        let none = || Ok((Value::Object(serde_json::Map::new()), Exactness::Exact));
        match raw.map_or_else(none, arguments::read_exactly) {
            Ok((value, exactness)) => {
                let is_of_schema =
                    |name: &str| tool.schema().as_ref().is_ok_and(|schema| schema.has_name(name));
                let complaint = tool
                    .complaint(&value, n_bytes)
                    .or_else(|| policies.name_complaint(agent, &tool.descriptor, &value, &is_of_schema));
                Self { value, exactness, n_bytes, complaint }
            }
            Err(reason) => {
                let (value, exactness) = (Value::Null, Exactness::Exact);
                Self { value, exactness, n_bytes, complaint: Some(reason) }
            }
        }
    }
}

impl Governance {
    /// Decides a tool call with all gates, including custom gates. Those are not asked about calls that are
    /// denied anyway.
    pub(crate) async fn decide(&self, call: CallToDecide<'_>, context: &AgentContext) -> Decision {
        if call.is_heavy() {
            leave_worker().await;
        }
        let decision = self.decide_with(call, context, &[]);
        if self.gates.is_empty() || matches!(decision, Decision::Deny(_)) {
            return decision;
        }
        // Few gateways have custom gates, so it is boxed: otherwise every call's future would reserve space.
        let custom = Box::pin(self.ask_gates(
            call.principal,
            context,
            call.tool,
            call.arguments_text(),
            call.other_params,
        ))
        .await;
        if custom.is_empty() { decision } else { self.decide_with(call, context, &custom) }
    }

    /// The same with given verdicts of custom gates.
    pub(crate) fn decide_with(
        &self,
        call: CallToDecide<'_>,
        context: &AgentContext,
        custom: &[CustomVerdict],
    ) -> Decision {
        let exceeded = self.quotas.exceeded(call.quota_subject(), call.counting, call.now_ms);
        self.decide_given(call, context, custom, exceeded.as_deref())
    }

    /// Reserves the quotas of a call. Deciding reserves nothing, so another call may have been faster.
    pub(crate) fn reserve(
        &self,
        call: CallToDecide<'_>,
        context: &AgentContext,
    ) -> Result<QuotaReservation, Denial> {
        let exceeded = match self.quotas.reserve(call.quota_subject(), call.counting, call.now_ms) {
            Ok(reservation) => return Ok(reservation),
            Err(exceeded) => exceeded,
        };
        Err(self.beyond_quota(call, context, &exceeded))
    }

    /// The denial of a call that exceeds a quota or another limit of its agent.
    pub(crate) fn beyond_quota(
        &self,
        call: CallToDecide<'_>,
        context: &AgentContext,
        exceeded: &str,
    ) -> Denial {
        match self.decide_given(call, context, &[], Some(exceeded)) {
            Decision::Deny(denial) => denial,
            Decision::Allow(_) | Decision::Ask(_) => unreachable!("a quota that is used up denies"),
        }
    }

    fn decide_given(
        &self,
        call: CallToDecide<'_>,
        context: &AgentContext,
        custom: &[CustomVerdict],
        exceeded: Option<&str>,
    ) -> Decision {
        let CallToDecide { principal, tool, now_ms, .. } = call;
        let agent = agent_of(principal);
        let policies = self.policies.load();
        let arguments = ReadArguments::of(call.arguments, tool, &policies, agent);
        let other_params = call.other_params.map(ReadOtherParams::read);
        let paused = self.paused(agent);
        let switched_off = call.switched_off.map(switched_off_reason);
        Considered {
            principal,
            context,
            has_admin_token: call.has_admin_token,
            tool,
            arguments: &arguments.value,
            exactness: arguments.exactness,
            other_params: other_params.as_ref(),
            circumstances: Circumstances {
                paused: paused.as_deref(),
                server: call.server,
                switched_off: switched_off.as_deref(),
                invalid_arguments: arguments.complaint.as_deref(),
                access: call.access,
                held: call.held,
                custom,
                exceeded,
                policies: &policies,
            },
            find_facts: &|| self.facts(agent, tool, &arguments, context, now_ms),
            now_ms,
        }
        .decide()
    }

    /// The facts about a call from its arguments and the agent's history.
    pub(crate) fn facts(
        &self,
        agent: &str,
        tool: &Tool,
        arguments: &ReadArguments,
        context: &AgentContext,
        now_ms: i64,
    ) -> Facts {
        let mut facts = Facts::of(&arguments.value, arguments.n_bytes, context.project_root.as_deref());
        facts.is_first_use = self.uses.is_first(agent, &tool.descriptor);
        facts.calls_last_minute = self.uses.lately(agent, now_ms);
        facts
    }

    /// Decides a request that is not a tool call. One that only looks at what was begun before is decided as if its
    /// agent were not paused.
    pub(crate) fn decide_other(
        &self,
        principal: &Principal,
        pausing: Pausing,
        server: &ServerKey,
        switched_off: Option<&SwitchedOff>,
        held: Option<&str>,
    ) -> Decision {
        let agent = agent_of(principal);
        let switched_off = switched_off.map(switched_off_reason);
        let paused = match pausing {
            Pausing::Stops => self.paused(agent),
            Pausing::Spares => None,
        };
        let revision = self.policies.load().revision(agent);
        decide_other(server, paused.as_deref(), switched_off.as_deref(), held, revision)
    }
}

/// The id of the calling agent; empty for a person.
fn agent_of(principal: &Principal) -> &str {
    principal.agent_id().map(|agent| &**agent).unwrap_or_default()
}
