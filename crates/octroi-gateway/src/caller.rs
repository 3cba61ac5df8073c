//! The caller of a request, and how to reach it while the request runs.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_core::audit::CallId;
use octroi_core::tool::ToolDescriptor;
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::{Era, Method, RpcError, code};
use octroi_upstream::Owner;

/// The sender of a request.
#[derive(Clone)]
pub struct Caller {
    /// The authenticated principal.
    pub principal: Principal,
    /// The person who tries a call as this agent. Gates decide as for any call of the agent; the audit record
    /// names both.
    pub on_behalf_of: Option<Arc<str>>,
    /// The era of the request.
    pub era: Era,
    /// The client's capabilities.
    pub capabilities: ClientCapabilities,
    /// The client's name and version, as JSON text.
    pub info: Option<Bytes>,
    /// The minimum severity of log messages; `None` in the modern era unless the request sets it.
    pub log_level: Option<String>,
    /// Whether it presented the admin token.
    pub has_admin_token: bool,
    /// Where its client reaches Octroi, as in `https://gate.example`, if a proxy in front of Octroi says that.
    pub base: Option<Arc<str>>,
    /// Principal and session: the calls of one owner may see each other's questions.
    pub owner: Owner,
    /// How records name its session; `None` in the era without sessions.
    pub session: Option<Arc<str>>,
    /// The connection to the client.
    pub client: Arc<dyn Client>,
}

/// A future that a transport returns; boxed, because the transport is chosen at run time.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<Bytes, RpcError>> + Send + 'a>>;

/// The client during one of its requests.
pub trait Client: Send + Sync {
    /// Sends a notification about the request. Never waits: a client that is too slow misses it.
    fn notify(&self, message: Bytes);

    /// Asks a legacy client and waits for its result.
    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_>;

    /// The server closed the stream of the request and answers it later. The client may close its own as well.
    fn release(&self) {}

    /// The request is this call of this tool.
    fn identified(&self, _call: CallId, _tool: &ToolDescriptor) {}

    /// Checks the arguments that a tool's definition wants to be mirrored into headers. Only a transport with
    /// headers can object.
    fn check_mirrored(&self, _declared: &ParamHeaders, _arguments: Option<&Bytes>) -> Result<(), RpcError> {
        Ok(())
    }
}

/// A client that cannot be notified or asked.
#[derive(Clone, Copy, Debug)]
pub struct NoClient;

impl Client for NoClient {
    fn notify(&self, _message: Bytes) {}

    fn ask(&self, method: &Method, _params: Bytes) -> Asked<'_> {
        let error = RpcError::new(code::INTERNAL_ERROR, format!("{method} cannot be put to this client"));
        Box::pin(std::future::ready(Err(error)))
    }
}
