//! Why an operation was not performed, or a resource not read.

use octroi_api::ApiError;
use octroi_gateway::audit::{AuditError, ProofError};
use octroi_gateway::{
    AuditIndexError, ForgetRuleError, OperatorError, PolicyError, ReplayError, StoreError, UpstreamError,
};

use crate::control::ReloadError;

/// Why an operation was not performed. Variants differ in what the caller can do next; `rescue` answers each.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationError {
    /// No principal: the caller has to send a token.
    #[error("the caller is not authenticated")]
    Unauthenticated,
    /// The caller needs a person's token.
    #[error("only people may do this")]
    PeopleOnly,
    /// The caller needs the token of an administrator.
    #[error("only administrators may do this")]
    AdminsOnly,
    /// There is no such operation for this principal.
    #[error("unknown tool `{0}`")]
    UnknownOperation(String),
    /// There is no such resource for this principal.
    #[error("unknown resource `{0}`")]
    UnknownResource(String),
    /// The arguments do not have the declared names and types.
    #[error(transparent)]
    Malformed(ApiError),
    /// The arguments are well-formed, but make no sense together.
    #[error("{0}")]
    InvalidArguments(String),
    /// The request sets what cannot be set.
    #[error("`{0}` cannot be set: it follows from who adds the server, and from its name")]
    ProtectedField(&'static str),
    /// The request names an object that does not exist.
    #[error("{message}")]
    NotFound {
        /// What does not exist, and where possible what does.
        message: String,
        /// The command that lists what exists.
        hint: Option<&'static str>,
    },
    /// The server does not answer.
    #[error("server `{server}` is not available")]
    ServerUnavailable {
        /// The name of the server.
        server: String,
        #[source]
        source: Box<UpstreamError>,
    },
    /// The audit log cannot be written: what cannot be recorded is not done.
    #[error("this cannot be recorded, so it is not done")]
    NotRecorded(#[source] Box<AuditError>),
    /// The new configuration cannot be used.
    #[error(transparent)]
    NotReloaded(#[from] ReloadError),
    /// An error about approvals, agents or pins.
    #[error(transparent)]
    Operator(Box<OperatorError>),
    /// An error about policies.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of the audit index.
    #[error(transparent)]
    AuditIndex(Box<AuditIndexError>),
    /// A record cannot be proved, or not yet.
    #[error(transparent)]
    CannotProve(ProofError),
    /// An error of replaying calls.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// An internal error; the gateway's log may say more.
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

impl From<ForgetRuleError> for OperationError {
    fn from(error: ForgetRuleError) -> Self {
        match error {
            ForgetRuleError::Operator(error) => error.into(),
            ForgetRuleError::Policy(error) => error.into(),
        }
    }
}

impl OperationError {
    /// An object that does not exist, without a hint.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound { message: message.into(), hint: None }
    }

    /// An object that does not exist, and the command that lists those that do.
    pub(crate) fn not_found_in(message: impl Into<String>, hint: &'static str) -> Self {
        Self::NotFound { message: message.into(), hint: Some(hint) }
    }
}
