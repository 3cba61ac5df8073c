//! Bodies of answers that take a while: streams, and answers too large to be sent at once.
//!
//! While such a body is sent, its connection is not idle, and a large answer counts among what is held for
//! its token: a client that asks for much and reads nothing is stopped by its own limit.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use crate::connection::{Connection, Phase};
use crate::held_bytes::{HeldRequest, SMALL_BYTES};
use crate::reply::Reply;

/// Ends the request of a connection: at once, or when its answer was sent.
pub(crate) fn track(reply: Reply, connection: &Arc<Connection>) -> Reply {
    let n_bytes = reply.body().size_hint().exact().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    if n_bytes.is_some_and(|n| n <= SMALL_BYTES) {
        connection.enter(Phase::Idle);
        return reply;
    }
    let held = n_bytes.and_then(|n| Some(connection.held.get()?.hold_always(n)));
    reply.map(|body| {
        let connection = Arc::clone(connection);
        Body::new(TrackedBody { body, part: Bytes::new(), connection, _held: held })
    })
}

/// A body that is sent in parts, so that it is held until nearly all of it was sent.
struct TrackedBody {
    body: Body,
    /// What was taken from the body and is not sent yet.
    part: Bytes,
    connection: Arc<Connection>,
    _held: Option<HeldRequest>,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.part.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                ended_or_pending => return ended_or_pending,
            };
            match frame.into_data() {
                Ok(data) => self.part = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let n_bytes = self.part.len().min(SMALL_BYTES);
        let part = self.part.split_to(n_bytes);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.part.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let n_left = u64::try_from(self.part.len()).unwrap_or(u64::MAX);
        match hint.upper() {
            Some(upper) => {
                hint.set_upper(upper.saturating_add(n_left));
                hint.set_lower(hint.lower().saturating_add(n_left));
            }
            None => hint.set_lower(hint.lower().saturating_add(n_left)),
        }
        hint
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.connection.enter(Phase::Idle);
    }
}
