//! What a server says during a call, until the call hears it.
//!
//! Most calls hear nothing before their answer, so there is only room once something is said. A channel would make
//! room for dozens of messages for each call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::event::CallEvent;

/// How many may wait for one call. More are dropped: a slow client must not hold up the channel it shares with others.
const WAITING_MAX: usize = 64;

/// Messages for one call, held by the call and by whoever may have some for it.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<CallEvent>,
    /// The call, if it waits.
    waiting: Option<Waker>,
}

impl Notes {
    /// Adds one, unless too many wait.
    pub(crate) fn push(&self, event: CallEvent) {
        let mut state = self.state.lock();
        if state.events.len() >= WAITING_MAX {
            // What is asked in vain is answered when it is dropped, which may take other locks.
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

    /// The oldest, if there is one.
    pub(crate) fn take(&self) -> Option<CallEvent> {
        self.state.lock().events.pop_front()
    }

    /// Waits for one.
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

    fn note(number: usize) -> CallEvent {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/n{number}\"}}");
        CallEvent::Notification(Envelope::parse(Bytes::from(text)).unwrap())
    }

    fn told(event: &CallEvent) -> String {
        let CallEvent::Notification(message) = event else { panic!("{event:?}") };
        message.method().to_string()
    }

    #[tokio::test]
    async fn what_is_said_is_heard_in_order_and_wakes_who_waits() {
        let notes = Arc::new(Notes::default());
        assert!(notes.next().now_or_never().is_none());
        let hearing = Arc::clone(&notes);
        let (heard, ()) = tokio::join!(async move { [hearing.next().await, hearing.next().await] }, async {
            notes.push(note(1));
            notes.push(note(2));
        });
        assert_eq!(heard.each_ref().map(told), ["notifications/n1", "notifications/n2"]);
        assert!(notes.take().is_none());
    }

    #[test]
    fn what_nobody_hears_is_dropped() {
        let notes = Notes::default();
        (0..WAITING_MAX + 10).for_each(|number| notes.push(note(number)));
        let heard: Vec<_> = std::iter::from_fn(|| notes.take()).collect();
        assert_eq!(heard.len(), WAITING_MAX);
        assert_eq!(told(&heard[0]), "notifications/n0");
    }
}
