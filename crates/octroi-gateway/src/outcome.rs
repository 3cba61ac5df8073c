//! How a call went.

/// How a call went, as it is recorded and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is a result.
    Completed,
    /// There is a result, which says that the tool failed.
    ToolError,
    /// The client is to come back with an answer.
    InputRequired,
    /// The server, or Octroi in its place, answered with an error.
    Failed,
    /// There is no answer, for this reason.
    Failure(&'static str),
}

impl Outcome {
    /// The word for it in records.
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
