//! Providers of tools: servers, and Octroi itself. For every provider, a call passes the same gates and the
//! same audit log; only the last step differs.

use std::pin::Pin;
use std::sync::Arc;

use octroi_core::decision::Permit;
use octroi_core::server::ToolAccess;
use octroi_core::{ServerKey, SwitchedOff};
use octroi_mcp::RpcError;
use octroi_upstream::Upstream;
use serde_json::Value;

use crate::caller::Caller;
use crate::catalogue::{Builtins, OfferedByOctroi};

/// The result of a built-in provider: the result object of the request.
pub type Served<'a> = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

/// Whether an agent may watch a resource.
pub type MayWatch<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Tools and resources that Octroi itself offers to agents.
pub trait BuiltinProvider: Send + Sync {
    /// The definitions for the lists.
    fn offered(&self) -> OfferedByOctroi;
    /// Whether this URI is one of Octroi's own resources.
    fn has_resource(&self, uri: &str) -> bool;
    /// Whether the resource belongs to this agent.
    fn may_watch<'a>(&'a self, agent: &'a str, uri: &'a str) -> MayWatch<'a>;
    /// Answers `tools/call`, if the permit covers the tool.
    fn call<'a>(
        &'a self,
        permit: &'a Permit,
        caller: &'a Caller,
        tool: &'a str,
        arguments: Value,
    ) -> Served<'a>;
    /// Answers `resources/read`, if the permit is for one of Octroi's own.
    fn read<'a>(&'a self, permit: &'a Permit, caller: &'a Caller, uri: &'a str) -> Served<'a>;
}

/// The provider that executes a request.
#[derive(Clone)]
pub(crate) enum Provider {
    /// A server.
    Upstream(Arc<Upstream>),
    /// Octroi itself.
    Builtin(Arc<dyn BuiltinProvider>),
}

impl Provider {
    /// The provider's key.
    pub(crate) fn key(&self) -> &ServerKey {
        match self {
            Self::Upstream(upstream) => &upstream.spec().key,
            Self::Builtin(_) => Builtins::key(),
        }
    }

    /// What keeps it off, if anything does.
    pub(crate) fn switched_off(&self) -> Option<&SwitchedOff> {
        match self {
            Self::Upstream(upstream) => upstream.spec().switched_off.as_ref(),
            Self::Builtin(_) => None,
        }
    }

    /// Which of its tools may be used.
    pub(crate) fn access(&self) -> &ToolAccess {
        static EVERYTHING: ToolAccess =
            ToolAccess { allow_tools: Vec::new(), deny_tools: Vec::new(), deny_side_effect_tags: Vec::new() };
        match self {
            Self::Upstream(upstream) => &upstream.spec().access,
            Self::Builtin(_) => &EVERYTHING,
        }
    }
}
