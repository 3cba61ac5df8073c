//! The stream of a legacy session for messages that belong to no call.

use std::sync::Arc;
use std::time::Duration;

use octroi_mcp::{Kind, Method};
use tokio_util::sync::CancellationToken;

use super::call::Stream;
use super::lost_session::{self, Delivered};
use super::{LegacySession, Streamable};
use crate::error::UpstreamError;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LAST_DELAY: Duration = Duration::from_mins(1);
/// Some servers delay the head of the response until they have a message to send.
const OPENS_WITHIN: Duration = Duration::from_millis(500);

/// How one stream ended.
enum Ended {
    /// The server does not offer the stream.
    Unsupported,
    /// The server does not know the session.
    SessionLost,
    /// It broke or was closed; the event to resume from and the requested delay.
    Broken { last_event: Option<String>, retry: Option<Duration> },
}

impl Streamable {
    /// Opens the session stream and keeps it open in the background. Returns once the server has
    /// answered, since many servers drop a question when there is no stream: a call made earlier
    /// would wait for it for ever.
    pub(crate) async fn start_listening(self: &Arc<Self>) {
        // Ends the listener also when this future is dropped, for example by a timeout.
        let guard = self.closed.clone().drop_guard();
        let answered = CancellationToken::new();
        self.tasks.spawn("http-listen", Arc::clone(self).listen(answered.clone()));
        let _ = tokio::time::timeout(OPENS_WITHIN, answered.cancelled()).await;
        guard.disarm();
    }

    async fn listen(self: Arc<Self>, answered: CancellationToken) {
        let mut delay = FIRST_DELAY;
        let mut last_event = None;
        let mut was_lost = false;
        loop {
            let session = self.session.load_full();
            let ended = tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                ended = self.read_stream(&session, last_event.take(), &answered) => ended,
            };
            match ended {
                Ok(Ended::Unsupported) => return,
                // It refuses the stream, whatever it says.
                Ok(Ended::SessionLost) if was_lost => return,
                Ok(Ended::SessionLost) => {
                    was_lost = true;
                    // While nobody calls: a new session, so that notifications keep coming.
                    if let Err(error) = self.reopen(&session).await {
                        tracing::debug!(address = %self.address.display, %error, "no new session");
                        was_lost = false;
                        delay = (delay * 2).min(LAST_DELAY);
                    }
                }
                Ok(Ended::Broken { last_event: seen, retry }) => {
                    was_lost = false;
                    last_event = seen;
                    delay = retry.unwrap_or(FIRST_DELAY);
                }
                Err(error) => {
                    tracing::debug!(address = %self.address.display, %error, "session stream failed");
                    delay = (delay * 2).min(LAST_DELAY);
                }
            }
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    async fn read_stream(
        self: &Arc<Self>,
        session: &Arc<LegacySession>,
        last_event: Option<String>,
        answered: &CancellationToken,
    ) -> Result<Ended, UpstreamError> {
        let response = self.open_stream(session, last_event.as_deref()).await;
        answered.cancel();
        let response = response?;
        let response = match lost_session::read(session, response).await? {
            Delivered::Response(response) => response,
            Delivered::Refusal(_) => return Ok(Ended::Unsupported),
            Delivered::SessionLost => return Ok(Ended::SessionLost),
        };
        match response.status() {
            status if status.is_success() && crate::http::is_type(&response, "text/event-stream") => {}
            status if status.is_server_error() => return Err(UpstreamError::Status(status.as_u16())),
            _ => return Ok(Ended::Unsupported),
        }
        let mut stream = Stream::new(response.into_body(), self.limit);
        while let Ok(Some(message)) = stream.next().await {
            match message.kind() {
                Kind::Request => self.question_outside(&message).await,
                Kind::Notification if *message.method() == Method::Cancelled => self.withdraw(&message),
                Kind::Notification => {
                    if !self.notification_outside(&message) {
                        self.report(&message).await;
                    }
                }
                Kind::Response => {}
            }
        }
        let retry = stream.retry_ms().map(Duration::from_millis);
        Ok(Ended::Broken { last_event: stream.last_event().map(str::to_owned), retry })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use octroi_core::ServerKey;
    use octroi_core::server::Remote;
    use octroi_mcp::Era;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;
    use crate::background::BackgroundTasks;
    use crate::event::EventSink;
    use crate::http::HttpClient;
    use crate::streamable::Setup;

    /// How long it takes to open the stream of a server that answers after `delay`.
    async fn listening_takes(delay: Duration) -> Duration {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", socket.local_addr().unwrap());
        let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
        let closed = CancellationToken::new();
        tasks.spawn("server", async move {
            let (mut stream, _) = socket.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            tokio::time::sleep(delay).await;
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(head).await;
            let _ = stream.read(&mut [0; 1]).await;
        });
        let client = HttpClient::new(crate::system_clock()).unwrap();
        let setup = Setup {
            address: client.address(&Remote { url, headers: BTreeMap::new() }).unwrap(),
            client,
            initialize_params: bytes::Bytes::new(),
            events: EventSink::new(ServerKey::parse("slow").unwrap(), mpsc::channel(1).0),
            tasks,
            closed: closed.clone(),
            limit: 1024,
        };
        let link = Streamable::new(setup, Era::Legacy);
        let clock = crate::system_clock();
        let begun = clock.instant();
        link.start_listening().await;
        let took = clock.instant() - begun;
        assert!(!closed.is_cancelled());
        closed.cancel();
        took
    }

    #[tokio::test]
    async fn the_stream_is_open_before_the_first_call() {
        let delay = Duration::from_millis(100);
        assert!(listening_takes(delay).await >= delay);
    }

    #[tokio::test]
    async fn a_server_that_delays_its_answer_is_not_waited_for() {
        assert!(listening_takes(Duration::from_mins(10)).await < Duration::from_secs(30));
    }
}
