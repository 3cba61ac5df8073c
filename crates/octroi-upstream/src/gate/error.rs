//! Why a gate gave no verdict. Whatever the cause, the call is denied.

use std::time::Duration;

use super::LINE_BYTES;
use super::run::LATE_MAX;

/// A question that a gate did not answer. The text is meant for the reason of the denial: it names no
/// secret, and nothing that the program wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The program could not be started.
    #[error("gate `{gate}` cannot be started: {reason}")]
    Start {
        /// Which gate.
        gate: String,
        /// Why not.
        reason: String,
    },
    /// No answer in time.
    #[error("gate `{gate}` did not answer within {timeout:?}")]
    Late {
        /// Which gate.
        gate: String,
        /// How long it had.
        timeout: Duration,
    },
    /// It was stopped because it left several questions in a row without an answer.
    #[error("gate `{gate}` was stopped because it did not answer {LATE_MAX} times in a row")]
    Hung {
        /// Which gate.
        gate: String,
    },
    /// The program ended.
    #[error("gate `{gate}` ended: {how}")]
    Ended {
        /// Which gate.
        gate: String,
        /// Its exit status, or what else happened.
        how: String,
    },
    /// The answer has a verdict that does not exist.
    #[error("gate `{gate}` answered with a verdict that does not exist")]
    Verdict {
        /// Which gate.
        gate: String,
    },
    /// The answer to this question is not of the right form.
    #[error("gate `{gate}` gave an answer of the wrong form: {problem}")]
    Form {
        /// Which gate.
        gate: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It wrote something that is no answer at all, so nothing that it says can be trusted.
    #[error("gate `{gate}` wrote a line that is no answer")]
    Noise {
        /// Which gate.
        gate: String,
    },
    /// It answered what it was not asked, or the same question twice.
    #[error("gate `{gate}` answered a question that it was not asked")]
    UnknownId {
        /// Which gate.
        gate: String,
    },
    /// It wrote a line that is too long to be an answer.
    #[error("gate `{gate}` wrote a line of more than {} KiB", LINE_BYTES >> 10)]
    TooLong {
        /// Which gate.
        gate: String,
    },
    /// It failed again and again and is not started before some time has passed.
    #[error("{failure}; the next try is in {} s", .retry_in.as_secs().max(1))]
    Resting {
        /// The last failure.
        failure: Box<GateError>,
        /// When it may be started again.
        retry_in: Duration,
    },
    /// Octroi was to ask something that is no JSON object, or that has an `id` already.
    #[error("gate `{gate}` cannot be asked: the question is no object without an id")]
    Question {
        /// Which gate.
        gate: String,
    },
    /// Octroi itself is about to end, or the gate was taken out of the configuration.
    #[error("gate `{gate}` is being stopped")]
    Stopping {
        /// Which gate.
        gate: String,
    },
}

impl GateError {
    /// What the operator can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start { .. } => Some("check `command` of the gate, and that the file may be executed"),
            Self::Late { .. } => {
                Some("raise `timeout` of the gate, and let it flush its output after each line")
            }
            Self::Hung { .. } => Some("a gate must read its input while it works, and answer every question"),
            Self::Ended { .. } => Some(
                "a gate runs until its input ends; what it wrote to standard error is in its log, and it may have hit its `memory`",
            ),
            Self::Verdict { .. } => Some("a verdict is `pass`, `ask` or `deny`"),
            Self::Form { .. } => {
                Some("an answer is {\"id\": 7, \"verdict\": \"deny\", \"reason\": \"why\"} on one line")
            }
            Self::Noise { .. } => {
                Some("a gate writes answers to standard output and everything else to standard error")
            }
            Self::UnknownId { .. } => Some("a gate answers every question once, with the id of the question"),
            Self::TooLong { .. } => Some("keep the reason short; write everything else to standard error"),
            Self::Resting { failure, .. } => failure.hint(),
            Self::Question { .. } | Self::Stopping { .. } => None,
        }
    }
}
