//! The command line as an MCP client of a running gateway.

use std::fs;
use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, StatusCode, header};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use octroi_mcp::{Envelope, Incoming, Version, header as mcp_header, meta, sse};
use serde_json::{Value, json};

use crate::cli::Target;
use crate::commands::Failure;
use crate::config::data_directory;
use crate::endpoint::Announced;

pub(crate) const SIGN_IN: u8 = 3;
pub(crate) const UNREACHABLE: u8 = 4;
pub(crate) const DENIED: u8 = 6;

/// A gateway that can be called.
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
            None => Announced::read(&data).map(|place| place.url).ok_or_else(|| Failure {
                exit_code: UNREACHABLE,
                ..Failure::new(format!("no gateway uses {}", data.display()))
                    .hint("start one with `octroi up`, or name one with --url")
            })?,
        };
        let is_own = target.url.is_none() || is_loopback(&url);
        let token = match &target.token {
            Some(token) => token.clone(),
            // The admin token of this machine is no other machine's business.
            None if !is_own => {
                return Err(Failure {
                    exit_code: SIGN_IN,
                    ..Failure::new(format!("no token for {url}")).hint("set OCTROI_TOKEN or give --token")
                });
            }
            None => fs::read_to_string(data.join("admin.token")).map(|text| text.trim().to_owned()).map_err(
                |error| Failure {
                    exit_code: SIGN_IN,
                    ..Failure::new("no token").cause(error).hint("set OCTROI_TOKEN or give --token")
                },
            )?,
        };
        Ok(Self { url, token })
    }

    /// Calls one of the gateway's own tools; what it reports as an error fails the command.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let result = self.request("tools/call", tool, json!({"name": tool, "arguments": arguments})).await?;
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or("the gateway did not say why");
            return Err(Failure::new(text));
        }
        Ok(result["structuredContent"].clone())
    }

    async fn request(&self, method: &str, name: &str, mut params: Value) -> Result<Value, Failure> {
        params["_meta"] = json!({
            meta::PROTOCOL_VERSION: Version::LATEST_MODERN.as_str(),
            meta::CLIENT_INFO: {"name": "octroi-cli", "version": env!("CARGO_PKG_VERSION")},
            meta::CLIENT_CAPABILITIES: {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let request = Request::post(&self.url)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(mcp_header::PROTOCOL_VERSION, Version::LATEST_MODERN.as_str())
            .header(mcp_header::METHOD, method)
            .header(mcp_header::NAME, name)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| Failure::new(format!("`{}` is no address", self.url)).cause(error))?;
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_platform_verifier(rustls::crypto::ring::default_provider())
            .map_err(|error| Failure::new("cannot set up TLS").cause(error))?
            .https_or_http()
            .enable_http1()
            .build();
        let client = HttpClient::builder(TokioExecutor::new()).build(connector);
        let response = client.request(request).await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let is_stream = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = response.into_body().collect().await.map_err(|error| self.unreachable(&error))?.to_bytes();
        if status == StatusCode::UNAUTHORIZED {
            return Err(Failure {
                exit_code: SIGN_IN,
                ..Failure::new(format!("the gateway at {} does not know the token", self.url))
                    .hint("set OCTROI_TOKEN to a human's token, or use the data directory of that gateway with --data")
            });
        }
        let answer = if is_stream { last_message(&body) } else { read(body) };
        let answer = answer.ok_or_else(|| {
            Failure::new(format!("the gateway answered HTTP {status} and nothing that makes sense"))
        })?;
        if let Some(error) = answer.error() {
            let exit_code = if matches!(error.code, -32951 | -32950) { DENIED } else { 1 };
            return Err(Failure { exit_code, ..Failure::new(error.message) });
        }
        let result = answer.result().unwrap_or_default();
        serde_json::from_slice(&result)
            .map_err(|error| Failure::new("the gateway's answer cannot be read").cause(error))
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> Failure {
        let failure = Failure::from_error(error);
        Failure {
            message: format!("cannot reach the gateway at {}", self.url),
            exit_code: UNREACHABLE,
            ..failure.hint("is it running? start one with `octroi up`")
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let uri: Option<hyper::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(hyper::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn read(body: Bytes) -> Option<Envelope> {
    match Incoming::parse(body).ok()? {
        Incoming::One(envelope) => Some(envelope),
        Incoming::Batch(_) => None,
    }
}

/// The answer that ends a stream.
fn last_message(body: &Bytes) -> Option<Envelope> {
    let mut reader = sse::Reader::new(body.len().max(1));
    reader.push(body).ok()?;
    let mut last = None;
    while let Some(event) = reader.next_event() {
        last = read(event.data).or(last);
    }
    last
}
