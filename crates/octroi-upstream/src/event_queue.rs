//! Messages of a server during a call, queued until the call reads them.
//!
//! Most calls get no message before their answer, so the queue allocates only when the first one comes. A
//! channel would reserve space for dozens of messages for each call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::event::CallEvent;

/// How many events may be queued for one call. More are dropped: a slow client must not block the channel
/// that it shares with others.
const WAITING_MAX: usize = 64;

/// The queue of one call's events, shared by the call and its transport.
#[derive(Debug, Default)]
pub(crate) struct CallEventQueue {
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<CallEvent>,
    /// The task of the call, if it waits.
    waiting: Option<Waker>,
}

impl CallEventQueue {
    /// Appends an event, unless the queue is full.
    pub(crate) fn push(&self, event: CallEvent) {
        let mut state = self.state.lock();
        if state.events.len() >= WAITING_MAX {
            // A dropped question answers itself, which may take other locks.
            drop(state);
            return;
        }
        state.events.push_back(event);
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Removes the oldest event, if there is one.
    pub(crate) fn take(&self) -> Option<CallEvent> {
        self.state.lock().events.pop_front()
    }

    /// Waits for the next event.
    pub(crate) async fn next(&self) -> CallEvent {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if let Some(event) = state.events.pop_front() {
                return Poll::Ready(event);
            }
            match &mut state.waiting {
                Some(waiting) => waiting.clone_from(context.waker()),
                waiting @ None => *waiting = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use octroi_mcp::Envelope;

    use super::*;

    fn event(number: usize) -> CallEvent {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/n{number}\"}}");
        CallEvent::Notification(Envelope::parse(Bytes::from(text)).unwrap())
    }

    fn method(event: &CallEvent) -> String {
        let CallEvent::Notification(message) = event else { panic!("{event:?}") };
        message.method().to_string()
    }

    #[tokio::test]
    async fn events_are_read_in_order_and_wake_the_reader() {
        let queue = Arc::new(CallEventQueue::default());
        assert!(queue.next().now_or_never().is_none());
        let reader = Arc::clone(&queue);
        let (events, ()) = tokio::join!(async move { [reader.next().await, reader.next().await] }, async {
            queue.push(event(1));
            queue.push(event(2));
        });
        assert_eq!(events.each_ref().map(method), ["notifications/n1", "notifications/n2"]);
        assert!(queue.take().is_none());
    }

    #[test]
    fn events_beyond_the_limit_are_dropped() {
        let queue = CallEventQueue::default();
        (0..WAITING_MAX + 10).for_each(|number| queue.push(event(number)));
        let events: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(events.len(), WAITING_MAX);
        assert_eq!(method(&events[0]), "notifications/n0");
    }
}
