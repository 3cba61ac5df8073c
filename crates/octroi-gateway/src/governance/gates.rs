//! Custom gates: programs that are asked about calls.

use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_api::operations::servers::{GateState, GateStatus};
use octroi_core::agent::AgentContext;
use octroi_core::config::GateSpec;
use octroi_core::decision::{CustomVerdict, Fault, Outcome};
use octroi_core::{Principal, visible};
use octroi_upstream::{Context, GateError, GateProgram};
use parking_lot::Mutex;
use serde_json::json;
use tracing::warn;

use super::Governance;
use crate::catalogue::Tool;

/// All custom gates.
#[derive(Default)]
pub(super) struct Gates {
    programs: ArcSwap<Vec<Arc<MonitoredGate>>>,
}

/// A custom gate, and its statistics since it was configured.
struct MonitoredGate {
    program: Arc<GateProgram>,
    counts: Mutex<GateCounts>,
}

#[derive(Default)]
struct GateCounts {
    n_asked: u64,
    n_failed: u64,
    is_failing: bool,
    last_failure: Option<(i64, String)>,
}

impl MonitoredGate {
    fn new(program: Arc<GateProgram>) -> Arc<Self> {
        Arc::new(Self { program, counts: Mutex::default() })
    }

    /// Counts a verdict, or a failure. A failing gate is logged once, not with every call.
    fn count(&self, failure: Option<&GateError>, now_ms: i64) {
        let name = &self.program.spec().name;
        let mut counts = self.counts.lock();
        counts.n_asked += 1;
        let was_failing = std::mem::replace(&mut counts.is_failing, failure.is_some());
        let Some(failure) = failure else {
            if was_failing {
                // Logged at the level of the failure, or operators would think that it still fails.
                warn!(gate.name = name, "gate works again");
            }
            return;
        };
        counts.n_failed += 1;
        let reason = visible(&failure.to_string());
        counts.last_failure = Some((now_ms, reason.clone()));
        drop(counts);
        if !was_failing {
            let last_words = self.program.logs().last(1, 0).pop().map(|line| visible(&line.text));
            warn!(
                gate.name = name,
                reason, last_words, "gate fails; the calls it is asked about are denied until it works again"
            );
        }
    }

    fn status(&self) -> GateStatus {
        let counts = self.counts.lock();
        GateStatus {
            name: self.program.spec().name.clone(),
            state: match (counts.is_failing, counts.n_asked) {
                (true, _) => GateState::Failing,
                (false, 0) => GateState::Idle,
                (false, _) => GateState::Working,
            },
            is_running: self.program.is_running(),
            asked: counts.n_asked,
            failed: counts.n_failed,
            last_error: counts.last_failure.as_ref().map(|(_, reason)| reason.clone()),
            last_failed_at_ms: counts.last_failure.as_ref().map(|(at_ms, _)| *at_ms),
        }
    }
}

impl Gates {
    /// Whether there are no custom gates.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.load().is_empty()
    }

    /// Replaces the gates; unchanged ones keep running. Removed ones end with the last call that asks
    /// them.
    pub(super) fn set(&self, specs: &[GateSpec], context: &Arc<Context>) {
        let old = self.programs.load();
        let programs = specs
            .iter()
            .map(|spec| match old.iter().find(|watched| watched.program.spec() == spec) {
                Some(watched) => Arc::clone(watched),
                None => MonitoredGate::new(GateProgram::new(spec.clone(), context)),
            })
            .collect();
        self.programs.store(Arc::new(programs));
    }

    /// Ends all programs.
    pub(super) async fn close(&self) {
        for watched in self.programs.load().iter() {
            watched.program.close().await;
        }
    }
}

impl Governance {
    /// The status of all custom gates, in the order in which they are asked.
    pub fn gate_status(&self) -> Vec<GateStatus> {
        self.gates.programs.load().iter().map(|watched| watched.status()).collect()
    }

    /// The verdicts of the custom gates about a call. A gate that fails or is late denies, as an evaluator that failed.
    pub(crate) async fn ask_gates(
        &self,
        principal: &Principal,
        context: &AgentContext,
        tool: &Tool,
        arguments: &[u8],
        other_params: Option<&[u8]>,
    ) -> Vec<CustomVerdict> {
        let programs = self.gates.programs.load_full();
        let descriptor = &tool.descriptor;
        let is_concerned = |watched: &&Arc<MonitoredGate>| {
            watched.program.spec().concerns(&descriptor.source_id, &descriptor.name)
        };
        let concerned: Vec<&Arc<MonitoredGate>> = programs.iter().filter(is_concerned).collect();
        if concerned.is_empty() {
            return Vec::new();
        }
        let question = question(principal, context, tool, arguments, other_params);
        let mut verdicts = Vec::new();
        for watched in concerned {
            let name = watched.program.spec().name.clone();
            let answer = watched.program.ask(&question).await;
            // A gate that is being stopped has not failed.
            if !matches!(answer, Err(GateError::Stopping { .. })) {
                watched.count(answer.as_ref().err(), self.now_ms());
            }
            let (outcome, reason, fault) = match answer {
                Ok(answer) => (answer.outcome, answer.reason, Fault::Policy),
                Err(error) => (Outcome::Deny, Some(error.to_string()), Fault::Evaluator),
            };
            // People and models read it, so hidden characters are made visible.
            let verdict = CustomVerdict { name, outcome, reason: reason.map(|text| visible(&text)), fault };
            let is_denied = verdict.outcome == Outcome::Deny;
            verdicts.push(verdict);
            if is_denied {
                break;
            }
        }
        verdicts
    }
}

fn question(
    principal: &Principal,
    context: &AgentContext,
    tool: &Tool,
    arguments: &[u8],
    other_params: Option<&[u8]>,
) -> String {
    let descriptor = &tool.descriptor;
    // Text where a value cannot hold it, such as a number that is too large: a gate must not take it for nothing.
    let read =
        |json: &[u8]| serde_json::from_slice(json).unwrap_or_else(|_| json!(String::from_utf8_lossy(json)));
    json!({
        "tool": descriptor.id.as_str(),
        "server": &*descriptor.source_id,
        "name": &*descriptor.name,
        "arguments": read(arguments),
        "other_params": other_params.map(read),
        "agent": principal.agent_id().map(|agent| &**agent),
        "principal": &**principal.id(),
        "role": principal.kind().as_str(),
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
