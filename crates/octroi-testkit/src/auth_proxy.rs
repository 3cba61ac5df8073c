//! An auth proxy for clients that cannot send a token: it adds the token and forwards everything else
//! unchanged.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// A running auth proxy. Dropping it stops it.
#[derive(Debug)]
pub struct AuthProxy {
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct Route {
    client: Client<HttpConnector, Body>,
    base: String,
    authorization: HeaderValue,
}

impl AuthProxy {
    /// Forwards to `base` with this token.
    ///
    /// # Panics
    ///
    /// If no port is available or the token is not a valid header value.
    pub async fn start(base: &str, token: &str) -> Self {
        let listener =
            tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let route = Route {
            client: Client::builder(TokioExecutor::new()).build(connector),
            base: base.to_owned(),
            authorization: format!("Bearer {token}").parse().expect("the token is a header value"),
        };
        let router = Router::new().fallback(relay).with_state(route);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            // Ends when the task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Self { base: format!("http://{address}"), task }
    }
}

impl Drop for AuthProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn relay(State(route): State<Route>, mut request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let Ok(uri) = format!("{}{path}", route.base).parse::<Uri>() else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    request.headers_mut().insert(header::AUTHORIZATION, route.authorization);
    match route.client.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
