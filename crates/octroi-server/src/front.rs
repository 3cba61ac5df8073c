//! Which request goes where: messages straight to their answer, everything else by a router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use octroi_gateway::View;

use crate::door::Door;
use crate::http::{admit, not_found, single};
use crate::reply::Reply;
use crate::{health, metrics, page};

/// Answers the requests of all connections.
#[derive(Clone)]
pub(crate) struct Front {
    door: Arc<Door>,
    others: TowerToHyperService<Router>,
}

impl Front {
    pub(crate) fn new(door: &Arc<Door>) -> Self {
        let router = Router::new()
            .route("/mcp/servers/{name}", any(single))
            .route("/health", get(health::health))
            .route("/metrics", get(metrics::metrics))
            .route("/approvals/{id}", get(page::show).post(page::submit))
            .fallback(not_found)
            .with_state(Arc::clone(door));
        Self { door: Arc::clone(door), others: TowerToHyperService::new(router) }
    }
}

impl Service<http::Request<Incoming>> for Front {
    type Response = Reply;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

    /// The two paths that all calls take need no router, which would cost each of them microseconds.
    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        // Who asks decides what is seen: on every path people manage, and agents reach servers.
        let ("/mcp" | "/mcp/agent") = request.uri().path() else {
            return Box::pin(self.others.call(request));
        };
        let admitted = admit(Arc::clone(&self.door), View::Merged, request);
        Box::pin(async move { Ok(admitted.await) })
    }
}
