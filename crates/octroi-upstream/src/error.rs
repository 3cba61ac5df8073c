//! The error type for everything that can fail between Octroi and a server.

use std::io;
use std::time::Duration;

use octroi_mcp::RpcError;

/// A failure of one server. The text may be shown to callers: it contains no secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The program could not be started.
    #[error("cannot run `{command}`: {reason}")]
    Spawn {
        /// The command that failed to start.
        command: String,
        /// Why it failed.
        reason: String,
    },
    /// No connection to the address.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// Scheme, host and port.
        address: String,
        /// Why it failed.
        reason: String,
    },
    /// The server of a member is not at a public address.
    #[error(
        "`{host}` has no public address, which the servers of members need unless `allow_hosts` under `[members]` names it"
    )]
    NotPublic {
        /// The host of its URL.
        host: String,
    },
    /// The server wants to be asked at another place.
    #[error("the server redirects too often")]
    Redirected(String),
    /// The server's answer violates the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The server answered a request of Octroi itself with an error.
    #[error("the server refused: {}", .0.message)]
    Refused(RpcError),
    /// The server requires authentication.
    #[error("the server asks for sign-in (HTTP 401)")]
    NeedsAuth,
    /// The server answered with an HTTP error without an MCP message.
    #[error("the server answered HTTP {0}")]
    Status(u16),
    /// The server ended or closed the connection. A call in flight may or may not have been executed.
    #[error("the server ended: {0}")]
    Closed(String),
    /// The server does not know the session any more, or ended before it could be told anything. The call was
    /// certainly not executed.
    #[error("the server did not take the call: {0}")]
    NotTaken(String),
    /// No answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The answer is larger than the limit.
    #[error("the answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The permit is for another server or another tool.
    #[error("the call is not the one that was decided")]
    NotPermitted,
    /// Octroi is shutting down, or the server was removed from the configuration.
    #[error("it is being stopped")]
    Stopping,
    /// The server was never started, or an operator stopped it.
    #[error("it is {0}")]
    Idle(&'static str),
    /// The queue of waiting calls is full.
    #[error("it is busy: {limit} calls are waiting for it already")]
    Busy {
        /// How many calls may wait.
        limit: usize,
    },
    /// It failed so often that the circuit breaker is open.
    #[error("it failed repeatedly ({reason}); next attempt in {} s", .retry_in.as_millis().div_ceil(1_000).max(1))]
    Resting {
        /// How long until calls are tried again.
        retry_in: Duration,
        /// The last failure.
        reason: String,
    },
}

impl UpstreamError {
    pub(crate) fn spawn(command: &str, error: &io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::NotFound if command.contains('/') => "there is no such file".to_owned(),
            io::ErrorKind::NotFound => "no such program on the PATH".to_owned(),
            io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
            _ => error.to_string(),
        };
        Self::Spawn { command: command.to_owned(), reason }
    }

    pub(crate) fn refused(error: Option<RpcError>) -> Self {
        error.map_or_else(|| Self::Protocol("the server's answer holds no result".to_owned()), Self::Refused)
    }

    /// The error for the caller of a tool: a reason, without anything that the server wrote. People see the
    /// whole text in `octroi status` and `octroi logs`.
    pub fn for_caller(&self) -> String {
        match self {
            Self::Refused(error) => format!("the server refused Octroi's request (code {})", error.code),
            Self::Closed(how) => Self::Closed(without_last_output(how).to_owned()).to_string(),
            Self::NotTaken(how) => Self::NotTaken(without_last_output(how).to_owned()).to_string(),
            Self::Resting { retry_in, reason } => {
                let reason = without_last_output(reason).to_owned();
                Self::Resting { retry_in: *retry_in, reason }.to_string()
            }
            Self::Spawn { .. }
            | Self::Connect { .. }
            | Self::NotPublic { .. }
            | Self::Redirected(_)
            | Self::Protocol(_)
            | Self::NeedsAuth
            | Self::Status(_)
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::NotPermitted
            | Self::Stopping
            | Self::Idle(_)
            | Self::Busy { .. } => self.to_string(),
        }
    }

    /// The error with secrets redacted from every text that a server may have written, or that may have been filled
    /// by a reference of the configuration.
    #[must_use]
    pub fn redacted(self, redacted: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Spawn { command, reason } => {
                Self::Spawn { reason: redacted(&reason), command: redacted(&command) }
            }
            Self::Connect { address, reason } => {
                Self::Connect { reason: redacted(&reason), address: redacted(&address) }
            }
            Self::NotPublic { host } => Self::NotPublic { host: redacted(&host) },
            Self::Redirected(to) => Self::Redirected(redacted(&to)),
            Self::Protocol(text) => Self::Protocol(redacted(&text)),
            Self::Refused(error) => Self::Refused(RpcError { message: redacted(&error.message), ..error }),
            Self::Closed(how) => Self::Closed(redacted(&how)),
            Self::NotTaken(how) => Self::NotTaken(redacted(&how)),
            Self::Resting { retry_in, reason } => Self::Resting { retry_in, reason: redacted(&reason) },
            Self::NeedsAuth
            | Self::Status(_)
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::NotPermitted
            | Self::Stopping
            | Self::Idle(_)
            | Self::Busy { .. } => self,
        }
    }

    /// Whether the server may have executed the call although no answer came.
    pub fn outcome_is_unknown(&self) -> bool {
        match self {
            Self::Closed(_) => true,
            Self::Spawn { .. }
            | Self::Connect { .. }
            | Self::NotPublic { .. }
            | Self::Redirected(_)
            | Self::Protocol(_)
            | Self::Refused(_)
            | Self::NeedsAuth
            | Self::Status(_)
            | Self::NotTaken(_)
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::NotPermitted
            | Self::Stopping
            | Self::Idle(_)
            | Self::Busy { .. }
            | Self::Resting { .. } => false,
        }
    }

    /// Whether an immediate retry could help: the server may just be starting.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Closed(_) | Self::NotTaken(_) | Self::Status(500..))
    }

    /// Whether the server did not answer in time.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether the server is unreachable, as opposed to reachable but failing.
    pub(crate) fn is_absence(&self) -> bool {
        match self {
            Self::Spawn { .. }
            | Self::Connect { .. }
            | Self::NotPublic { .. }
            | Self::Redirected(_)
            | Self::Protocol(_)
            | Self::Status(500..)
            | Self::Closed(_)
            | Self::NotTaken(_)
            | Self::Timeout(_) => true,
            Self::Refused(_)
            | Self::NeedsAuth
            | Self::Status(_)
            | Self::TooLarge { .. }
            | Self::NotPermitted
            | Self::Stopping
            | Self::Idle(_)
            | Self::Busy { .. }
            | Self::Resting { .. } => false,
        }
    }
}

/// What stands between the way a process ended and the last lines it wrote.
pub(crate) const LAST_OUTPUT: &str = "; last output: ";

fn without_last_output(text: &str) -> &str {
    text.split_once(LAST_OUTPUT).map_or(text, |(how, _)| how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_get_a_reason_and_nothing_that_a_server_wrote() {
        let closed = UpstreamError::Closed(format!("exit status: 1{LAST_OUTPUT}my own words"));
        let resting = UpstreamError::Resting { retry_in: Duration::from_secs(5), reason: closed.to_string() };
        let refused = UpstreamError::Refused(RpcError::new(-32000, "my own words"));
        for (error, expected) in [
            (closed, "the server ended: exit status: 1"),
            (resting, "it failed repeatedly (the server ended: exit status: 1); next attempt in 5 s"),
            (refused, "the server refused Octroi's request (code -32000)"),
            (UpstreamError::Status(502), "the server answered HTTP 502"),
        ] {
            assert_eq!(error.for_caller(), expected);
            assert!(!error.redacted(|text| text.replace("my own words", "…")).to_string().contains("words"));
        }
    }

    #[test]
    fn no_text_of_an_error_keeps_a_secret() {
        let secret = || "hush".to_owned();
        for error in [
            UpstreamError::Spawn { command: secret(), reason: secret() },
            UpstreamError::Connect { address: secret(), reason: secret() },
            UpstreamError::NotPublic { host: secret() },
            UpstreamError::Protocol(secret()),
            UpstreamError::Refused(RpcError::new(-32000, secret())),
            UpstreamError::Closed(secret()),
            UpstreamError::NotTaken(secret()),
            UpstreamError::Resting { retry_in: Duration::from_secs(5), reason: secret() },
        ] {
            let text = error.redacted(|text| text.replace("hush", "…")).to_string();
            assert!(text.contains('…') && !text.contains("hush"), "{text}");
        }
    }
}
