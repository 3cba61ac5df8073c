//! Ends the event stream of one response while its request is still running.
//!
//! A legacy client must then reconnect with `Last-Event-ID` for the rest. The SDK can close a stream of a
//! session, but a tool does not know its own stream; so the HTTP layer attaches a handle to every request
//! that ends its response.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

/// Ends the response of the request that carries it.
#[derive(Clone)]
pub(super) struct StreamCut(CancellationToken);

impl StreamCut {
    /// The handle of this request; `None` over stdio.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get::<axum::http::request::Parts>()?.extensions.get()
    }

    /// Ends the response. Later messages wait for the client to reconnect.
    pub(super) fn cut(&self) {
        self.0.cancel();
    }
}

/// Attaches a [`StreamCut`] for its response to each request.
pub(super) async fn make_cuttable(mut request: Request, next: Next) -> Response {
    let token = CancellationToken::new();
    request.extensions_mut().insert(StreamCut(token.clone()));
    let response = next.run(request).await;
    let is_event_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    if !is_event_stream {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(token.cancelled_owned())))
}
