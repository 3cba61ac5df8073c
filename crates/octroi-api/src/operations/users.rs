//! Operations on users: the people who own agents and tokens.

use octroi_core::UserRole;
use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<UsersList>(),
    OperationEntry::of::<UsersAdd>(),
    OperationEntry::of::<UsersInvite>(),
    OperationEntry::of::<UsersUpdate>(),
    OperationEntry::of::<UsersRemove>(),
];

const CHANGES: Effect = Effect::Changes { audit: Kind::UserChanged };
const CHANGING: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::InvalidArguments,
    ErrorCode::Conflict,
    ErrorCode::ManagedByFile,
    ErrorCode::StorageUnavailable,
];

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    /// The name
    pub name: String,
    /// What the user may do
    pub role: Wire<UserRole>,
    /// Whether the user, and everything the user owns, is locked out
    pub disabled: bool,
    /// Where the user comes from: built-in, configuration or added
    pub source: String,
    /// When the user was added
    pub created_at: Option<String>,
    /// Who added the user
    pub created_by: Option<String>,
    /// How many valid tokens the user has, apart from those of agents
    pub tokens: u64,
    /// The agents that belong to the user
    pub agents: Vec<String>,
}

/// Lists users.
pub struct UsersList;

/// Users, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserList {
    /// The users
    pub users: Vec<User>,
    /// The number of users
    pub count: u64,
}

impl Operation for UsersList {
    type Request = NoArguments;
    type Response = UserList;

    const NAME: &'static str = "users_list";
    const TITLE: &'static str = "List users";
    const DESCRIPTION: &'static str = "All users for administrators, oneself for members.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Adds a user.
pub struct UsersAdd;

/// A user to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddUserRequest {
    /// The name: up to 32 of a-z, 0-9, `.`, `_` and `-`
    pub name: String,
    /// What the user may do; a member if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Wire<UserRole>>,
}

impl Operation for UsersAdd {
    type Request = AddUserRequest;
    type Response = User;

    const NAME: &'static str = "users_add";
    const TITLE: &'static str = "Add a user";
    const DESCRIPTION: &'static str = "Add a user. The user gets in with a token (tokens_create).";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;

    fn object(_: &AddUserRequest) -> ObjectRef<'_> {
        ObjectRef::Administration
    }
}

/// Invites a user.
pub struct UsersInvite;

/// A user to invite, who is added if there is none of this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InviteUserRequest {
    /// The name: up to 32 of a-z, 0-9, `.`, `_` and `-`
    pub name: String,
    /// What a new user may do; a member if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Wire<UserRole>>,
    /// How many seconds the link is valid; one day if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// An invitation. The link is shown once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    /// The page where the user gets a token, once; for the user only
    pub link: String,
    /// The id of the invitation in the audit log
    pub id: String,
    /// When the link ends by itself
    pub expires_at: String,
    /// The user
    pub user: User,
}

impl Operation for UsersInvite {
    type Request = InviteUserRequest;
    type Response = Invitation;

    const NAME: &'static str = "users_invite";
    const TITLE: &'static str = "Invite a user";
    const DESCRIPTION: &'static str = "Make a link where a user gets a token, once. A user who does not exist is \
        added; earlier links of the user end.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;

    fn object(_: &InviteUserRequest) -> ObjectRef<'_> {
        ObjectRef::Administration
    }
}

/// Changes a user.
pub struct UsersUpdate;

/// A change of a user. What is omitted stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUserRequest {
    /// The user
    pub name: String,
    /// What the user may do
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Wire<UserRole>>,
    /// true locks the user out, with all tokens and agents; false lets the user in again
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

impl Operation for UsersUpdate {
    type Request = UpdateUserRequest;
    type Response = User;

    const NAME: &'static str = "users_update";
    const TITLE: &'static str = "Change a user";
    const DESCRIPTION: &'static str =
        "Change the role of a user, or lock a user out with all tokens and agents, and in again.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;
    const IDEMPOTENT: bool = true;

    fn object(request: &UpdateUserRequest) -> ObjectRef<'_> {
        ObjectRef::User(&request.name)
    }
}

/// Removes a user.
pub struct UsersRemove;

/// One user, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserRequest {
    /// The user
    pub name: String,
}

impl Operation for UsersRemove {
    type Request = UserRequest;
    type Response = User;

    const NAME: &'static str = "users_remove";
    const TITLE: &'static str = "Remove a user";
    const DESCRIPTION: &'static str =
        "Remove a user with all tokens and agents. The audit log keeps what they did under their name.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;
    const DESTRUCTIVE: bool = true;

    fn object(request: &UserRequest) -> ObjectRef<'_> {
        ObjectRef::User(&request.name)
    }
}
