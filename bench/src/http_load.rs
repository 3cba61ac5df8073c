//! A closed loop of calls over HTTP: every client waits for its answer and calls again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::BenchResult;
use crate::process::TOKEN;

const TEXT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The result of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) latencies: Vec<Duration>,
    pub(crate) span: Duration,
}

impl Measured {
    /// Adds what another load measured.
    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.span += other.span;
    }

    pub(crate) fn calls(&self) -> usize {
        self.latencies.len()
    }

    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let position = (sorted.len() as f64 * share) as usize;
        sorted.get(position.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Sends one empty request over a connection of its own.
pub(crate) async fn post(url: &str) -> BenchResult<()> {
    let rest = url.strip_prefix("http://").ok_or("not an http address")?;
    let (host, path) = rest.split_once('/').ok_or("no path")?;
    let (mut sender, connection) = handshake(TokioIo::new(TcpStream::connect(host).await?)).await?;
    tokio::spawn(connection);
    let request = Request::post(format!("/{path}")).header("host", host).body(Full::new(Bytes::new()))?;
    let answered = sender.send_request(request).await?;
    answered.into_body().collect().await?;
    Ok(())
}

/// The endpoint and the tool to call.
#[derive(Clone)]
pub(crate) struct LoadTarget {
    pub(crate) url: String,
    pub(crate) era: &'static str,
    pub(crate) tool: &'static str,
}

impl LoadTarget {
    /// A text that the answer must contain.
    fn answer(&self) -> &'static str {
        if self.tool.ends_with("echo") { TEXT } else { "simple text response" }
    }
}

/// One client with a connection of its own.
pub(crate) struct LoadClient {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    session: Option<String>,
    target: LoadTarget,
    body: Bytes,
}

impl LoadClient {
    pub(crate) async fn connect(target: &LoadTarget) -> BenchResult<Self> {
        let rest = target.url.strip_prefix("http://").ok_or("not an http address")?;
        let (host, path) = rest.split_once('/').ok_or("no path")?;
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut client = Self {
            sender,
            host: host.to_owned(),
            path: format!("/{path}"),
            session: None,
            target: target.clone(),
            body: Bytes::from(call(target)),
        };
        if target.era == "legacy" {
            client.open_session().await?;
        }
        Ok(client)
    }

    async fn open_session(&mut self) -> BenchResult<()> {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let response = self.send(Bytes::from_static(hello.as_bytes())).await?;
        let session = response.headers().get("mcp-session-id").ok_or("no session")?.to_str()?.to_owned();
        response.into_body().collect().await?;
        self.session = Some(session);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.send(Bytes::from_static(initialized.as_bytes())).await?.into_body().collect().await?;
        Ok(())
    }

    async fn send(&mut self, body: Bytes) -> BenchResult<hyper::Response<hyper::body::Incoming>> {
        self.send_as("tools/call", Some(self.target.tool), body).await
    }

    async fn send_as(
        &mut self,
        method: &str,
        name: Option<&str>,
        body: Bytes,
    ) -> BenchResult<hyper::Response<hyper::body::Incoming>> {
        let mut request = Request::post(&self.path)
            .header("host", &self.host)
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        if self.target.era == "modern" {
            request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
            if let Some(name) = name {
                request = request.header("mcp-name", name);
            }
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body))?).await?)
    }

    /// One list of tools; returns how many there are.
    pub(crate) async fn list(&mut self) -> BenchResult<usize> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
        let response = self.send_as("tools/list", None, Bytes::from(body)).await?;
        let body = response.into_body().collect().await?.to_bytes();
        let listed: serde_json::Value = serde_json::from_slice(&body)?;
        Ok(listed["result"]["tools"].as_array().ok_or("no list")?.len())
    }

    /// One call; fails unless the answer is the expected one.
    pub(crate) async fn call(&mut self) -> BenchResult<()> {
        let response = self.send(self.body.clone()).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&body);
        if status != StatusCode::OK || !text.contains(self.target.answer()) || text.contains("isError\":true")
        {
            return Err(format!("HTTP {status}: {text}").into());
        }
        Ok(())
    }
}

fn call(target: &LoadTarget) -> String {
    let meta = if target.era == "modern" { format!(",{META}") } else { String::new() };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{TEXT}"}}{meta}}}}}"#,
        target.tool
    )
}

/// Calls from `n_clients` at once for as long as `span`.
pub(crate) async fn run(target: &LoadTarget, n_clients: usize, span: Duration) -> BenchResult<Measured> {
    let mut clients = Vec::new();
    for _ in 0..n_clients {
        let mut client = LoadClient::connect(target).await?;
        client.call().await?;
        clients.push(client);
    }
    let begun = Instant::now();
    let until = Arc::new(begun + span);
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let until = Arc::clone(&until);
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while Instant::now() < *until {
                    let before = Instant::now();
                    client.call().await?;
                    latencies.push(before.elapsed());
                }
                BenchResult::Ok(latencies)
            })
        })
        .collect();
    let mut measured = Measured::default();
    for task in tasks {
        measured.latencies.extend(task.await??);
    }
    measured.span = begun.elapsed();
    Ok(measured)
}
