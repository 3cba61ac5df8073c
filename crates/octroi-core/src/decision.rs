//! Whether a call may be made.
//!
//! The chain of gates and policies ends here in one value. A [`Permit`] can only come out of
//! [`decide`], and nothing can be sent to a server without one.

use crate::name::{CanonicalId, ServerName};
use crate::principal::Principal;

/// What a request wants from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Call a tool.
    Tool(&'a str),
    /// Get a prompt.
    Prompt(&'a str),
    /// Read or watch a resource.
    Resource(&'a str),
    /// Ask for completions.
    Completion,
    /// Follow, feed or end a task.
    Task(&'a str),
    /// A method that Octroi passes on without knowing it.
    Other(&'a str),
}

/// The outcome of all gates.
#[derive(Debug)]
pub enum Decision {
    /// Go ahead.
    Allow(Permit),
    /// Refused; the reason is for the caller.
    Deny(String),
}

/// Proof that a call was decided and allowed. It names the server it holds for.
#[derive(Debug)]
pub struct Permit {
    server: ServerName,
}

impl Permit {
    /// The server that may be called.
    pub fn server(&self) -> &ServerName {
        &self.server
    }
}

/// Decides one request. Every authenticated principal may use every configured server.
pub fn decide(_principal: &Principal, server: &ServerName, subject: Subject<'_>) -> Decision {
    match subject {
        Subject::Tool(_)
        | Subject::Prompt(_)
        | Subject::Resource(_)
        | Subject::Completion
        | Subject::Task(_)
        | Subject::Other(_) => Decision::Allow(Permit { server: server.clone() }),
    }
}

impl Subject<'_> {
    /// The canonical id, for what has one.
    pub fn canonical_id(&self, server: &ServerName) -> Option<CanonicalId> {
        match self {
            Self::Tool(name) => Some(CanonicalId::mcp(server, name)),
            Self::Prompt(_) | Self::Resource(_) | Self::Completion | Self::Task(_) | Self::Other(_) => None,
        }
    }
}
