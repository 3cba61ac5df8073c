//! Slow senders, and readers that do not read.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::attack::{Attack, repeat};
use super::wire::{Line, modern_headers, open_narrow};

/// Between two bytes.
const DRIP: Duration = Duration::from_millis(150);
/// How long nothing is read. Longer than any timeout of the gateway that is shorter than this.
const UNREAD: Duration = Duration::from_secs(45);
const UNREAD_BYTES: usize = 2 << 20;

pub(crate) async fn run(attack: &Attack) {
    let unread_call = attack.call("bulk_echo", &json!({ "text": "x".repeat(UNREAD_BYTES) }).to_string());
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["peer://good/counter"] });
    let listen = attack.modern("subscriptions/listen", "", json!({ "notifications": filter }));
    let list = attack.modern("tools/list", "", json!({}));
    let head = attack.unsized_head("POST", "x-slow: ");
    let sized = attack.head(&modern_headers("tools/list", ""), 1 << 20);
    let chunked = attack.unsized_head("POST", "transfer-encoding: chunked\r\n\r\n");
    tokio::join!(
        repeat(60, || drip(attack, "slow headers", &head, b"x")),
        repeat(40, || drip(attack, "slow body", &sized, b" ")),
        repeat(20, || drip(attack, "slow chunks", &chunked, b"1\r\n \r\n")),
        repeat(20, || leave_unread(attack, "unread answer", &unread_call)),
        repeat(10, || leave_unread(attack, "unread list", &list)),
        repeat(30, || leave_unread(attack, "unread subscription", &listen)),
        repeat(10, || unread_session_stream(attack)),
        touch(attack),
    );
}

/// Sends the beginning at once and then a little from time to time, until the gateway ends it.
async fn drip(attack: &Attack, name: &str, beginning: &str, again: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(&attack.address).await else {
        return attack.count(name, None).await;
    };
    let _ = stream.write_all(beginning.as_bytes()).await;
    let mut answer = [0; 512];
    loop {
        match tokio::time::timeout(DRIP, stream.read(&mut answer)).await {
            Ok(_) => return attack.count(name, None).await,
            Err(_) if stream.write_all(again).await.is_err() => return attack.count(name, None).await,
            Err(_) => {}
        }
    }
}

/// Sends a request and reads nothing of its answer.
async fn leave_unread(attack: &Attack, name: &str, request: &[u8]) {
    let Ok(mut stream) = open_narrow(&attack.address).await else {
        return attack.count(name, None).await;
    };
    let _ = tokio::time::timeout(UNREAD, stream.write_all(request)).await;
    tokio::time::sleep(UNREAD).await;
    attack.count(name, None).await;
}

async fn unread_session_stream(attack: &Attack) {
    let mut line = Line::new(&attack.address);
    let Some(session) = attack.open_session(&mut line).await else { return };
    let head = format!(
        "{}mcp-session-id: {session}\r\n\r\n",
        attack.unsized_head("GET", "mcp-protocol-version: 2025-06-18\r\n")
    );
    leave_unread(attack, "unread stream", head.as_bytes()).await;
}

/// Causes what the streams are about.
async fn touch(attack: &Attack) {
    let request = attack.call("good_touch", "{}");
    repeat(1, || async {
        let mut line = Line::new(&attack.address);
        for _ in 0..100 {
            let answer = line.ask(&request).await;
            attack.count("touch", answer.as_ref()).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
