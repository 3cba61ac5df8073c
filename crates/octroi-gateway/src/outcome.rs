//! The outcome of a call.

/// The outcome of a call, as it is recorded and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedOutcome {
    /// There is a result.
    Completed,
    /// There is a result that reports an error of the tool.
    ToolError,
    /// The client has to come back with an answer.
    InputRequired,
    /// The server, or Octroi in its place, answered with an error.
    Failed,
    /// There is no answer, for this reason.
    Failure(&'static str),
}

impl RecordedOutcome {
    /// The name in audit records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::Failed => "failed",
            Self::Failure(kind) => kind,
        }
    }
}
