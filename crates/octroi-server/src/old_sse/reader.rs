//! The events of a stream of 2024-11-05, and when the session of a closed one ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use octroi_mcp::sse;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::endpoint::HttpEndpoint;
use crate::event_log::FollowUntil;
use crate::legacy;
use crate::old_streams::{NextEvent, OldStream, OpenedStream};
use crate::reply::KEEP_ALIVE_EVERY;

/// A client that lost its stream has this long to open another, before its session ends.
const RESUME_WITHIN: Duration = Duration::from_secs(10);

/// The events of a stream, beginning with this one. A reader before this one ends.
pub(super) fn follow(
    endpoint: &Arc<HttpEndpoint>,
    (stream, number): OpenedStream,
    first: Bytes,
    lease: CancellationToken,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let reader = OldStreamReader {
        number,
        changed: stream.watch(),
        stream,
        first: Some(first),
        own: OwnEvents::NotBegun,
        lease,
        endpoint: Arc::clone(endpoint),
    };
    stream::unfold(reader, |mut reader| async move { Some((Ok(reader.next().await?), reader)) })
}

/// The session's own events, such as changes of lists.
enum OwnEvents {
    NotBegun,
    Followed(Pin<Box<dyn Stream<Item = Result<Bytes, Infallible>> + Send>>),
    Over,
}

impl OwnEvents {
    async fn next(&mut self) -> Option<Bytes> {
        match self {
            Self::Followed(events) => events.next().await.map(|Ok(event)| without_id(event)),
            Self::NotBegun | Self::Over => std::future::pending().await,
        }
    }
}

struct OldStreamReader {
    number: u64,
    changed: watch::Receiver<()>,
    stream: Arc<OldStream>,
    first: Option<Bytes>,
    own: OwnEvents,
    lease: CancellationToken,
    endpoint: Arc<HttpEndpoint>,
}

impl OldStreamReader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            self.changed.borrow_and_update();
            let is_ending = self.lease.is_cancelled();
            let (n_running, session) = match self.stream.next(self.number) {
                NextEvent::Ready(event) => return Some(event),
                NextEvent::Replaced => return None,
                NextEvent::None { n_running, session } => (n_running, session),
            };
            // A gateway that closes lets calls finish; a removed token does not.
            if is_ending && (n_running == 0 || !self.endpoint.closing.is_cancelled()) {
                return None;
            }
            if let (OwnEvents::NotBegun, Some(session)) = (&self.own, session) {
                let own = session.own_stream().follow(None, None, FollowUntil::Over, self.lease.clone());
                self.own = OwnEvents::Followed(Box::pin(own));
            }
            tokio::select! {
                biased;
                () = self.endpoint.closed.cancelled() => return None,
                () = self.lease.cancelled(), if !is_ending => {}
                changed = self.changed.changed() => changed.ok()?,
                event = self.own.next() => match event {
                    Some(event) => return Some(event),
                    None if self.lease.is_cancelled() => self.own = OwnEvents::Over,
                    // The session has ended.
                    None => return None,
                },
                () = tokio::time::sleep(KEEP_ALIVE_EVERY) => return Some(Bytes::from_static(sse::KEEP_ALIVE)),
            }
        }
    }
}

impl Drop for OldStreamReader {
    /// A client of this transport ends its session by closing the stream.
    fn drop(&mut self) {
        let (endpoint, stream, number) = (Arc::clone(&self.endpoint), Arc::clone(&self.stream), self.number);
        if stream.session().is_none() {
            endpoint.old_streams.close(&stream, number);
            return;
        }
        self.endpoint.tasks.spawn_on_main("old-sse-end", async move {
            tokio::select! {
                biased;
                // The client may come back to the gateway that is started next.
                () = endpoint.closing.cancelled() => {}
                () = tokio::time::sleep(RESUME_WITHIN) => {
                    if let Some(session) = endpoint.old_streams.close(&stream, number) {
                        legacy::end_session(&endpoint, &session.id);
                    }
                }
            }
        });
    }
}

/// An event of the session's own stream. Its id would replace the one that names the session.
fn without_id(event: Bytes) -> Bytes {
    match event.strip_prefix(b"id: ").and_then(|rest| memchr::memchr(b'\n', rest)) {
        Some(end) => event.slice("id: ".len() + end + 1..),
        None => event,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_is_removed() {
        for (event, expected) in [
            ("id: 0-7\ndata: {}\n\n", "data: {}\n\n"),
            ("data: {\"id: 1\\n\":2}\n\n", "data: {\"id: 1\\n\":2}\n\n"),
            (": keep-alive\n\n", ": keep-alive\n\n"),
        ] {
            assert_eq!(without_id(Bytes::from(event)), expected);
        }
    }
}
