//! The answer to a request, and how failures are reported in it.

use bytes::Bytes;
use octroi_api::{Answered, ApiError, ErrorCode, RequestKind, rescue};
use octroi_core::ServerKey;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Era, Id, Method, RpcError, envelope, translate};
use octroi_upstream::{CallOutcome, SharedRedactor, UpstreamError};

use crate::api_error::error_message;

/// The final answer to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A result, as JSON text.
    Result(Bytes),
    /// An error that Octroi generated.
    Error(RpcError),
    /// A server's error, as JSON text, forwarded unchanged.
    ErrorJson {
        /// The error code.
        code: i64,
        /// The error object.
        json: Bytes,
    },
}

impl Answer {
    /// The answer as a response to request `id`.
    pub fn to_message(&self, id: &Id) -> Bytes {
        match self {
            Self::Result(result) => envelope::result(id, result),
            Self::Error(error) => error_message(Some(id), error),
            Self::ErrorJson { json, .. } => envelope::error_json(Some(id), json),
        }
    }

    /// The JSON text of a server's answer; `None` for one that Octroi generated.
    pub(crate) fn json(&self) -> Option<&[u8]> {
        match self {
            Self::Result(result) | Self::ErrorJson { json: result, .. } => Some(result),
            Self::Error(_) => None,
        }
    }

    /// The error code, for an error.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Result(_) => None,
            Self::Error(error) => Some(error.code),
            Self::ErrorJson { code, .. } => Some(*code),
        }
    }
}

impl Answer {
    /// Results generated here have the legacy form; a modern client needs the modern frame.
    pub(crate) fn in_era(self, era: Era, method: &Method) -> Self {
        match self {
            Self::Result(result) => {
                let view = ResultView::read(&result);
                Self::Result(translate::result(&view, Era::Legacy, era, method, None, None))
            }
            error => error,
        }
    }
}

impl From<RpcError> for Answer {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// Why an allowed call has no answer from its server.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server cannot be reached.
    Unavailable(UpstreamError),
    /// The call failed after the server was reached.
    During(UpstreamError),
}

impl Failure {
    pub(crate) fn error(&self) -> &UpstreamError {
        match self {
            Self::Unavailable(error) | Self::During(error) => error,
        }
    }

    /// The failure with secrets redacted: the host of a server may have been filled by a reference.
    pub(crate) fn redacted(&self, redactor: &SharedRedactor) -> Self {
        let redacted = |error: &UpstreamError| error.clone().redacted(|text| redactor.redacted(text));
        match self {
            Self::Unavailable(error) => Self::Unavailable(redacted(error)),
            Self::During(error) => Self::During(redacted(error)),
        }
    }

    /// What it says about the server.
    pub(crate) fn outcome(&self) -> CallOutcome<'_> {
        match self {
            Self::Unavailable(error) => CallOutcome::Unreachable(error),
            Self::During(error) => CallOutcome::Failed(error),
        }
    }

    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(UpstreamError::NeedsAuth) | Self::During(UpstreamError::NeedsAuth) => {
                ErrorCode::NeedsAuth
            }
            Self::Unavailable(UpstreamError::Busy { .. }) | Self::During(UpstreamError::Busy { .. }) => {
                ErrorCode::Busy
            }
            Self::During(UpstreamError::Timeout(_)) => ErrorCode::CallTimeout,
            Self::During(error) if error.outcome_is_unknown() => ErrorCode::OutcomeUnknown,
            Self::During(UpstreamError::TooLarge { .. }) => ErrorCode::ResultTooLarge,
            Self::Unavailable(_) | Self::During(_) => ErrorCode::ServerUnavailable,
        }
    }

    fn message(&self, server: &ServerKey) -> String {
        match self {
            Self::Unavailable(error) => format!("server `{server}` is not available: {}", error.for_caller()),
            Self::During(error) => format!("call to server `{server}` failed: {}", error.for_caller()),
        }
    }

    /// A failed tool call becomes a result that the model can read; other requests get an error.
    pub(crate) fn to_answer(&self, server: &ServerKey, method: &Method) -> Answer {
        failed_call(self.code(), self.message(server), server, method)
    }
}

/// The answer to a client that comes back to a call which was open at its server when Octroi was restarted.
pub(crate) fn lost_by_restart(server: &ServerKey, method: &Method) -> Answer {
    let message =
        format!("call to server `{server}` was cut off: Octroi was restarted while it waited for an answer");
    failed_call(ErrorCode::OutcomeUnknown, message, server, method)
}

/// The answer to a call that a person cut off.
pub(crate) fn aborted(server: &ServerKey, method: &Method, why: &str) -> Answer {
    let message = format!(
        "call to server `{server}` was aborted by {why}; the server was told to stop, and may have done part of it"
    );
    failed_call(ErrorCode::OutcomeUnknown, message, server, method)
}

fn failed_call(code: ErrorCode, message: String, server: &ServerKey, method: &Method) -> Answer {
    let error = ApiError::new(code, message).for_agent().with_detail("server", server.to_string());
    let request = if *method == Method::ToolsCall { RequestKind::ToolCall } else { RequestKind::Other };
    match rescue(&error, request) {
        Answered::Result(result) => Answer::Result(Bytes::from(result.to_string())),
        Answered::Error { code, message, data } => RpcError::new(code, message).with_data(data).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octroi_core::redact::Redactor;

    use super::*;

    #[test]
    fn a_host_that_a_reference_filled_is_not_shown() {
        let redactor = SharedRedactor::default();
        redactor.set(Arc::new(Redactor::new(["hidden-host.example"].into_iter())));
        let address = "https://hidden-host.example:8443".to_owned();
        let error = UpstreamError::Connect { address, reason: "connection refused".to_owned() };
        for failure in [Failure::Unavailable(error.clone()), Failure::During(error)] {
            let text = failure.redacted(&redactor).error().for_caller();
            assert_eq!(text, "cannot connect to https://[redacted]:8443: connection refused");
        }
    }
}
