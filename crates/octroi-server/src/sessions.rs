//! All legacy sessions over HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use octroi_core::config::ClientLimits;
use octroi_core::{Clock, Principal};
use parking_lot::{Mutex, RwLock};

use crate::event_log::{EventLog, OWN_STREAM};
use crate::frontend::{Frontend, Frontends};
use crate::held_bytes::{HeldByToken, HeldBytes};
use crate::session::{InitializeParams, LegacySession};

const ID_BYTES: usize = 24;
/// Streams kept for clients that may still resume them.
const STREAMS_KEPT: usize = 16;

/// A session and the streams it can be reached by.
pub(crate) struct HttpSession {
    pub(crate) id: String,
    pub(crate) session: LegacySession,
    streams: Mutex<Vec<Arc<EventLog>>>,
    next_stream: AtomicU64,
    /// Milliseconds since the session store was created.
    last_seen: AtomicU64,
    held: Arc<HeldBytes>,
}

impl HttpSession {
    /// The stream for messages that belong to no request; created when first needed.
    pub(crate) fn own_stream(&self) -> Arc<EventLog> {
        let mut streams = self.streams.lock();
        if let Some(own) = streams.iter().find(|stream| stream.number() == OWN_STREAM) {
            return Arc::clone(own);
        }
        let own = EventLog::new(OWN_STREAM, &self.held);
        streams.push(Arc::clone(&own));
        own
    }

    /// A stream for one request.
    pub(crate) fn new_stream(&self) -> Arc<EventLog> {
        let stream = EventLog::new(self.next_stream.fetch_add(1, Ordering::Relaxed), &self.held);
        let mut streams = self.streams.lock();
        if streams.len() > STREAMS_KEPT {
            let oldest = streams.iter().position(|stream| stream.number() != OWN_STREAM && stream.is_over());
            if let Some(oldest) = oldest {
                streams.remove(oldest);
            }
        }
        streams.push(Arc::clone(&stream));
        stream
    }

    /// A stream by its number, for a client that resumes it.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        self.streams.lock().iter().find(|stream| stream.number() == number).cloned()
    }

    fn end(&self) {
        for stream in self.streams.lock().drain(..) {
            stream.finish();
        }
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.held.subtract(self.session.declared_bytes());
    }
}

/// The store of all sessions.
pub(crate) struct Sessions {
    clock: Clock,
    created: Instant,
    idle: Duration,
    limits: ClientLimits,
    by_id: RwLock<HashMap<String, Arc<HttpSession>>>,
    held: Arc<HeldByToken>,
}

/// A new session, and the session that ended for it: the name under which servers know that one.
pub(crate) type OpenedSession = (Arc<HttpSession>, Option<Arc<str>>);

/// Why a session cannot be opened.
#[derive(Debug)]
pub(crate) enum SessionRefusal {
    /// The operating system provides no random numbers.
    NoRandom(getrandom::Error),
    /// Too many sessions of this token are in use.
    TooMany {
        /// The maximum.
        limit: usize,
    },
}

impl Sessions {
    /// A store whose sessions end after `idle` without use.
    pub(crate) fn new(idle: Duration, limits: ClientLimits, held: &Arc<HeldByToken>, clock: Clock) -> Self {
        Self {
            created: clock.instant(),
            clock,
            idle,
            limits,
            by_id: RwLock::default(),
            held: Arc::clone(held),
        }
    }

    /// Opens a session under an id that cannot be guessed.
    pub(crate) fn open(
        &self,
        frontends: &Frontends,
        frontend: Frontend,
        principal: Principal,
        client: InitializeParams,
    ) -> Result<OpenedSession, SessionRefusal> {
        let mut random = [0_u8; ID_BYTES];
        getrandom::fill(&mut random).map_err(SessionRefusal::NoRandom)?;
        let id = hex::encode(random);
        let ended = self.make_room(&principal)?;
        let held = self.held.of(&principal.token);
        let session = Arc::new(HttpSession {
            session: LegacySession::new(&id, frontend, principal, client),
            id: id.clone(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(OWN_STREAM + 1),
            last_seen: AtomicU64::new(self.now()),
            held,
        });
        session.held.add(session.session.declared_bytes());
        let weak = Arc::downgrade(&session);
        session.session.listen(frontends, move |message| {
            if let Some(session) = weak.upgrade() {
                session.own_stream().push(message);
            }
        });
        self.by_id.write().insert(id, Arc::clone(&session));
        Ok((session, ended))
    }

    /// Ends the session of this token that is unused for longest, if there are too many.
    fn make_room(&self, principal: &Principal) -> Result<Option<Arc<str>>, SessionRefusal> {
        let limit = self.limits.sessions;
        let unused = {
            let by_id = self.by_id.read();
            let own = by_id.values().filter(|session| session.session.principal.token == principal.token);
            if own.clone().count() < limit {
                return Ok(None);
            }
            let unused = own.filter(|session| Arc::strong_count(session) == 1);
            unused
                .min_by_key(|session| session.last_seen.load(Ordering::Relaxed))
                .map(|session| session.id.clone())
        };
        let unused = unused.ok_or(SessionRefusal::TooMany { limit })?;
        Ok(self.close(&unused))
    }

    /// A session by its id, if it belongs to this principal and this endpoint. For all others it does not
    /// exist.
    pub(crate) fn find(
        &self,
        id: &str,
        principal: &Principal,
        frontend: &Frontend,
    ) -> Option<Arc<HttpSession>> {
        let session = self.by_id.read().get(id).cloned()?;
        if session.session.principal != *principal || session.session.frontend != *frontend {
            return None;
        }
        session.last_seen.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session; returns the name under which servers know it.
    pub(crate) fn close(&self, id: &str) -> Option<Arc<str>> {
        // Bound first: the lock must not be held while streams end.
        let closed = self.by_id.write().remove(id)?;
        closed.end();
        Some(Arc::clone(closed.session.owner()))
    }

    /// Ends idle sessions. An open stream or a running request counts as use: both hold the session. Returns
    /// the names under which servers know those that ended.
    pub(crate) fn sweep(&self) -> Vec<Arc<str>> {
        let limit = self.now().saturating_sub(u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX));
        let idle: Vec<String> = self
            .by_id
            .read()
            .values()
            .filter(|session| {
                session.last_seen.load(Ordering::Relaxed) < limit && Arc::strong_count(session) == 1
            })
            .map(|session| session.id.clone())
            .collect();
        let ended = idle.iter().filter_map(|id| self.close(id)).collect();
        self.held.sweep();
        let mut by_id = self.by_id.write();
        if by_id.capacity() > 1024 && by_id.len() < by_id.capacity() / 4 {
            by_id.shrink_to_fit();
        }
        ended
    }

    /// How many sessions are open.
    pub(crate) fn count(&self) -> usize {
        self.by_id.read().len()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.instant().duration_since(self.created).as_millis()).unwrap_or(u64::MAX)
    }
}
