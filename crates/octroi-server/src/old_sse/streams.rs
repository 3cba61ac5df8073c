//! The streams of old clients: what waits to be sent on each, and when the session of a closed one ends.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use octroi_core::Principal;
use octroi_mcp::sse;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::endpoint::HttpEndpoint;
use crate::frontend::Frontend;
use crate::held_bytes::{HeldBytes, HeldRequest, SMALL_BYTES};
use crate::legacy;
use crate::reply::KEEP_ALIVE_EVERY;
use crate::sessions::HttpSession;

const ID_BYTES: usize = 24;
/// Notifications that may wait for a client. More are dropped.
const QUEUED: usize = 256;
/// A client that lost its stream has this long to open another, before its session ends.
const RESUME_WITHIN: Duration = Duration::from_secs(10);

/// All streams that are open, or can still be resumed.
#[derive(Default)]
pub(crate) struct OldStreams {
    by_id: Mutex<HashMap<Arc<str>, Arc<OldStream>>>,
}

impl OldStreams {
    /// Opens a stream under an id that cannot be guessed. A session that goes on keeps its stream, if that is
    /// still known.
    pub(super) fn open(
        &self,
        principal: Principal,
        frontend: Frontend,
        held: Arc<HeldBytes>,
        resumed: Option<Arc<HttpSession>>,
    ) -> Result<OpenedStream, getrandom::Error> {
        let mut random = [0_u8; ID_BYTES];
        getrandom::fill(&mut random)?;
        let id: Arc<str> = hex::encode(random).into();
        let mut by_id = self.by_id.lock();
        if let Some(session) = &resumed {
            let is_same = |stream: &&Arc<OldStream>| stream.session().is_some_and(|own| own.id == session.id);
            if let Some(stream) = by_id.values().find(is_same) {
                // Within the lock, or the stream could be forgotten meanwhile.
                let reader = stream.add_reader();
                return Ok((Arc::clone(stream), reader));
            }
        }
        let state = OldStreamState { session: resumed, reader: 1, ..OldStreamState::default() };
        let stream = OldStream {
            id: Arc::clone(&id),
            principal,
            frontend,
            state: Mutex::new(state),
            changed: watch::Sender::default(),
            held,
        };
        let stream = Arc::new(stream);
        by_id.insert(id, Arc::clone(&stream));
        Ok((stream, 1))
    }

    /// A stream by its id, if it belongs to this principal and this endpoint. For all others it does not
    /// exist.
    pub(super) fn find(
        &self,
        id: &str,
        principal: &Principal,
        frontend: &Frontend,
    ) -> Option<Arc<OldStream>> {
        let stream = self.by_id.lock().get(id).cloned()?;
        (stream.principal == *principal && stream.frontend == *frontend).then_some(stream)
    }

    /// Forgets a stream, unless a reader came after this one.
    fn close(&self, stream: &OldStream, reader: u64) -> Option<Arc<HttpSession>> {
        let mut by_id = self.by_id.lock();
        let mut state = stream.state.lock();
        if state.reader != reader {
            return None;
        }
        state.is_over = true;
        state.waiting.clear();
        by_id.remove(&stream.id);
        state.session.take()
    }
}

/// A stream, and the number of its reader.
pub(super) type OpenedStream = (Arc<OldStream>, u64);

/// One client's stream.
pub(super) struct OldStream {
    id: Arc<str>,
    principal: Principal,
    frontend: Frontend,
    state: Mutex<OldStreamState>,
    changed: watch::Sender<()>,
    held: Arc<HeldBytes>,
}

#[derive(Default)]
struct OldStreamState {
    session: Option<Arc<HttpSession>>,
    /// Events, and what counts them.
    waiting: VecDeque<(Bytes, HeldRequest)>,
    /// The last reader; those before it end.
    reader: u64,
    n_running: usize,
    is_over: bool,
}

impl OldStream {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Counts a request in progress; `None` if there are too many. No connection waits for its answer, so that
    /// connections do not limit their number.
    pub(super) fn run(self: &Arc<Self>) -> Option<RunningRequest> {
        let held = self.held.hold(SMALL_BYTES)?;
        self.state.lock().n_running += 1;
        Some(RunningRequest { stream: Arc::clone(self), _held: held })
    }

    fn add_reader(&self) -> u64 {
        let mut state = self.state.lock();
        state.reader += 1;
        let reader = state.reader;
        drop(state);
        self.changed.send_replace(());
        reader
    }

    pub(super) fn session(&self) -> Option<Arc<HttpSession>> {
        self.state.lock().session.clone()
    }

    /// Begins the session; `false` if it has one already, or the stream is over.
    pub(super) fn begin(&self, session: Arc<HttpSession>) -> bool {
        let mut state = self.state.lock();
        if state.is_over || state.session.is_some() {
            return false;
        }
        state.session = Some(session);
        true
    }

    /// Sends an event that must not be lost. Their number is limited by that of the requests in progress.
    pub(super) fn push(&self, event: Bytes) {
        let mut state = self.state.lock();
        if !state.is_over {
            let held = self.held.hold_always(event.len());
            state.waiting.push_back((event, held));
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Sends an event, unless the client does not keep up.
    pub(super) fn push_if_read(&self, event: Bytes) {
        let has_room = self.state.lock().waiting.len() < QUEUED && !self.held.is_over();
        if has_room {
            self.push(event);
        }
    }
}

/// A request in progress, until this is dropped.
pub(super) struct RunningRequest {
    stream: Arc<OldStream>,
    _held: HeldRequest,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.stream.state.lock().n_running -= 1;
        self.stream.changed.send_replace(());
    }
}

/// The events of a stream, beginning with this one. A reader before this one ends.
pub(super) fn follow(
    endpoint: &Arc<HttpEndpoint>,
    (stream, number): OpenedStream,
    first: Bytes,
    lease: CancellationToken,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let reader = OldStreamReader {
        number,
        changed: stream.changed.subscribe(),
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
            {
                let mut state = self.stream.state.lock();
                if state.reader != self.number {
                    return None;
                }
                if let Some((event, _)) = state.waiting.pop_front() {
                    return Some(event);
                }
                // A gateway that closes lets calls finish; the token of these may have been removed.
                let is_drained = state.n_running == 0 || !self.endpoint.closing.is_cancelled();
                if is_ending && is_drained {
                    return None;
                }
                if let (OwnEvents::NotBegun, Some(session)) = (&self.own, &state.session) {
                    let own = session.own_stream().follow(None, None, self.lease.clone());
                    self.own = OwnEvents::Followed(Box::pin(own));
                }
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
