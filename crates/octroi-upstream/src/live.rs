//! A request in flight: its events until the answer, and its cancellation when it is dropped.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::UpstreamError;
use crate::event::{CallEvent, CancelReason};
use crate::mux::{ChannelAnswer, Mux, Receiver};
use crate::streamable::HttpCall;

/// A call in flight. Dropping it cancels it at the server.
pub struct LiveCall {
    transport: CallTransport,
}

enum CallTransport {
    Shared(Box<SharedCall>),
    Http(Box<HttpCall>),
}

/// A call over a channel that is shared with other calls.
struct SharedCall {
    mux: Arc<Mux>,
    receiver: Receiver,
    unsent: Option<Bytes>,
    answer: Option<Result<CallEvent, UpstreamError>>,
    is_over: bool,
    cancel_reason: CancelReason,
}

impl LiveCall {
    pub(crate) fn shared(mux: Arc<Mux>, receiver: Receiver, message: Bytes) -> Self {
        let call = SharedCall {
            mux,
            receiver,
            unsent: Some(message),
            answer: None,
            is_over: false,
            cancel_reason: CancelReason::Client,
        };
        Self { transport: CallTransport::Shared(Box::new(call)) }
    }

    pub(crate) fn http(call: HttpCall) -> Self {
        Self { transport: CallTransport::Http(Box::new(call)) }
    }

    /// Ends the call because its time is up, which its server is told when this is dropped.
    pub fn time_out(&mut self) {
        match &mut self.transport {
            CallTransport::Shared(call) => call.cancel_reason = CancelReason::Timeout,
            CallTransport::Http(call) => call.time_out(),
        }
    }

    /// The next event; the first call of this sends the request.
    pub async fn next(&mut self) -> Result<CallEvent, UpstreamError> {
        match &mut self.transport {
            CallTransport::Shared(call) => call.next().await,
            CallTransport::Http(call) => call.next().await,
        }
    }
}

impl SharedCall {
    async fn next(&mut self) -> Result<CallEvent, UpstreamError> {
        if let Some(message) = self.unsent.clone() {
            if let Some(opening) = &self.receiver.opening {
                tokio::select! {
                    biased;
                    event = self.receiver.events.next() => return Ok(event),
                    () = opening.answered() => {}
                }
                self.receiver.opening = None;
            }
            self.mux.send(message).await.map_err(UpstreamError::NotTaken)?;
            self.unsent = None;
        }
        if let Some(answer) = self.answer.take() {
            return self.end(answer);
        }
        if self.is_over {
            return Err(UpstreamError::Closed("the call is over".to_owned()));
        }
        tokio::select! {
            biased;
            event = self.receiver.events.next() => Ok(event),
            answered = &mut self.receiver.answer => {
                self.is_over = true;
                let answer = match answered {
                    Ok(ChannelAnswer::Message(message)) => Ok(CallEvent::Answer(message)),
                    Ok(ChannelAnswer::TooLarge { limit }) => Err(UpstreamError::TooLarge { limit }),
                    Ok(ChannelAnswer::NotTaken(reason)) => Err(UpstreamError::NotTaken(reason)),
                    Err(_) => Err(UpstreamError::Closed(self.mux.reason())),
                };
                self.end(answer)
            }
        }
    }

    /// The answer, after the events that arrived before it.
    fn end(&mut self, answer: Result<CallEvent, UpstreamError>) -> Result<CallEvent, UpstreamError> {
        if let Some(event) = self.receiver.events.take() {
            self.answer = Some(answer);
            return Ok(event);
        }
        answer
    }
}

impl Drop for SharedCall {
    fn drop(&mut self) {
        if !self.is_over {
            self.mux.cancel(self.receiver.id, self.cancel_reason);
        }
    }
}
