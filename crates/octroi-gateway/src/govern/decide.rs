//! Deciding one request with what is known now.

use std::sync::Arc;

use octroi_core::arguments;
use octroi_core::decision::{Call, Circumstances, CustomVerdict, Decision, decide, decide_other};
use octroi_core::facts::Facts;
use octroi_core::pin::PinKind;
use octroi_mcp::Method;
use octroi_mcp::params::Params;
use serde_json::Value;

use super::quotas::{Asker, Taken};
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::gateway::Gateway;
use crate::pipeline::Target;

/// A tool call that was decided.
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    /// Held while the call is made.
    pub(crate) taken: Taken,
}

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
        let raw = params.arguments();
        let payload_bytes = raw.as_ref().map_or(2, |raw| raw.len());
        let read = raw
            .as_ref()
            .map_or_else(|| Ok(Value::Object(serde_json::Map::new())), |raw| arguments::read(raw));
        let (arguments, invalid) = match read {
            Ok(arguments) => {
                let complaint = tool.complaint(&arguments);
                (arguments, complaint)
            }
            Err(reason) => (Value::Null, Some(reason)),
        };
        let descriptor = &tool.descriptor;
        let principal = &caller.principal;
        let context = self.governor.context(principal);
        let agent = principal.agent_id.as_deref().unwrap_or_default();
        let find_facts = || {
            let mut facts = Facts::of(&arguments, payload_bytes as u64, context.project_root.as_deref());
            facts.is_first_use = self.uses.is_first(agent, descriptor);
            facts.calls_last_minute = self.uses.lately(agent, now_ms);
            facts
        };
        let mut call = Call::new(principal, &context, descriptor, &arguments, &find_facts, now_ms);
        call.has_admin_token = caller.has_admin_token;
        let spec = target.upstream.spec();
        let catalogue = self.catalogue();
        let held = catalogue.offer(&spec.name).and_then(|offer| offer.held(PinKind::Tool, &descriptor.name));
        let policies = self.governor.policies.load();
        let quota = self.quotas.take(Asker { token: &principal.token, agent, tool: descriptor }, now_ms);
        let decision = decide(
            &call,
            &Circumstances {
                server: &spec.name,
                switched_off: (!spec.enabled).then_some("its server is switched off"),
                invalid_arguments: invalid.as_deref(),
                access: &spec.access,
                held,
                custom,
                exceeded: quota.as_ref().err().map(String::as_str),
                policies: &policies,
            },
        );
        drop(call);
        Judged { decision, taken: quota.unwrap_or_default() }
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
        let off = (!spec.enabled).then_some("its server is switched off");
        let agent = caller.principal.agent_id.as_deref().unwrap_or_default();
        decide_other(&spec.name, off, held, self.governor.policies.load().revision(agent))
    }
}
