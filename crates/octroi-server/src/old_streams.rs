//! The streams of clients that use the HTTP+SSE transport of 2024-11-05, and what waits to be sent on each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Principal;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::frontend::Frontend;
use crate::held_bytes::{HeldBytes, HeldRequest, SMALL_BYTES};
use crate::sessions::HttpSession;

const ID_BYTES: usize = 24;
/// Notifications that may wait for a client. More are dropped.
const QUEUED: usize = 256;
/// What an event costs besides its message.
const EVENT_BYTES: usize = 128;

/// All streams that are open, or can still be resumed.
#[derive(Default)]
pub(crate) struct OldStreams {
    by_id: Mutex<HashMap<Arc<str>, Arc<OldStream>>>,
}

impl OldStreams {
    /// Opens a stream under an id that cannot be guessed. A session that goes on keeps its stream, if that is
    /// still known.
    pub(crate) fn open(
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
    pub(crate) fn find(
        &self,
        id: &str,
        principal: &Principal,
        frontend: &Frontend,
    ) -> Option<Arc<OldStream>> {
        let stream = self.by_id.lock().get(id).cloned()?;
        (stream.principal == *principal && stream.frontend == *frontend).then_some(stream)
    }

    /// Forgets a stream, unless a reader came after this one.
    pub(crate) fn close(&self, stream: &OldStream, reader: u64) -> Option<Arc<HttpSession>> {
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
pub(crate) type OpenedStream = (Arc<OldStream>, u64);

/// One client's stream.
pub(crate) struct OldStream {
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
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Counts a request in progress; `None` if there are too many. No connection waits for its answer, so that
    /// connections do not limit their number.
    pub(crate) fn run(self: &Arc<Self>) -> Option<RunningRequest> {
        let held = self.held.hold(SMALL_BYTES)?;
        self.state.lock().n_running += 1;
        Some(RunningRequest { stream: Arc::clone(self), _held: held })
    }

    /// What its reader does next, and a session that has begun.
    pub(crate) fn next(&self, reader: u64) -> NextEvent {
        let mut state = self.state.lock();
        if state.reader != reader {
            return NextEvent::Replaced;
        }
        match state.waiting.pop_front() {
            Some((event, _)) => NextEvent::Ready(event),
            None => NextEvent::None { n_running: state.n_running, session: state.session.clone() },
        }
    }

    /// Notices when there may be a next event.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn add_reader(&self) -> u64 {
        let mut state = self.state.lock();
        state.reader += 1;
        let reader = state.reader;
        drop(state);
        self.changed.send_replace(());
        reader
    }

    pub(crate) fn session(&self) -> Option<Arc<HttpSession>> {
        self.state.lock().session.clone()
    }

    /// Begins the session; `false` if it has one already, or the stream is over.
    pub(crate) fn begin(&self, session: Arc<HttpSession>) -> bool {
        let mut state = self.state.lock();
        if state.is_over || state.session.is_some() {
            return false;
        }
        state.session = Some(session);
        true
    }

    /// Sends an event that must not be lost. What waits counts against the token's budget, beyond which requests
    /// are refused.
    pub(crate) fn push(&self, event: Bytes) {
        let mut state = self.state.lock();
        if state.is_over {
            tracing::debug!("event dropped, the stream of its client is over");
        } else {
            let held = self.held.hold_always(event.len() + EVENT_BYTES);
            state.waiting.push_back((event, held));
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Sends an event, unless the client does not keep up.
    pub(crate) fn push_if_read(&self, event: Bytes) {
        let has_room = self.state.lock().waiting.len() < QUEUED && !self.held.is_over();
        if has_room {
            self.push(event);
        } else {
            tracing::debug!("notification dropped, its client does not read its stream");
        }
    }
}

/// What the reader of a stream finds.
pub(crate) enum NextEvent {
    /// This is to be sent.
    Ready(Bytes),
    /// Nothing yet.
    None {
        /// How many requests are in progress.
        n_running: usize,
        /// The session, once it has begun.
        session: Option<Arc<HttpSession>>,
    },
    /// Another reader has come.
    Replaced,
}

/// A request in progress, until this is dropped.
pub(crate) struct RunningRequest {
    stream: Arc<OldStream>,
    _held: HeldRequest,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.stream.state.lock().n_running -= 1;
        self.stream.changed.send_replace(());
    }
}
