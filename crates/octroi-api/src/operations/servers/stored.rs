//! Operations on servers that are added at run time: by administrators for everybody, by users for themselves.

use std::collections::BTreeMap;

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ServerDetail, ServerRequest};
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};
use crate::route::Route;

const CHANGES: Effect = Effect::Changes { audit: Kind::ServerChanged };

/// To whom a server belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ServerScope {
    /// Everybody shares it.
    System,
    /// It is one user's.
    #[default]
    User,
}

/// Adds a server.
pub struct ServersAdd;

/// A server to add.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddServerRequest {
    /// Its name: up to 32 of a-z, 0-9, `_` and `-`
    pub name: String,
    /// What is configured of it, with the keys of an entry of the configuration file, such as `url` and `headers`
    pub entry: Map<String, Value>,
    /// system: everybody shares it, which only administrators may decide [default: user]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ServerScope>,
}

impl Operation for ServersAdd {
    type Request = AddServerRequest;
    type Response = ServerDetail;

    const NAME: &'static str = "servers_add";
    const TITLE: &'static str = "Add a server";
    const DESCRIPTION: &'static str = "Add a server for yourself, or as an administrator for everybody. Members add remote \
        servers only, and refer to their own stored secrets as `${secret:NAME}`.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::AdminsOnly,
        ErrorCode::InvalidArguments,
        ErrorCode::ProtectedField,
        ErrorCode::ServerNameExists,
        ErrorCode::LimitReached,
        ErrorCode::StorageUnavailable,
    ];
    const REST: &'static [Route] = &[
        Route::post("/api/mcp/servers").creating().about_server(),
        Route::post("/api/mcp/admin/servers").setting("scope", "system").creating().about_server(),
    ];

    fn object(request: &AddServerRequest) -> ObjectRef<'_> {
        match request.scope {
            Some(ServerScope::System) => ObjectRef::Administration,
            Some(ServerScope::User) | None => ObjectRef::Gateway,
        }
    }
}

/// Changes a server.
pub struct ServersUpdate;

/// What to change of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateServerRequest {
    /// The server, by name or id
    pub name: String,
    /// Keys of its entry to change: variables of `env` are merged, other keys are replaced, `null` takes one out, and
    /// what is given masked stays as it is
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub entry: Map<String, Value>,
    /// Its new name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
}

impl Operation for ServersUpdate {
    type Request = UpdateServerRequest;
    type Response = ServerDetail;

    const NAME: &'static str = "servers_update";
    const TITLE: &'static str = "Change a server";
    const DESCRIPTION: &'static str =
        "Change a server that was added at run time. Each change is a revision that can be put back.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::AdminsOnly,
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::ProtectedField,
        ErrorCode::ServerNameExists,
        ErrorCode::ManagedByFile,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];
    const REST: &'static [Route] = &[Route::put("/api/mcp/servers/{id}").id("name").about_server()];

    fn object(request: &UpdateServerRequest) -> ObjectRef<'_> {
        ObjectRef::ManagedServer(&request.name)
    }
}

/// Deletes a server.
pub struct ServersDelete;

/// The server to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteServerRequest {
    /// The server, by name or id
    pub name: String,
    /// Take it from the sessions and agents that use it [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// A server that was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedServer {
    /// Its id, by which its history is found
    pub id: String,
    /// Its name
    pub name: String,
    /// The user it belonged to; none if everybody shared it
    pub owner: Option<String>,
    /// The number of its last revision, which `servers_rollback` puts back
    pub last_revision: u64,
}

impl Operation for ServersDelete {
    type Request = DeleteServerRequest;
    type Response = DeletedServer;

    const NAME: &'static str = "servers_delete";
    const TITLE: &'static str = "Delete a server";
    const DESCRIPTION: &'static str = "Delete a server that was added at run time. One that a session or an agent uses by \
        name stays, unless it is taken from them.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::AdminsOnly,
        ErrorCode::NotFound,
        ErrorCode::ServerInUse,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];
    const REST: &'static [Route] = &[Route::delete("/api/mcp/servers/{id}").id("name").about_server()];
    const DESTRUCTIVE: bool = true;

    fn object(request: &DeleteServerRequest) -> ObjectRef<'_> {
        ObjectRef::ManagedServer(&request.name)
    }
}

/// Shows the history of a server.
pub struct ServersHistory;

/// The states of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHistory {
    /// The id of the server
    pub id: String,
    /// Its states, the newest first
    pub revisions: Vec<ServerRevision>,
}

/// One state of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRevision {
    /// Its number
    pub revision: u64,
    /// What was done: added, updated, `rolled_back`, imported or deleted
    pub change: String,
    /// The name at that time
    pub name: String,
    /// The entry at that time, with its secrets masked; none if the server was deleted
    pub entry: Option<Map<String, Value>>,
    /// The keys that differ from the state before
    pub changed: Vec<String>,
    /// When it was changed
    pub at: String,
    /// Who changed it
    pub by: String,
}

impl Operation for ServersHistory {
    type Request = ServerRequest;
    type Response = ServerHistory;

    const NAME: &'static str = "servers_history";
    const TITLE: &'static str = "Show the history of a server";
    const DESCRIPTION: &'static str =
        "Every state of a server that was added at run time, also of one that was deleted.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::AdminsOnly,
        ErrorCode::NotFound,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::PastServer(&request.name)
    }
}

/// Puts an earlier state of a server back.
pub struct ServersRollback;

/// The state to put back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackServerRequest {
    /// The server, by name or id; also one that was deleted
    pub name: String,
    /// The number of the state
    pub revision: u64,
}

impl Operation for ServersRollback {
    type Request = RollbackServerRequest;
    type Response = ServerDetail;

    const NAME: &'static str = "servers_rollback";
    const TITLE: &'static str = "Put an earlier state of a server back";
    const DESCRIPTION: &'static str =
        "Put an earlier state of a server back as a new revision. A deleted server is added again.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::AdminsOnly,
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::ServerNameExists,
        ErrorCode::LimitReached,
        ErrorCode::ManagedByFile,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &RollbackServerRequest) -> ObjectRef<'_> {
        ObjectRef::PastServer(&request.name)
    }
}

/// Switches several servers on or off.
pub struct ServersSwitchMany;

/// The servers to switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchManyRequest {
    /// The servers, by name or id
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// All servers whose names begin with this
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Whether they may be used
    pub enabled: bool,
    /// Only for yourself, also as an administrator [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_me: bool,
}

/// What became of several servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchedServers {
    /// Those that were switched
    pub switched: Vec<String>,
    /// The others, and why
    pub failed: BTreeMap<String, String>,
}

impl Operation for ServersSwitchMany {
    type Request = SwitchManyRequest;
    type Response = SwitchedServers;

    const NAME: &'static str = "servers_switch_many";
    const TITLE: &'static str = "Enable or disable several servers";
    const DESCRIPTION: &'static str = "Enable or disable several servers, by name or by the beginning of their names: as \
        `servers_toggle` does with each.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(_: &SwitchManyRequest) -> ObjectRef<'_> {
        // The handler looks at each server: it switches what the caller may switch.
        ObjectRef::Gateway
    }
}
