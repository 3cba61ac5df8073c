//! HTTP addresses that Octroi posts JSON to and that are not MCP servers.

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::Full;
use octroi_core::server::Remote;

use crate::error::UpstreamError;
use crate::http::{Address, HttpClient, collect};

/// At most so much of a response body is read, and discarded.
const ANSWER_BYTES: usize = 64 << 10;

/// An address that JSON is posted to.
#[derive(Debug)]
pub struct PostTarget {
    client: HttpClient,
    address: Address,
}

impl PostTarget {
    /// Creates the target. Nothing is sent yet.
    pub fn new(client: &HttpClient, remote: &Remote) -> Result<Self, UpstreamError> {
        let address = client.address(remote)?;
        Ok(Self { client: client.clone(), address })
    }

    /// Posts a JSON text with the configured headers; returns the status of the response.
    pub async fn post(&self, body: Bytes) -> Result<u16, UpstreamError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.path.clone();
        *request.headers_mut() = self.address.headers.clone();
        let json = header::HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let response = self.client.send(&self.address, request).await?;
        let status = response.status().as_u16();
        // Read so that the connection can be reused; a larger body only costs the connection.
        let _ = collect(response.into_body(), ANSWER_BYTES).await;
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[tokio::test]
    async fn an_error_does_not_contain_the_path() {
        let url = "http://127.0.0.1:1/hooks/password?key=password".to_owned();
        let remote = Remote { url, headers: BTreeMap::new() };
        let postbox = PostTarget::new(&HttpClient::new(crate::system_clock()).unwrap(), &remote).unwrap();
        let error = postbox.post(Bytes::from_static(b"[]")).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains("127.0.0.1:1") && !text.contains("password"), "{text}");
    }
}
