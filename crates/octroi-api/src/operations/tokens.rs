//! Operations on tokens.

use octroi_core::audit::Kind;
use octroi_core::principal::TokenKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<TokensList>(),
    OperationEntry::of::<TokensCreate>(),
    OperationEntry::of::<TokensRotate>(),
    OperationEntry::of::<TokensRevoke>(),
    OperationEntry::of::<TokensSignInCode>(),
];

const CHANGES: Effect = Effect::Changes { audit: Kind::TokenChanged };
const CHANGING: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::InvalidArguments,
    ErrorCode::Conflict,
    ErrorCode::ManagedByFile,
    ErrorCode::StorageUnavailable,
];

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its id, which is part of the token and not secret
    pub id: String,
    /// What it stands for
    pub kind: Wire<TokenKind>,
    /// The user it belongs to
    pub user: String,
    /// The agent, for tokens of agents and sessions
    pub agent_id: Option<String>,
    /// The session, for tokens of sessions
    pub session_id: Option<String>,
    /// Its name in quotas, limits and lists
    pub label: String,
    /// valid, expiring (in less than a week), expired, revoked, or `locked_out` with its user
    pub state: String,
    /// Where it comes from: configuration or created
    pub source: String,
    /// When it was created
    pub created_at: Option<String>,
    /// Who created it
    pub created_by: Option<String>,
    /// When it ends by itself
    pub expires_at: Option<String>,
    /// When it was last used, to the minute
    pub last_used_at: Option<String>,
    /// When it was revoked
    pub revoked_at: Option<String>,
    /// Who revoked it
    pub revoked_by: Option<String>,
    /// The id of the token that replaces it
    pub replaced_by: Option<String>,
}

/// Lists tokens.
pub struct TokensList;

/// Which tokens to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTokensRequest {
    /// Only those of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Only those of this user, with those of the user's agents
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Also those that have ended
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// Tokens, without their secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    /// The tokens: those of the configuration first, then the others by age
    pub tokens: Vec<Token>,
    /// The number of tokens
    pub count: u64,
}

impl Operation for TokensList {
    type Request = ListTokensRequest;
    type Response = TokenList;

    const NAME: &'static str = "tokens_list";
    const TITLE: &'static str = "List tokens";
    const DESCRIPTION: &'static str =
        "Tokens without their secrets: all for administrators, one's own and one's agents' for members.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ListTokensRequest) -> ObjectRef<'_> {
        match (&request.agent_id, &request.user) {
            (Some(agent), _) => ObjectRef::Agent(agent),
            (None, Some(user)) => ObjectRef::User(user),
            (None, None) => ObjectRef::Gateway,
        }
    }
}

/// Creates a token.
pub struct TokensCreate;

/// A token to create: for an agent, for a session of an agent, for a user, or for a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// The agent it is for; one that does not exist yet is created, and belongs to the caller
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session of this agent it is for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The user it is for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether it is for a service, which may read metrics only
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
    /// Its name in quotas, limits and lists
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many seconds it is valid; for ever if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// A new token. The secret is shown once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// The token itself
    pub token: String,
    /// What is kept of it
    pub details: Token,
}

impl Operation for TokensCreate {
    type Request = CreateTokenRequest;
    type Response = CreatedToken;

    const NAME: &'static str = "tokens_create";
    const TITLE: &'static str = "Create a token";
    const DESCRIPTION: &'static str = "Create a token for an agent, a session, a user or a service. It is shown \
        once. Members create tokens for themselves and their agents.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;

    fn object(request: &CreateTokenRequest) -> ObjectRef<'_> {
        match (&request.agent_id, &request.user) {
            (Some(agent), _) => ObjectRef::NewAgent(agent),
            (None, Some(user)) => ObjectRef::User(user),
            (None, None) => ObjectRef::Administration,
        }
    }
}

/// Replaces a token.
pub struct TokensRotate;

/// The token to replace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateTokenRequest {
    /// The token
    pub id: String,
    /// How many seconds the old one stays valid beside the new one; one day if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_seconds: Option<u64>,
}

impl Operation for TokensRotate {
    type Request = RotateTokenRequest;
    type Response = CreatedToken;

    const NAME: &'static str = "tokens_rotate";
    const TITLE: &'static str = "Rotate a token";
    const DESCRIPTION: &'static str =
        "Replace a token by a new one, which is shown once. The old one stays valid for a while.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;

    fn object(request: &RotateTokenRequest) -> ObjectRef<'_> {
        ObjectRef::Token(&request.id)
    }
}

/// Revokes a token.
pub struct TokensRevoke;

/// One token, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The token
    pub id: String,
}

impl Operation for TokensRevoke {
    type Request = TokenRequest;
    type Response = Token;

    const NAME: &'static str = "tokens_revoke";
    const TITLE: &'static str = "Revoke a token";
    const DESCRIPTION: &'static str =
        "Revoke a token immediately. Its open streams, sessions, waiting calls and tasks end with it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;
    const DESTRUCTIVE: bool = true;

    fn object(request: &TokenRequest) -> ObjectRef<'_> {
        ObjectRef::Token(&request.id)
    }
}

/// Makes a code that signs a browser in.
pub struct TokensSignInCode;

/// A one-time code. It is shown once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignInCode {
    /// The code; it signs in one browser, once
    pub code: String,
    /// Where the interface takes it, below the address of the gateway
    pub path: String,
    /// When it ends
    pub expires_at: String,
}

impl Operation for TokensSignInCode {
    type Request = NoArguments;
    type Response = SignInCode;

    const NAME: &'static str = "tokens_sign_in_code";
    const TITLE: &'static str = "Sign a browser in";
    const DESCRIPTION: &'static str = "Make a one-time code that signs a browser in as the caller, within two \
        minutes. The session of the browser ends with the token of the caller.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
