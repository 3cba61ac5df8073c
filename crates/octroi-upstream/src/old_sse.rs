//! The HTTP+SSE transport of 2024-11-05: one stream for server messages, one POST per client message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method as HttpMethod, Request, StatusCode, header};
use http_body_util::Full;
use tokio::sync::mpsc;

use crate::background::BackgroundTasks;
use crate::error::UpstreamError;
use crate::event::EventSink;
use crate::events::EventStream;
use crate::http::{Address, HttpClient, failure, is_type};
use crate::mux::Mux;

const QUEUED: usize = 64;
/// How long the server may take to send its `endpoint` event.
const ENDPOINT_PATIENCE: Duration = Duration::from_secs(10);

/// Opens the stream and a channel over it.
pub(crate) async fn connect(
    client: &HttpClient,
    address: &Address,
    events: EventSink,
    tasks: &BackgroundTasks,
    shutdown: &tokio_util::sync::CancellationToken,
    limit: usize,
) -> Result<Arc<Mux>, UpstreamError> {
    let request = build(address, HttpMethod::GET, Bytes::new(), "text/event-stream")?;
    let response = client.send(address, request).await?;
    if !response.status().is_success() {
        return Err(failure(&response));
    }
    if !is_type(&response, "text/event-stream") {
        return Err(UpstreamError::Protocol("the server offers no event stream".to_owned()));
    }
    let mut stream = EventStream::new(response.into_body(), limit);
    let endpoint = tokio::time::timeout(ENDPOINT_PATIENCE, endpoint(&mut stream))
        .await
        .map_err(|_| UpstreamError::Timeout(ENDPOINT_PATIENCE))??;
    let endpoint = address.join(&endpoint)?;
    let (writer, queue) = mpsc::channel(QUEUED);
    let mux = Mux::new(writer, events, limit, tasks.clone());
    tasks.spawn("sse-write", write(client.clone(), endpoint, queue, Arc::clone(&mux), tasks.clone()));
    let reading = Arc::clone(&mux);
    let shutdown = shutdown.clone();
    tasks.spawn("sse-read", async move {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => reading.close("Octroi is shutting down"),
            () = reading.closed().cancelled() => {}
            reason = feed(&mut stream, &reading) => reading.close(reason),
        }
    });
    Ok(mux)
}

async fn endpoint(stream: &mut EventStream) -> Result<String, UpstreamError> {
    while let Some(event) = stream.next().await? {
        if event.name == "endpoint" {
            return Ok(String::from_utf8_lossy(&event.data).into_owned());
        }
    }
    Err(UpstreamError::Protocol("the server's stream names no endpoint".to_owned()))
}

/// Passes every message to the channel; returns why the stream ended.
async fn feed(stream: &mut EventStream, mux: &Arc<Mux>) -> String {
    loop {
        match stream.next().await {
            Ok(Some(event)) if event.name.is_empty() || event.name == "message" => {
                mux.receive(event.data).await
            }
            Ok(Some(_)) => {}
            Ok(None) => return "the server closed the stream".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

async fn write(
    client: HttpClient,
    endpoint: Address,
    mut queue: mpsc::Receiver<Bytes>,
    mux: Arc<Mux>,
    tasks: BackgroundTasks,
) {
    // Some servers answer the POST only when the call is done, so messages must not wait for one
    // another.
    loop {
        let message = tokio::select! {
            biased;
            () = mux.closed().cancelled() => return,
            message = queue.recv() => message,
        };
        let Some(message) = message else {
            return;
        };
        let (client, endpoint, mux) = (client.clone(), endpoint.clone(), Arc::clone(&mux));
        tasks.spawn("sse-post", async move {
            let sent = match build(
                &endpoint,
                HttpMethod::POST,
                message.clone(),
                "application/json, text/event-stream",
            ) {
                Ok(request) => client.send(&endpoint, request).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(response) if response.status().is_success() => {}
                Ok(response) => {
                    let status = response.status();
                    let reason = format!("a message was refused with HTTP {}", status.as_u16());
                    match status {
                        // How servers say that they do not know the session.
                        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::GONE => {
                            mux.close_untaken(message, reason);
                        }
                        _ => mux.close(reason),
                    }
                }
                Err(error) => mux.close(error.to_string()),
            }
        });
    }
}

fn build(
    address: &Address,
    method: HttpMethod,
    body: Bytes,
    accept: &'static str,
) -> Result<Request<Full<Bytes>>, UpstreamError> {
    let is_post = method == HttpMethod::POST;
    let mut request = Request::builder().method(method).uri(address.path.clone());
    if let Some(headers) = request.headers_mut() {
        headers.extend(address.headers.clone());
        headers.insert(header::ACCEPT, http::HeaderValue::from_static(accept));
        if is_post {
            headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        }
    }
    request
        .body(Full::new(body))
        .map_err(|error| UpstreamError::Protocol(format!("the request cannot be written as HTTP: {error}")))
}
