//! HTTP written by hand, for requests that no client would send.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::attack::Attack;

/// No answer takes longer; a call of a server that never answers takes the server's timeout.
const PATIENCE: Duration = Duration::from_secs(90);

/// The room for what a slow reader does not read.
const NARROW_BYTES: u32 = 8 << 10;

/// An answer as it came.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A connection that is opened again when it was closed.
pub(crate) struct Line<'a> {
    address: &'a str,
    stream: Option<TcpStream>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(address: &'a str) -> Self {
        Self { address, stream: None }
    }

    /// Sends a request and reads its answer; `None` if there is none.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Option<HttpAnswer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await.ok()?,
        };
        let answer = tokio::time::timeout(PATIENCE, async {
            // The answer may come before everything is sent, and end the connection.
            let _ = stream.write_all(request).await;
            read_answer(&mut stream).await
        });
        let answer = answer.await.ok()?.ok()?;
        if answer.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Some(answer)
    }
}

/// A connection whose system buffers hold little of what is not read.
pub(crate) async fn open_narrow(address: &str) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(NARROW_BYTES)?;
    socket.connect(address.parse().map_err(io::Error::other)?).await
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<HttpAnswer> {
    let mut read = Vec::with_capacity(4 << 10);
    let head_end = loop {
        if let Some(end) = find(&read, b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut answer = HttpAnswer { status, head, body: read.split_off(head_end) };
    let length: Option<usize> = answer.header("content-length").and_then(|length| length.parse().ok());
    let is_whole = |body: &[u8]| match length {
        Some(length) => body.len() >= length,
        None => body.ends_with(b"0\r\n\r\n"),
    };
    while !is_whole(&answer.body) {
        if stream.read_buf(&mut answer.body).await? == 0 {
            break;
        }
    }
    Ok(answer)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

impl Attack {
    /// A POST with these headers, written as lines, besides the usual ones.
    pub(crate) fn post(&self, headers: &str, body: &[u8]) -> Vec<u8> {
        let mut request = self.head(headers, body.len()).into_bytes();
        request.extend_from_slice(body);
        request
    }

    /// The head of a POST that announces this many bytes.
    pub(crate) fn head(&self, headers: &str, n_bytes: usize) -> String {
        format!("{}content-length: {n_bytes}\r\n\r\n", self.unsized_head("POST", headers))
    }

    /// A head without its end and without a length.
    pub(crate) fn unsized_head(&self, method: &str, headers: &str) -> String {
        format!(
            "{method} /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n{headers}",
            self.token
        )
    }

    /// A modern request.
    pub(crate) fn modern(&self, method: &str, name: &str, params: Value) -> Vec<u8> {
        self.post(&modern_headers(method, name), modern_body(method, params).to_string().as_bytes())
    }

    /// A modern call whose arguments are this text.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Vec<u8> {
        let body = modern_body("tools/call", json!({ "name": tool, "arguments": "HERE" }));
        let body = body.to_string().replacen("\"HERE\"", arguments, 1);
        self.post(&modern_headers("tools/call", tool), body.as_bytes())
    }

    /// A legacy request in a session.
    pub(crate) fn legacy(&self, session: &str, body: &str) -> Vec<u8> {
        self.post(
            &format!("mcp-protocol-version: 2025-06-18\r\nmcp-session-id: {session}\r\n"),
            body.as_bytes(),
        )
    }

    /// Opens a session.
    pub(crate) async fn open_session(&self, line: &mut Line<'_>) -> Option<String> {
        let answer = line.ask(&self.post("", &initialize())).await;
        self.count("session", answer.as_ref()).await;
        answer?.header("mcp-session-id").map(str::to_owned)
    }
}

/// The body of `initialize`.
pub(crate) fn initialize() -> Vec<u8> {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "hostile", "version": "0" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string().into_bytes()
}

/// The headers that repeat the body of a modern request.
pub(crate) fn modern_headers(method: &str, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
    format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}")
}

/// A modern message.
pub(crate) fn modern_body(method: &str, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    if meta.get("io.modelcontextprotocol/clientCapabilities").is_none() {
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
