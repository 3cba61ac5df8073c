//! Every error code and its specification.

use super::{Exit, Fault, Retry};
use super::{request_specs, specs};

/// Error codes reserved for Octroi. A server that answers with one of them impersonates Octroi.
pub const RESERVED_NUMBERS: std::ops::RangeInclusive<i64> = -32_969..=-32_950;

/// The errors that the protocol defines and binds to an HTTP status, which clients of every gateway expect.
const PROTOCOL_ERRORS: [ErrorCode; 6] = [
    ErrorCode::ParseError,
    ErrorCode::InvalidRequest,
    ErrorCode::MethodNotFound,
    ErrorCode::HeaderMismatch,
    ErrorCode::MissingCapability,
    ErrorCode::UnsupportedProtocolVersion,
];

/// The meaning of a code in all interfaces.
#[derive(Clone, Copy, Debug)]
pub struct ErrorSpec {
    /// The code as text. Stable: programs compare it.
    pub word: &'static str,
    /// The code of the JSON-RPC error.
    pub rpc: i64,
    /// Whether `tools/call` reports it as a result with `isError`, which a model can read, instead of an
    /// error.
    pub in_result: bool,
    /// The HTTP status where the request itself is refused, and in REST. Other JSON-RPC errors travel as 200.
    pub http: u16,
    /// The exit status of a command.
    pub exit: Exit,
    /// Who caused it.
    pub fault: Fault,
    /// Whether the same request can succeed when it is repeated.
    pub retry: Retry,
    /// The description for the reference page.
    pub about: &'static str,
    /// The default hint, unless the error has a more exact one.
    pub hint: &'static str,
    /// The hint for an agent, where the default one is for people: it names nothing that an agent cannot do
    /// itself, unless it says that a person has to.
    pub agent_hint: Option<&'static str>,
}

/// Why something failed. [`ErrorCode::spec`] explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table below says it")]
pub enum ErrorCode {
    PolicyDenied,
    PolicyDeniedContinue,
    PolicyBackendReservedMisuse,
    PolicyEvaluatorError,
    Busy,
    QuotaExceeded,
    LimitExceeded,
    ApprovalPending,
    ApprovalExpired,
    ApprovalUnusable,
    ToolNotFound,
    ToolAmbiguous,
    ToolDisabled,
    ToolChangedNeedsReview,
    ToolExecutionError,
    PromptNotFound,
    ResourceNotFound,
    ServerUnavailable,
    NeedsAuth,
    CallTimeout,
    OutcomeUnknown,
    ResultTooLarge,
    InvalidArguments,
    InvalidParams,
    Unauthenticated,
    Forbidden,
    PeopleOnly,
    AdminsOnly,
    NotAnApprover,
    NotFound,
    Conflict,
    LimitReached,
    ManagedByFile,
    ServerNameExists,
    ServerInUse,
    ProtectedField,
    InvalidPolicy,
    InvalidConfig,
    AuditUnavailable,
    StorageUnavailable,
    TaskLost,
    GatewayGone,
    SubscribeUnsupported,
    UnsubscribeUnsupported,
    UnsupportedProtocolVersion,
    InternalError,
    ParseError,
    InvalidRequest,
    MethodNotFound,
    HeaderMismatch,
    MissingCapability,
    PathNotFound,
    SessionNotFound,
    UnsupportedMediaType,
    RequestTooLarge,
    RequestTooSlow,
    TooManyConnections,
    MethodNotAllowed,
}

impl ErrorCode {
    /// All codes, in the order of the table.
    pub const ALL: [Self; 58] = [
        Self::PolicyDenied,
        Self::PolicyDeniedContinue,
        Self::PolicyBackendReservedMisuse,
        Self::PolicyEvaluatorError,
        Self::Busy,
        Self::QuotaExceeded,
        Self::LimitExceeded,
        Self::ApprovalPending,
        Self::ApprovalExpired,
        Self::ApprovalUnusable,
        Self::ToolNotFound,
        Self::ToolAmbiguous,
        Self::ToolDisabled,
        Self::ToolChangedNeedsReview,
        Self::ToolExecutionError,
        Self::PromptNotFound,
        Self::ResourceNotFound,
        Self::ServerUnavailable,
        Self::NeedsAuth,
        Self::CallTimeout,
        Self::OutcomeUnknown,
        Self::ResultTooLarge,
        Self::InvalidArguments,
        Self::InvalidParams,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::PeopleOnly,
        Self::AdminsOnly,
        Self::NotAnApprover,
        Self::NotFound,
        Self::Conflict,
        Self::LimitReached,
        Self::ManagedByFile,
        Self::ServerNameExists,
        Self::ServerInUse,
        Self::ProtectedField,
        Self::InvalidPolicy,
        Self::InvalidConfig,
        Self::AuditUnavailable,
        Self::StorageUnavailable,
        Self::TaskLost,
        Self::GatewayGone,
        Self::SubscribeUnsupported,
        Self::UnsubscribeUnsupported,
        Self::UnsupportedProtocolVersion,
        Self::InternalError,
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::HeaderMismatch,
        Self::MissingCapability,
        Self::PathNotFound,
        Self::SessionNotFound,
        Self::UnsupportedMediaType,
        Self::RequestTooLarge,
        Self::RequestTooSlow,
        Self::TooManyConnections,
        Self::MethodNotAllowed,
    ];

    /// The code as text.
    pub const fn as_str(self) -> &'static str {
        self.spec().word
    }

    /// Parses the code.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }

    /// The code of an error of the protocol itself, by its number; `None` for other numbers.
    pub fn of_protocol(number: i64) -> Option<Self> {
        PROTOCOL_ERRORS.into_iter().find(|code| code.spec().rpc == number)
    }

    /// The default hint for an agent.
    pub fn agent_hint(self) -> &'static str {
        self.spec().agent_hint.unwrap_or(self.spec().hint)
    }

    /// Its meaning.
    pub const fn spec(self) -> &'static ErrorSpec {
        let place = self as usize;
        if place < specs::TABLE.len() {
            &specs::TABLE[place]
        } else {
            &request_specs::TABLE[place - specs::TABLE.len()]
        }
    }
}
