//! What can go wrong on the way to a server.

use std::io;
use std::time::Duration;

use octroi_mcp::RpcError;

/// A failure that belongs to one server. The text is safe to show to callers: it names no secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The program could not be started.
    #[error("cannot run `{command}`: {reason}")]
    Spawn {
        /// What was to be run.
        command: String,
        /// Why it could not.
        reason: String,
    },
    /// Nobody answers at the address.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// Where to, without credentials.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The server answers, but not in a way that makes sense.
    #[error("{0}")]
    Protocol(String),
    /// The server refused a request of Octroi's own.
    #[error("the server refused: {}", .0.message)]
    Refused(RpcError),
    /// The server wants credentials.
    #[error("the server asks for sign-in (HTTP 401)")]
    NeedsAuth,
    /// The server answered with an HTTP error that says nothing more.
    #[error("the server answered HTTP {0}")]
    Status(u16),
    /// The server ended or hung up. What it was doing may or may not have happened.
    #[error("the server ended: {0}")]
    Closed(String),
    /// No answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The answer is larger than the limit.
    #[error("the answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The permit is for another server or another tool.
    #[error("the call is not the one that was decided")]
    NotPermitted,
    /// Octroi itself is about to end, or the server was taken out of the configuration.
    #[error("it is being stopped")]
    Stopping,
    /// Nobody started it, or somebody stopped it.
    #[error("it is {0}")]
    Idle(&'static str),
    /// Too many calls wait for it already.
    #[error("it is busy: {limit} calls are waiting for it already")]
    Busy {
        /// How many may wait.
        limit: usize,
    },
    /// It failed so often that it is left alone for a while.
    #[error("it failed again and again ({reason}); the next try is in {} s", .retry_in.as_secs().max(1))]
    Resting {
        /// When calls may be tried again.
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
            io::ErrorKind::PermissionDenied => "it may not be executed".to_owned(),
            _ => error.to_string(),
        };
        Self::Spawn { command: command.to_owned(), reason }
    }

    pub(crate) fn refused(error: Option<RpcError>) -> Self {
        error.map_or_else(|| Self::Protocol("the server's answer holds no result".to_owned()), Self::Refused)
    }

    /// Whether the server may have acted on the call although no answer came.
    pub fn outcome_is_unknown(&self) -> bool {
        match self {
            Self::Closed(_) => true,
            Self::Spawn { .. }
            | Self::Connect { .. }
            | Self::Protocol(_)
            | Self::Refused(_)
            | Self::NeedsAuth
            | Self::Status(_)
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::NotPermitted
            | Self::Stopping
            | Self::Idle(_)
            | Self::Busy { .. }
            | Self::Resting { .. } => false,
        }
    }

    /// Whether trying again at once could help: the server may just be starting.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Closed(_) | Self::Status(500..))
    }

    /// Whether it says that the server is not there, rather than that it is not content.
    pub(crate) fn is_absence(&self) -> bool {
        match self {
            Self::Spawn { .. }
            | Self::Connect { .. }
            | Self::Protocol(_)
            | Self::Status(500..)
            | Self::Closed(_)
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
