//! The fixture over Streamable HTTP, at `/mcp`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use axum::{Router, middleware};
use clap::ValueEnum;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::asking::Asks;
use super::era::{Era, refuse_initialize, refuse_modern_requests};
use super::fixture::Fixture;
use super::stream_cut::make_cuttable;

/// When the client of a stream that was cut comes back.
const COME_BACK_AFTER: Duration = Duration::from_millis(100);

/// The response format of a modern request without preceding notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answers {
    /// An event stream, as in legacy sessions.
    Events,
    /// Plain JSON.
    Json,
}

/// A fixture that is bound to its port but does not answer yet.
pub struct Server {
    listener: TcpListener,
    router: Router,
}

impl Server {
    /// Binds to `address`; port 0 picks a free one.
    pub async fn bind(address: SocketAddr, era: Era, answers: Answers, asks: Asks) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, router: router(era, answers, asks) })
    }

    /// The address of the MCP endpoint.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}/mcp", self.listener.local_addr()?))
    }

    /// Serves until the future is dropped.
    pub async fn run(self) -> io::Result<()> {
        // With Nagle's algorithm an answer in two writes waits about 40 ms for the peer's delayed
        // acknowledgement. A socket that does not support this option still works, only slower.
        let listener = self.listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router).await
    }
}

fn router(era: Era, answers: Answers, asks: Asks) -> Router {
    let fixture = Fixture::new(era, asks);
    let mut sessions = LocalSessionManager::default();
    if asks == Asks::InEachEra {
        // A client has to come back while the tool of a cut stream still works: the SDK keeps no answer for it.
        sessions.session_config.sse_retry = Some(COME_BACK_AFTER);
    }
    let service =
        StreamableHttpService::new(move || Ok(fixture.session()), Arc::new(sessions), config(era, answers));
    let router = Router::new().route_service("/mcp", service).layer(middleware::from_fn(make_cuttable));
    match era {
        Era::Both => router,
        Era::Legacy => router.layer(middleware::from_fn(refuse_modern_requests)),
        Era::Modern => router.layer(middleware::from_fn(refuse_initialize)),
    }
}

fn config(era: Era, answers: Answers) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"])
        .with_json_response(answers == Answers::Json);
    match era {
        Era::Both | Era::Legacy => config,
        Era::Modern => config.with_legacy_session_mode(false).with_stateless_protocol_metadata_required(true),
    }
}
