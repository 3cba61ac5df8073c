//! What a test client is: its era, its way to the server, what it can do and how it answers.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::error::RpcError;
use crate::peer::rpc;

/// The era in which a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` with this version.
    Legacy(&'static str),
    /// 2026-07-28.
    Modern,
}

/// The way to the server.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Streamable HTTP.
    Http {
        /// The MCP endpoint.
        url: String,
        /// Sent as a bearer token.
        token: Option<String>,
    },
    /// A process of the client's own.
    Stdio {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Added to the environment of the test.
        env: Vec<(String, String)>,
    },
}

impl Transport {
    /// HTTP without a token.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http { url: url.into(), token: None }
    }

    /// A program with arguments, in the environment of the test.
    pub fn stdio<A: AsRef<str>>(command: impl Into<PathBuf>, args: &[A]) -> Self {
        let args = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        Self::Stdio { command: command.into(), args, env: Vec::new() }
    }
}

/// What answers the server's requests, be they sent inline or asked for as input.
pub type Handler = Arc<dyn Fn(String, Value) -> HandlerFuture + Send + Sync>;

/// The answer under way.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send>>;

/// What the client declares and how it behaves.
#[derive(Clone)]
pub struct ClientOptions {
    /// The client capabilities, declared truthfully or not.
    pub capabilities: Value,
    /// What answers `elicitation/create`, `sampling/createMessage` and `roots/list`.
    pub on_request: Handler,
    /// How long one request may take, all its rounds together.
    pub timeout: Duration,
    /// The name in `clientInfo`.
    pub name: String,
}

impl ClientOptions {
    /// Declares `capabilities` and answers requests with what `answer` returns at once.
    pub fn answering(
        capabilities: Value,
        answer: impl Fn(&str, &Value) -> Result<Value, RpcError> + Send + Sync + 'static,
    ) -> Self {
        let on_request: Handler = Arc::new(move |method, params| {
            let answer = answer(&method, &params);
            Box::pin(async move { answer })
        });
        Self { capabilities, on_request, ..Self::default() }
    }
}

impl Default for ClientOptions {
    /// Declares nothing, refuses every request, and waits half a minute.
    fn default() -> Self {
        Self {
            capabilities: json!({}),
            on_request: Arc::new(|method, _| {
                Box::pin(async move {
                    Err(RpcError::new(rpc::METHOD_NOT_FOUND, format!("Method not found: {method}")))
                })
            }),
            timeout: Duration::from_secs(30),
            name: "octroi-test-client".to_owned(),
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientOptions")
            .field("capabilities", &self.capabilities)
            .field("timeout", &self.timeout)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The response to a server's request, as the handler makes it.
pub(crate) async fn answer(handler: &Handler, id: &Value, method: String, params: Value) -> Value {
    let outcome = handler(method, params).await;
    let data = |data: Value| if data.is_null() { None } else { Some(data) };
    rpc::response(
        id,
        outcome.map_err(|error| rpc::RpcError {
            code: error.code,
            message: error.message,
            data: data(error.data),
        }),
    )
}
