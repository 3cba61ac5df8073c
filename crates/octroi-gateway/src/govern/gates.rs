//! Programs that are asked about calls.

use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_core::Principal;
use octroi_core::config::GateSpec;
use octroi_core::decision::{AgentContext, CustomVerdict, Outcome};
use octroi_upstream::{Context, GateProgram};
use serde_json::json;

use crate::catalogue::Tool;
use crate::gateway::Gateway;

/// All of them.
#[derive(Default)]
pub(crate) struct Gates {
    programs: ArcSwap<Vec<Arc<GateProgram>>>,
}

impl Gates {
    /// Other gates from now on; what is the same goes on running. Those that are gone end with the last
    /// call that asks them.
    pub(crate) fn set(&self, specs: &[GateSpec], context: &Arc<Context>) {
        let old = self.programs.load();
        let programs = specs
            .iter()
            .map(|spec| match old.iter().find(|program| program.spec() == spec) {
                Some(program) => Arc::clone(program),
                None => GateProgram::new(spec.clone(), context),
            })
            .collect();
        self.programs.store(Arc::new(programs));
    }

    /// Ends them.
    pub(crate) async fn close(&self) {
        for program in self.programs.load().iter() {
            program.close().await;
        }
    }
}

impl Gateway {
    /// What gates of one's own say of a call. One that cannot say anything denies.
    pub(crate) async fn ask_gates(
        &self,
        principal: &Principal,
        context: &AgentContext,
        tool: &Tool,
        arguments: &[u8],
    ) -> Vec<CustomVerdict> {
        let programs = self.gates.programs.load_full();
        let descriptor = &tool.descriptor;
        let concerned: Vec<&Arc<GateProgram>> = programs
            .iter()
            .filter(|program| program.spec().concerns(&descriptor.source_id, &descriptor.name))
            .collect();
        if concerned.is_empty() {
            return Vec::new();
        }
        let question = question(principal, context, tool, arguments);
        let mut verdicts = Vec::new();
        for program in concerned {
            let name = program.spec().name.clone();
            let verdict = match program.ask(&question).await {
                Ok(answer) => CustomVerdict { name, outcome: answer.outcome, reason: answer.reason },
                Err(error) => CustomVerdict { name, outcome: Outcome::Deny, reason: Some(error.to_string()) },
            };
            let is_denied = verdict.outcome == Outcome::Deny;
            verdicts.push(verdict);
            if is_denied {
                break;
            }
        }
        verdicts
    }
}

fn question(principal: &Principal, context: &AgentContext, tool: &Tool, arguments: &[u8]) -> String {
    let descriptor = &tool.descriptor;
    let arguments: serde_json::Value = serde_json::from_slice(arguments).unwrap_or_default();
    json!({
        "tool": descriptor.id.as_str(),
        "server": &*descriptor.source_id,
        "name": &*descriptor.name,
        "arguments": arguments,
        "agent": principal.agent_id.as_deref(),
        "principal": &*principal.id,
        "role": principal.role.as_str(),
        "risk": descriptor.risk.as_str(),
        "side_effects": descriptor.side_effects.iter().collect::<Vec<_>>(),
        "context": {
            "mode": context.mode.as_str(),
            "project": context.project.as_deref(),
            "spec_frozen": context.is_spec_frozen,
            "spec_hash": context.spec_hash.as_deref(),
        },
    })
    .to_string()
}
