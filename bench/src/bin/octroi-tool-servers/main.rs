//! Thousands of MCP servers in one program: each path `/NAME/N` is a server of the modern era with N tools. What a tool does
//! is nothing. `POST /change/NAME/N` changes the tools of one of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use octroi_mcp::{Envelope, Method};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

type ServedResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How often each server was changed.
type Changes = Mutex<HashMap<String, Arc<AtomicU64>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ServedResult<()> {
    // One connection for each server.
    octroi_gateway::raise_open_files();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    // The bench ends it by closing its standard input.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let changes = Arc::<Changes>::default();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let changes = Arc::clone(&changes);
        tokio::spawn(async move {
            let answer = service_fn(|request| answer(request, Arc::clone(&changes)));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

async fn answer(request: Request<Incoming>, changes: Arc<Changes>) -> ServedResult<Response<Full<Bytes>>> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    if let Some(server) = path.strip_prefix("change/") {
        count_of(&changes, server).await.fetch_add(1, Ordering::Relaxed);
        return Ok(empty());
    }
    let message =
        Envelope::parse(request.into_body().collect().await?.to_bytes()).map_err(|_| "not a message")?;
    let Some(id) = message.id() else {
        return Ok(empty());
    };
    let id: Value = serde_json::from_slice(id.as_json())?;
    let answered = match message.method() {
        Method::Discover => json!({"result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 60_000, "cacheScope": "private",
        }}),
        Method::ToolsList => {
            let n_changes = count_of(&changes, &path).await.load(Ordering::Relaxed);
            json!({"result": {
                "resultType": "complete", "tools": tools(&path, n_changes), "ttlMs": 0, "cacheScope": "private",
            }})
        }
        Method::ToolsCall => {
            json!({"result": {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}})
        }
        _ => json!({"error": {"code": -32601, "message": "unknown method"}}),
    };
    let mut answered = answered;
    answered["jsonrpc"] = json!("2.0");
    answered["id"] = id;
    let mut response = Response::new(Full::new(Bytes::from(answered.to_string())));
    response
        .headers_mut()
        .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn count_of(changes: &Changes, server: &str) -> Arc<AtomicU64> {
    Arc::clone(changes.lock().await.entry(server.to_owned()).or_default())
}

fn empty() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Definitions of an ordinary size: about 500 bytes each.
fn tools(path: &str, n_changes: u64) -> Vec<Value> {
    let n_tools = path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0_usize);
    let of_number = |number: usize| {
        json!({
            "name": format!("read_record_{number}"),
            "description": format!(
                "Reads a record of the collection {number} by its key, and shows the fields that were asked for in the \
                 order in which the collection has them. Changed {n_changes} times.",
            ),
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "key": {"type": "string", "description": "The key of the record"},
                    "fields": {"type": "array", "items": {"type": "string"}, "description": "The fields to show"},
                },
            },
        })
    };
    (0..n_tools).map(of_number).collect()
}
