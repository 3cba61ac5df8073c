//! Whether a definition may be used, given what was accepted before.

use std::fmt;

use super::findings::{Finding, Severity};
use super::hash::DefinitionHash;

/// How definitions become accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinPolicy {
    /// A person accepts each one before its first use.
    Ask,
    /// The first one seen is accepted, unless it has dangerous findings.
    #[default]
    TrustFirst,
    /// Only definitions in the lock file are used; nobody is asked.
    Strict,
}

impl PinPolicy {
    /// Its name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::TrustFirst => "trust_first",
            Self::Strict => "strict",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Ask, Self::TrustFirst, Self::Strict].into_iter().find(|policy| policy.as_str() == word)
    }
}

/// What happens to a tool that a server adds after its first list, where the first one seen is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewTools {
    /// It is accepted.
    Allow,
    /// It is accepted, and people are told.
    #[default]
    Notice,
    /// A person accepts it before its first use.
    Review,
}

/// The state of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinState {
    /// It is the accepted one.
    Pinned,
    /// It was never accepted, and awaits a person's decision.
    New,
    /// It differs from the accepted one.
    Changed,
    /// It was never accepted and is quarantined.
    Held,
}

impl PinState {
    /// Its name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Held => "held",
        }
    }
}

/// How to treat a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinVerdict {
    /// It is the accepted one: use it.
    Usable,
    /// Accept it and use it.
    PinNow,
    /// Hide it from clients until a person accepts it.
    Quarantined(QuarantineReason),
}

/// Why a definition is quarantined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuarantineReason {
    /// Nobody has accepted it yet.
    New,
    /// It is not the one that was accepted.
    Changed {
        /// The hash of the accepted one.
        pinned: DefinitionHash,
        /// The hash of the one that the server lists now.
        now: DefinitionHash,
    },
    /// It has this many dangerous findings, which prevent trust on first use.
    Dangerous(usize),
    /// The lock file does not contain it.
    NotLocked,
}

impl PinVerdict {
    /// The state of the definition once the verdict is applied.
    pub const fn state(&self) -> PinState {
        match self {
            Self::Usable | Self::PinNow => PinState::Pinned,
            Self::Quarantined(QuarantineReason::New) => PinState::New,
            Self::Quarantined(QuarantineReason::Changed { .. }) => PinState::Changed,
            Self::Quarantined(QuarantineReason::Dangerous(_) | QuarantineReason::NotLocked) => PinState::Held,
        }
    }
}

impl fmt::Display for QuarantineReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => formatter.write_str("its definition has not been accepted yet"),
            Self::Changed { .. } => formatter.write_str("its definition differs from the accepted one"),
            Self::Dangerous(1) => formatter.write_str("its definition has a dangerous finding"),
            Self::Dangerous(n_findings) => {
                write!(formatter, "its definition has {n_findings} dangerous findings")
            }
            Self::NotLocked => formatter.write_str("its definition is not in the lock file"),
        }
    }
}

/// Judges a definition. One that a person accepted is not quarantined for its findings: they were displayed.
pub fn judge(
    policy: PinPolicy,
    pinned: Option<&DefinitionHash>,
    now: &DefinitionHash,
    findings: &[Finding],
) -> PinVerdict {
    let n_dangers = findings.iter().filter(|finding| finding.severity == Severity::Danger).count();
    match (pinned, policy) {
        (Some(pinned), _) if pinned == now => PinVerdict::Usable,
        (Some(pinned), _) => {
            PinVerdict::Quarantined(QuarantineReason::Changed { pinned: *pinned, now: *now })
        }
        (None, PinPolicy::Ask) => PinVerdict::Quarantined(QuarantineReason::New),
        (None, PinPolicy::Strict) => PinVerdict::Quarantined(QuarantineReason::NotLocked),
        (None, PinPolicy::TrustFirst) if n_dangers > 0 => {
            PinVerdict::Quarantined(QuarantineReason::Dangerous(n_dangers))
        }
        (None, PinPolicy::TrustFirst) => PinVerdict::PinNow,
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::FindingKind;
    use super::*;

    #[test]
    fn verdicts() {
        let (one, other) = (DefinitionHash::from_bytes([1; 32]), DefinitionHash::from_bytes([2; 32]));
        let finding = |severity| Finding {
            kind: FindingKind::Instruction,
            severity,
            path: "description".to_owned(),
            excerpt: String::new(),
        };
        let warning = vec![finding(Severity::Warning)];
        let danger = vec![finding(Severity::Danger), finding(Severity::Note)];
        let changed = PinVerdict::Quarantined(QuarantineReason::Changed { pinned: other, now: one });
        for (policy, pinned, findings, verdict, state) in [
            (PinPolicy::Ask, None, &warning, PinVerdict::Quarantined(QuarantineReason::New), PinState::New),
            (PinPolicy::Ask, Some(&one), &danger, PinVerdict::Usable, PinState::Pinned),
            (PinPolicy::Ask, Some(&other), &warning, changed.clone(), PinState::Changed),
            (PinPolicy::TrustFirst, None, &warning, PinVerdict::PinNow, PinState::Pinned),
            (
                PinPolicy::TrustFirst,
                None,
                &danger,
                PinVerdict::Quarantined(QuarantineReason::Dangerous(1)),
                PinState::Held,
            ),
            (PinPolicy::TrustFirst, Some(&one), &danger, PinVerdict::Usable, PinState::Pinned),
            (PinPolicy::TrustFirst, Some(&other), &Vec::new(), changed.clone(), PinState::Changed),
            (
                PinPolicy::Strict,
                None,
                &Vec::new(),
                PinVerdict::Quarantined(QuarantineReason::NotLocked),
                PinState::Held,
            ),
            (PinPolicy::Strict, Some(&one), &danger, PinVerdict::Usable, PinState::Pinned),
            (PinPolicy::Strict, Some(&other), &Vec::new(), changed.clone(), PinState::Changed),
        ] {
            let judged = judge(policy, pinned, &one, findings);
            assert_eq!(judged.state(), state);
            assert_eq!(judged, verdict, "{policy:?} {pinned:?}");
        }
    }

    #[test]
    fn policies_have_words() {
        for policy in [PinPolicy::Ask, PinPolicy::TrustFirst, PinPolicy::Strict] {
            assert_eq!(PinPolicy::parse(policy.as_str()), Some(policy));
        }
    }
}
