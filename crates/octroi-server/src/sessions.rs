//! All legacy sessions over HTTP. Those of an earlier run of the gateway are restored from their ids when their
//! clients come back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use octroi_api::{ApiError, ErrorCode};
use octroi_core::config::ClientLimits;
use octroi_core::{Clock, Principal};
use octroi_gateway::{Cipher, Filter, error_message, rpc_error};
use octroi_mcp::{Id, Method, envelope};
use parking_lot::{Mutex, RwLock};

use crate::event_log::{EventLog, EventOrigin, OWN_STREAM};
use crate::frontend::{Frontend, Frontends};
use crate::held_bytes::{HeldByToken, HeldBytes};
use crate::session::{InitializeParams, LegacySession};
use crate::session_id::SessionIds;

/// How many times the sessions that a token may have are restored for it; each is restored once.
const RESTORED_TIMES: usize = 16;
/// Streams kept for clients that may still resume them.
const STREAMS_KEPT: usize = 16;

/// A session and the streams it can be reached by.
pub(crate) struct HttpSession {
    pub(crate) id: Box<str>,
    pub(crate) session: LegacySession,
    /// The run of the gateway.
    run: u64,
    streams: Mutex<Vec<Arc<EventLog>>>,
    next_stream: AtomicU64,
    /// Microseconds since the session store was created: clients come faster than one in a millisecond.
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
        let origin = EventOrigin { run: self.run, request: None };
        let own = EventLog::new(OWN_STREAM, origin, &self.held);
        streams.push(Arc::clone(&own));
        own
    }

    /// A stream for one request; for several if it has no id.
    pub(crate) fn new_stream(&self, request: Option<Id>) -> Arc<EventLog> {
        let origin = EventOrigin::of_request(self.run, request);
        let stream = EventLog::new(self.next_stream.fetch_add(1, Ordering::Relaxed), origin, &self.held);
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

    /// A stream by its number, for a client that resumes it. One of an earlier run is not known.
    pub(crate) fn stream(&self, number: u64, run: u64) -> Option<Arc<EventLog>> {
        let is_known = |stream: &&Arc<EventLog>| stream.number() == number && run == self.run;
        self.streams.lock().iter().find(is_known).cloned()
    }

    /// A stream that answers a request of an earlier run: its outcome is unknown. `None` for a request of this run.
    pub(crate) fn lost_request(&self, origin: &EventOrigin) -> Option<Arc<EventLog>> {
        let id = origin.request.as_ref().filter(|_| origin.run != self.run)?;
        let message = "Octroi was restarted while it answered this request";
        let error = rpc_error(&ApiError::new(ErrorCode::OutcomeUnknown, message));
        let stream = self.new_stream(Some(id.clone()));
        stream.push(error_message(Some(id), &error));
        stream.finish();
        Some(stream)
    }

    /// Notifies a client that comes back that it may have missed changes.
    pub(crate) fn announce_missed(&self) {
        if self.session.frontend.list_changes(Filter::ALL) == Filter::ALL {
            for list in [Method::ToolsChanged, Method::PromptsChanged, Method::ResourcesChanged] {
                self.own_stream().push(envelope::notification(&list, b"{}"));
            }
        }
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

/// Where a session is found: the random characters at the beginning of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SessionKey([u8; Cipher::NONCE_CHARACTERS]);

impl SessionKey {
    fn of(id: &str) -> Option<Self> {
        id.as_bytes().first_chunk().copied().map(Self)
    }
}

/// The store of all sessions.
pub(crate) struct Sessions {
    clock: Clock,
    created: Instant,
    idle: Duration,
    limits: ClientLimits,
    ids: SessionIds,
    by_key: RwLock<HashMap<SessionKey, Arc<HttpSession>>>,
    /// The sessions of earlier runs that were restored or ended in this one, for each token: those that are over
    /// stay over.
    restored: Mutex<HashMap<Arc<str>, HashSet<SessionKey>>>,
    held: Arc<HeldByToken>,
}

/// A new or restored session, and the session that ended for it: the name under which servers know that one.
pub(crate) type OpenedSession = (Arc<HttpSession>, Option<Arc<str>>);

/// Why a session cannot be opened.
#[derive(Debug)]
pub(crate) enum SessionRefusal {
    /// The operating system provides no random numbers.
    NoRandom,
    /// Too many sessions of this token are in use.
    TooMany {
        /// The maximum.
        limit: usize,
    },
}

impl Sessions {
    /// A store whose sessions end after `idle` without use.
    pub(crate) fn new(
        idle: Duration,
        limits: ClientLimits,
        ids: SessionIds,
        held: &Arc<HeldByToken>,
        clock: Clock,
    ) -> Self {
        Self {
            created: clock.instant(),
            clock,
            idle,
            limits,
            ids,
            by_key: RwLock::default(),
            restored: Mutex::default(),
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
        let id = self.ids.issue(&principal, &frontend, &client).ok_or(SessionRefusal::NoRandom)?;
        let key = SessionKey::of(&id).ok_or(SessionRefusal::NoRandom)?;
        let ended = self.make_room(&principal)?;
        let session = self.make(&id, frontend, principal, client);
        self.insert(frontends, key, &session);
        Ok((session, ended))
    }

    /// Restores a session of an earlier run of the gateway. `None` if the id is not one of this principal and this
    /// endpoint, or the session is over.
    pub(crate) fn restore(
        &self,
        frontends: &Frontends,
        id: &str,
        principal: &Principal,
        frontend: &Frontend,
    ) -> Result<Option<OpenedSession>, SessionRefusal> {
        let Some(key) = SessionKey::of(id) else {
            return Ok(None);
        };
        let Some(client) = self.ids.open_earlier(id, principal, frontend) else {
            return Ok(None);
        };
        // Held to the end: two requests that come at the same time belong to one session.
        let mut restored = self.restored.lock();
        if let Some(session) = self.find(id, principal, frontend) {
            return Ok(Some((session, None)));
        }
        let own = restored.entry(Arc::clone(&principal.token().label)).or_default();
        if own.contains(&key) || own.len() >= self.limits.sessions.saturating_mul(RESTORED_TIMES) {
            return Ok(None);
        }
        let ended = self.make_room(principal)?;
        own.insert(key);
        let session = self.make(id, frontend.clone(), principal.clone(), client);
        session.session.number_questions_of_run(self.ids.run());
        session.announce_missed();
        self.insert(frontends, key, &session);
        Ok(Some((session, ended)))
    }

    fn make(
        &self,
        id: &str,
        frontend: Frontend,
        principal: Principal,
        client: InitializeParams,
    ) -> Arc<HttpSession> {
        let held = self.held.of(&principal.token().label);
        // Its beginning is unique, and the same after a restart.
        let name = id.get(..Cipher::NONCE_CHARACTERS).unwrap_or(id);
        let session = LegacySession::new(name, frontend, principal, client);
        held.add(session.declared_bytes());
        Arc::new(HttpSession {
            session,
            id: id.into(),
            run: self.ids.run(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(OWN_STREAM + 1),
            last_seen: AtomicU64::new(self.now()),
            held,
        })
    }

    fn insert(&self, frontends: &Frontends, key: SessionKey, session: &Arc<HttpSession>) {
        let weak = Arc::downgrade(session);
        session.session.listen(frontends, move |message| {
            if let Some(session) = weak.upgrade() {
                session.own_stream().push(message);
            }
        });
        self.by_key.write().insert(key, Arc::clone(session));
    }

    /// Ends the session of this token that is unused for longest, if there are too many.
    fn make_room(&self, principal: &Principal) -> Result<Option<Arc<str>>, SessionRefusal> {
        let limit = self.limits.sessions;
        let unused = {
            let by_key = self.by_key.read();
            let own = by_key
                .values()
                .filter(|session| session.session.principal.token().label == principal.token().label);
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
        let session = self.by_key.read().get(&SessionKey::of(id)?).cloned()?;
        if *session.id != *id
            || session.session.principal != *principal
            || session.session.frontend != *frontend
        {
            return None;
        }
        session.last_seen.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session; returns the name under which servers know it.
    pub(crate) fn close(&self, id: &str) -> Option<Arc<str>> {
        // Bound first: the lock must not be held while streams end.
        let closed = self.by_key.write().remove(&SessionKey::of(id)?)?;
        closed.end();
        Some(Arc::clone(closed.session.owner()))
    }

    /// Ends idle sessions. An open stream or a running request counts as use: both hold the session. Returns
    /// the names under which servers know those that ended.
    pub(crate) fn sweep(&self) -> Vec<Arc<str>> {
        let limit = self.now().saturating_sub(u64::try_from(self.idle.as_micros()).unwrap_or(u64::MAX));
        let idle: Vec<Box<str>> = self
            .by_key
            .read()
            .values()
            .filter(|session| {
                session.last_seen.load(Ordering::Relaxed) < limit && Arc::strong_count(session) == 1
            })
            .map(|session| session.id.clone())
            .collect();
        let ended = idle.iter().filter_map(|id| self.close(id)).collect();
        self.held.sweep();
        let mut by_key = self.by_key.write();
        if by_key.capacity() > 1024 && by_key.len() < by_key.capacity() / 4 {
            by_key.shrink_to_fit();
        }
        ended
    }

    /// The sessions whose principals are not valid any more.
    pub(crate) fn without(&self, is_valid: impl Fn(&Principal) -> bool) -> Vec<Arc<HttpSession>> {
        let by_key = self.by_key.read();
        by_key.values().filter(|session| !is_valid(&session.session.principal)).cloned().collect()
    }

    /// How many sessions are open.
    pub(crate) fn count(&self) -> usize {
        self.by_key.read().len()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.instant().duration_since(self.created).as_micros()).unwrap_or(u64::MAX)
    }
}
