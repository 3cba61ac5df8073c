//! The HTTP connection to the running gateway.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming as Body;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method as HttpMethod, Request, Response, StatusCode};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use octroi_api::{ApiError, ErrorCode};
use octroi_gateway::rpc_error;
use octroi_mcp::{Id, Method, RpcError, Version, envelope, header as mcp_header, meta, sse};
use parking_lot::Mutex;
use serde_json::json;

use crate::endpoint::Announced;
use crate::failure::Failure;
use crate::tls::{self, HttpsConnector, Trust};

/// How often a request that was not sent yet is tried while the gateway cannot be reached.
const N_TRIES: usize = 25;
const TRY_EVERY: Duration = Duration::from_millis(200);
/// The largest message that is accepted from the gateway.
const MESSAGE_MAX: usize = 64 << 20;

/// An HTTP client of one gateway.
pub(crate) struct GatewayLink {
    client: HttpClient<HttpsConnector, Full<Bytes>>,
    data: PathBuf,
    endpoint: Mutex<Announced>,
    authorization: HeaderValue,
}

/// The gateway cannot be reached any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// The request was not sent.
    Before,
    /// The request was sent, and the answer is incomplete.
    During,
}

impl Gone {
    pub(super) fn to_error(self) -> RpcError {
        let message = match self {
            Self::Before => {
                "the gateway is gone, and this request was not sent; start it with `octroi up`, then connect again"
            }
            Self::During => {
                "the gateway went away before it answered, and the call may have been made; \
                 when it runs again, `octroi audit list` says so"
            }
        };
        rpc_error(&ApiError::new(ErrorCode::GatewayGone, message).for_agent())
    }
}

impl GatewayLink {
    /// Checks that the gateway can be reached and accepts the token.
    pub(crate) async fn open(data: &Path, endpoint: Announced, token: &str) -> Result<Self, Failure> {
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Failure::of(ErrorCode::Unauthenticated, "the token is not valid"))?;
        authorization.set_sensitive(true);
        let connector = tls::connector(&Trust::Exactly(tls::announced_certificate(data)))?;
        let link = Self {
            client: HttpClient::builder(TokioExecutor::new()).build(connector),
            data: data.to_owned(),
            endpoint: Mutex::new(endpoint),
            authorization,
        };
        let response = link.ask(&Method::Discover).await.map_err(|_| link.unreachable())?;
        match response.status() {
            status if status.is_success() => Ok(link),
            StatusCode::UNAUTHORIZED => {
                Err(Failure::of(ErrorCode::Unauthenticated, "the running gateway does not know the token")
                    .hint("use one of [[tokens]] in its configuration, or none"))
            }
            status => Err(Failure::new(format!(
                "the gateway at {} answered HTTP {status}",
                link.endpoint.lock().url
            ))),
        }
    }

    /// The failure of the command when the gateway is gone.
    pub(super) fn unreachable(&self) -> Failure {
        let endpoint = self.endpoint.lock();
        let message = format!("the gateway at {} (process {}) is gone", endpoint.url, endpoint.process);
        Failure::of(ErrorCode::GatewayGone, message).hint("start one with `octroi up`, then connect again")
    }

    /// A request of the relay's own, in the modern era.
    pub(super) async fn ask(&self, method: &Method) -> Result<Response<Body>, Gone> {
        let version = Version::LATEST_MODERN.as_str();
        let params = json!({"_meta": {
            meta::PROTOCOL_VERSION: version,
            meta::CLIENT_INFO: {"name": "octroi-stdio", "version": env!("CARGO_PKG_VERSION")},
            meta::CLIENT_CAPABILITIES: {},
        }});
        let mut headers = HeaderMap::new();
        put(&mut headers, mcp_header::PROTOCOL_VERSION, version);
        put(&mut headers, mcp_header::METHOD, method.as_str());
        let body = envelope::request(&Id::number(1), method, params.to_string().as_bytes());
        self.post(&headers, body).await
    }

    /// Sends one message.
    pub(super) async fn post(&self, headers: &HeaderMap, body: Bytes) -> Result<Response<Body>, Gone> {
        self.send(&HttpMethod::POST, headers, body).await
    }

    /// Sends a request. One that was certainly not sent is tried again when a gateway runs again; none is
    /// sent twice.
    pub(super) async fn send(
        &self,
        method: &HttpMethod,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Body>, Gone> {
        for _ in 0..N_TRIES {
            let endpoint = self.endpoint.lock().clone();
            // Another process at the address of a gateway that is gone must not get the token.
            if endpoint.is_alive() {
                match self.client.request(self.request(&endpoint, method, headers, &body)?).await {
                    Ok(response) => return Ok(response),
                    Err(error) if error.is_connect() => {}
                    Err(error) => {
                        tracing::debug!(%error, "the gateway did not answer");
                        return Err(Gone::During);
                    }
                }
            }
            tokio::time::sleep(TRY_EVERY).await;
            if let Some(found) = Announced::read(&self.data) {
                *self.endpoint.lock() = found;
            }
        }
        Err(Gone::Before)
    }

    fn request(
        &self,
        endpoint: &Announced,
        method: &HttpMethod,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Request<Full<Bytes>>, Gone> {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        // On this path a client gets the servers, and not what is for people.
        *request.uri_mut() = format!("{}/agent", endpoint.url).parse().map_err(|_| Gone::Before)?;
        *request.headers_mut() = headers.clone();
        let fixed = [
            (header::AUTHORIZATION, self.authorization.clone()),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        request.headers_mut().extend(fixed);
        Ok(request)
    }
}

/// Adds a header, encoded if necessary.
pub(super) fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.as_bytes());
    let value = HeaderValue::from_str(&mcp_header::encode(value));
    // Encoded values are valid, and names come from tables or from a checked schema.
    if let (Ok(name), Ok(value)) = (name, value) {
        headers.insert(name, value);
    }
}

/// Whether a response is a stream.
pub(super) fn is_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Reads a body to its end.
pub(super) async fn collect(body: Body) -> Result<Bytes, Gone> {
    Ok(body.collect().await.map_err(|_| Gone::During)?.to_bytes())
}

/// The messages of a stream.
pub(super) struct Events {
    body: Body,
    reader: sse::EventReader,
}

impl Events {
    pub(super) fn new(body: Body) -> Self {
        Self { body, reader: sse::EventReader::new(MESSAGE_MAX) }
    }

    /// The next message; `None` when the stream is over, however it ended.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            while let Some(event) = self.reader.next_event() {
                // An empty event only carries an id to resume from.
                if !event.data.is_empty() {
                    return Some(event.data);
                }
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.reader.push(data).ok()?;
            }
        }
    }
}
