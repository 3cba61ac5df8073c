//! Why an operation was not done, or a resource is not shown.

use octroi_api::ApiError;
use octroi_gateway::audit::AuditError;
use octroi_gateway::{AuditIndexError, OperatorError, PolicyError, ReplayError, StoreError, UpstreamError};

use crate::control::ReloadError;

/// Why an operation was not done, by what whoever asked would do next. `rescue` says how each is answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationError {
    /// Show a token.
    #[error("nobody knows who asks")]
    Unauthenticated,
    /// Show a person's token.
    #[error("only people may do this")]
    PeopleOnly,
    /// Ask for an operation that exists.
    #[error("unknown tool `{0}`")]
    UnknownOperation(String),
    /// Ask for a resource that exists.
    #[error("unknown resource `{0}`")]
    UnknownResource(String),
    /// Send arguments of the declared names and types.
    #[error(transparent)]
    Malformed(ApiError),
    /// Send arguments that make sense together.
    #[error("{0}")]
    InvalidArguments(String),
    /// Look at what there is.
    #[error("{message}")]
    NotFound {
        /// What there is not, and what there is instead.
        message: String,
        /// Where to look.
        hint: Option<&'static str>,
    },
    /// See to the server.
    #[error("server `{server}` is not available")]
    ServerUnavailable {
        /// Which server.
        server: String,
        #[source]
        source: Box<UpstreamError>,
    },
    /// See to the audit log: what cannot be recorded is not done.
    #[error("this cannot be recorded, so it is not done")]
    NotRecorded(#[source] Box<AuditError>),
    /// Correct the configuration.
    #[error(transparent)]
    NotReloaded(#[from] ReloadError),
    /// What the gateway says about approvals, agents and pins.
    #[error(transparent)]
    Operator(Box<OperatorError>),
    /// What the gateway says about policies.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// See to the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the gateway says about its audit log.
    #[error(transparent)]
    AuditIndex(Box<AuditIndexError>),
    /// What the gateway says about replaying calls.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Look at the gateway's log: this should not happen.
    #[error("{0}")]
    Internal(String),
}

impl From<OperatorError> for OperationError {
    fn from(error: OperatorError) -> Self {
        Self::Operator(Box::new(error))
    }
}

impl From<AuditIndexError> for OperationError {
    fn from(error: AuditIndexError) -> Self {
        Self::AuditIndex(Box::new(error))
    }
}

impl OperationError {
    /// Something is not there, and nobody can say where to look.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound { message: message.into(), hint: None }
    }
}
