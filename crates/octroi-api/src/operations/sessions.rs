//! Operations on sessions: which servers an agent uses for one piece of work.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<SessionsList>(),
    OperationEntry::of::<SessionsGet>(),
    OperationEntry::of::<SessionsCreate>(),
    OperationEntry::of::<SessionsClose>(),
    OperationEntry::of::<SessionsGetMcpConfig>(),
    OperationEntry::of::<SessionsSetMcpConfig>(),
];

const CHANGES: Effect = Effect::Changes { audit: Kind::AdministrativeChange };

/// One session, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The session
    pub session_id: String,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its id
    pub id: String,
    /// Whose it is
    pub user: String,
    /// The agent that works in it; any of the user's, if there is none
    pub agent_id: Option<String>,
    /// Its title
    pub title: Option<String>,
    /// open or closed
    pub state: String,
    /// The names of the servers that are used in it; none: all that its agent has
    pub enabled_servers: Option<Vec<String>>,
    /// When it was created
    pub created_at: String,
    /// Who created it
    pub created_by: String,
    /// When it was closed
    pub closed_at: Option<String>,
    /// Who closed it
    pub closed_by: Option<String>,
}

/// Lists sessions.
pub struct SessionsList;

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSessionsRequest {
    /// Only those of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Also closed ones [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

/// Sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// The sessions, by the time they were created
    pub sessions: Vec<Session>,
    /// The number of sessions
    pub count: u64,
}

impl Operation for SessionsList {
    type Request = ListSessionsRequest;
    type Response = SessionList;

    const NAME: &'static str = "sessions_list";
    const TITLE: &'static str = "List sessions";
    const DESCRIPTION: &'static str = "Sessions: all for administrators, their own for members.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &ListSessionsRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows one session.
pub struct SessionsGet;

impl Operation for SessionsGet {
    type Request = SessionRequest;
    type Response = Session;

    const NAME: &'static str = "sessions_get";
    const TITLE: &'static str = "Show a session";
    const DESCRIPTION: &'static str = "One session and the servers that are used in it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(request: &SessionRequest) -> ObjectRef<'_> {
        ObjectRef::Session(&request.session_id)
    }
}

/// Creates a session.
pub struct SessionsCreate;

/// A session to create. It is the owner's of its agent, or the caller's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// The agent that works in it [default: any]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Its title
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The servers that are used in it, by name or id [default: all that the agent has]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled_servers: Option<Vec<String>>,
}

impl Operation for SessionsCreate {
    type Request = CreateSessionRequest;
    type Response = Session;

    const NAME: &'static str = "sessions_create";
    const TITLE: &'static str = "Create a session";
    const DESCRIPTION: &'static str =
        "Create a session, in which an agent uses chosen servers. `tokens_create` makes a token for it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::LimitReached,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &CreateSessionRequest) -> ObjectRef<'_> {
        request.agent_id.as_ref().map_or(ObjectRef::Gateway, |agent| ObjectRef::Agent(agent))
    }
}

/// Closes a session.
pub struct SessionsClose;

impl Operation for SessionsClose {
    type Request = SessionRequest;
    type Response = Session;

    const NAME: &'static str = "sessions_close";
    const TITLE: &'static str = "Close a session";
    const DESCRIPTION: &'static str = "Close a session. Its tokens end immediately.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &SessionRequest) -> ObjectRef<'_> {
        ObjectRef::Session(&request.session_id)
    }
}

/// Shows the servers of a session.
pub struct SessionsGetMcpConfig;

/// The servers of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMcpConfig {
    /// The session
    pub session_id: String,
    /// The names of the chosen servers; none: all that its agent has
    pub enabled_servers: Option<Vec<String>>,
    /// Their ids, in the same order
    pub enabled_server_ids: Option<Vec<String>>,
    /// The servers that can be chosen
    pub available: Vec<AvailableServer>,
}

/// A server that a session can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AvailableServer {
    /// Its id
    pub id: String,
    /// Its name
    pub name: String,
    /// Whether everybody shares it: system or user
    pub scope: String,
    /// Whether it is used in the session
    pub enabled: bool,
}

impl Operation for SessionsGetMcpConfig {
    type Request = SessionRequest;
    type Response = SessionMcpConfig;

    const NAME: &'static str = "sessions_get_mcp_config";
    const TITLE: &'static str = "Show the servers of a session";
    const DESCRIPTION: &'static str = "The servers that are used in a session, and those that could be.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];
    const REST: &'static [Route] = &[Route::get("/api/sessions/{id}/mcp-config").id("session_id")];

    fn object(request: &SessionRequest) -> ObjectRef<'_> {
        ObjectRef::Session(&request.session_id)
    }
}

/// Sets the servers of a session.
pub struct SessionsSetMcpConfig;

/// The servers that a session uses from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMcpConfigRequest {
    /// The session
    pub session_id: String,
    /// The servers, by name or id; none: all that its agent has
    pub enabled_servers: Option<Vec<String>>,
}

impl Operation for SessionsSetMcpConfig {
    type Request = SetMcpConfigRequest;
    type Response = SessionMcpConfig;

    const NAME: &'static str = "sessions_set_mcp_config";
    const TITLE: &'static str = "Set the servers of a session";
    const DESCRIPTION: &'static str =
        "Choose the servers that are used in a session. Its clients are notified that their lists changed.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];
    const REST: &'static [Route] = &[Route::put("/api/sessions/{id}/mcp-config").id("session_id")];
    const IDEMPOTENT: bool = true;

    fn object(request: &SetMcpConfigRequest) -> ObjectRef<'_> {
        ObjectRef::Session(&request.session_id)
    }
}
