//! The HTTP client that all remote servers share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnectorBuilder;
use octroi_core::Clock;
use octroi_core::outward::AllowedHosts;
use octroi_core::server::Remote;
use rustls::ClientConfig;

use crate::error::UpstreamError;
use crate::outward::{self, OutwardConnector, Reach, Resolve};
use crate::wire::{self, Body, Connector, ExchangeError, IdleConnections};

/// How to reach remote servers. The connections themselves are pooled per server address.
#[derive(Clone, Debug)]
pub struct HttpClient {
    clock: Clock,
    connector: Connector,
    /// For the servers of members, which must not reach what only this machine can.
    members_connector: Connector,
    allowed: Arc<ArcSwap<AllowedHosts>>,
}

impl HttpClient {
    /// Creates a client that trusts the certificate authorities of the operating system.
    pub fn new(clock: Clock) -> Result<Self, UpstreamError> {
        Self::with_resolver(clock, outward::system_resolver())
    }

    pub(crate) fn with_resolver(clock: Clock, resolve: Resolve) -> Result<Self, UpstreamError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(hyper_rustls::ConfigBuilderExt::try_with_platform_verifier)
            .map_err(|error| UpstreamError::Protocol(format!("cannot set up TLS: {error}")))?
            .with_no_client_auth();
        let connector = |reach| {
            HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
                .enable_http1()
                .wrap_connector(OutwardConnector::new(reach, Arc::clone(&resolve)))
        };
        let allowed = Arc::<ArcSwap<AllowedHosts>>::default();
        Ok(Self {
            clock,
            connector: connector(Reach::Anywhere),
            members_connector: connector(Reach::PublicAnd(Arc::clone(&allowed))),
            allowed,
        })
    }

    /// Sets where servers of members may be although it is no public address. New connections go by it.
    pub fn allow_hosts(&self, allowed: AllowedHosts) {
        self.allowed.store(Arc::new(allowed));
    }

    /// The address of a remote server that the configuration names.
    pub(crate) fn address(&self, remote: &Remote) -> Result<Address, UpstreamError> {
        Address::new(remote, &self.clock)
    }

    /// The address of a remote server that a member names.
    pub(crate) fn members_address(&self, remote: &Remote) -> Result<Address, UpstreamError> {
        if let Err(problem) = octroi_core::outward::host_of(&remote.url) {
            return Err(UpstreamError::Protocol(format!("the url cannot be used: {problem}")));
        }
        Ok(Address { is_of_member: true, ..self.address(remote)? })
    }

    pub(crate) fn send(
        &self,
        address: &Address,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Body>, UpstreamError>> {
        // Boxed: the request is part of several nested futures, which are moved themselves.
        let request = Box::new(request);
        async move {
            let connector = if address.is_of_member { &self.members_connector } else { &self.connector };
            let sent = wire::send(connector, &address.idle, &address.uri, request).await;
            sent.map_err(|broken| match broken {
                ExchangeError::Connect(error) => match outward::refusal(&*error) {
                    Some(refused) => UpstreamError::NotPublic { host: refused.host.clone() },
                    None => UpstreamError::Connect {
                        address: address.display.clone(),
                        reason: root_cause(&*error),
                    },
                },
                ExchangeError::During(error) => UpstreamError::Closed(root_cause(&error)),
            })
        }
    }
}

/// The address of a remote server, and the headers of every request to it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// Scheme, host and port: safe to show in errors. Paths and queries often hold secrets.
    pub(crate) display: String,
    /// The path and query in the request line.
    pub(crate) path: Uri,
    /// Idle connections to this server.
    pub(crate) idle: Arc<IdleConnections>,
    /// Whether a member gave it, so that only public addresses are connected to.
    is_of_member: bool,
}

impl Address {
    pub(crate) fn new(remote: &Remote, clock: &Clock) -> Result<Self, UpstreamError> {
        let uri: Uri = remote
            .url
            .parse()
            .map_err(|error| UpstreamError::Protocol(format!("the configured url is not valid: {error}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(UpstreamError::Protocol(
                "the configured url must begin with http:// or https://".to_owned(),
            ));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            let invalid = || UpstreamError::Protocol(format!("the configured header `{name}` is not valid"));
            let key: HeaderName = name.parse().map_err(|_| invalid())?;
            let mut value: HeaderValue = value.expose().parse().map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let host = uri.host().unwrap_or_default();
        let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
        let display = format!("{}://{host}{port}", uri.scheme_str().unwrap_or_default());
        let authority =
            uri.authority().map(|authority| authority.as_str().rsplit('@').next().unwrap_or_default());
        let host = HeaderValue::from_str(authority.unwrap_or_default())
            .map_err(|_| UpstreamError::Protocol("the configured url has no usable host".to_owned()))?;
        headers.insert(header::HOST, host);
        let path = path_of(&uri)?;
        let idle = Arc::new(IdleConnections::new(clock.clone()));
        Ok(Self { uri, headers, display, path, idle, is_of_member: false })
    }

    /// The same server at the path that it redirects to. Another origin is refused, also one that only differs in its
    /// scheme: the configured headers contain credentials for this one.
    pub(crate) fn redirected(&self, target: &str) -> Result<Self, UpstreamError> {
        self.join(target).map_err(|_| {
            UpstreamError::Protocol(
                "the server redirects to another address, which is not followed; `url` must be where it is"
                    .to_owned(),
            )
        })
    }

    /// The same server at another path, as the old transport's `endpoint` event names it. Another
    /// origin is refused: the configured headers contain credentials for this one.
    pub(crate) fn join(&self, target: &str) -> Result<Self, UpstreamError> {
        let refused =
            || UpstreamError::Protocol("the server names an endpoint at another address".to_owned());
        let uri: Uri = if target.contains("://") {
            target.parse().map_err(|_| refused())?
        } else {
            let path = if target.starts_with('/') {
                target.to_owned()
            } else {
                let base = self.uri.path().rsplit_once('/').map_or("", |(base, _)| base);
                format!("{base}/{target}")
            };
            let mut parts = self.uri.clone().into_parts();
            parts.path_and_query = Some(path.parse().map_err(|_| refused())?);
            Uri::from_parts(parts).map_err(|_| refused())?
        };
        if uri.scheme() != self.uri.scheme() || uri.authority() != self.uri.authority() {
            return Err(refused());
        }
        let path = path_of(&uri)?;
        Ok(Self { uri, path, ..self.clone() })
    }
}

fn path_of(uri: &Uri) -> Result<Uri, UpstreamError> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    path.parse().map_err(|_| UpstreamError::Protocol("the configured url has no usable path".to_owned()))
}

/// Reads a body up to a limit.
pub(crate) async fn collect(body: Body, limit: usize) -> Result<Bytes, UpstreamError> {
    let limited = http_body_util::Limited::new(body, limit);
    match limited.collect().await {
        Ok(collected) => Ok(octroi_mcp::body::detached(collected.to_bytes())),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(UpstreamError::TooLarge { limit })
        }
        Err(error) => Err(UpstreamError::Closed(root_cause(&*error))),
    }
}

/// Why a response is no answer: its status, or where the server wants to be asked instead.
pub(crate) fn failure<B>(response: &Response<B>) -> UpstreamError {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    match location.filter(|_| response.status().is_redirection()) {
        Some(location) => UpstreamError::Redirected(location.to_owned()),
        None => status_error(response.status()),
    }
}

/// What a failing status means.
pub(crate) fn status_error(status: StatusCode) -> UpstreamError {
    if status == StatusCode::UNAUTHORIZED {
        UpstreamError::NeedsAuth
    } else {
        UpstreamError::Status(status.as_u16())
    }
}

/// Whether a response is of the given media type.
pub(crate) fn is_type<B>(response: &Response<B>, media_type: &str) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|value| {
        let bytes = value.as_bytes();
        bytes.len() >= media_type.len()
            && bytes[..media_type.len()].eq_ignore_ascii_case(media_type.as_bytes())
    })
}

/// The innermost cause: hyper's own words ("client error") say nothing to a person.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn address(url: &str) -> Result<Address, UpstreamError> {
        Address::new(&Remote { url: url.into(), headers: BTreeMap::new() }, &crate::system_clock())
    }

    #[test]
    fn an_endpoint_stays_at_the_configured_origin() {
        let base = address("https://user:pass@example.com:8443/a/sse?key=secret").unwrap();
        assert_eq!(base.display, "https://example.com:8443");
        let base = address("https://example.com/a/sse").unwrap();
        for (target, expected) in [
            ("/messages?s=1", Some("https://example.com/messages?s=1")),
            ("messages", Some("https://example.com/a/messages")),
            ("https://example.com/x", Some("https://example.com/x")),
            ("https://evil.example/x", None),
            ("http://example.com/x", None),
        ] {
            assert_eq!(
                base.join(target).ok().map(|joined| joined.uri.to_string()).as_deref(),
                expected,
                "{target}"
            );
        }
    }

    #[test]
    fn an_address_must_be_http() {
        for url in ["ws://x", "file:///x", "example.com", ""] {
            assert!(address(url).is_err(), "{url}");
        }
    }
}
