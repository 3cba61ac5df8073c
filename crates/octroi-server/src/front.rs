//! Routes requests: MCP messages directly, everything else by a router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};
use http::{StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use octroi_api::rest::PREFIX;
use octroi_core::Clock;
use octroi_gateway::Movable;

use crate::access::Access;
use crate::connection::{Connection, Phase};
use crate::cors::PageOrigin;
use crate::endpoint::HttpEndpoint;
use crate::http::{admit, single};
use crate::reply::{self, Reply};
use crate::tls::Tls;
use crate::tracked_body::track;
use crate::{browser, health, interface, metrics, old_sse, page, rest};

/// Answers the requests of all connections.
#[derive(Clone)]
pub(crate) struct Front {
    endpoint: Arc<HttpEndpoint>,
    others: TowerToHyperService<Router>,
    /// The connection whose requests it answers.
    connection: Option<Arc<Connection>>,
}

impl Front {
    pub(crate) fn new(endpoint: &Arc<HttpEndpoint>) -> Self {
        let router = Router::new()
            .route("/mcp/servers/{name}", any(single))
            .route(old_sse::STREAM_PATH, any(old_sse::open_merged))
            .route(old_sse::MESSAGES_PATH, any(old_sse::receive_merged))
            .route("/mcp/servers/{name}/sse", any(old_sse::open_single))
            .route("/mcp/servers/{name}/messages", any(old_sse::receive_single))
            .route("/health", get(health::health))
            .route("/metrics", get(metrics::metrics))
            .route("/approvals/{id}", get(page::show).post(page::submit))
            .route(PREFIX, any(rest::answer))
            .route("/api/", any(rest::answer))
            .route("/api/{*path}", any(rest::answer))
            .route("/ws/{*path}", any(rest::answer))
            .route("/invitations/{code}", get(page::invitation::show).post(page::invitation::accept))
            .route(browser::SESSION_PATH, post(browser::sign_in))
            .route(browser::TOKEN_PATH, post(browser::access))
            .route("/static/{*path}", get(interface::asset))
            .fallback(interface::screen)
            .with_state(Arc::clone(endpoint));
        Self { endpoint: Arc::clone(endpoint), others: TowerToHyperService::new(router), connection: None }
    }

    /// Who may connect.
    pub(crate) fn access(&self) -> &Arc<Access> {
        &self.endpoint.access
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.endpoint.gateway.clock()
    }

    /// The certificate for clients, if they are served over TLS.
    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.endpoint.settings.tls.clone()
    }

    /// The same for one connection.
    pub(crate) fn on(self, connection: &Arc<Connection>) -> Self {
        Self { connection: Some(Arc::clone(connection)), ..self }
    }
}

impl Service<http::Request<Incoming>> for Front {
    type Response = Reply;
    type Error = Infallible;
    type Future = Movable<Result<Reply, Infallible>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        Movable::new(self.answer(request), self.endpoint.heavy.as_ref(), || {
            Ok(reply::empty(StatusCode::INTERNAL_SERVER_ERROR))
        })
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

impl Front {
    /// The two paths of all calls bypass the router, which would cost each call microseconds.
    fn answer(&self, mut request: http::Request<Incoming>) -> Answering {
        let Some(connection) = self.connection.clone() else {
            return Box::pin(async { Ok(reply::empty(StatusCode::SERVICE_UNAVAILABLE)) });
        };
        connection.enter(Phase::Body);
        if let Err(message) = check_host_headers(&request) {
            let endpoint = Arc::clone(&self.endpoint);
            let refused = reply::invalid_request(message);
            let refused = if is_rest(request.uri().path()) {
                rest::in_its_form(refused, request.headers())
            } else {
                refused
            };
            return Box::pin(async move { Ok(track(endpoint.refuse_slowly(refused).await, &connection)) });
        }
        let page = PageOrigin::of(&self.endpoint.access, request.headers());
        let preflight = page.as_ref().and_then(|page| page.preflight(&request));
        if let Some(preflight) = preflight.filter(|_| is_for_programs(request.uri().path())) {
            return Box::pin(async move { Ok(track(preflight, &connection)) });
        }
        // The token decides, not the path: people get management and agents get servers on both.
        let ("/mcp" | "/mcp/agent") = request.uri().path() else {
            let page = page.filter(|_| is_for_programs(request.uri().path()));
            request.extensions_mut().insert(Arc::clone(&connection));
            let answered = self.others.call(request);
            return Box::pin(async move {
                answered.await.map(|reply| track(readable(reply, page.as_ref()), &connection))
            });
        };
        let admitted = admit(Arc::clone(&self.endpoint), None, Arc::clone(&connection), request);
        Box::pin(async move { Ok(track(readable(admitted.await, page.as_ref()), &connection)) })
    }
}

/// Whether web pages that the configuration names may call this path.
fn is_for_programs(path: &str) -> bool {
    is_mcp(path) || is_rest(path)
}

/// Whether a path belongs to the REST interface.
fn is_rest(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is one of MCP's.
fn is_mcp(path: &str) -> bool {
    matches!(path, old_sse::STREAM_PATH | old_sse::MESSAGES_PATH)
        || path.strip_prefix("/mcp").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The answer, which the page that asked may read.
fn readable(reply: Reply, page: Option<&PageOrigin>) -> Reply {
    match page {
        Some(page) => page.mark(reply),
        None => reply,
    }
}

/// A request names its host exactly once, so that every reader of it sees the same; one of HTTP/1.0 may name
/// none. The host of a whole address needs the header too: what admits a request looks at the header only.
fn check_host_headers<B>(request: &http::Request<B>) -> Result<(), &'static str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => match request.uri().authority() {
            Some(authority) if !authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes()) => {
                Err("the Host header differs from the host of the address")
            }
            Some(_) | None => Ok(()),
        },
        (None, _) if request.version() == Version::HTTP_10 && request.uri().authority().is_none() => Ok(()),
        (None, _) => Err("the Host header is missing"),
        (Some(_), Some(_)) => Err("there is more than one Host header"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_host_once() {
        for (version, uri, hosts, is_fine) in [
            (Version::HTTP_11, "/mcp", &["localhost"][..], true),
            (Version::HTTP_11, "/mcp", &[], false),
            (Version::HTTP_11, "/mcp", &["localhost", "localhost"], false),
            (Version::HTTP_11, "/mcp", &["localhost", "evil.example"], false),
            (Version::HTTP_10, "/mcp", &[], true),
            (Version::HTTP_10, "/mcp", &["localhost"], true),
            (Version::HTTP_10, "http://evil.example/mcp", &[], false),
            (Version::HTTP_10, "http://localhost/mcp", &["localhost"], true),
            (Version::HTTP_10, "/mcp", &["localhost", "localhost"], false),
            (Version::HTTP_11, "http://localhost/mcp", &["LOCALHOST"], true),
            (Version::HTTP_11, "http://evil.example/mcp", &["localhost"], false),
        ] {
            let mut request = http::Request::builder().version(version).uri(uri);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let request = request.body(()).unwrap();
            assert_eq!(check_host_headers(&request).is_ok(), is_fine, "{version:?} {uri} {hosts:?}");
        }
    }
}
