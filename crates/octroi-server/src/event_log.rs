//! Events that were sent on a legacy stream, kept so that a client can resume a stream it lost.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use octroi_mcp::{Id, sse};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::held_bytes::HeldBytes;
use crate::reply::KEEP_ALIVE_EVERY;

/// The stream of a session that belongs to no request.
pub(crate) const OWN_STREAM: u64 = 0;
/// Events kept for a disconnected client. Older ones are lost, as the protocol allows.
const EVENTS_KEPT: usize = 256;
/// What an event costs besides its message.
const EVENT_BYTES: usize = 64;
/// A longer id of a request is not part of its events' ids.
const REQUEST_ID_MAX: usize = 64;

/// One stream's events.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Unique within the session and the run of the gateway; the first part of every event's id.
    number: u64,
    /// The last part of every event's id.
    origin: EventOrigin,
    state: Mutex<EventLogState>,
    changed: watch::Sender<u64>,
    held: Arc<HeldBytes>,
}

#[derive(Debug, Default)]
struct EventLogState {
    events: VecDeque<(u64, Bytes)>,
    /// The last event delivered: where a reader starts that names no event.
    delivered: u64,
    next: u64,
    is_over: bool,
    /// Whether the client of the request is to come back for the rest.
    is_released: bool,
    /// Whether a client has read it.
    was_followed: bool,
}

impl EventLog {
    pub(crate) fn new(number: u64, origin: EventOrigin, held: &Arc<HeldBytes>) -> Arc<Self> {
        let state = EventLogState { next: 1, ..EventLogState::default() };
        let (state, changed) = (Mutex::new(state), watch::Sender::default());
        Arc::new(Self { number, origin, state, changed, held: Arc::clone(held) })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn event_id(&self, number: u64) -> String {
        format!("{}-{number}-{}", self.number, self.origin)
    }

    /// The first event of a stream: only an id to resume from, and how soon to reconnect.
    pub(crate) fn priming(&self) -> Bytes {
        Bytes::from(format!("id: {}\nretry: 1000\ndata:\n\n", self.event_id(0)))
    }

    /// Adds a message. Never waits.
    pub(crate) fn push(&self, message: Bytes) {
        let mut state = self.state.lock();
        // Two changes of a list that nobody has read yet are one.
        let is_repeated =
            state.events.back().is_some_and(|(number, last)| *number > state.delivered && *last == message);
        if is_repeated && is_list_change(&message) {
            return;
        }
        let number = state.next;
        state.next += 1;
        self.held.add(message.len() + EVENT_BYTES);
        state.events.push_back((number, message));
        // A client that reads, or is about to, gets the newest event however large it is; one that is away
        // does not.
        let is_expected = self.number != OWN_STREAM && !state.was_followed;
        let n_least = usize::from(is_expected || self.changed.receiver_count() > 0);
        while state.events.len() > EVENTS_KEPT || (state.events.len() > n_least && self.held.is_over()) {
            self.forget_oldest(&mut state);
        }
        drop(state);
        self.changed.send_modify(|version| *version += 1);
    }

    fn forget_oldest(&self, state: &mut EventLogState) {
        if let Some((number, message)) = state.events.pop_front() {
            self.held.subtract(message.len() + EVENT_BYTES);
            if number > state.delivered {
                tracing::debug!(stream = self.number, event = number, "event dropped, its client is away");
            }
        }
    }

    /// Ends the log: nothing more will be added.
    pub(crate) fn finish(&self) {
        self.state.lock().is_over = true;
        self.changed.send_modify(|version| *version += 1);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Lets the client of the request go: it has what was added so far, and comes back for the rest.
    pub(crate) fn release(&self) {
        self.state.lock().is_released = true;
        self.changed.send_modify(|version| *version += 1);
    }

    /// The events after `after`, or after the last one delivered, and then new ones. The stream ends with the
    /// log, or when the endpoint closes.
    pub(crate) fn follow(
        self: Arc<Self>,
        after: Option<u64>,
        priming: Option<Bytes>,
        until: FollowUntil,
        closing: CancellationToken,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        let cursor = {
            let mut state = self.state.lock();
            state.was_followed = true;
            after.unwrap_or(state.delivered)
        };
        let changed = self.changed.subscribe();
        let reader = EventLogReader { log: self, cursor, changed, closing, priming, until, has_begun: false };
        stream::unfold(reader, |mut reader| async move { Some((Ok(reader.next().await?), reader)) })
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        let n_bytes: usize =
            self.state.get_mut().events.iter().map(|(_, message)| message.len() + EVENT_BYTES).sum();
        self.held.subtract(n_bytes);
    }
}

fn is_list_change(message: &Bytes) -> bool {
    message.len() < 128 && memchr::memmem::find(message, b"list_changed").is_some()
}

/// How long a reader follows a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowUntil {
    /// Until it is over.
    Over,
    /// Until its client is released, if that comes first.
    Released,
}

struct EventLogReader {
    log: Arc<EventLog>,
    cursor: u64,
    changed: watch::Receiver<u64>,
    closing: CancellationToken,
    priming: Option<Bytes>,
    until: FollowUntil,
    /// Whether it has looked for events before.
    has_begun: bool,
}

impl EventLogReader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(priming) = self.priming.take() {
            return Some(priming);
        }
        loop {
            self.changed.borrow_and_update();
            {
                let mut state = self.log.state.lock();
                let oldest = state.events.front().map_or(state.next, |(number, _)| *number);
                if std::mem::replace(&mut self.has_begun, true) {
                    // The client does not read as fast as events come, and has missed some. It can resume.
                    if oldest > self.cursor.saturating_add(1) {
                        return None;
                    }
                } else {
                    // What was lost before it came is no reason to end.
                    self.cursor = self.cursor.max(oldest - 1);
                }
                if let Some((number, message)) = state.events.iter().find(|(number, _)| *number > self.cursor)
                {
                    let event = sse::write(message, Some(&self.log.event_id(*number)));
                    self.cursor = *number;
                    state.delivered = state.delivered.max(self.cursor);
                    return Some(event);
                }
                if state.is_over || (state.is_released && self.until == FollowUntil::Released) {
                    return None;
                }
            }
            tokio::select! {
                biased;
                changed = self.changed.changed() => changed.ok()?,
                () = self.closing.cancelled() => return None,
                () = tokio::time::sleep(KEEP_ALIVE_EVERY) => return Some(Bytes::from_static(sse::KEEP_ALIVE)),
            }
        }
    }
}

impl Drop for EventLogReader {
    /// What a client did not read to its end is kept for it only while there is room.
    fn drop(&mut self) {
        if self.log.changed.receiver_count() > 1 {
            return;
        }
        let mut state = self.log.state.lock();
        while self.log.held.is_over() && !state.events.is_empty() {
            self.log.forget_oldest(&mut state);
        }
    }
}

/// Where events come from: the run of the gateway, and the request that their stream answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventOrigin {
    pub(crate) run: u64,
    /// `None` for the session's own stream, and where the request's id is too long.
    pub(crate) request: Option<Id>,
}

impl EventOrigin {
    /// The origin of a stream that answers a request, so that its client can be answered after a restart.
    pub(crate) fn of_request(run: u64, request: Option<Id>) -> Self {
        Self { run, request: request.filter(|id| id.as_json().len() <= REQUEST_ID_MAX) }
    }
}

impl fmt::Display for EventOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}", self.run)?;
        match &self.request {
            Some(id) => write!(formatter, "-{}", hex::encode(id.as_json())),
            None => Ok(()),
        }
    }
}

/// The id of an event: `{stream}-{event}-{run}`, and for the stream of a request the id of that request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: u64,
    pub(crate) event: u64,
    pub(crate) origin: EventOrigin,
}

impl EventId {
    /// Reads an id as a client returns it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '-');
        let stream = parts.next()?.parse().ok()?;
        let event = parts.next()?.parse().ok()?;
        let run = u64::from_str_radix(parts.next()?, 16).ok()?;
        let request = match parts.next() {
            None => None,
            Some(request) => Some(request_id(request)?),
        };
        Some(Self { stream, event, origin: EventOrigin { run, request } })
    }
}

/// The client writes it, so it is read like the id of any request.
fn request_id(text: &str) -> Option<Id> {
    let json = hex::decode(text).ok().filter(|json| json.len() <= REQUEST_ID_MAX)?;
    let value: serde_json::Value = serde_json::from_slice(&json).ok()?;
    (value.is_string() || value.is_number()).then(|| Id::from_json(Bytes::from(value.to_string())))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    fn origin() -> EventOrigin {
        EventOrigin { run: 0xab, request: None }
    }

    async fn read(log: &Arc<EventLog>, after: Option<u64>) -> Vec<String> {
        let stream = Arc::clone(log).follow(after, None, FollowUntil::Over, CancellationToken::new());
        let events: Vec<_> = stream.collect().await;
        events.into_iter().map(|Ok(event)| String::from_utf8_lossy(&event).into_owned()).collect()
    }

    #[tokio::test]
    async fn a_lost_stream_goes_on_after_the_last_event_seen() {
        let log = EventLog::new(3, origin(), &HeldBytes::new(1 << 20));
        for number in 1..=3 {
            log.push(Bytes::from(format!("{{\"n\":{number}}}")));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), 3);
        assert_eq!(read(&log, Some(2)).await, ["id: 3-3-ab\ndata: {\"n\":3}\n\n"]);
        assert_eq!(read(&log, None).await.len(), 0, "what was delivered is not sent again unasked");
    }

    #[tokio::test]
    async fn a_client_that_is_away_costs_a_bounded_amount() {
        let log = EventLog::new(1, origin(), &HeldBytes::new(1 << 20));
        for number in 0..10_000 {
            log.push(Bytes::from(number.to_string()));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), EVENTS_KEPT);
    }

    #[tokio::test]
    async fn the_same_list_change_is_kept_once() {
        let log = EventLog::new(1, origin(), &HeldBytes::new(1 << 20));
        for _ in 0..5 {
            log.push(Bytes::from_static(br#"{"method":"notifications/tools/list_changed"}"#));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), 1);
    }

    #[tokio::test]
    async fn what_is_kept_is_limited_in_bytes_over_all_streams() {
        let kept = HeldBytes::new(10_000);
        let logs: Vec<_> = (1..=5).map(|_| EventLog::new(OWN_STREAM, origin(), &kept)).collect();
        for _ in 0..100 {
            for log in &logs {
                log.push(Bytes::from(vec![b'x'; 1_000]));
                assert!(kept.used() <= 10_000);
            }
        }
        drop(logs);
        assert_eq!(kept.used(), 0);
    }

    #[tokio::test]
    async fn an_answer_is_kept_until_its_client_had_the_chance_to_read_it() {
        let held = HeldBytes::new(100);
        let log = EventLog::new(1, origin(), &held);
        log.push(Bytes::from(vec![b'x'; 1_000]));
        log.finish();
        assert_eq!(read(&log, Some(0)).await.len(), 1);
        assert_eq!(held.used(), 0, "afterwards there is no room for it");
    }

    #[tokio::test]
    async fn a_client_that_reads_gets_what_is_larger_than_all_that_may_be_kept() {
        let log = EventLog::new(1, origin(), &HeldBytes::new(100));
        let mut stream =
            Box::pin(Arc::clone(&log).follow(None, None, FollowUntil::Over, CancellationToken::new()));
        for _ in 0..3 {
            log.push(Bytes::from(vec![b'x'; 1_000]));
            assert!(stream.next().await.is_some());
        }
    }

    #[tokio::test]
    async fn a_stream_that_is_not_read_ends() {
        let log = EventLog::new(1, origin(), &HeldBytes::new(1 << 20));
        let mut stream =
            Box::pin(Arc::clone(&log).follow(None, None, FollowUntil::Over, CancellationToken::new()));
        log.push(Bytes::from_static(b"first"));
        assert!(stream.next().await.is_some());
        for number in 0..1_000 {
            log.push(Bytes::from(number.to_string()));
        }
        assert!(stream.next().await.is_none(), "the client missed events, and can resume");
        let again = Arc::clone(&log).follow(Some(1), None, FollowUntil::Over, CancellationToken::new());
        assert_eq!(again.take(EVENTS_KEPT).count().await, EVENTS_KEPT);
    }

    #[tokio::test]
    async fn a_client_whose_events_are_lost_gets_the_next_ones() {
        let held = HeldBytes::new(0);
        let log = EventLog::new(OWN_STREAM, origin(), &held);
        for _ in 0..5 {
            log.push(Bytes::from_static(b"lost"));
        }
        let mut stream =
            Box::pin(Arc::clone(&log).follow(Some(2), None, FollowUntil::Over, CancellationToken::new()));
        for _ in 0..3 {
            log.push(Bytes::from_static(b"new"));
            assert!(stream.next().await.is_some());
        }
    }

    #[tokio::test]
    async fn a_released_client_comes_back_for_the_rest() {
        let log = EventLog::new(1, origin(), &HeldBytes::new(1 << 20));
        log.push(Bytes::from_static(b"question"));
        log.release();
        let follow =
            |after, until| Box::pin(Arc::clone(&log).follow(after, None, until, CancellationToken::new()));
        assert_eq!(follow(Some(0), FollowUntil::Released).count().await, 1, "what came before is sent");
        let mut rest = follow(Some(1), FollowUntil::Over);
        log.push(Bytes::from_static(b"answer"));
        log.finish();
        assert!(rest.next().await.is_some());
        assert!(rest.next().await.is_none());
    }

    #[test]
    fn event_ids() {
        for request in [None, Some(Id::number(7)), Some(Id::from_json(Bytes::from_static(b"\"a-b\"")))] {
            let log = EventLog::new(3, EventOrigin { run: 0xab, request }, &HeldBytes::new(0));
            let expected = EventId { stream: 3, event: 14, origin: log.origin.clone() };
            assert_eq!(EventId::parse(&log.event_id(14)), Some(expected));
        }
        let long = Id::from_json(Bytes::from(format!("\"{}\"", "x".repeat(100))));
        assert_eq!(EventOrigin::of_request(1, Some(long)).request, None);
        let wrong =
            ["", "3", "3-4", "a-b-c", "3-", "-1-1", "3-14-xy", "3-14-ab-", "3-14-ab-7", "3-14-ab-7b7d"];
        for id in wrong {
            assert_eq!(EventId::parse(id), None, "{id}");
        }
    }
}
