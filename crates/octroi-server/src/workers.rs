//! Worker threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on the thread that got it, and so does everything its calls do, down to the sockets
//! towards remote servers. Nothing moves from core to core on the way, which is what costs most when a call
//! is short.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use octroi_gateway::{BackgroundTasks, Heartbeat, Heartbeats};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::connection::{Connection, WatchedStream};
use crate::connections::{Connections, OpenConnection, Peer};
use crate::front::Front;
use crate::turns::Turns;

/// Accepted connections that may wait for their thread.
const WAITING: usize = 64;
/// Shorter than what calls usually wait for, see [`pulse`].
const PULSE: Duration = Duration::from_millis(500);
/// The headers of a request.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// How long a thread may take to end after its runtime was asked to.
const JOIN_TRIES: u32 = 200;
const JOIN_PAUSE: Duration = Duration::from_millis(5);

/// The worker threads. They continue after the last connection, because calls can outlive theirs, until this
/// is dropped.
pub(crate) struct Workers {
    entries: Vec<mpsc::Sender<Accepted>>,
    served: Vec<oneshot::Receiver<()>>,
    threads: Vec<JoinHandle<()>>,
    stopping: CancellationToken,
    turn: usize,
    connections: Arc<Connections>,
    access: Arc<Access>,
}

/// A connection on its way to its worker.
type Accepted = (std::net::TcpStream, OpenConnection);

impl Workers {
    /// Starts `n` threads; after `closing` each ends its connections as their calls end.
    #[expect(clippy::disallowed_methods, reason = "the threads that serve clients, which are joined")]
    pub(crate) fn start(
        n: usize,
        front: &Front,
        connections: &Arc<Connections>,
        heartbeats: &Heartbeats,
        closing: &CancellationToken,
    ) -> io::Result<Self> {
        let mut workers = Self {
            entries: Vec::new(),
            served: Vec::new(),
            threads: Vec::new(),
            stopping: CancellationToken::new(),
            turn: 0,
            connections: Arc::clone(connections),
            access: Arc::clone(front.access()),
        };
        for number in 0..n {
            let (entry, connections) = mpsc::channel(WAITING);
            let (done, served) = oneshot::channel();
            let turns = Turns::new(front.clock().clone());
            let forgiving = Arc::clone(&turns);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .on_thread_park(move || forgiving.forgive())
                .build()?;
            let worker = Worker { connections, front: front.clone(), closing: closing.clone(), turns };
            let stopping = workers.stopping.clone();
            let name = format!("worker-{number}");
            let heartbeat = heartbeats.add(&name);
            let work = async move {
                tokio::select! {
                    biased;
                    () = worker.serve() => {
                        let _ = done.send(());
                        stopping.cancelled().await;
                    }
                    // Clients that are still connected neither read nor write any more; they are
                    // disconnected.
                    () = stopping.cancelled() => {}
                    never = pulse(&heartbeat) => match never {},
                }
            };
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                runtime.block_on(work);
                // A DNS lookup may hang; nothing waits for it any more.
                runtime.shutdown_background();
            })?;
            workers.entries.push(entry);
            workers.served.push(served);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Accepts connections and passes them to the threads in turn, until one of the threads ends.
    pub(crate) async fn accept(&mut self, mut listener: TcpListener) -> io::Result<()> {
        loop {
            // The trait's method waits out a shortage of descriptors instead of failing.
            let (stream, peer) = axum::serve::Listener::accept(&mut listener).await;
            // Without this an answer in two writes waits 40 ms for the client's acknowledgment.
            let _ = stream.set_nodelay(true);
            // Leaves this runtime, to be registered with the one of its worker.
            let stream = stream.into_std()?;
            // A socket for both kinds of addresses writes IPv4 ones as IPv6 ones.
            let address = peer.ip().to_canonical();
            let is_shared = address.is_loopback() || self.access.is_proxy(address);
            let (open, pause) = self.connections.open(Peer { address, is_shared });
            self.pass_on((stream, open)).await?;
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// Passes a connection to the next thread. One that does not answer is left out, so that its share of
    /// the connections does not wait with it.
    async fn pass_on(&mut self, mut accepted: Accepted) -> io::Result<()> {
        let ended = || io::Error::other("a thread that serves connections has ended");
        for _ in 0..self.entries.len() {
            self.turn = (self.turn + 1) % self.entries.len();
            match self.entries[self.turn].try_send(accepted) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(back)) => accepted = back,
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(ended()),
            }
        }
        self.entries[self.turn].send(accepted).await.map_err(|_| ended())
    }

    /// Waits until every connection has ended.
    pub(crate) async fn served(&mut self) -> io::Result<()> {
        for served in self.served.drain(..) {
            served.await.map_err(|_| io::Error::other("a thread that serves connections has panicked"))?;
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stopping.cancel();
        for thread in self.threads.drain(..) {
            // A thread that is stuck is left behind: the process ends without it.
            for _ in 0..JOIN_TRIES {
                if thread.is_finished() {
                    break;
                }
                std::thread::sleep(JOIN_PAUSE);
            }
            if thread.is_finished() {
                let _ = thread.join();
            } else {
                tracing::error!(thread = thread.thread().name(), "does not end, left behind");
            }
        }
    }
}

/// Keeps a timer that ends before those of calls. A new timer that ends before all others costs a system
/// call, by which the runtime wakes itself; without this one, nearly every timer of a worker with few calls
/// would. Also shows the watchdog that the thread is not stuck.
async fn pulse(heartbeat: &Heartbeat) -> Infallible {
    loop {
        heartbeat.beat();
        tokio::time::sleep(PULSE).await;
    }
}

/// One thread's share of the connections.
struct Worker {
    connections: mpsc::Receiver<Accepted>,
    front: Front,
    closing: CancellationToken,
    turns: Arc<Turns>,
}

impl Worker {
    /// Serves connections until `closing`, then until each has answered what it was asked.
    async fn serve(self) {
        let Self { mut connections, front, closing, turns } = self;
        let (open, shutdown) = (BackgroundTasks::new(Handle::current()), Arc::<GracefulShutdown>::default());
        // Ends with the runtime: connections need it until they end.
        drop(BackgroundTasks::new(Handle::current()).spawn("turns", Arc::clone(&turns).keep_rounds()));
        loop {
            let stream = tokio::select! {
                biased;
                () = closing.cancelled() => break,
                stream = connections.recv() => stream,
            };
            match stream.map(|(stream, accepted)| (TcpStream::from_std(stream), accepted)) {
                Some((Ok(stream), accepted)) => {
                    let state = Arc::clone(&accepted.connection);
                    let served = serve_connection(stream, accepted, front.clone(), Arc::clone(&shutdown));
                    drop(open.spawn("connection", Arc::clone(&turns).take(move || state.turn_key(), served)));
                }
                Some((Err(error), _)) => tracing::warn!(%error, "a connection could not be served"),
                // The listener is closed; open connections continue.
                None => closing.cancelled().await,
            }
        }
        // Connections that were not served yet are closed now, so that their clients can try elsewhere.
        drop(connections);
        shutdown.request();
        open.wait().await;
    }
}

/// Tells the connections of a worker to close after their current request.
#[derive(Default)]
struct GracefulShutdown {
    is_requested: AtomicBool,
    requested: Notify,
}

impl GracefulShutdown {
    /// Waits until it is requested.
    async fn requested(&self) {
        let requested = self.requested.notified();
        if !self.is_requested.load(Ordering::SeqCst) {
            requested.await;
        }
    }

    fn request(&self) {
        self.is_requested.store(true, Ordering::SeqCst);
        self.requested.notify_waiters();
    }
}

/// Answers the requests of one connection, one after the other.
async fn serve_connection(
    stream: TcpStream,
    open: OpenConnection,
    front: Front,
    shutdown: Arc<GracefulShutdown>,
) {
    let state = Arc::clone(&open.connection);
    match front.tls() {
        None => converse(stream, &state, front, &shutdown).await,
        Some(tls) => {
            let accepted = tokio::select! {
                biased;
                () = shutdown.requested() => None,
                accepted = tls.accept(stream, &state) => accepted,
            };
            if let Some(stream) = accepted {
                // Boxed, so that it does not make the connections without TLS large.
                Box::pin(converse(stream, &state, front.clone(), &shutdown)).await;
            }
        }
    }
    drop(open);
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    state: &Arc<Connection>,
    front: Front,
    shutdown: &GracefulShutdown,
) {
    let stream = WatchedStream::new(stream, Arc::clone(state));
    let front = front.on(state);
    let mut builder = http1::Builder::new();
    builder.max_header_size(HEADER_BYTES_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), front));
    let mut requested = pin!(shutdown.requested.notified());
    let (mut is_listening, mut is_leaving) = (false, false);
    let conversation = poll_fn(|context| {
        // Once is enough, because this task is always woken the same way; polling on each wake would cost
        // every call.
        if !is_listening {
            is_listening = true;
            let _ = requested.as_mut().poll(context);
            state.wake_on_end(context.waker());
        }
        if state.is_killed() {
            return Poll::Ready(Ok(()));
        }
        if !is_leaving && shutdown.is_requested.load(Ordering::SeqCst) {
            is_leaving = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    });
    if let Err(error) = conversation.await {
        // A client that speaks TLS to a plain port fails here.
        tracing::debug!(client.address = %state.address, %error, "a connection failed");
    }
}
