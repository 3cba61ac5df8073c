//! Server-sent events, read from a response body.

use std::time::Duration;

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use octroi_mcp::sse;

use crate::background::BackgroundTasks;
use crate::error::UpstreamError;
use crate::wire::Body;

/// How long to wait for the end of a stream after its last message.
const LINGER: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct EventStream {
    body: Body,
    pub(crate) reader: sse::EventReader,
}

impl EventStream {
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self { body, reader: sse::EventReader::new(limit) }
    }

    /// The next event, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<sse::SseEvent>, UpstreamError> {
        loop {
            if let Some(event) = self.reader.next_event() {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(UpstreamError::Closed(error.to_string())),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.reader
                            .push(data)
                            .map_err(|error| UpstreamError::TooLarge { limit: error.limit })?;
                    }
                }
            }
        }
    }

    /// Reads on to the end after the last message, because only then the connection can be reused. Opening a
    /// new one costs the server and Octroi more than the call.
    pub(crate) fn wind_up(mut self, tasks: &BackgroundTasks) {
        // Usually the end has already arrived.
        if let Some(None) = self.body.frame().now_or_never() {
            return;
        }
        tasks.spawn("stream-wind-up", async move {
            let ending = async { while let Some(Ok(_)) = self.body.frame().await {} };
            let _ = tokio::time::timeout(LINGER, ending).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use octroi_core::server::Remote;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::HttpClient;

    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    const EVENT: &str = "9\r\ndata: 1\n\n\r\n";
    const END: &str = "0\r\n\r\n";

    /// Answers every request with one event, and ends the stream after `end_after`, or never.
    async fn answer(mut stream: TcpStream, end_after: Option<Duration>) {
        let mut request = [0; 1_024];
        while stream.read(&mut request).await.is_ok_and(|n_read| n_read > 0) {
            stream.write_all(format!("{HEAD}{EVENT}").as_bytes()).await.unwrap();
            let Some(pause) = end_after else { continue };
            tokio::time::sleep(pause).await;
            stream.write_all(END.as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_stream_that_ended_gives_its_connection_back() {
        let soon = Duration::from_millis(10);
        for (end_after, n_expected) in [(Some(Duration::ZERO), 1), (Some(soon), 1), (None, 5)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let n_opened = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&n_opened);
            let server = BackgroundTasks::new(tokio::runtime::Handle::current());
            let connections = server.clone();
            server.spawn("accept", async move {
                while let Ok((stream, _)) = listener.accept().await {
                    counter.fetch_add(1, Ordering::SeqCst);
                    connections.spawn("answer", answer(stream, end_after));
                }
            });
            let client = HttpClient::new(crate::system_clock()).unwrap();
            let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
            let address = client.address(&Remote { url, headers: BTreeMap::new() }).unwrap();
            for _ in 0..5 {
                let request =
                    Request::post("/mcp").header("host", "x").body(Full::new(Bytes::new())).unwrap();
                let response = client.send(&address, request).await.unwrap();
                let mut events = EventStream::new(response.into_body(), 1_024);
                assert_eq!(events.next().await.unwrap().unwrap().data, "1");
                events.wind_up(&tasks);
                tasks.wait().await;
            }
            assert_eq!(n_opened.load(Ordering::SeqCst), n_expected, "ends after {end_after:?}");
        }
    }
}
