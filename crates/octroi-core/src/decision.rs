//! Whether a call may be made.
//!
//! One function, [`decide`], takes a call past every gate in a fixed order and ends in one value. A
//! [`Permit`] can only come from here, and nothing can be sent to a server without one. The first denial
//! ends the way; whoever asks for a person lets the call go on, because a later gate may still deny it.

use std::sync::Arc;

use crate::name::ServerKey;
use crate::policy::{Policies, PolicyVerdict, Word};
use crate::server::{ToolAccess, Trust};
use crate::tool::ToolDescriptor;

mod access;
mod call;
mod context;
mod gate;
mod outcome;
mod profile;
mod trace;

pub use access::is_allowed;
pub use call::{Call, Subject};
pub use context::{AgentContext, DEFAULT_BLACKLIST, Mode};
pub use gate::{Gate, SIX};
pub use outcome::{Decision, Denial, Fault, Permit, Question};
pub use profile::{Effect, Otherwise, Profile};
pub use trace::{Outcome, Trace, Verdict};

/// What a gate of one's own says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomVerdict {
    /// Which gate.
    pub name: String,
    /// What it says.
    pub outcome: Outcome,
    /// Why.
    pub reason: Option<String>,
}

/// A gate of one's own, written in Rust.
pub trait CustomGate: Send + Sync {
    /// What it says of a call.
    fn check(&self, call: &Call<'_>) -> CustomVerdict;
}

/// Everything that is known about a call before it is decided.
pub struct Circumstances<'a> {
    /// The server that would be called.
    pub server: &'a ServerKey,
    /// The switch that is off, if one is.
    pub switched_off: Option<&'a str>,
    /// What is wrong with the arguments, if anything is.
    pub invalid_arguments: Option<&'a str>,
    /// What the server's entry allows and denies.
    pub access: &'a ToolAccess,
    /// Why the definition is kept back, if it is not the approved one.
    pub held: Option<&'a str>,
    /// What gates of one's own said.
    pub custom: &'a [CustomVerdict],
    /// The quota that is used up, if one is.
    pub exceeded: Option<&'a str>,
    /// The policies that hold.
    pub policies: &'a Policies,
}

/// How hard a question is to answer without a person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// Whatever allows the call answers it.
    Soft,
    /// A rule that somebody wrote answers it.
    Firm,
    /// Only a person answers it.
    Hard,
}

/// Takes a call past every gate.
pub fn decide(call: &Call<'_>, circumstances: &Circumstances<'_>) -> Decision {
    let mut walk =
        Walk { trace: Trace::new(circumstances.policies.revision(call.agent())), asks: Vec::new() };
    let (server, tool) = (circumstances.server, &call.tool.name);
    match walk.past_every_gate(call, circumstances) {
        Err(denial) => Decision::Deny(denial.with(walk.trace)),
        Ok(()) if walk.asks.is_empty() => {
            Decision::Allow(Permit::new(server.clone(), Some(Arc::clone(tool)), walk.trace))
        }
        Ok(()) => Decision::Ask(Question::new(server.clone(), Arc::clone(tool), walk.trace)),
    }
}

/// Decides what is not a tool call: prompts, resources, completions, tasks. Nobody is asked about these.
pub fn decide_other(
    server: &ServerKey,
    switched_off: Option<&str>,
    held: Option<&str>,
    revision: u64,
) -> Decision {
    let mut walk = Walk { trace: Trace::new(revision), asks: Vec::new() };
    let walked = walk.scope(switched_off).and_then(|()| walk.check(Gate::Pinning, held));
    match walked {
        Err(denial) => Decision::Deny(denial.with(walk.trace)),
        Ok(()) => Decision::Allow(Permit::new(server.clone(), None, walk.trace)),
    }
}

/// A denial on its way out, before it carries the trace.
struct Stopped {
    gate: Gate,
    reason: String,
    is_abort: bool,
    fault: Fault,
}

impl Stopped {
    fn with(self, trace: Trace) -> Denial {
        Denial { gate: self.gate, reason: self.reason, is_abort: self.is_abort, fault: self.fault, trace }
    }
}

/// A call on its way past the gates.
struct Walk {
    trace: Trace,
    asks: Vec<Ask>,
}

impl Walk {
    fn past_every_gate(&mut self, call: &Call<'_>, circumstances: &Circumstances<'_>) -> Result<(), Stopped> {
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

    fn scope(&mut self, switched_off: Option<&str>) -> Result<(), Stopped> {
        self.check(Gate::Scope, switched_off)
    }

    fn six(&mut self, call: &Call<'_>) -> Result<(), Stopped> {
        for gate in SIX {
            let effect = call.context.profile.effect(gate);
            let objection = match effect {
                Effect::Off => None,
                Effect::Deny | Effect::Ask => {
                    gate::objection(gate, call.tool, call.context, call.has_admin_token)
                }
            };
            match (objection, effect) {
                (None, _) | (Some(_), Effect::Off) => self.pass(gate)?,
                (Some(reason), Effect::Deny) => return self.deny(gate, reason),
                // Who wrote a rule about a tool that needs the admin token knew what it needs; a
                // profile does not know the tool.
                (Some(reason), Effect::Ask) if gate == Gate::AdminToken => {
                    self.ask(gate, Ask::Firm, reason, None)
                }
                (Some(reason), Effect::Ask) => self.ask(gate, Ask::Soft, reason, None),
            }
        }
        Ok(())
    }

    fn custom(&mut self, verdicts: &[CustomVerdict]) -> Result<(), Stopped> {
        for verdict in verdicts {
            let reason = verdict.reason.clone().unwrap_or_else(|| format!("gate `{}` objects", verdict.name));
            let by = Some(verdict.name.clone());
            match verdict.outcome {
                Outcome::Pass => {
                    self.trace.push(Verdict { gate: Gate::Custom, outcome: Outcome::Pass, reason: None, by })
                }
                Outcome::Ask => self.ask(Gate::Custom, Ask::Hard, reason, by),
                Outcome::Deny => return self.stop(Gate::Custom, reason, by, false, Fault::Policy),
            }
        }
        Ok(())
    }

    /// A server that is hardly trusted does nothing to the world without a person.
    fn trusted(&mut self, tool: &ToolDescriptor) {
        if tool.trust == Trust::Low && !tool.side_effects.is_empty() {
            let reason = format!("server `{}` has low trust and the tool has side effects", tool.source_id);
            self.ask(Gate::Trust, Ask::Hard, reason, None);
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
        if let Some(said) = floor.filter(|said| said.word == Word::Ask) {
            self.hear(Gate::Floor, said);
        }
        // The agent's own policy speaks before the global one.
        let spoken = own.map(|said| (Gate::Agent, said)).or(global.map(|said| (Gate::Global, said)));
        match spoken {
            Some((gate, said)) if said.word == Word::Allow => {
                let verdict =
                    Verdict { gate, outcome: Outcome::Pass, reason: said.reason, by: Some(said.by) };
                self.trace.push(verdict);
                self.asks.retain(|ask| *ask == Ask::Hard);
            }
            Some((gate, said)) => self.hear(gate, said),
            None => match call.context.profile.otherwise(call.tool.risk) {
                Otherwise::Allow => {
                    self.pass(Gate::Profile)?;
                    self.asks.retain(|ask| *ask != Ask::Soft);
                }
                Otherwise::Ask => {
                    let profile = call.context.profile.as_str();
                    let reason = format!("profile {profile} asks about tools of {} risk", call.tool.risk);
                    self.ask(Gate::Profile, Ask::Soft, reason, None);
                }
            },
        }
        Ok(())
    }

    /// A level's word; a denial ends the way, and so does a policy that cannot be asked.
    fn judge(
        &mut self,
        gate: Gate,
        said: Result<Option<PolicyVerdict>, String>,
    ) -> Result<Option<PolicyVerdict>, Stopped> {
        match said {
            Err(error) => {
                let reason = format!("the {} policy cannot be asked: {error}", gate.as_str());
                self.stop(gate, reason, None, false, Fault::Evaluator)
            }
            Ok(Some(said)) if said.word >= Word::Deny => {
                let reason = said.reason.unwrap_or_else(|| format!("{} denies it", said.by));
                self.stop(gate, reason, Some(said.by), said.word == Word::Abort, Fault::Policy)
            }
            Ok(said) => Ok(said),
        }
    }

    fn hear(&mut self, gate: Gate, said: PolicyVerdict) {
        let reason = said.reason.unwrap_or_else(|| format!("{} asks", said.by));
        self.ask(gate, Ask::Hard, reason, Some(said.by));
    }

    fn check(&mut self, gate: Gate, objection: Option<&str>) -> Result<(), Stopped> {
        match objection {
            None => self.pass(gate),
            Some(reason) => self.deny(gate, reason.to_owned()),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "so that it can be the end of a gate like `deny`")]
    fn pass(&mut self, gate: Gate) -> Result<(), Stopped> {
        self.trace.push(Verdict { gate, outcome: Outcome::Pass, reason: None, by: None });
        Ok(())
    }

    fn ask(&mut self, gate: Gate, ask: Ask, reason: String, by: Option<String>) {
        self.trace.push(Verdict { gate, outcome: Outcome::Ask, reason: Some(reason), by });
        self.asks.push(ask);
    }

    fn deny<T>(&mut self, gate: Gate, reason: String) -> Result<T, Stopped> {
        self.stop(gate, reason, None, false, Fault::Policy)
    }

    fn stop<T>(
        &mut self,
        gate: Gate,
        reason: String,
        by: Option<String>,
        is_abort: bool,
        fault: Fault,
    ) -> Result<T, Stopped> {
        self.trace.push(Verdict { gate, outcome: Outcome::Deny, reason: Some(reason.clone()), by });
        Err(Stopped { gate, reason, is_abort, fault })
    }
}

#[cfg(test)]
mod tests;
