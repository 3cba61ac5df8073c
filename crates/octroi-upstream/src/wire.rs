//! HTTP/1.1 connections to one server, driven by the requests that use them.
//!
//! A pooled client hands every request to a task that owns the connection, and the answer back: two
//! wake-ups on another core for each call. Here the future of the request drives the connection itself,
//! and dropping that future closes it, which signals the cancellation to a modern server.

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
use hyper_util::rt::TokioIo;
use octroi_core::Clock;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tower::Service as _;

use crate::outward::OutwardConnector;

/// How many idle connections each runtime keeps. More are closed, so that a burst does not hold sockets.
const IDLE_MAX: usize = 256;
/// Servers close idle connections after a while; older ones are not reused.
const IDLE_FOR: Duration = Duration::from_secs(30);

pub(crate) type Connector = HttpsConnector<OutwardConnector>;
type Connection = http1::Connection<MaybeHttpsStream<TokioIo<TcpStream>>, Full<Bytes>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Idle connections, ready for the next request.
///
/// A socket is registered with the runtime that opened it. Another runtime could use it, but every read
/// would wake a thread of the first, so each runtime takes back only its own.
#[derive(Debug)]
pub(crate) struct IdleConnections {
    clock: Clock,
    runtimes: Mutex<Vec<(runtime::Id, Stack)>>,
}

/// The newest last.
type Stack = Vec<(Instant, PooledConnection)>;

/// One connection and the runtime that opened it.
#[derive(Debug)]
struct PooledConnection {
    home: runtime::Id,
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it is closed.
    connection: Option<Box<Connection>>,
}

/// Why an exchange failed.
pub(crate) enum ExchangeError {
    /// No connection could be opened.
    Connect(BoxError),
    /// The connection broke during the exchange.
    During(hyper::Error),
}

/// Sends a request over an idle connection, or over a new one.
pub(crate) async fn send(
    connector: &Connector,
    idle: &Arc<IdleConnections>,
    origin: &http::Uri,
    mut request: Box<Request<Full<Bytes>>>,
) -> Result<Response<Body>, ExchangeError> {
    loop {
        let (mut pooled, is_new) = match idle.take() {
            Some(pooled) => (pooled, false),
            // Boxed because it is rare: otherwise the future of every call would reserve space for it.
            None => (
                Box::pin(PooledConnection::open(connector, origin)).await.map_err(ExchangeError::Connect)?,
                true,
            ),
        };
        if pooled.ready().await.is_err() {
            if is_new {
                return Err(ExchangeError::Connect("the connection was closed immediately".into()));
            }
            continue;
        }
        match pooled.exchange(request).await {
            Ok(response) => return Ok(response.map(|incoming| Body::new(incoming, pooled, Arc::clone(idle)))),
            Err(mut failed) => match failed.take_message() {
                // The server closed the idle connection meanwhile: nothing was sent yet.
                Some(unsent) if !is_new => request = Box::new(unsent),
                Some(_) | None => return Err(ExchangeError::During(failed.into_error())),
            },
        }
    }
}

impl IdleConnections {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, runtimes: Mutex::default() }
    }

    fn age(&self, since: Instant) -> Duration {
        self.clock.instant().saturating_duration_since(since)
    }

    fn take(&self) -> Option<PooledConnection> {
        let here = Handle::current().id();
        let mut runtimes = self.runtimes.lock();
        let (_, connections) = runtimes.iter_mut().find(|(id, _)| *id == here)?;
        let (since, pooled) = connections.pop()?;
        if self.age(since) > IDLE_FOR {
            // The newest is last, so all others are older still.
            connections.clear();
            return None;
        }
        Some(pooled)
    }

    fn put(&self, pooled: PooledConnection) {
        let now = self.clock.instant();
        let mut runtimes = self.runtimes.lock();
        if let Some((_, connections)) = runtimes.iter_mut().find(|(id, _)| *id == pooled.home) {
            if connections.len() < IDLE_MAX {
                connections.push((now, pooled));
            }
        } else {
            runtimes.push((pooled.home, vec![(now, pooled)]));
        }
    }

    /// Closes connections that were idle too long. Idle connections are not polled, so this must be called.
    pub(crate) fn sweep(&self) {
        for (_, connections) in &mut *self.runtimes.lock() {
            connections.retain(|(since, _)| self.age(*since) <= IDLE_FOR);
        }
    }
}

impl PooledConnection {
    async fn open(connector: &Connector, origin: &http::Uri) -> Result<Self, BoxError> {
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
    // The connection may just have read what the future waits for.
    future.poll(context)
}

fn drive(connection: &mut Option<Box<Connection>>, context: &mut Context<'_>) {
    if let Some(open) = connection
        && Pin::new(open.as_mut()).poll(context).is_ready()
    {
        *connection = None;
    }
}

/// The body of a response. Read to its end, it returns its connection to the idle ones.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    pooled: Option<PooledConnection>,
    idle: Arc<IdleConnections>,
}

impl Body {
    fn new(incoming: Incoming, pooled: PooledConnection, idle: Arc<IdleConnections>) -> Self {
        let mut body = Self { incoming, pooled: Some(pooled), idle };
        if body.incoming.is_end_stream() {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some(pooled) = self.pooled.take()
            && pooled.connection.is_some()
        {
            self.idle.put(pooled);
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
            && let Some(pooled) = &mut this.pooled
        {
            drive(&mut pooled.connection, context);
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
