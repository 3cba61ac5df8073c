//! Everything has a limit: who exceeds one gets a clear answer, and others are not affected.

mod connections;
mod held;
mod sharing;

use std::time::Duration;

use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{SOON, octroi, stdio_entry};

/// A second agent beside the tester.
const OTHER_TOKEN: &str = "oct_agt_other";

/// A gateway with these settings in `[server]`, a server `good`, and a second agent.
async fn gateway(settings: &str) -> TestGateway {
    let other = format!("[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n");
    let config = format!("[server]\n{settings}\n{other}{}", stdio_entry("good", &[]));
    TestGateway::start(&octroi(), &config).await
}

/// A connection that sends whatever it wants.
struct RawConnection(TcpStream);

impl RawConnection {
    async fn open(gateway: &TestGateway) -> Self {
        let address = gateway.base.trim_start_matches("http://");
        Self(TcpStream::connect(address).await.expect("the gateway accepts connections"))
    }

    /// The same with little room for what is not read.
    async fn open_narrow(gateway: &TestGateway) -> Self {
        let address = gateway.base.trim_start_matches("http://").parse().expect("an address");
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(8 << 10).expect("a small buffer");
        Self(socket.connect(address).await.expect("the gateway accepts connections"))
    }

    async fn send(&mut self, text: &str) {
        // It may have been closed by the gateway, which the answer then shows.
        let _ = self.0.write_all(text.as_bytes()).await;
    }

    /// Everything until the gateway closes the connection.
    async fn rest(&mut self) -> String {
        let mut text = Vec::new();
        let read = tokio::time::timeout(SOON, self.0.read_to_end(&mut text)).await;
        let begins = String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned();
        assert!(read.is_ok(), "the connection should be closed after {} bytes: {begins}", text.len());
        String::from_utf8_lossy(&text).into_owned()
    }

    /// What comes next, as soon as something does; empty if the connection is closed.
    async fn next(&mut self) -> String {
        let mut buffer = vec![0; 64 << 10];
        let read = tokio::time::timeout(SOON, self.0.read(&mut buffer)).await;
        let n_read = read.expect("something should come").unwrap_or_default();
        String::from_utf8_lossy(&buffer[..n_read]).into_owned()
    }

    /// The first line of the answer to a ping of a modern client.
    async fn ping(&mut self, token: &str) -> String {
        self.send(&post(token, PING)).await;
        self.next().await.lines().next().unwrap_or_default().to_owned()
    }
}

/// A request that every principal may make, in a shape that no session is needed for.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn post(token: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_request_names_its_host_once_and_old_clients_need_not() {
    let gateway = gateway("").await;
    for (request, expected) in [
        ("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", "HTTP/1.1 200"),
        ("GET /health HTTP/1.1\r\nconnection: close\r\n\r\n", "HTTP/1.1 400"),
        (
            "GET /health HTTP/1.1\r\nhost: localhost\r\nhost: a.example\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (
            "GET http://a.example/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 400",
        ),
        ("GET /health HTTP/1.0\r\n\r\n", "HTTP/1.0 200"),
        ("GET /health HTTP/1.0\r\nhost: a.example\r\n\r\n", "HTTP/1.0 403"),
    ] {
        let mut raw = RawConnection::open(&gateway).await;
        raw.send(request).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with(expected), "{request}: {answer}");
    }
    // An answer to HTTP/1.0 ends with the connection and is not sent in chunks.
    let mut raw = RawConnection::open(&gateway).await;
    raw.send(&post(AGENT_TOKEN, PING).replace("HTTP/1.1", "HTTP/1.0")).await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with('}'), "{answer}");
    assert!(!answer.to_lowercase().contains("transfer-encoding"), "{answer}");
}

#[tokio::test]
async fn a_flood_of_wrong_tokens_costs_little() {
    let gateway = gateway("").await;
    let process = gateway.child.id().expect("it runs");
    let stop = std::time::Instant::now() + Duration::from_secs(4);
    let before = cpu_seconds(process);
    let flood = (0..64).map(|_| async {
        let mut n_refused = 0_u32;
        while std::time::Instant::now() < stop {
            let mut raw = RawConnection::open(&gateway).await;
            raw.send(&post("wrong", PING)).await;
            let answer = raw.next().await;
            let is_refused = ["HTTP/1.1 401", "HTTP/1.1 429"].iter().any(|status| answer.starts_with(status));
            n_refused += u32::from(is_refused);
        }
        n_refused
    });
    let n_refused: u32 = futures_util::future::join_all(flood).await.into_iter().sum();
    let cores = (cpu_seconds(process) - before) / 4.0;
    assert!(n_refused > 0);
    assert!(cores < 0.2, "{n_refused} refusals cost {cores} of a core");
    assert!(RawConnection::open(&gateway).await.ping(AGENT_TOKEN).await.contains("200"));
}

/// The CPU time of a process so far.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
    let fields: Vec<&str> = stat[stat.rfind(')').expect("the name") + 1..].split_whitespace().collect();
    let ticks: f64 =
        fields[11].parse::<f64>().unwrap_or_default() + fields[12].parse::<f64>().unwrap_or_default();
    ticks / 100.0
}
