//! Deciding one request with what is known now.

use std::sync::Arc;

use octroi_core::arguments;
use octroi_core::decision::{
    AgentContext, Call, Circumstances, CustomVerdict, Decision, decide, decide_other,
};
use octroi_core::facts::Facts;
use octroi_core::pin::PinKind;
use octroi_core::{Principal, ServerName};
use octroi_mcp::Method;
use octroi_mcp::params::Params;
use serde_json::Value;

use super::quotas::{Asker, Taken};
use crate::caller::Caller;
use crate::catalogue::{Catalogue, Tool};
use crate::gateway::Gateway;
use crate::pipeline::Target;

/// A tool call that was decided.
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    /// Held while the call is made.
    pub(crate) taken: Taken,
}

/// Everything about a tool call that the gates look at, whether it is made or only thought of.
pub(crate) struct Considered<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) context: &'a AgentContext,
    pub(crate) has_admin_token: bool,
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: &'a Value,
    pub(crate) circumstances: Circumstances<'a>,
    pub(crate) find_facts: &'a dyn Fn() -> Facts,
    pub(crate) now_ms: i64,
}

impl Considered<'_> {
    pub(crate) fn decide(&self) -> Decision {
        let Self { principal, context, tool, arguments, find_facts, now_ms, .. } = *self;
        let mut call = Call::new(principal, context, &tool.descriptor, arguments, find_facts, now_ms);
        call.has_admin_token = self.has_admin_token;
        decide(&call, &self.circumstances)
    }
}

/// Arguments as they came, read.
pub(crate) struct ReadArguments {
    pub(crate) value: Value,
    pub(crate) n_bytes: u64,
    /// What is wrong with them, if anything is.
    pub(crate) complaint: Option<String>,
}

impl ReadArguments {
    /// Without any they are an empty object.
    pub(crate) fn of(raw: Option<&[u8]>, tool: &Tool) -> Self {
        let read = raw.map_or_else(|| Ok(Value::Object(serde_json::Map::new())), arguments::read);
        let (value, complaint) = match read {
            Ok(value) => {
                let complaint = tool.complaint(&value);
                (value, complaint)
            }
            Err(reason) => (Value::Null, Some(reason)),
        };
        Self { value, n_bytes: raw.map_or(2, <[u8]>::len) as u64, complaint }
    }
}

/// Said of every server that is not on.
pub(crate) const SWITCHED_OFF: &str = "its server is switched off";

impl Gateway {
    /// Takes a tool call past every gate.
    pub(crate) fn judge(
        &self,
        caller: &Caller,
        target: &Target,
        tool: &Arc<Tool>,
        params: &Params,
        custom: &[CustomVerdict],
        now_ms: i64,
    ) -> Judged {
        let arguments = ReadArguments::of(params.arguments().as_deref(), tool);
        let principal = &caller.principal;
        let context = self.governor.context(principal);
        let agent = principal.agent_id.as_deref().unwrap_or_default();
        let quota =
            self.quotas.take(Asker { token: &principal.token, agent, tool: &tool.descriptor }, now_ms);
        let spec = target.upstream.spec();
        let catalogue = self.catalogue();
        let decision = Considered {
            principal,
            context: &context,
            has_admin_token: caller.has_admin_token,
            tool,
            arguments: &arguments.value,
            circumstances: Circumstances {
                server: &spec.name,
                switched_off: (!spec.enabled).then_some(SWITCHED_OFF),
                invalid_arguments: arguments.complaint.as_deref(),
                access: &spec.access,
                held: held(&catalogue, &spec.name, tool),
                custom,
                exceeded: quota.as_ref().err().map(String::as_str),
                policies: &self.governor.policies.load(),
            },
            find_facts: &|| self.facts(agent, tool, &arguments, &context, now_ms),
            now_ms,
        }
        .decide();
        Judged { decision, taken: quota.unwrap_or_default() }
    }

    /// What the arguments and the past tell of a call.
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

    /// Decides what is not a tool call.
    pub(crate) fn judge_other(&self, caller: &Caller, target: &Target, method: &Method) -> Decision {
        let spec = target.upstream.spec();
        let catalogue = self.catalogue();
        let offer = catalogue.offer(&spec.name);
        let subject = &target.subject;
        let held = offer.and_then(|offer| match method {
            Method::PromptsGet => offer.held(PinKind::Prompt, subject.name.as_deref()?),
            Method::ResourcesRead => offer.held_template(subject.uri.as_deref()?),
            _ => None,
        });
        let off = (!spec.enabled).then_some(SWITCHED_OFF);
        let agent = caller.principal.agent_id.as_deref().unwrap_or_default();
        decide_other(&spec.name, off, held, self.governor.policies.load().revision(agent))
    }
}

/// Why a tool's definition is kept back, if it is.
pub(crate) fn held<'a>(catalogue: &'a Catalogue, server: &ServerName, tool: &Tool) -> Option<&'a str> {
    catalogue.offer(server)?.held(PinKind::Tool, &tool.descriptor.name)
}
