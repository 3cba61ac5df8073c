//! The command line as an MCP client of a running gateway. Requests and responses are those that `octroi-api`
//! declares.

use std::fs;
use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode, header};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use octroi_api::{ApiError, ErrorCode, Operation};
use octroi_mcp::client::{ClientInfo, ClientRequest, tool_call};
use octroi_mcp::{Envelope, sse};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::Target;
use crate::config::data_directory;
use crate::endpoint::Announced;
use crate::failure::Failure;

mod listen;

const COMMAND_LINE: ClientInfo = ClientInfo { name: "octroi-cli", version: env!("CARGO_PKG_VERSION") };

/// A client of one gateway.
pub(crate) struct Client {
    pub(crate) url: String,
    token: String,
}

impl Client {
    /// The gateway that was named, or else the one that uses the data directory.
    pub(crate) fn find(target: &Target) -> Result<Self, Failure> {
        let data = target.data.clone().unwrap_or_else(data_directory);
        let url = match &target.url {
            Some(url) => url.clone(),
            None => Announced::read(&data).map(|endpoint| endpoint.url).ok_or_else(|| {
                Failure::of(ErrorCode::GatewayGone, format!("no gateway uses {}", data.display()))
                    .hint("start one with `octroi up`, or name one with --url")
            })?,
        };
        let no_token = |message: String| {
            Failure::of(ErrorCode::Unauthenticated, message).hint("set OCTROI_TOKEN or give --token")
        };
        let is_own = target.url.is_none() || is_loopback(&url);
        let token = match &target.token {
            Some(token) => token.clone(),
            // The admin token of this machine must not be sent to another machine.
            None if !is_own => return Err(no_token(format!("no token for {url}"))),
            None => fs::read_to_string(data.join("admin.token"))
                .map(|text| text.trim().to_owned())
                .map_err(|error| no_token("no token".to_owned()).cause(error))?,
        };
        Ok(Self { url, token })
    }

    /// Performs an operation. An error from the gateway fails the command.
    pub(crate) async fn call<O: Operation>(&self, request: &O::Request) -> Result<O::Response, Failure> {
        let arguments = serde_json::to_value(request)
            .map_err(|error| Failure::new("the request cannot be serialized").cause(error))?;
        let answer = self.send(tool_call(O::NAME, arguments, COMMAND_LINE)).await?;
        read_answer::<O>(&answer)
    }

    async fn send(&self, request: ClientRequest) -> Result<Envelope, Failure> {
        let response = self.open(request).await?;
        let status = response.status();
        let is_stream = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = response.into_body().collect().await.map_err(|error| self.unreachable(&error))?.to_bytes();
        let answer = if is_stream { last_message(&body) } else { Envelope::parse(body).ok() };
        answer.ok_or_else(|| {
            Failure::new(format!("the gateway answered HTTP {status} without a readable message"))
        })
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
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_platform_verifier(rustls::crypto::ring::default_provider())
            .map_err(|error| Failure::new("cannot set up TLS").cause(error))?
            .https_or_http()
            .enable_http1()
            .build();
        let http = HttpClient::builder(TokioExecutor::new()).build(connector);
        let response = http.request(request).await.map_err(|error| self.unreachable(&error))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let message = format!("the gateway at {} does not know the token", self.url);
            return Err(Failure::of(ErrorCode::Unauthenticated, message).hint(
                "set OCTROI_TOKEN to a person's token, or use the data directory of that gateway with --data",
            ));
        }
        Ok(response)
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> Failure {
        let message = format!("cannot reach the gateway at {}", self.url);
        Failure {
            causes: Failure::from_error(error).causes,
            ..Failure::of(ErrorCode::GatewayGone, message).hint("is it running? start one with `octroi up`")
        }
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
    Failure::new("the gateway's answer cannot be read")
        .cause(error)
        .hint("the gateway may be of another version; `octroi --version` prints this one's")
}

fn is_loopback(url: &str) -> bool {
    let uri: Option<hyper::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(hyper::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
