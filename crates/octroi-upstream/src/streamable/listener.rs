//! The stream of a legacy session that carries what belongs to no call.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use octroi_mcp::{Kind, Method};

use super::call::Stream;
use super::{Session, Streamable};
use crate::error::UpstreamError;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LAST_DELAY: Duration = Duration::from_secs(60);

/// How one stream ended.
enum Ended {
    /// The server has no such stream.
    Unsupported,
    /// It broke off or was closed; what to resume from and how long to wait.
    Broken { last_event: Option<String>, retry: Option<Duration> },
}

impl Streamable {
    /// Keeps the session's stream open for as long as the connection lives.
    pub(crate) async fn listen(self: Arc<Self>) {
        let mut delay = FIRST_DELAY;
        let mut last_event = None;
        loop {
            let session = self.session.load_full();
            let ended = tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                ended = self.read_stream(&session, last_event.take()) => ended,
            };
            match ended {
                Ok(Ended::Unsupported) => return,
                Ok(Ended::Broken { last_event: seen, retry }) => {
                    last_event = seen;
                    delay = retry.unwrap_or(FIRST_DELAY);
                }
                Err(error) => {
                    tracing::debug!(address = %self.address.shown, %error, "session stream failed");
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
        session: &Arc<Session>,
        last_event: Option<String>,
    ) -> Result<Ended, UpstreamError> {
        let response = self.open_stream(session, last_event.as_deref()).await?;
        match response.status() {
            status if status.is_success() && crate::http::is_type(&response, "text/event-stream") => {}
            StatusCode::NOT_FOUND if session.id.is_some() => {
                // Forgotten while idle: open it again, so that news keep coming.
                self.reopen(session).await?;
                return Ok(Ended::Broken { last_event: None, retry: None });
            }
            status if status.is_server_error() => return Err(UpstreamError::Status(status.as_u16())),
            _ => return Ok(Ended::Unsupported),
        }
        let mut stream = Stream::new(response.into_body(), self.limit);
        while let Ok(Some(message)) = stream.next().await {
            match message.kind() {
                Kind::Request => self.question_outside(&message),
                Kind::Notification if *message.method() == Method::Cancelled => self.withdraw(&message),
                Kind::Notification => {
                    if !self.note_outside(&message) {
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
