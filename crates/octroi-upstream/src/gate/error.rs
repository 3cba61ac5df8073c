//! Why a gate gave no verdict. Whatever the reason, the call is denied.

use std::time::Duration;

use super::LINE_BYTES;
use super::run::LATE_MAX;

/// A question that a gate did not answer. The text is used as the reason of the denial: it contains no
/// secret, and nothing that the program wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The program could not be started.
    #[error("gate `{gate}` cannot be started: {reason}")]
    Start {
        /// The gate's name.
        gate: String,
        /// Why it failed.
        reason: String,
    },
    /// No answer in time.
    #[error("gate `{gate}` did not answer within {timeout:?}")]
    Late {
        /// The gate's name.
        gate: String,
        /// Its configured timeout.
        timeout: Duration,
    },
    /// It was stopped because it left several consecutive questions unanswered.
    #[error("gate `{gate}` was stopped because it did not answer {LATE_MAX} times in a row")]
    Hung {
        /// The gate's name.
        gate: String,
    },
    /// The program ended.
    #[error("gate `{gate}` ended: {how}")]
    Ended {
        /// The gate's name.
        gate: String,
        /// Its exit status, or what else happened.
        how: String,
    },
    /// The answer has an unknown verdict.
    #[error("gate `{gate}` answered with an unknown verdict")]
    Verdict {
        /// The gate's name.
        gate: String,
    },
    /// The answer to this question is malformed.
    #[error("gate `{gate}` gave a malformed answer: {problem}")]
    Form {
        /// The gate's name.
        gate: String,
        /// Which part of the answer is malformed.
        problem: &'static str,
    },
    /// It wrote a line that is not an answer, so none of its output can be trusted.
    #[error("gate `{gate}` wrote a line that is not an answer")]
    Noise {
        /// The gate's name.
        gate: String,
    },
    /// It answered a question that it was not asked, or the same question twice.
    #[error("gate `{gate}` answered a question that it was not asked")]
    UnknownId {
        /// The gate's name.
        gate: String,
    },
    /// It wrote a line that is too long for an answer.
    #[error("gate `{gate}` wrote a line of more than {} KiB", LINE_BYTES >> 10)]
    TooLong {
        /// The gate's name.
        gate: String,
    },
    /// It failed repeatedly and is not restarted until the backoff has passed.
    #[error("{failure}; next attempt in {} s", .retry_in.as_millis().div_ceil(1_000).max(1))]
    Resting {
        /// The last failure.
        failure: Box<GateError>,
        /// How long until it may be started again.
        retry_in: Duration,
    },
    /// The question to send is not a JSON object, or already has an `id`.
    #[error("gate `{gate}` cannot be asked: the question must be an object without an id")]
    Question {
        /// The gate's name.
        gate: String,
    },
    /// Octroi is shutting down, or the gate was removed from the configuration.
    #[error("gate `{gate}` is being stopped")]
    Stopping {
        /// The gate's name.
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
