//! Users, tokens and invitations as they are stored.

use octroi_core::UserRole;
use octroi_core::principal::{TokenHash, TokenKind};

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRecord {
    /// The name, which is unique.
    pub name: String,
    /// What the user may do.
    pub role: UserRole,
    /// Whether the user and everything the user owns is locked out.
    pub is_disabled: bool,
    /// When the user was added.
    pub created_at_ms: i64,
    /// Who added the user.
    pub created_by: String,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The part of the token that is not secret.
    pub id: String,
    /// The hash of the whole token.
    pub hash: TokenHash,
    /// What it stands for.
    pub kind: TokenKind,
    /// The user it belongs to. An agent's token belongs to whoever owns the agent at the time of a request; this
    /// is who it was created for.
    pub user: String,
    /// The agent, for tokens of agents and sessions.
    pub agent: Option<String>,
    /// The session, for tokens of sessions.
    pub session: Option<String>,
    /// Its name in quotas, limits and lists.
    pub label: String,
    /// When it was created.
    pub created_at_ms: i64,
    /// Who created it.
    pub created_by: String,
    /// When it ends by itself.
    pub expires_at_ms: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(i64, String)>,
    /// The id of the token that replaces it.
    pub replaced_by: Option<String>,
    /// The browser, for the session of one.
    pub browser: Option<BrowserRecord>,
}

/// A browser that a person signed in with. Its session is a token without a secret: the browser proves with a key
/// that it is the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserRecord {
    /// The thumbprint of its public key, as in RFC 7638.
    pub key: [u8; 32],
    /// The id of the token that the person signed in with; the session ends with it.
    pub signed_in_with: String,
}

/// An invitation: whoever has its code gets a token of the user, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InviteRecord {
    /// Names it in records; not secret.
    pub id: String,
    /// The hash of its code.
    pub hash: TokenHash,
    /// The user it is for.
    pub user: String,
    /// When it was made.
    pub created_at_ms: i64,
    /// Who made it.
    pub created_by: String,
    /// When it ends by itself.
    pub expires_at_ms: i64,
    /// When it was used.
    pub used_at_ms: Option<i64>,
}
