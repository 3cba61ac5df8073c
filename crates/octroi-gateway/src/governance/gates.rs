//! Programs that are asked about calls.

use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_core::config::GateSpec;
use octroi_core::decision::{AgentContext, CustomVerdict, Outcome};
use octroi_core::{Principal, visible};
use octroi_upstream::{Context, GateError, GateProgram};
use parking_lot::Mutex;
use serde_json::json;
use tracing::warn;

use super::Governance;
use crate::catalogue::Tool;

/// All of them.
#[derive(Default)]
pub(super) struct Gates {
    programs: ArcSwap<Vec<Arc<Watched>>>,
}

/// A program, and how it has done since it was configured.
struct Watched {
    program: Arc<GateProgram>,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    n_asked: u64,
    n_failed: u64,
    is_failing: bool,
    last_failure: Option<(i64, String)>,
}

/// What a person wants to know about a program that is asked about calls.
#[derive(Clone, Debug, serde::Serialize)]
pub struct GateStatus {
    /// Its name.
    pub name: String,
    /// `idle` before the first question, then `working`; `failing` if it gave no verdict when it was last asked,
    /// so that calls are denied.
    pub state: &'static str,
    /// Whether its program runs at present.
    pub is_running: bool,
    /// How often it was asked.
    pub asked: u64,
    /// How often it gave no verdict.
    pub failed: u64,
    /// Why it last gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When that was, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failed_at_ms: Option<i64>,
}

impl Watched {
    fn new(program: Arc<GateProgram>) -> Arc<Self> {
        Arc::new(Self { program, tally: Mutex::default() })
    }

    /// Counts a verdict, or that there was none. A program that fails is reported once, not with every call.
    fn count(&self, failure: Option<&GateError>, now_ms: i64) {
        let name = &self.program.spec().name;
        let mut tally = self.tally.lock();
        tally.n_asked += 1;
        let was_failing = std::mem::replace(&mut tally.is_failing, failure.is_some());
        let Some(failure) = failure else {
            if was_failing {
                // As loud as its failure was, or people would think that it still fails.
                warn!(gate.name = name, "gate works again");
            }
            return;
        };
        tally.n_failed += 1;
        let reason = visible(&failure.to_string());
        tally.last_failure = Some((now_ms, reason.clone()));
        drop(tally);
        if !was_failing {
            let last_words = self.program.logs().last(1, 0).pop().map(|line| visible(&line.text));
            warn!(
                gate.name = name,
                reason, last_words, "gate fails; what it is asked about is denied until it works again"
            );
        }
    }

    fn status(&self) -> GateStatus {
        let tally = self.tally.lock();
        GateStatus {
            name: self.program.spec().name.clone(),
            state: match (tally.is_failing, tally.n_asked) {
                (true, _) => "failing",
                (false, 0) => "idle",
                (false, _) => "working",
            },
            is_running: self.program.is_running(),
            asked: tally.n_asked,
            failed: tally.n_failed,
            last_error: tally.last_failure.as_ref().map(|(_, reason)| reason.clone()),
            last_failed_at_ms: tally.last_failure.as_ref().map(|(at_ms, _)| *at_ms),
        }
    }
}

impl Gates {
    /// Whether nobody has to be asked about anything.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.load().is_empty()
    }

    /// Other gates from now on; what is the same goes on running. Those that are gone end with the last
    /// call that asks them.
    pub(super) fn set(&self, specs: &[GateSpec], context: &Arc<Context>) {
        let old = self.programs.load();
        let programs = specs
            .iter()
            .map(|spec| match old.iter().find(|watched| watched.program.spec() == spec) {
                Some(watched) => Arc::clone(watched),
                None => Watched::new(GateProgram::new(spec.clone(), context)),
            })
            .collect();
        self.programs.store(Arc::new(programs));
    }

    /// Ends them.
    pub(super) async fn close(&self) {
        for watched in self.programs.load().iter() {
            watched.program.close().await;
        }
    }
}

impl Governance {
    /// How every program is doing that is asked about calls, in the order in which they are asked.
    pub fn gate_status(&self) -> Vec<GateStatus> {
        self.gates.programs.load().iter().map(|watched| watched.status()).collect()
    }

    /// What custom gates say of a call. One that cannot say anything denies.
    pub(crate) async fn ask_gates(
        &self,
        principal: &Principal,
        context: &AgentContext,
        tool: &Tool,
        arguments: &[u8],
    ) -> Vec<CustomVerdict> {
        let programs = self.gates.programs.load_full();
        let descriptor = &tool.descriptor;
        let is_concerned = |watched: &&Arc<Watched>| {
            watched.program.spec().concerns(&descriptor.source_id, &descriptor.name)
        };
        let concerned: Vec<&Arc<Watched>> = programs.iter().filter(is_concerned).collect();
        if concerned.is_empty() {
            return Vec::new();
        }
        let question = question(principal, context, tool, arguments);
        let mut verdicts = Vec::new();
        for watched in concerned {
            let name = watched.program.spec().name.clone();
            let answer = watched.program.ask(&question).await;
            // A gate that is being stopped has not failed.
            if !matches!(answer, Err(GateError::Stopping { .. })) {
                watched.count(answer.as_ref().err(), self.now_ms());
            }
            let (outcome, reason) = match answer {
                Ok(answer) => (answer.outcome, answer.reason),
                Err(error) => (Outcome::Deny, Some(error.to_string())),
            };
            // People and models read it: nothing in it may hide.
            let verdict = CustomVerdict { name, outcome, reason: reason.map(|text| visible(&text)) };
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
