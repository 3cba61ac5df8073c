//! Towards a server over HTTP: one connection for each connection of a client.

use std::cell::RefCell;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use octroi_mcp::Envelope;
use tokio::net::TcpStream;

use super::{Answer, Asked, FloorResult, read, renamed};

/// Headers that are relayed in both directions; the tool's name is set anew.
const RELAYED: [&str; 5] = ["content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method"];

/// The connection that belongs to one of a client.
pub(super) struct Link {
    host: String,
    path: String,
    sender: RefCell<Option<SendRequest<Full<Bytes>>>>,
}

impl Link {
    pub(super) fn new(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self { host: host.to_owned(), path: format!("/{path}"), sender: RefCell::new(None) }
    }

    pub(super) async fn answer(&self, request: Asked) -> Answer {
        let (parts, body) = request.into_parts();
        let (message, tool) = read(body).await?;
        let mut forwarded = Request::post(&self.path).header("host", &self.host).body(Full::new(renamed(
            &message,
            None,
            tool.as_deref(),
        )))?;
        relay(&parts.headers, forwarded.headers_mut());
        if let (Some(tool), true) = (&tool, parts.headers.contains_key("mcp-name")) {
            forwarded.headers_mut().insert("mcp-name", HeaderValue::from_str(tool)?);
        }
        let mut sender = self.sender().await?;
        sender.ready().await?;
        let answered = sender.send_request(forwarded).await?;
        self.sender.replace(Some(sender));
        let (parts, body) = answered.into_parts();
        let body = body.collect().await?.to_bytes();
        if parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
            Envelope::parse(body.clone()).map_err(|_| "the server did not answer with a message")?;
        }
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = parts.status;
        relay(&parts.headers, response.headers_mut());
        Ok(response)
    }

    async fn sender(&self) -> FloorResult<SendRequest<Full<Bytes>>> {
        if let Some(sender) = self.sender.take() {
            return Ok(sender);
        }
        let stream = TcpStream::connect(&self.host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(connection);
        Ok(sender)
    }
}

fn relay(from: &HeaderMap, to: &mut HeaderMap) {
    for name in RELAYED.map(HeaderName::from_static) {
        if let Some(value) = from.get(&name) {
            to.insert(name, value.clone());
        }
    }
}
