//! Who a request comes from, and how to reach them while it runs.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::{Era, Method, RpcError, code};
use octroi_upstream::Owner;

/// The sender of a request.
#[derive(Clone)]
pub struct Caller {
    /// Who was authenticated.
    pub principal: Principal,
    /// The person who tries something as this agent. Gates decide as about any call of the agent; the record
    /// names both.
    pub on_behalf_of: Option<Arc<str>>,
    /// Era of the request.
    pub era: Era,
    /// What the client can be asked.
    pub capabilities: ClientCapabilities,
    /// Name and version the client gives, as JSON text.
    pub info: Option<Bytes>,
    /// Least severe log message it wants; none in the modern era unless the request says so.
    pub log_level: Option<String>,
    /// Whether it showed the admin token.
    pub has_admin_token: bool,
    /// Principal and session: who may see each other's questions.
    pub owner: Owner,
    /// The way to the client.
    pub client: Arc<dyn Client>,
}

/// A future that a door returns; boxed, because doors are chosen at run time.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<Bytes, RpcError>> + Send + 'a>>;

/// The client while a request of its runs.
pub trait Client: Send + Sync {
    /// Sends a notification about the request. Never waits: a client that does not keep up misses it.
    fn notify(&self, message: Bytes);

    /// Asks a legacy client something and waits for its result.
    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_>;
}

/// A client that can be told and asked nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoClient;

impl Client for NoClient {
    fn notify(&self, _message: Bytes) {}

    fn ask(&self, method: &Method, _params: Bytes) -> Asked<'_> {
        let error = RpcError::new(code::INTERNAL_ERROR, format!("{method} cannot be put to this client"));
        Box::pin(std::future::ready(Err(error)))
    }
}
