//! Routes requests: MCP messages directly, everything else by a router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use octroi_gateway::View;

use crate::endpoint::HttpEndpoint;
use crate::http::{admit, not_found, single};
use crate::reply::Reply;
use crate::{health, metrics, page};

/// Answers the requests of all connections.
#[derive(Clone)]
pub(crate) struct Front {
    endpoint: Arc<HttpEndpoint>,
    others: TowerToHyperService<Router>,
}

impl Front {
    pub(crate) fn new(endpoint: &Arc<HttpEndpoint>) -> Self {
        let router = Router::new()
            .route("/mcp/servers/{name}", any(single))
            .route("/health", get(health::health))
            .route("/metrics", get(metrics::metrics))
            .route("/approvals/{id}", get(page::show).post(page::submit))
            .fallback(not_found)
            .with_state(Arc::clone(endpoint));
        Self { endpoint: Arc::clone(endpoint), others: TowerToHyperService::new(router) }
    }
}

impl Service<http::Request<Incoming>> for Front {
    type Response = Reply;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

    /// The two paths of all calls bypass the router, which would cost each call microseconds.
    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        // The token decides, not the path: people get management and agents get servers on both.
        let ("/mcp" | "/mcp/agent") = request.uri().path() else {
            return Box::pin(self.others.call(request));
        };
        let admitted = admit(Arc::clone(&self.endpoint), View::Merged, request);
        Box::pin(async move { Ok(admitted.await) })
    }
}
