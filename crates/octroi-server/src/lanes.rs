//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on the thread that got it, and so does everything its calls do, down to the
//! sockets towards remote servers. Nothing is handed from core to core on the way, which is what costs
//! most when a call is short.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Connections that wait to be taken by their thread.
const WAITING: usize = 64;
/// Shorter than what calls usually wait for, see [`pulse`].
const PULSE: Duration = Duration::from_secs(5);

/// The threads. They go on after the last connection, for the sake of calls that outlive theirs, until
/// this is dropped.
pub(crate) struct Lanes {
    entries: Vec<mpsc::Sender<std::net::TcpStream>>,
    served: Vec<oneshot::Receiver<io::Result<()>>>,
    threads: Vec<JoinHandle<()>>,
    parting: CancellationToken,
    turn: usize,
}

impl Lanes {
    /// Starts `n` threads; after `closing` each ends its connections as their calls end.
    pub(crate) fn start(n: usize, router: &Router, closing: &CancellationToken) -> io::Result<Self> {
        let mut lanes = Self {
            entries: Vec::new(),
            served: Vec::new(),
            threads: Vec::new(),
            parting: CancellationToken::new(),
            turn: 0,
        };
        for number in 0..n {
            let (entry, connections) = mpsc::channel(WAITING);
            let (done, served) = oneshot::channel();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (router, closing) = (router.clone(), closing.clone().cancelled_owned());
            let parting = lanes.parting.clone();
            let work = async move {
                let lane = Lane { connections };
                let serving = axum::serve(lane, router).with_graceful_shutdown(closing).into_future();
                tokio::select! {
                    biased;
                    outcome = serving => {
                        let _ = done.send(outcome);
                        parting.cancelled().await;
                    }
                    // Whoever is still connected does not read or write any more, and is cut off.
                    () = parting.cancelled() => {}
                    never = pulse() => match never {},
                }
            };
            let thread = std::thread::Builder::new().name(format!("lane-{number}")).spawn(move || {
                runtime.block_on(work);
                // A look-up of a name may hang; nobody waits for it any more.
                runtime.shutdown_background();
            })?;
            lanes.entries.push(entry);
            lanes.served.push(served);
            lanes.threads.push(thread);
        }
        Ok(lanes)
    }

    /// Takes connections in and hands them to the threads in turn, for ever.
    pub(crate) async fn fill(&mut self, mut listener: TcpListener) -> io::Result<()> {
        loop {
            // The trait's method waits out a shortage of descriptors instead of failing.
            let (stream, _) = Listener::accept(&mut listener).await;
            // Without this an answer in two writes waits 40 ms for the client's acknowledgment.
            let _ = stream.set_nodelay(true);
            // Leaves this runtime, to be registered with the one of its lane.
            let stream = stream.into_std()?;
            self.turn = (self.turn + 1) % self.entries.len();
            if self.entries[self.turn].send(stream).await.is_err() {
                return Err(io::Error::other("a thread that serves connections has ended"));
            }
        }
    }

    /// Waits until every connection has ended.
    pub(crate) async fn served(&mut self) -> io::Result<()> {
        for served in self.served.drain(..) {
            served
                .await
                .unwrap_or_else(|_| Err(io::Error::other("a thread that serves connections broke")))?;
        }
        Ok(())
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.parting.cancel();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Always a timer that ends before those of calls. One that would end before all others costs a system call, by which
/// the runtime wakes itself to look at its timers again; without this, nearly each of a lane with few calls would.
async fn pulse() -> Infallible {
    loop {
        tokio::time::sleep(PULSE).await;
    }
}

/// One thread's share of the connections.
struct Lane {
    connections: mpsc::Receiver<std::net::TcpStream>,
}

impl Listener for Lane {
    type Io = TcpStream;
    type Addr = Option<SocketAddr>;

    async fn accept(&mut self) -> (TcpStream, Self::Addr) {
        loop {
            let Some(stream) = self.connections.recv().await else {
                // Nobody accepts any more; what is open goes on.
                return std::future::pending().await;
            };
            let peer = stream.peer_addr().ok();
            match TcpStream::from_std(stream) {
                Ok(stream) => return (stream, peer),
                Err(error) => tracing::warn!(%error, "a connection could not be served"),
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(None)
    }
}
