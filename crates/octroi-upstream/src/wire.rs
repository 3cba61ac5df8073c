//! HTTP/1.1 connections to one server, driven by the request that uses them.
//!
//! A pooled client hands every request to a task that owns the connection, and the answer back: two
//! wake-ups on another core for each call. Here the future of the request drives the connection itself,
//! and dropping that future closes it, which is how a modern server learns of a cancellation.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use octroi_core::Clock;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tower::Service as _;

/// Idle connections that are kept for each runtime. More are closed: a burst should not hold sockets for ever.
const IDLE_MAX: usize = 256;
/// Servers close idle connections after a while; one older than this is not worth trying.
const IDLE_FOR: Duration = Duration::from_secs(30);

type Connector = HttpsConnector<HttpConnector>;
type Connection = http1::Connection<MaybeHttpsStream<TokioIo<TcpStream>>, Full<Bytes>>;
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Connections that wait for their next request.
///
/// A socket reports to the runtime that opened it. Used from another one it works, at the price of a
/// wake-up across threads for every read, so each runtime takes back only its own.
#[derive(Debug)]
pub(crate) struct Idle {
    clock: Clock,
    runtimes: Mutex<Vec<(runtime::Id, Stack)>>,
}

/// The newest on top.
type Stack = Vec<(Instant, Wire)>;

/// One connection.
#[derive(Debug)]
struct Wire {
    home: runtime::Id,
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it is closed.
    connection: Option<Box<Connection>>,
}

/// Why there is no answer.
pub(crate) enum Broken {
    /// No connection could be made.
    Connect(Failure),
    /// The connection broke during the exchange.
    During(hyper::Error),
}

/// Sends a request over an idle connection, or over a new one.
pub(crate) async fn send(
    connector: &Connector,
    idle: &Arc<Idle>,
    origin: &http::Uri,
    mut request: Box<Request<Full<Bytes>>>,
) -> Result<Response<Body>, Broken> {
    loop {
        let (mut wire, is_new) = match idle.take() {
            Some(wire) => (wire, false),
            // Boxed, as is all that happens rarely: the future of every call would have room for it.
            None => (Box::pin(Wire::open(connector, origin)).await.map_err(Broken::Connect)?, true),
        };
        if wire.ready().await.is_err() {
            if is_new {
                return Err(Broken::Connect("the connection was closed at once".into()));
            }
            continue;
        }
        match wire.exchange(request).await {
            Ok(response) => return Ok(response.map(|incoming| Body::new(incoming, wire, Arc::clone(idle)))),
            Err(mut failed) => match failed.take_message() {
                // An idle connection that the server closed meanwhile: nothing was sent yet.
                Some(unsent) if !is_new => request = Box::new(unsent),
                Some(_) | None => return Err(Broken::During(failed.into_error())),
            },
        }
    }
}

impl Idle {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, runtimes: Mutex::default() }
    }

    fn age(&self, since: Instant) -> Duration {
        self.clock.instant().saturating_duration_since(since)
    }

    fn take(&self) -> Option<Wire> {
        let here = Handle::current().id();
        let mut runtimes = self.runtimes.lock();
        let (_, wires) = runtimes.iter_mut().find(|(id, _)| *id == here)?;
        let (since, wire) = wires.pop()?;
        if self.age(since) > IDLE_FOR {
            // The newest is on top, so all below are older still.
            wires.clear();
            return None;
        }
        Some(wire)
    }

    fn put(&self, wire: Wire) {
        let now = self.clock.instant();
        let mut runtimes = self.runtimes.lock();
        if let Some((_, wires)) = runtimes.iter_mut().find(|(id, _)| *id == wire.home) {
            if wires.len() < IDLE_MAX {
                wires.push((now, wire));
            }
        } else {
            runtimes.push((wire.home, vec![(now, wire)]));
        }
    }

    /// Closes what has waited too long. Nobody drives an idle connection, so this must be called.
    pub(crate) fn sweep(&self) {
        for (_, wires) in &mut *self.runtimes.lock() {
            wires.retain(|(since, _)| self.age(*since) <= IDLE_FOR);
        }
    }
}

impl Wire {
    async fn open(connector: &Connector, origin: &http::Uri) -> Result<Self, Failure> {
        let mut connector = connector.clone();
        std::future::poll_fn(|context| connector.poll_ready(context)).await?;
        let stream = connector.call(origin.clone()).await?;
        let (sender, connection) = http1::handshake(stream).await?;
        Ok(Self { home: Handle::current().id(), sender, connection: Some(Box::new(connection)) })
    }

    /// Waits until a request can be sent.
    async fn ready(&mut self) -> hyper::Result<()> {
        let Self { sender, connection, .. } = self;
        let mut ready = std::pin::pin!(sender.ready());
        std::future::poll_fn(|context| alongside(ready.as_mut(), connection, context)).await
    }

    async fn exchange(
        &mut self,
        request: Box<Request<Full<Bytes>>>,
    ) -> Result<Response<Incoming>, hyper::client::conn::TrySendError<Request<Full<Bytes>>>> {
        let Self { sender, connection, .. } = self;
        let mut answer = std::pin::pin!(sender.try_send_request(*request));
        std::future::poll_fn(|context| alongside(answer.as_mut(), connection, context)).await
    }
}

/// Polls a future that waits for the connection, and the connection for it.
fn alongside<F: Future>(
    mut future: Pin<&mut F>,
    connection: &mut Option<Box<Connection>>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    if let Poll::Ready(output) = future.as_mut().poll(context) {
        return Poll::Ready(output);
    }
    drive(connection, context);
    // What the connection just read may be what is waited for.
    future.poll(context)
}

fn drive(connection: &mut Option<Box<Connection>>, context: &mut Context<'_>) {
    if let Some(open) = connection
        && Pin::new(open.as_mut()).poll(context).is_ready()
    {
        *connection = None;
    }
}

/// The body of a response. Read to its end, it gives its connection back.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    wire: Option<Wire>,
    idle: Arc<Idle>,
}

impl Body {
    fn new(incoming: Incoming, wire: Wire, idle: Arc<Idle>) -> Self {
        let mut body = Self { incoming, wire: Some(wire), idle };
        if body.incoming.is_end_stream() {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some(wire) = self.wire.take()
            && wire.connection.is_some()
        {
            self.idle.put(wire);
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let mut frame = Pin::new(&mut this.incoming).poll_frame(context);
        if frame.is_pending()
            && let Some(wire) = &mut this.wire
        {
            drive(&mut wire.connection, context);
            frame = Pin::new(&mut this.incoming).poll_frame(context);
        }
        let frame = ready!(frame);
        if frame.is_none() || this.incoming.is_end_stream() {
            this.give_back();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
