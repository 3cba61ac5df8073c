//! One client's connection: what it does, since when, and why it must end.
//!
//! Every request changes this state, so it is only a few atomic numbers: no timer is set for a request. A
//! sweep every half second finds the connections that take too long.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use octroi_core::config::ClientLimits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::coarse_clock::CoarseClock;
use crate::held_bytes::HeldBytes;
use crate::turns::TurnKey;

/// How long a connection may take to end by itself once it must.
const END_PATIENCE: Duration = Duration::from_secs(2);
const PHASE_BITS: u32 = 2;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No request is being received or processed; an answer or a stream may still be sent.
    Idle,
    /// The headers of a request are being received.
    Head,
    /// The body of a request is being received.
    Body,
    /// A request is being processed.
    Busy,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Idle, Self::Head, Self::Body, Self::Busy];
}

/// Why a connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ending {
    /// Nothing happened on it for too long.
    Idle = 1,
    /// The client sends a request too slowly.
    SlowRequest = 2,
    /// The client does not read what it is sent.
    Unread = 3,
    /// It made room for another one, without a valid token yet.
    Crowded = 4,
}

impl Ending {
    const ALL: [Self; 4] = [Self::Idle, Self::SlowRequest, Self::Unread, Self::Crowded];

    /// The last response, where no other is on its way.
    const fn response(self) -> &'static [u8] {
        match self {
            Self::Idle | Self::Unread => b"",
            Self::SlowRequest => {
                b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            }
            Self::Crowded => {
                b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
            }
        }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) address: IpAddr,
    /// Whether only people are answered on it.
    pub(crate) is_reserved: bool,
    /// Whether a valid token was sent on it.
    pub(crate) is_authenticated: AtomicBool,
    /// Who its work is done for, see [`Turns`](crate::turns::Turns).
    turn_key: AtomicU64,
    /// What is held for its token, once it is known.
    pub(crate) held: OnceLock<Arc<HeldBytes>>,
    clock: Arc<CoarseClock>,
    /// The phase, and the time of its last progress in milliseconds.
    phase: AtomicU64,
    /// Since when nothing can be sent, in milliseconds; zero if something can.
    blocked_since: AtomicU64,
    ending: AtomicU8,
    ending_since: AtomicU64,
    is_killed: AtomicBool,
    waker: AtomicWaker,
}

impl Connection {
    pub(crate) fn new(number: u64, address: IpAddr, is_reserved: bool, clock: &Arc<CoarseClock>) -> Self {
        let connection = Self {
            number,
            address,
            is_reserved,
            is_authenticated: AtomicBool::new(false),
            turn_key: AtomicU64::new(number),
            held: OnceLock::new(),
            clock: Arc::clone(clock),
            phase: AtomicU64::new(0),
            blocked_since: AtomicU64::new(0),
            ending: AtomicU8::new(0),
            ending_since: AtomicU64::new(0),
            is_killed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        // A client that sends nothing at all is as slow as one that sends its headers slowly.
        connection.enter(Phase::Head);
        connection
    }

    /// Who its work is done for now.
    pub(crate) fn turn_key(&self) -> TurnKey {
        TurnKey(self.turn_key.load(Ordering::Relaxed))
    }

    pub(crate) fn work_for(&self, key: TurnKey) {
        self.turn_key.store(key.0, Ordering::Relaxed);
    }

    /// Begins a phase.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store((self.clock.now_ms() << PHASE_BITS) | phase as u64, Ordering::Relaxed);
    }

    /// The phase, and the time of its last progress.
    fn phase(&self) -> (Phase, u64) {
        let packed = self.phase.load(Ordering::Relaxed);
        let index = usize::try_from(packed & ((1 << PHASE_BITS) - 1)).unwrap_or_default();
        (Phase::ALL[index], packed >> PHASE_BITS)
    }

    /// Why the connection must end, if it must.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let number = self.ending.load(Ordering::Relaxed);
        Ending::ALL.into_iter().find(|ending| *ending as u8 == number)
    }

    /// Whether the connection had its time to end by itself.
    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// Makes the connection end.
    pub(crate) fn end(&self, ending: Ending) {
        tracing::debug!(connection = self.number, address = %self.address, reason = ?ending, "connection ended by Octroi");
        self.ending_since.store(self.clock.now_ms(), Ordering::Relaxed);
        self.ending.store(ending as u8, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Wakes this task when the connection must end.
    pub(crate) fn wake_on_end(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Ends the connection if something takes too long.
    pub(crate) fn check(&self, limits: &ClientLimits) {
        let now = self.clock.now_ms();
        let is_over = |since: u64, limit: Duration| u128::from(now.saturating_sub(since)) > limit.as_millis();
        if self.ending().is_some() {
            if is_over(self.ending_since.load(Ordering::Relaxed), END_PATIENCE) {
                self.is_killed.store(true, Ordering::Relaxed);
                self.waker.wake();
            }
            return;
        }
        let blocked_since = self.blocked_since.load(Ordering::Relaxed);
        if blocked_since > 0 && is_over(blocked_since, limits.write_timeout) {
            return self.end(Ending::Unread);
        }
        let (phase, since) = self.phase();
        match phase {
            Phase::Idle if is_over(since, limits.idle_timeout) => self.end(Ending::Idle),
            Phase::Head if is_over(since, limits.header_timeout) => self.end(Ending::SlowRequest),
            Phase::Body if is_over(since, limits.body_timeout) => self.end(Ending::SlowRequest),
            Phase::Idle | Phase::Head | Phase::Body | Phase::Busy => {}
        }
    }

    fn has_read(&self) {
        if self.phase.load(Ordering::Relaxed) & ((1 << PHASE_BITS) - 1) == Phase::Idle as u64 {
            self.enter(Phase::Head);
        }
    }

    fn has_written(&self) {
        if self.blocked_since.load(Ordering::Relaxed) > 0 {
            self.blocked_since.store(0, Ordering::Relaxed);
        }
        if self.phase.load(Ordering::Relaxed) & ((1 << PHASE_BITS) - 1) == Phase::Idle as u64 {
            self.enter(Phase::Idle);
        }
    }

    fn is_blocked(&self) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.blocked_since.store(self.clock.now_ms().max(1), Ordering::Relaxed);
        }
    }
}

/// The socket of a connection, which notes every progress and ends when the connection must.
pub(crate) struct WatchedStream<S> {
    stream: S,
    connection: Arc<Connection>,
}

impl<S> WatchedStream<S> {
    pub(crate) fn new(stream: S, connection: Arc<Connection>) -> Self {
        Self { stream, connection }
    }
}

impl<S: AsyncWrite + Unpin> WatchedStream<S> {
    /// Ends the connection as if the client had closed it, after a last response.
    fn poll_last_response(&mut self, ending: Ending, context: &mut Context<'_>) -> Poll<()> {
        let (phase, _) = self.connection.phase();
        if !matches!(phase, Phase::Idle | Phase::Head) || ending.response().is_empty() {
            return Poll::Ready(());
        }
        // A socket that was just opened may not be known to be writable. A client that does not read is not waited
        // for: its connection is killed.
        Pin::new(&mut self.stream).poll_write(context, ending.response()).map(drop)
    }

    fn note_write(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(_)) => self.connection.has_written(),
            Poll::Ready(Err(error)) => {
                let Connection { number, address, .. } = &*self.connection;
                tracing::debug!(connection = number, %address, %error, "cannot send to the client, its streams end");
            }
            Poll::Pending => self.connection.is_blocked(),
        }
    }

    fn must_not_write(&self) -> Option<io::Error> {
        let is_unread = self.connection.ending() == Some(Ending::Unread);
        is_unread.then(|| io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.connection.ending.load(Ordering::Relaxed) != 0
            && let Some(ending) = self.connection.ending()
            // Its handler answers a body that comes too slowly.
            && self.connection.phase().0 != Phase::Body
        {
            return self.poll_last_response(ending, context).map(Ok);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.has_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.must_not_write() {
            return Poll::Ready(Err(error));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.must_not_write() {
            return Poll::Ready(Err(error));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
