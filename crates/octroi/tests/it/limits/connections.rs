//! Connections: how many there may be, and how long each may take.

use std::time::{Duration, Instant};

use octroi_testkit::gateway::AGENT_TOKEN;

use super::{OTHER_TOKEN, PING, RawConnection, gateway, post};

#[tokio::test]
async fn slow_senders_are_disconnected() {
    let gateway = gateway("header_timeout = \"1s\"\nbody_timeout = \"1s\"\nconnection_idle = \"2s\"").await;
    let whole = post(AGENT_TOKEN, PING);
    let half_a_head = &whole[..40];
    let half_a_body = &whole[..whole.len() - 10];
    for (sent, expected) in
        [("", "HTTP/1.1 408"), (half_a_head, "HTTP/1.1 408"), (half_a_body, "HTTP/1.1 408")]
    {
        let begun = Instant::now();
        let mut raw = RawConnection::open(&gateway).await;
        raw.send(sent).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with(expected), "{sent}: {answer}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{sent}");
    }
    let mut idle = RawConnection::open(&gateway).await;
    assert!(idle.ping(AGENT_TOKEN).await.contains("200"));
    assert_eq!(idle.rest().await, "", "an idle connection is closed without a word");
}

#[tokio::test]
async fn bytes_now_and_then_gain_no_time() {
    let gateway = gateway("header_timeout = \"1s\"").await;
    let mut raw = RawConnection::open(&gateway).await;
    let begun = Instant::now();
    let mut answer = None;
    for byte in "GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaa".chars() {
        raw.send(&byte.to_string()).await;
        if let Ok(text) = tokio::time::timeout(Duration::from_millis(100), raw.next()).await {
            answer = Some(text);
            break;
        }
    }
    let took = begun.elapsed();
    assert!(answer.as_deref().is_some_and(|answer| answer.starts_with("HTTP/1.1 408")), "{answer:?}");
    // The limit is a second; the rest is for a loaded machine. All the bytes would take six.
    assert!(Duration::from_millis(900) < took && took < Duration::from_millis(2_500), "{took:?}");
}

#[tokio::test]
async fn connections_that_prove_nothing_keep_nobody_out() {
    let gateway = gateway("max_connections = 64\nreserved_connections = 4\nmax_new_connections = 16").await;
    let mut working = RawConnection::open(&gateway).await;
    assert!(working.ping(AGENT_TOKEN).await.contains("200"));
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(RawConnection::open(&gateway).await);
    }
    assert!(working.ping(AGENT_TOKEN).await.contains("200"), "open connections are not affected");
    assert!(RawConnection::open(&gateway).await.ping(OTHER_TOKEN).await.contains("200"));
    let admin = gateway.kept_token("admin.token");
    assert!(RawConnection::open(&gateway).await.ping(&admin).await.contains("200"));
    let last = silent[0].rest().await;
    assert!(last.starts_with("HTTP/1.1 503"), "the oldest made room: {last:?}");
}

#[tokio::test]
async fn one_token_has_its_share_and_people_have_theirs() {
    let gateway =
        gateway("max_connections = 10\nreserved_connections = 3\nmax_connections_per_token = 4").await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut raw = RawConnection::open(&gateway).await;
        assert!(raw.ping(AGENT_TOKEN).await.contains("200"));
        held.push(raw);
    }
    let mut beyond = RawConnection::open(&gateway).await;
    beyond.send(&post(AGENT_TOKEN, PING)).await;
    let answer = beyond.rest().await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("limit_exceeded") && answer.contains("max_connections_per_token"), "{answer}");
    for _ in 0..3 {
        let mut raw = RawConnection::open(&gateway).await;
        assert!(raw.ping(OTHER_TOKEN).await.contains("200"), "another agent is not affected");
        held.push(raw);
    }
    let refused = RawConnection::open(&gateway).await.ping(OTHER_TOKEN).await;
    assert!(refused.contains("503"), "{refused}");
    let admin = gateway.kept_token("admin.token");
    assert!(RawConnection::open(&gateway).await.ping(&admin).await.contains("200"));
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let gateway = gateway("write_timeout = \"1s\"\nmax_body_bytes = 16000000").await;
    let mut raw = RawConnection::open_narrow(&gateway).await;
    // An answer larger than what the system buffers for a client that does not read.
    let text = "x".repeat(7 << 20);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"good_echo","arguments":{{"text":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request =
        post(AGENT_TOKEN, &body).replace("server/discover\r\n", "tools/call\r\nmcp-name: good_echo\r\n");
    raw.send(&request).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{}", &answer[..answer.len().min(300)]);
    assert!(answer.len() < text.len(), "the rest was not kept for it");
}
