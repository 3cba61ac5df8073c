//! Events that were sent on a legacy stream, kept so that a client can resume a stream it lost.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use octroi_mcp::sse;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::reply::KEEP_ALIVE_EVERY;

/// Events kept for a disconnected client. Older ones are lost, as the protocol allows.
const EVENTS_KEPT: usize = 256;

/// One stream's events.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Unique within the session; the first part of every event's id.
    number: u64,
    state: Mutex<EventLogState>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct EventLogState {
    events: VecDeque<(u64, Bytes)>,
    /// The last event delivered: where a reader starts that names no event.
    delivered: u64,
    next: u64,
    is_over: bool,
}

impl EventLog {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        let state = EventLogState { next: 1, ..EventLogState::default() };
        Arc::new(Self { number, state: Mutex::new(state), changed: watch::Sender::default() })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
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
        if state.events.len() == EVENTS_KEPT {
            state.events.pop_front();
        }
        state.events.push_back((number, message));
        drop(state);
        self.changed.send_modify(|version| *version += 1);
    }

    /// Ends the log: nothing more will be added.
    pub(crate) fn finish(&self) {
        self.state.lock().is_over = true;
        self.changed.send_modify(|version| *version += 1);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// The events after `after`, or after the last one delivered, and then new ones. The stream ends with the
    /// log, or when the endpoint closes.
    pub(crate) fn follow(
        self: Arc<Self>,
        after: Option<u64>,
        priming: Option<Bytes>,
        closing: CancellationToken,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        let cursor = after.unwrap_or_else(|| self.state.lock().delivered);
        let changed = self.changed.subscribe();
        let reader = EventLogReader { log: self, cursor, changed, closing, priming };
        stream::unfold(reader, |mut reader| async move { Some((Ok(reader.next().await?), reader)) })
    }
}

fn is_list_change(message: &Bytes) -> bool {
    message.len() < 128 && memchr::memmem::find(message, b"list_changed").is_some()
}

struct EventLogReader {
    log: Arc<EventLog>,
    cursor: u64,
    changed: watch::Receiver<u64>,
    closing: CancellationToken,
    priming: Option<Bytes>,
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
                if let Some((number, message)) = state.events.iter().find(|(number, _)| *number > self.cursor)
                {
                    let event = sse::write(message, Some(&format!("{}-{number}", self.log.number)));
                    self.cursor = *number;
                    state.delivered = state.delivered.max(self.cursor);
                    return Some(event);
                }
                if state.is_over {
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

/// The first event of a stream: only an id to resume from, and how soon to reconnect.
pub(crate) fn priming(number: u64) -> Bytes {
    Bytes::from(format!("id: {number}-0\nretry: 1000\ndata:\n\n"))
}

/// Reads `{stream}-{event}`.
pub(crate) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    async fn read(log: &Arc<EventLog>, after: Option<u64>) -> Vec<String> {
        let stream = Arc::clone(log).follow(after, None, CancellationToken::new());
        let events: Vec<_> = stream.collect().await;
        events.into_iter().map(|Ok(event)| String::from_utf8_lossy(&event).into_owned()).collect()
    }

    #[tokio::test]
    async fn a_lost_stream_goes_on_after_the_last_event_seen() {
        let log = EventLog::new(3);
        for number in 1..=3 {
            log.push(Bytes::from(format!("{{\"n\":{number}}}")));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), 3);
        assert_eq!(read(&log, Some(2)).await, ["id: 3-3\ndata: {\"n\":3}\n\n"]);
        assert_eq!(read(&log, None).await.len(), 0, "what was delivered is not sent again unasked");
    }

    #[tokio::test]
    async fn a_client_that_is_away_costs_a_bounded_amount() {
        let log = EventLog::new(1);
        for number in 0..10_000 {
            log.push(Bytes::from(number.to_string()));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), EVENTS_KEPT);
    }

    #[tokio::test]
    async fn the_same_list_change_is_kept_once() {
        let log = EventLog::new(1);
        for _ in 0..5 {
            log.push(Bytes::from_static(br#"{"method":"notifications/tools/list_changed"}"#));
        }
        log.finish();
        assert_eq!(read(&log, None).await.len(), 1);
    }

    #[test]
    fn event_ids() {
        assert_eq!(parse_event_id("3-14"), Some((3, 14)));
        for id in ["", "3", "a-b", "3-", "-1", "1-2-3"] {
            assert_eq!(parse_event_id(id), None, "{id}");
        }
    }
}
