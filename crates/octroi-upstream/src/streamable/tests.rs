//! Servers that lose their sessions, and errors that only look like that.

use std::collections::BTreeMap;

use octroi_core::ServerKey;
use octroi_core::server::Remote;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::*;

const LOST: &str = r#""error":{"code":-32001,"message":"Session not found"}"#;
const PROGRESS: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;

/// What a server does with a request; its session is `new` once a second one was opened.
#[derive(Clone, Copy)]
enum Reply {
    Json(&'static str),
    /// A stream of the progress of the call and this answer.
    Progress(&'static str),
    /// A stream of this answer alone.
    Stream(&'static str),
    Cut,
}

/// A server whose tool and whose lists answer like this in the first session; in the second, both work.
async fn serve(socket: TcpListener, call: Reply, list: Reply, n_calls: Arc<AtomicU64>) {
    let mut n_sessions = 0;
    while let Ok((mut stream, _)) = socket.accept().await {
        let Some((head, request)) = read_request(&mut stream).await else {
            continue;
        };
        let works = Reply::Json(r#""result":{"works":true}"#);
        let is_new = head.contains("mcp-session-id: 2");
        let reply = match request["method"].as_str() {
            Some("initialize") => {
                n_sessions += 1;
                Reply::Json(
                    r#""result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
                )
            }
            Some("tools/call") => {
                n_calls.fetch_add(1, Ordering::Relaxed);
                if is_new { works } else { call }
            }
            Some("tools/list") if !is_new => list,
            _ => works,
        };
        let answer = |text: &str| format!(r#"{{"jsonrpc":"2.0","id":{},{text}}}"#, request["id"]);
        let (media_type, body) = match reply {
            Reply::Json(text) => ("application/json", answer(text)),
            Reply::Stream(text) => ("text/event-stream", format!("data: {}\n\n", answer(text))),
            Reply::Progress(text) => {
                ("text/event-stream", format!("data: {PROGRESS}\n\ndata: {}\n\n", answer(text)))
            }
            Reply::Cut => continue,
        };
        let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {media_type}\r\n");
        let head = format!("{head}mcp-session-id: {n_sessions}\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut read = Vec::new();
    loop {
        let n_read = stream.read_buf(&mut read).await.ok()?;
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(request) = serde_json::from_str(body)
        {
            return Some((head.to_lowercase(), request));
        }
        if n_read == 0 {
            return None;
        }
    }
}

/// What the caller of a tool gets, and how often the server was asked to call it.
async fn outcome(call: Reply, list: Reply) -> (Result<String, UpstreamError>, u64) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", socket.local_addr().unwrap());
    let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
    let n_calls = Arc::<AtomicU64>::default();
    tasks.spawn("server", serve(socket, call, list, Arc::clone(&n_calls)));
    let client = HttpClient::new(crate::system_clock()).unwrap();
    let setup = Setup {
        address: client.address(&Remote { url, headers: BTreeMap::new() }).unwrap(),
        client,
        initialize_params: Bytes::from_static(b"{}"),
        events: EventSink::new(ServerKey::parse("s").unwrap(), mpsc::channel(1).0),
        tasks,
        closed: CancellationToken::new(),
        limit: 4096,
    };
    let link = Streamable::new(setup, Era::Legacy);
    link.initialize().await.unwrap();
    let id = link.next_id();
    let message = envelope::request(&Id::number(id), &Method::ToolsCall, br#"{"name":"t"}"#);
    let mirror = Mirror::default();
    let mut call =
        HttpCall::new(Arc::clone(&link), id, Method::ToolsCall, mirror, message, Some("ada".into()));
    let answer = loop {
        match call.next().await {
            Ok(CallEvent::Answer(answer)) => break Ok(String::from_utf8_lossy(answer.json()).into_owned()),
            Ok(CallEvent::Notification(_) | CallEvent::Question(_) | CallEvent::Released) => {}
            Err(error) => break Err(error),
        }
    };
    (answer, n_calls.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_call_that_was_not_looked_at_is_sent_again() {
    for refusal in [Reply::Json(LOST), Reply::Stream(LOST)] {
        let (answer, n_calls) = outcome(refusal, Reply::Json(LOST)).await;
        assert!(answer.as_ref().is_ok_and(|answer| answer.contains("works")), "{answer:?}");
        assert_eq!(n_calls, 2);
    }
}

#[tokio::test]
async fn an_error_in_a_session_that_is_alive_comes_from_the_tool() {
    for refusal in [Reply::Json(LOST), Reply::Stream(LOST), Reply::Progress(LOST)] {
        for list in [r#""result":{"tools":[]}"#, r#""error":{"code":-32601,"message":"Method not found"}"#] {
            let (answer, n_calls) = outcome(refusal, Reply::Json(list)).await;
            assert!(answer.as_ref().is_ok_and(|answer| answer.contains("Session not found")), "{answer:?}");
            assert_eq!(n_calls, 1);
        }
    }
}

#[tokio::test]
async fn a_call_that_may_have_been_executed_is_not_sent_again() {
    for (refusal, list) in [(Reply::Progress(LOST), Reply::Json(LOST)), (Reply::Json(LOST), Reply::Cut)] {
        let (answer, n_calls) = outcome(refusal, list).await;
        assert!(answer.as_ref().is_err_and(UpstreamError::outcome_is_unknown), "{answer:?}");
        assert_eq!(n_calls, 1);
    }
}
