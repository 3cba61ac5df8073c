//! The one place where a failure becomes an error code, and the code an answer.

use std::error::Error;

use octroi_api::{Answered, ApiError, ErrorCode, RequestKind};
use octroi_core::SwitchedOff;
use octroi_gateway::{
    AuditIndexError, OperatorError, PolicyError, PolicyRefusal, ReplayError, UpstreamError, rpc_error,
};
use octroi_mcp::RpcError;
use serde_json::{Value, json};

use crate::control::ReloadError;
use crate::error::OperationError;

/// The response of an operation, or its error, as the result of `tools/call`.
pub(crate) fn tool_result(performed: Result<Value, ApiError>) -> Result<Value, RpcError> {
    match performed {
        Ok(structured) => Ok(json!({
            "content": [{"type": "text", "text": structured.to_string()}],
            "structuredContent": structured,
        })),
        Err(error) => match octroi_api::rescue(&error, RequestKind::ToolCall) {
            Answered::Result(result) => Ok(result),
            Answered::Error { code, message, data } => Err(RpcError::new(code, message).with_data(data)),
        },
    }
}

/// The answer to a call whose token ended while it was being made.
pub(crate) fn token_ended() -> RpcError {
    let message = "the token of this call is no longer valid, so the call was cancelled";
    rpc_error(&ApiError::new(ErrorCode::Unauthenticated, message))
}

impl From<&OperationError> for ApiError {
    fn from(error: &OperationError) -> Self {
        let text = error.to_string();
        match error {
            OperationError::Malformed(error) => error.clone(),
            OperationError::Unauthenticated => Self::new(ErrorCode::Unauthenticated, text),
            OperationError::PeopleOnly => Self::new(ErrorCode::PeopleOnly, text),
            OperationError::AdminsOnly => Self::new(ErrorCode::AdminsOnly, text),
            OperationError::UnknownOperation(_) => Self::new(ErrorCode::ToolNotFound, text),
            OperationError::UnknownResource(uri) => {
                Self::new(ErrorCode::ResourceNotFound, text).with_detail("uri", uri.as_str())
            }
            OperationError::InvalidArguments(_) => Self::new(ErrorCode::InvalidArguments, text),
            OperationError::ProtectedField(_) => Self::new(ErrorCode::ProtectedField, text),
            OperationError::NotFound { hint, .. } => hinted(Self::new(ErrorCode::NotFound, text), *hint),
            OperationError::ServerUnavailable { server, source } => {
                Self::new(ErrorCode::ServerUnavailable, chain(error)).with_hint(server_hint(server, source))
            }
            OperationError::NotRecorded(cause) => {
                Self::new(ErrorCode::AuditUnavailable, chain(error)).with_hint(cause.hint())
            }
            OperationError::NotReloaded(ReloadError::Unusable { hint, .. }) => {
                hinted(Self::new(ErrorCode::InvalidConfig, text), hint.as_deref())
            }
            OperationError::NotReloaded(ReloadError::OtherDigest) => Self::new(ErrorCode::Conflict, text)
                .with_hint("look at it again with `octroi status`, then accept it with `octroi reload`"),
            OperationError::Operator(error) => Self::new(of_operator(error), text).with_hint(error.hint()),
            OperationError::Policy(error) => {
                hinted(Self::new(of_policy(error), chain(error)), policy_hint(error))
            }
            OperationError::Store(error) => {
                Self::new(ErrorCode::StorageUnavailable, text).with_hint(error.hint())
            }
            OperationError::AuditIndex(error) => {
                let code = match **error {
                    AuditIndexError::Nothing | AuditIndexError::Log(_) => ErrorCode::AuditUnavailable,
                    AuditIndexError::Store(_) => ErrorCode::StorageUnavailable,
                };
                Self::new(code, text).with_hint(error.hint())
            }
            OperationError::CannotProve(error) => {
                Self::new(ErrorCode::Conflict, text).with_hint(error.hint())
            }
            OperationError::Replay(error) => Self::new(of_replay(error), chain(error)),
            OperationError::Internal(_) => Self::new(ErrorCode::InternalError, text),
        }
    }
}

/// How to go on with a server that does not answer.
fn server_hint(server: &str, error: &UpstreamError) -> String {
    match error {
        UpstreamError::Idle("disabled, like every server") => SwitchedOff::Global.hint(server),
        UpstreamError::Idle("disabled") => format!("switch it on with `octroi enable {server}`"),
        UpstreamError::Idle(_) => format!("start it with `octroi restart {server}`"),
        UpstreamError::NotPublic { .. } => {
            "use the server's public address, or ask an administrator to name it in `allow_hosts` under `[members]`"
                .to_owned()
        }
        UpstreamError::NeedsAuth => "check the `headers` of the server's entry".to_owned(),
        _ => format!("`octroi logs {server}` shows what it wrote, `octroi get {server}` its last checks"),
    }
}

fn of_operator(error: &OperatorError) -> ErrorCode {
    match error {
        OperatorError::NotAPerson => ErrorCode::PeopleOnly,
        OperatorError::NotAnApprover { .. } => ErrorCode::NotAnApprover,
        OperatorError::UnknownApproval(_)
        | OperatorError::UnknownAgent(_)
        | OperatorError::NotHeld { .. }
        | OperatorError::NotMasked { .. }
        | OperatorError::NothingAccepted(_)
        | OperatorError::NoRule { .. }
        | OperatorError::UnknownUser(_)
        | OperatorError::UnknownToken(_)
        | OperatorError::UnknownSecret(_)
        | OperatorError::UnknownServer(_)
        | OperatorError::UnknownRevision(_)
        | OperatorError::UnknownSession(_)
        | OperatorError::NotAttached { .. }
        | OperatorError::UnknownInvite => ErrorCode::NotFound,
        OperatorError::Refused { .. }
        | OperatorError::ArgumentsRemoved { .. }
        | OperatorError::ArgumentsUnreadable { .. }
        | OperatorError::ChangedAgain { .. }
        | OperatorError::UserExists(_)
        | OperatorError::AgentTaken(_)
        | OperatorError::AgentExists(_)
        | OperatorError::SecretInUse { .. }
        | OperatorError::ServerChanged(_)
        | OperatorError::EntryUnreadable(_)
        | OperatorError::SessionClosed(_)
        | OperatorError::Pinned { .. }
        | OperatorError::TokenEnded { .. } => ErrorCode::Conflict,
        OperatorError::Arguments(_)
        | OperatorError::Unrememberable(_)
        | OperatorError::SeveralAccepted(_)
        | OperatorError::Agent(_)
        | OperatorError::User(_)
        | OperatorError::Secret(_)
        | OperatorError::ServerEntry { .. }
        | OperatorError::NothingChanges(_)
        | OperatorError::Session(_)
        | OperatorError::Token(_) => ErrorCode::InvalidArguments,
        OperatorError::PolicyInFile { .. }
        | OperatorError::UserInFile(_)
        | OperatorError::AgentInFile { .. }
        | OperatorError::ServerInFile(_)
        | OperatorError::TokenInFile { .. } => ErrorCode::ManagedByFile,
        OperatorError::ServerNameExists(_) => ErrorCode::ServerNameExists,
        OperatorError::ServerInUse { .. } => ErrorCode::ServerInUse,
        OperatorError::TooMany(_) => ErrorCode::LimitReached,
        OperatorError::UnknownCredential => ErrorCode::Unauthenticated,
        OperatorError::NoRandom => ErrorCode::InternalError,
        OperatorError::Policy { problem, .. } => of_policy(problem),
        OperatorError::Unrecorded(_) => ErrorCode::AuditUnavailable,
        OperatorError::NoStore | OperatorError::Store(_) => ErrorCode::StorageUnavailable,
    }
}

fn of_policy(error: &PolicyError) -> ErrorCode {
    match error {
        PolicyError::Unusable(_) => ErrorCode::InvalidPolicy,
        PolicyError::Refused(PolicyRefusal::Unknown) => ErrorCode::NotFound,
        PolicyError::Refused(PolicyRefusal::Changed { .. } | PolicyRefusal::Decided { .. }) => {
            ErrorCode::Conflict
        }
        PolicyError::InFile(_) | PolicyError::InSomeFile => ErrorCode::ManagedByFile,
        PolicyError::NoAgent | PolicyError::TooLong(_) => ErrorCode::InvalidArguments,
        PolicyError::TooMany(_) => ErrorCode::LimitReached,
        PolicyError::NoStore | PolicyError::Store(_) => ErrorCode::StorageUnavailable,
    }
}

fn policy_hint(error: &PolicyError) -> Option<String> {
    match error {
        PolicyError::Refused(PolicyRefusal::Changed { .. }) => {
            Some("look at it with `octroi policy show`, then try again".to_owned())
        }
        PolicyError::Refused(PolicyRefusal::Unknown) => {
            Some("`octroi policy proposals` lists them".to_owned())
        }
        PolicyError::Store(error) => Some(error.hint()),
        PolicyError::Refused(PolicyRefusal::Decided { .. })
        | PolicyError::Unusable(_)
        | PolicyError::InFile(_)
        | PolicyError::InSomeFile
        | PolicyError::NoAgent
        | PolicyError::TooLong(_)
        | PolicyError::TooMany(_)
        | PolicyError::NoStore => None,
    }
}

fn of_replay(error: &ReplayError) -> ErrorCode {
    match error {
        ReplayError::Unusable(_) => ErrorCode::InvalidPolicy,
        ReplayError::NoLog | ReplayError::Log(_) => ErrorCode::AuditUnavailable,
        ReplayError::CutOff => ErrorCode::InternalError,
    }
}

fn hinted(error: ApiError, hint: Option<impl Into<String>>) -> ApiError {
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// An error and its causes, as one text.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
