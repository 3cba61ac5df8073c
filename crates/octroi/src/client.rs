//! The command line as an MCP client of a running gateway. Requests and responses are those that `octroi-api`
//! declares.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use octroi_api::operations::servers::ServersList;
use octroi_api::{ApiError, ErrorCode, Operation};
use octroi_mcp::client::{ClientInfo, ClientRequest, tool_call};
use octroi_mcp::{Envelope, sse};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cli::Target;
use crate::config::data_directory;
use crate::endpoint::Announced;
use crate::failure::Failure;
use crate::tls::{self, Trust};

mod address;
mod unreachable;

use address::{endpoint, is_loopback};
use unreachable::{no_gateway, unreachable};

mod listen;

const COMMAND_LINE: ClientInfo = ClientInfo { name: "octroi-cli", version: env!("CARGO_PKG_VERSION") };

const OTHER_VERSION: &str = "the gateway may be of another version; `octroi --version` prints this one's";

/// A client of one gateway.
pub(crate) struct Client {
    pub(crate) url: String,
    token: String,
    /// The file that the token was read from; `None` if it was given.
    token_file: Option<PathBuf>,
    trust: Trust,
}

impl Client {
    /// The gateway that was named, or else the one that uses the data directory.
    pub(crate) fn find(target: &Target) -> Result<Self, Failure> {
        let data = target.data.clone().unwrap_or_else(data_directory);
        let url = match &target.url {
            Some(url) => endpoint(url)?,
            None => Announced::read(&data).map(|endpoint| endpoint.url).ok_or_else(|| {
                Failure::of(ErrorCode::GatewayGone, format!("no gateway uses {}", data.display()))
                    .hint("start one with `octroi up`, or name one with --url")
            })?,
        };
        let no_token = |message: String| {
            Failure::of(ErrorCode::Unauthenticated, message).hint("set OCTROI_TOKEN or give --token")
        };
        let is_own = target.url.is_none() || is_loopback(&url);
        let (token, token_file) = match &target.token {
            Some(token) if token.trim().is_empty() => {
                return Err(no_token("the token is empty".to_owned()));
            }
            Some(token) => (token.trim().to_owned(), None),
            // The admin token of this machine must not be sent to another machine.
            None if !is_own => return Err(no_token(format!("no token for {url}"))),
            None => {
                let file = data.join("admin.token");
                let text = fs::read_to_string(&file).map_err(|error| {
                    no_token(format!("no token: cannot read {}", file.display())).cause(error)
                })?;
                (text.trim().to_owned(), Some(file))
            }
        };
        if header::HeaderValue::from_str(&token).is_err() {
            return Err(no_token("the token contains characters that no token has".to_owned()));
        }
        // It may be another gateway's that is named by its address.
        let is_announced = Announced::read(&data).is_some_and(|endpoint| endpoint.url == url);
        let trust = match &target.ca_file {
            Some(file) => Trust::File(file.clone()),
            None if is_announced => Trust::Exactly(tls::announced_certificate(&data)),
            None => Trust::System,
        };
        Ok(Self { url, token, token_file, trust })
    }

    /// Performs an operation. An error from the gateway fails the command.
    pub(crate) async fn call<O: Operation>(&self, request: &O::Request) -> Result<O::Response, Failure> {
        let arguments = serde_json::to_value(request)
            .map_err(|error| Failure::new("the request cannot be serialized").cause(error))?;
        let answer = self.send(tool_call(O::NAME, arguments, COMMAND_LINE)).await?;
        match read_answer::<O>(&answer) {
            Err(failure) if is_unknown(&failure) => Err(self.explain_unknown(failure).await),
            read => read,
        }
    }

    /// Why the gateway does not know an operation: it shows none to agents, and an older one has fewer.
    async fn explain_unknown(&self, failure: Failure) -> Failure {
        let request = tool_call(ServersList::NAME, Value::Object(Map::new()), COMMAND_LINE);
        let Ok(answer) = self.send(request).await else {
            return failure;
        };
        let has_management =
            read_answer::<ServersList>(&answer).err().is_none_or(|error| !is_unknown(&error));
        if has_management {
            return Failure { hint: Some(OTHER_VERSION.to_owned()), ..failure };
        }
        let (message, hint) = match &self.token_file {
            Some(file) => (
                format!("the token in {} is an agent's; commands need a person's token", file.display()),
                "give a person's token with --token, or in OCTROI_TOKEN".to_owned(),
            ),
            None => (
                "this is an agent's token; commands need a person's token".to_owned(),
                "leave --token and OCTROI_TOKEN out to use the admin token of the data directory, \
                 or give a person's token"
                    .to_owned(),
            ),
        };
        Failure::of(ErrorCode::PeopleOnly, message).hint(hint)
    }

    async fn send(&self, request: ClientRequest) -> Result<Envelope, Failure> {
        let response = self.open(request).await?;
        let status = response.status();
        let is_stream = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body =
            response.into_body().collect().await.map_err(|error| unreachable(&self.url, &error))?.to_bytes();
        let answer = if is_stream { last_message(&body) } else { Envelope::parse(body).ok() };
        answer.ok_or_else(|| no_gateway(&self.url, status))
    }

    /// Sends a request; the body of the response is still to come.
    async fn open(&self, request: ClientRequest) -> Result<Response<Incoming>, Failure> {
        let mut builder = Request::post(&self.url)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let request = builder
            .body(Full::new(request.body))
            .map_err(|error| Failure::new(format!("`{}` is not a valid address", self.url)).cause(error))?;
        let http = HttpClient::builder(TokioExecutor::new()).build(tls::connector(&self.trust)?);
        let response = http.request(request).await.map_err(|error| unreachable(&self.url, &error))?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(self.unknown_token()),
            StatusCode::NOT_FOUND => Err(no_gateway(&self.url, StatusCode::NOT_FOUND)),
            _ => Ok(response),
        }
    }

    fn unknown_token(&self) -> Failure {
        let message = match &self.token_file {
            Some(file) => {
                format!("the gateway at {} does not know the token in {}", self.url, file.display())
            }
            None => format!("the gateway at {} does not know the token", self.url),
        };
        Failure::of(ErrorCode::Unauthenticated, message).hint(
            "set OCTROI_TOKEN to a person's token, or use the data directory of that gateway with --data",
        )
    }
}

/// The part of a tool's result that holds the response of an operation.
#[derive(Deserialize)]
struct ToolResult<T> {
    #[serde(rename = "structuredContent")]
    structured_content: T,
}

/// Reads the answer to an operation: its declared response, or its error.
fn read_answer<O: Operation>(answer: &Envelope) -> Result<O::Response, Failure> {
    if let Some(error) = answer.error() {
        return Err(ApiError::from_rpc(error.code, &error.message, error.data.as_ref()).into());
    }
    let result: Value =
        serde_json::from_slice(&answer.result().unwrap_or_default()).map_err(|error| unreadable(&error))?;
    if let Some(error) = ApiError::from_result(&result) {
        return Err(error.into());
    }
    let result = ToolResult::<O::Response>::deserialize(result).map_err(|error| unreadable(&error))?;
    Ok(result.structured_content)
}

/// The failure of an answer that is not what the operation declares.
pub(crate) fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("the gateway's answer cannot be read").cause(error).hint(OTHER_VERSION)
}

/// Whether a gateway says that it has no such operation: no operation has this code for what it is about.
fn is_unknown(failure: &Failure) -> bool {
    failure.code == Some(ErrorCode::ToolNotFound)
}

/// The last message of a stream, which is the answer.
fn last_message(body: &Bytes) -> Option<Envelope> {
    let mut reader = sse::EventReader::new(body.len().max(1));
    reader.push(body).ok()?;
    let mut last = None;
    while let Some(event) = reader.next_event() {
        last = Envelope::parse(event.data).ok().or(last);
    }
    last
}

#[cfg(test)]
mod tests;
