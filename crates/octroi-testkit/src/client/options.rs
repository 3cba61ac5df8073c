//! The options of a test client: its era, transport, capabilities and answers.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::error::RpcError;
use crate::peer::rpc;

/// The era of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` with this version.
    Legacy(&'static str),
    /// 2026-07-28.
    Modern,
}

/// The transport to the server.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Streamable HTTP.
    Http {
        /// The MCP endpoint.
        url: String,
        /// The bearer token.
        token: Option<String>,
    },
    /// HTTP+SSE of 2024-11-05; legacy only.
    Sse {
        /// Where the stream is opened.
        url: String,
        /// The bearer token.
        token: Option<String>,
    },
    /// A child process of the client.
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

/// Answers the server's requests, whether sent inline or as required input.
pub type Handler = Arc<dyn Fn(String, Value) -> HandlerFuture + Send + Sync>;

/// A pending answer.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send>>;

/// The capabilities and the behaviour of a client.
#[derive(Clone)]
pub struct ClientOptions {
    /// The declared client capabilities, true or not.
    pub capabilities: Value,
    /// Answers `elicitation/create`, `sampling/createMessage` and `roots/list`.
    pub on_request: Handler,
    /// The timeout of one request, including all its rounds.
    pub timeout: Duration,
    /// The name in `clientInfo`.
    pub name: String,
}

impl ClientOptions {
    /// Declares `capabilities` and answers requests immediately with the result of `answer`.
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
    /// Declares nothing, refuses every request, and has a timeout of half a minute.
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

/// The response to a server's request, made by the handler.
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
