//! The verdicts of all gates, as an explanation of a decision.

use std::fmt::{self, Write as _};

use super::gate::Gate;

/// The outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The gate has no objection.
    Pass,
    /// The call needs approval.
    Ask,
    /// The call is denied.
    Deny,
}

impl Outcome {
    /// Its name in output and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Parses its name; `allow` means `pass` too.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "pass" | "allow" => Some(Self::Pass),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// The verdict of one gate on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The gate that was evaluated.
    pub gate: Gate,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its reason in its own words, if it gives one.
    pub reason: Option<String>,
    /// The rule, clause or program that decided.
    pub by: Option<String>,
    /// The rule or the profile that allows what this gate would ask a person about.
    pub answered_by: Option<String>,
}

impl Verdict {
    /// The verdict of a gate without an objection.
    pub(super) const fn pass(gate: Gate) -> Self {
        Self { gate, outcome: Outcome::Pass, reason: None, by: None, answered_by: None }
    }
}

/// All verdicts on a call, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    verdicts: Vec<Verdict>,
    /// Why approval is needed, strongest first.
    asks: Vec<String>,
    /// The revision of the policies that were active.
    pub revision: u64,
}

impl Trace {
    pub(super) fn new(revision: u64) -> Self {
        Self { verdicts: Vec::with_capacity(16), asks: Vec::new(), revision }
    }

    pub(super) fn push(&mut self, verdict: Verdict) {
        self.verdicts.push(verdict);
    }

    /// The verdicts of all gates.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Notes that a verdict that asks is answered without a person.
    pub(super) fn answer(&mut self, position: usize, by: &str) {
        if let Some(verdict) = self.verdicts.get_mut(position) {
            verdict.answered_by = Some(by.to_owned());
        }
    }

    pub(super) fn set_asks(&mut self, asks: Vec<String>) {
        self.asks = asks;
    }

    /// Why approval is needed: one sentence for each gate that nothing has answered, the most important first.
    pub fn asks(&self) -> &[String] {
        &self.asks
    }

    /// Encodes it as a JSON array with one element for each gate; a gate that only passed is just its name.
    pub fn write_json(&self, text: &mut String) {
        text.push('[');
        for (index, verdict) in self.verdicts.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            let Verdict { gate, outcome, reason, by, answered_by } = verdict;
            if reason.is_none() && by.is_none() {
                text.extend(["\"", gate.as_str(), "\""]);
                continue;
            }
            let _ = write!(text, "{{\"gate\":\"{}\",\"outcome\":\"{}\"", gate.as_str(), outcome.as_str());
            for (name, value) in [("reason", reason), ("by", by), ("answered_by", answered_by)] {
                if let Some(value) = value {
                    let _ = write!(text, ",\"{name}\":{}", serde_json::Value::from(value.as_str()));
                }
            }
            text.push('}');
        }
        text.push(']');
    }
}

/// One line per gate.
impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for verdict in &self.verdicts {
            write!(formatter, "{:<15} {}", verdict.gate.as_str(), verdict.outcome.as_str())?;
            if let Some(by) = &verdict.by {
                write!(formatter, " by {by}")?;
            }
            if let Some(reason) = &verdict.reason {
                write!(formatter, ": {reason}")?;
            }
            if let Some(answered_by) = &verdict.answered_by {
                write!(formatter, "; answered by {answered_by}")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}
