//! Decides whether a call may be made.
//!
//! One function, [`decide`], evaluates every gate in a fixed order and returns one value. Only this module
//! makes a [`Permit`], and nothing can be sent to a server without one. The first denial ends the evaluation.
//! A gate that requires approval does not, because a later gate may still deny the call.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::approval::Approvers;
use crate::call::Call;
use crate::name::ServerKey;
use crate::policy::{Policies, PolicyVerdict, Word};
use crate::server::ToolAccess;
use crate::tool::ToolDescriptor;
use crate::trust::Trust;

mod access;
mod gate;
mod outcome;
mod profile;
mod sentence;
mod trace;

pub use access::is_allowed;
pub use gate::{Gate, SIX};
pub use outcome::{Decision, Denial, Fault, Permit, UnapprovedCall};
pub use profile::{Effect, Otherwise};
pub use trace::{Outcome, Trace, Verdict};

/// The verdict of a custom gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomVerdict {
    /// The name of the gate.
    pub name: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its reason, for denials and approvals.
    pub reason: Option<String>,
    /// For a denial, whether the gate decided it or failed.
    pub fault: Fault,
}

/// A custom gate written in Rust.
pub trait CustomGate: Send + Sync {
    /// Checks a call.
    fn check(&self, call: &Call<'_>) -> CustomVerdict;
}

/// Everything the gates need to know besides the call itself.
pub struct Circumstances<'a> {
    /// Who has paused the agent and why, if somebody has.
    pub paused: Option<&'a str>,
    /// The server that the call goes to.
    pub server: &'a ServerKey,
    /// Why the server is switched off, if it is.
    pub switched_off: Option<&'a str>,
    /// The validation error of the arguments, if any.
    pub invalid_arguments: Option<&'a str>,
    /// The tools that the server's entry allows and denies.
    pub access: &'a ToolAccess,
    /// Why the definition is quarantined, if it is.
    pub held: Option<&'a str>,
    /// The verdicts of the custom gates.
    pub custom: &'a [CustomVerdict],
    /// The exceeded quota, if any.
    pub exceeded: Option<&'a str>,
    /// The active policies.
    pub policies: &'a Policies,
}

/// What can satisfy a request for approval besides a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ask {
    /// Anything that allows the call.
    Soft,
    /// A rule of a policy.
    Firm,
    /// Nothing: a person must approve.
    Hard,
}

/// Evaluates all gates for a call.
pub fn decide(call: &Call<'_>, circumstances: &Circumstances<'_>) -> Decision {
    let mut walk =
        Walk { trace: Trace::new(circumstances.policies.revision(call.agent())), ..Walk::default() };
    let (server, tool) = (circumstances.server, &call.tool.name);
    match walk.past_every_gate(call, circumstances) {
        Err(stopped) => {
            let sentence =
                walk.trace.verdicts().last().map(|last| sentence::of_verdict(last, call, stopped.is_abort));
            Decision::Deny(stopped.with(sentence.unwrap_or_default(), walk.trace))
        }
        Ok(()) if walk.asks.is_empty() => {
            Decision::Allow(Permit::new(server.clone(), Some(Arc::clone(tool)), walk.trace))
        }
        Ok(()) => {
            walk.say_why(call);
            Decision::Ask(UnapprovedCall::new(server.clone(), Arc::clone(tool), walk.approvers, walk.trace))
        }
    }
}

/// Decides about prompts, resources, completions and tasks. These never need approval.
pub fn decide_other(
    server: &ServerKey,
    paused: Option<&str>,
    switched_off: Option<&str>,
    held: Option<&str>,
    revision: u64,
) -> Decision {
    let mut walk = Walk { trace: Trace::new(revision), ..Walk::default() };
    let walked = walk
        .unless_paused(paused)
        .and_then(|()| walk.scope(switched_off))
        .and_then(|()| walk.check(Gate::Pinning, held));
    match walked {
        Err(stopped) => {
            let last = walk.trace.verdicts().last();
            let reason = last.and_then(|verdict| verdict.reason.clone()).unwrap_or_default();
            Decision::Deny(stopped.with(reason, walk.trace))
        }
        Ok(()) => Decision::Allow(Permit::new(server.clone(), None, walk.trace)),
    }
}

/// A denial without its trace.
struct Stopped {
    gate: Gate,
    is_abort: bool,
    fault: Fault,
}

impl Stopped {
    fn with(self, reason: String, trace: Trace) -> Denial {
        Denial { gate: self.gate, reason, is_abort: self.is_abort, fault: self.fault, trace }
    }
}

/// The evaluation of a call.
#[derive(Default)]
struct Walk {
    trace: Trace,
    /// What asks, and the position of its verdict.
    asks: Vec<(Ask, usize)>,
    /// Who may decide, where a policy that asks says it.
    approvers: Approvers,
}

impl Walk {
    fn past_every_gate(&mut self, call: &Call<'_>, circumstances: &Circumstances<'_>) -> Result<(), Stopped> {
        self.unless_paused(circumstances.paused)?;
        self.scope(circumstances.switched_off)?;
        self.check(Gate::Arguments, circumstances.invalid_arguments)?;
        self.check(Gate::Access, access::objection(call.tool, circumstances.access).as_deref())?;
        self.six(call)?;
        self.check(Gate::Pinning, circumstances.held)?;
        self.custom(circumstances.custom)?;
        self.check(Gate::Quota, circumstances.exceeded)?;
        self.trusted(call.tool);
        self.policies(call, circumstances.policies)
    }

    /// Before all gates. Nothing is written down of an agent that is not paused: almost none ever is.
    fn unless_paused(&mut self, paused: Option<&str>) -> Result<(), Stopped> {
        match paused {
            None => Ok(()),
            Some(reason) => self.deny(Gate::Paused, reason.to_owned()),
        }
    }

    fn scope(&mut self, switched_off: Option<&str>) -> Result<(), Stopped> {
        self.check(Gate::Scope, switched_off)
    }

    fn six(&mut self, call: &Call<'_>) -> Result<(), Stopped> {
        for gate in SIX {
            let effect = call.context.profile.effect(gate, call.context);
            let objection = match effect {
                Effect::Off => None,
                Effect::Deny | Effect::Ask => {
                    gate::objection(gate, call.tool, call.context, call.has_admin_token)
                }
            };
            match (objection, effect) {
                (None, _) | (Some(_), Effect::Off) => self.pass(gate)?,
                (Some(reason), Effect::Deny) => return self.deny(gate, reason),
                // A rule's author knew that the tool needs the admin token; a profile knows nothing about the
                // tool.
                (Some(reason), Effect::Ask) if gate == Gate::AdminToken => {
                    self.ask(gate, Ask::Firm, Some(reason), None)
                }
                (Some(reason), Effect::Ask) => self.ask(gate, Ask::Soft, Some(reason), None),
            }
        }
        Ok(())
    }

    fn custom(&mut self, verdicts: &[CustomVerdict]) -> Result<(), Stopped> {
        for verdict in verdicts {
            let reason = verdict.reason.clone();
            let by = Some(verdict.name.clone());
            match verdict.outcome {
                Outcome::Pass => self.trace.push(Verdict { by, ..Verdict::pass(Gate::Custom) }),
                Outcome::Ask => self.ask(Gate::Custom, Ask::Hard, reason, by),
                Outcome::Deny => return self.stop(Gate::Custom, reason, by, false, verdict.fault),
            }
        }
        Ok(())
    }

    /// Tools with side effects of a server with low trust always need approval.
    fn trusted(&mut self, tool: &ToolDescriptor) {
        if tool.trust == Trust::Low && !tool.side_effects.is_empty() {
            let reason = format!("server `{}` has low trust and the tool has side effects", tool.source_id);
            self.ask(Gate::Trust, Ask::Hard, Some(reason), None);
        }
    }

    fn policies(&mut self, call: &Call<'_>, policies: &Policies) -> Result<(), Stopped> {
        let own = policies.agents.get(call.agent());
        let floor = self.judge(Gate::Floor, policies.floor.judge(call))?;
        let global = self.judge(Gate::Global, policies.global.judge(call))?;
        let own = match own {
            Some(own) => self.judge(Gate::Agent, own.judge(call))?,
            None => None,
        };
        if let Some(verdict) = floor.filter(|verdict| verdict.word == Word::Ask) {
            self.ask_for_policy(Gate::Floor, verdict);
        }
        // One that says who may decide is not for the agent's owner to skip, who sets the agent's policy and profile.
        let (enforced, global) = match global {
            Some(verdict) if verdict.word == Word::Ask && !verdict.approvers.is_empty() => {
                self.ask_for_policy(Gate::Global, verdict);
                (true, None)
            }
            global => (false, global),
        };
        // The agent's own policy takes precedence over the global one.
        let deciding =
            own.map(|verdict| (Gate::Agent, verdict)).or(global.map(|verdict| (Gate::Global, verdict)));
        match deciding {
            None if enforced => {}
            Some((gate, verdict)) if verdict.word == Word::Allow => {
                self.answer(Ask::Firm, || format!("{} of the {} policy", verdict.by, gate.as_str()));
                let PolicyVerdict { reason, by, .. } = verdict;
                self.trace.push(Verdict { reason, by: Some(by), ..Verdict::pass(gate) });
            }
            Some((gate, verdict)) => self.ask_for_policy(gate, verdict),
            None => match call.context.profile.otherwise(call.tool) {
                Otherwise::Allow => {
                    self.answer(Ask::Soft, || format!("profile {}", call.context.profile.as_str()));
                    self.pass(Gate::Profile)?;
                }
                Otherwise::Ask => {
                    let reason = sentence::of_profile(call.context.profile, call.tool);
                    self.ask(Gate::Profile, Ask::Soft, Some(reason), None);
                }
            },
        }
        Ok(())
    }

    /// Handles the verdict of a level; a denial ends the evaluation, and so does a policy that fails.
    fn judge(
        &mut self,
        gate: Gate,
        verdict: Result<Option<PolicyVerdict>, String>,
    ) -> Result<Option<PolicyVerdict>, Stopped> {
        match verdict {
            Err(error) => {
                let reason = format!("the {} policy cannot be evaluated: {error}", gate.as_str());
                self.stop(gate, Some(reason), None, false, Fault::Evaluator)
            }
            Ok(Some(verdict)) if verdict.word >= Word::Deny => {
                let is_abort = verdict.word == Word::Abort;
                self.stop(gate, verdict.reason, Some(verdict.by), is_abort, Fault::Policy)
            }
            Ok(verdict) => Ok(verdict),
        }
    }

    /// What asks no more strongly than this is answered by a rule or the profile.
    fn answer(&mut self, strongest: Ask, by: impl FnOnce() -> String) {
        // Most calls are allowed without a gate that asks.
        if self.asks.is_empty() {
            return;
        }
        let by = by();
        self.asks.retain(|(ask, position)| {
            let is_answered = *ask <= strongest;
            if is_answered {
                self.trace.answer(*position, &by);
            }
            !is_answered
        });
    }

    fn ask_for_policy(&mut self, gate: Gate, verdict: PolicyVerdict) {
        self.approvers.add(&verdict.approvers);
        self.ask(gate, Ask::Hard, verdict.reason, Some(verdict.by));
    }

    fn check(&mut self, gate: Gate, objection: Option<&str>) -> Result<(), Stopped> {
        match objection {
            None => self.pass(gate),
            Some(reason) => self.deny(gate, reason.to_owned()),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "so that it can be the end of a gate like `deny`")]
    fn pass(&mut self, gate: Gate) -> Result<(), Stopped> {
        self.trace.push(Verdict::pass(gate));
        Ok(())
    }

    fn ask(&mut self, gate: Gate, ask: Ask, reason: Option<String>, by: Option<String>) {
        self.asks.push((ask, self.trace.verdicts().len()));
        self.trace.push(Verdict { gate, outcome: Outcome::Ask, reason, by, answered_by: None });
    }

    /// Says why approval is needed. What only a person can answer comes first; then the default of the profile, which
    /// would ask anyway, is not worth a sentence.
    fn say_why(&mut self, call: &Call<'_>) {
        self.asks.sort_by_key(|(ask, _)| Reverse(*ask));
        let strongest = self.asks.first().map_or(Ask::Soft, |(ask, _)| *ask);
        let verdicts = self.asks.iter().filter_map(|(_, position)| self.trace.verdicts().get(*position));
        let verdicts = verdicts.filter(|verdict| strongest == Ask::Soft || verdict.gate != Gate::Profile);
        let mut sentences: Vec<String> =
            verdicts.map(|verdict| sentence::of_verdict(verdict, call, false)).collect();
        sentences.extend(self.approvers.describe().map(|who| format!("only {who} may decide")));
        self.trace.set_asks(sentences);
    }

    fn deny<T>(&mut self, gate: Gate, reason: String) -> Result<T, Stopped> {
        self.stop(gate, Some(reason), None, false, Fault::Policy)
    }

    fn stop<T>(
        &mut self,
        gate: Gate,
        reason: Option<String>,
        by: Option<String>,
        is_abort: bool,
        fault: Fault,
    ) -> Result<T, Stopped> {
        self.trace.push(Verdict { gate, outcome: Outcome::Deny, reason, by, answered_by: None });
        Err(Stopped { gate, is_abort, fault })
    }
}

#[cfg(test)]
mod tests;
