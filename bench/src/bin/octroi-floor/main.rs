//! The floor: a relay that parses each message, renames the tool, and does nothing else.
//!
//! It is built like Octroi (hyper, a runtime for each core, a connection to the server for each connection of a
//! client on the same thread), but decides nothing and records nothing. What Octroi costs beyond it is what
//! deciding, recording and governing cost.
//!
//! `octroi-floor URL` relays to a server over HTTP, `octroi-floor -- COMMAND…` to one that it starts.

use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use octroi_mcp::json::{self, Edit};
use octroi_mcp::{Envelope, Method};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

mod http;
mod stdio;

type FloorResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What the relay puts before the names of the server's tools.
const PREFIX: &str = "peer_";
const WORKERS: usize = 2;
const WAITING: usize = 64;

/// Where messages go.
#[derive(Clone)]
enum Server {
    Http(Arc<str>),
    Stdio(stdio::StdioServer),
}

fn main() -> FloorResult<()> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--exit-with-stdin").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = match arguments.as_slice() {
        [dashes, command @ ..] if dashes == "--" => {
            Server::Stdio(stdio::StdioServer::start(&runtime, command)?)
        }
        [url] => Server::Http(url.as_str().into()),
        _ => return Err("usage: octroi-floor URL | octroi-floor -- COMMAND…".into()),
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (entry, connections) = mpsc::channel(WAITING);
        let server = server.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || LocalSet::new().block_on(&runtime, serve(connections, server)));
        workers.push(entry);
    }
    // The bench ends it by closing its standard input.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        for turn in 0.. {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let worker: &mpsc::Sender<_> = &workers[turn % WORKERS];
            worker.send(stream.into_std()?).await?;
        }
        Ok(())
    })
}

async fn serve(mut connections: mpsc::Receiver<std::net::TcpStream>, server: Server) {
    while let Some(stream) = connections.recv().await {
        let server = server.clone();
        tokio::task::spawn_local(async move {
            let stream = TokioIo::new(TcpStream::from_std(stream)?);
            match server {
                Server::Http(url) => {
                    let link = http::Link::new(&url);
                    let answer = service_fn(|request| link.answer(request));
                    http1::Builder::new().serve_connection(stream, answer).await?;
                }
                Server::Stdio(server) => {
                    let answer = service_fn(|request| server.answer(request));
                    http1::Builder::new().serve_connection(stream, answer).await?;
                }
            }
            FloorResult::Ok(())
        });
    }
}

/// The message of a request, and the tool that it calls, as the server names it.
async fn read(body: Incoming) -> FloorResult<(Envelope, Option<String>)> {
    let message = Envelope::parse(body.collect().await?.to_bytes()).map_err(|_| "not a message")?;
    let tool = match message.method() {
        Method::ToolsCall => {
            let params = message.params();
            let whole = json::Span { start: 0, end: params.len() };
            let name = json::member(&params, whole, "name").and_then(|span| json::text(span.of(&params)));
            name.and_then(|name| name.strip_prefix(PREFIX).map(str::to_owned))
        }
        _ => None,
    };
    Ok((message, tool))
}

/// The message as the server gets it.
fn renamed(message: &Envelope, id: Option<&octroi_mcp::Id>, tool: Option<&str>) -> Bytes {
    match tool {
        Some(tool) => message.with(id, &[Edit::Set("name", json::quote(tool).as_bytes())]),
        None => message.with(id, &[]),
    }
}

type Answer = FloorResult<Response<Full<Bytes>>>;
type Asked = Request<Incoming>;
