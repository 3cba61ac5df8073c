//! What every gate said, for whoever asks why.

use std::fmt::{self, Write as _};

use super::gate::Gate;

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Go on.
    Pass,
    /// A person is to be asked.
    Ask,
    /// No.
    Deny,
}

impl Outcome {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Reads the word; `allow` passes too.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "pass" | "allow" => Some(Self::Pass),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// What one gate said of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The gate.
    pub gate: Gate,
    /// What it said.
    pub outcome: Outcome,
    /// Why.
    pub reason: Option<String>,
    /// The rule, clause or program that said it.
    pub by: Option<String>,
}

/// All verdicts on a call in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    verdicts: Vec<Verdict>,
    /// Of the policies that held.
    pub revision: u64,
}

impl Trace {
    pub(super) fn new(revision: u64) -> Self {
        Self { verdicts: Vec::with_capacity(16), revision }
    }

    pub(super) fn push(&mut self, verdict: Verdict) {
        self.verdicts.push(verdict);
    }

    /// What every gate said.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Why a person is asked.
    pub fn asks(&self) -> impl Iterator<Item = &str> {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Ask)
            .filter_map(|verdict| verdict.reason.as_deref())
    }

    /// As JSON: an array with one element for each gate; those that only passed are their name.
    pub fn write_json(&self, text: &mut String) {
        text.push('[');
        for (index, verdict) in self.verdicts.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            let Verdict { gate, outcome, reason, by } = verdict;
            if reason.is_none() && by.is_none() {
                text.extend(["\"", gate.as_str(), "\""]);
                continue;
            }
            let _ = write!(text, "{{\"gate\":\"{}\",\"outcome\":\"{}\"", gate.as_str(), outcome.as_str());
            for (name, value) in [("reason", reason), ("by", by)] {
                if let Some(value) = value {
                    let _ = write!(text, ",\"{name}\":{}", serde_json::Value::from(value.as_str()));
                }
            }
            text.push('}');
        }
        text.push(']');
    }
}

/// One line for each gate.
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
            writeln!(formatter)?;
        }
        Ok(())
    }
}
