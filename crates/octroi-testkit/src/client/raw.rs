//! HTTP without MCP: for requests that the client itself would never send.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::error::ClientError;

pub(crate) type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// A complete response.
#[derive(Debug, Clone)]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers as received.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl RawResponse {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Sends one request and leaves the body of the response to the caller.
pub async fn send(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Response<Incoming>, ClientError> {
    send_with(&new_http_client(), method, url, headers, body.into()).await
}

/// Sends one request and reads the whole response.
pub async fn fetch(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<RawResponse, ClientError> {
    read(send(method, url, headers, body).await?).await
}

pub(crate) fn new_http_client() -> HttpClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

pub(crate) async fn send_with(
    client: &HttpClient,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Response<Incoming>, ClientError> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).map_err(|error| ClientError::Transport(error.to_string()))?;
    client.request(request).await.map_err(|error| ClientError::Transport(format!("{error:?}")))
}

pub(crate) async fn read(response: Response<Incoming>) -> Result<RawResponse, ClientError> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| ClientError::Transport(error.to_string()))?.to_bytes();
    Ok(RawResponse { status: head.status.as_u16(), headers: head.headers, body })
}
