//! Servers of members: what they may reach, whatever names resolve to and wherever servers redirect.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use octroi_core::server::Remote;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::error::UpstreamError;
use crate::http::HttpClient;

/// A resolver that gives these answers, one after the other, then the last one again.
fn resolver(answers: &'static [&'static [&'static str]]) -> (Resolve, Arc<AtomicUsize>) {
    let n_asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&n_asked);
    let resolve: Resolve = Arc::new(move |_| {
        let asked = counted.fetch_add(1, Ordering::Relaxed);
        let answer = answers[asked.min(answers.len() - 1)];
        let found: Vec<SocketAddr> =
            answer.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
        Box::pin(
            async move { if found.is_empty() { Err(io::Error::other("no such name")) } else { Ok(found) } },
        )
    });
    (resolve, n_asked)
}

/// A server on this machine, and how many connections it has got.
async fn local_server() -> (u16, Arc<AtomicUsize>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let n_connections = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&n_connections);
    let tasks = crate::BackgroundTasks::new(tokio::runtime::Handle::current());
    tasks.spawn("server", async move {
        while let Ok((mut stream, _)) = socket.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut read = [0; 1024];
            let _ = stream.read(&mut read).await;
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
        }
    });
    (port, n_connections)
}

async fn get(client: &HttpClient, url: &str) -> Result<u16, UpstreamError> {
    let address = client.members_address(&Remote { url: url.to_owned(), headers: BTreeMap::new() })?;
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = address.path.clone();
    *request.headers_mut() = address.headers.clone();
    Ok(client.send(&address, request).await?.status().as_u16())
}

#[tokio::test]
async fn only_public_addresses_are_connected_to() {
    let (port, n_connections) = local_server().await;
    let (resolve, _) = resolver(&[&["127.0.0.1"]]);
    let client = HttpClient::with_resolver(crate::system_clock(), resolve).unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
        "localhost",
        "localhost.",
        "rebound.example",
    ] {
        let error = get(&client, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(matches!(error, UpstreamError::NotPublic { .. }), "{host}: {error}");
        let text = error.to_string();
        assert!(text.contains("allow_hosts") && !text.contains("refused"), "{text}");
    }
    for url in [format!("http://me@127.0.0.1:{port}/"), format!("http://127.0.0.1:{port}\\@a.example/")] {
        assert!(matches!(get(&client, &url).await, Err(UpstreamError::Protocol(_))), "{url}");
    }
    assert_eq!(n_connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_closed_port_and_an_open_one_are_refused_alike() {
    let (port, _) = local_server().await;
    let client = HttpClient::new(crate::system_clock()).unwrap();
    let open = get(&client, &format!("http://127.0.0.1:{port}/")).await.unwrap_err().to_string();
    let closed = get(&client, "http://127.0.0.1:1/").await.unwrap_err().to_string();
    assert_eq!(open, closed);
}

#[tokio::test]
async fn a_name_without_an_address_is_refused_like_a_private_one() {
    let (resolve, _) = resolver(&[&["10.0.0.1"], &[]]);
    let client = HttpClient::with_resolver(crate::system_clock(), resolve).unwrap();
    let private = get(&client, "http://inside.example/").await.unwrap_err().to_string();
    let unknown = get(&client, "http://inside.example/").await.unwrap_err().to_string();
    assert_eq!(private, unknown);
}

#[tokio::test]
async fn an_answer_that_changes_after_the_check_is_not_used() {
    let (port, n_connections) = local_server().await;
    // Public when it is checked, this machine if it were asked again.
    let (resolve, n_asked) = resolver(&[&["192.0.2.1"], &["127.0.0.1"]]);
    let client = HttpClient::with_resolver(crate::system_clock(), resolve).unwrap();
    // Stands for a public address, which tests cannot reach.
    client.allow_hosts(AllowedHosts::parse(["192.0.2.0/24"]).0);
    let url = format!("http://rebound.example:{port}/");
    let first = tokio::time::timeout(Duration::from_millis(300), get(&client, &url)).await;
    assert!(!matches!(first, Ok(Ok(_))), "{first:?}");
    assert_eq!(n_asked.load(Ordering::Relaxed), 1);
    let second = get(&client, &url).await;
    assert!(matches!(second, Err(UpstreamError::NotPublic { .. })), "{second:?}");
    assert_eq!(n_connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn private_addresses_beside_a_public_one_are_left_out() {
    let (port, n_connections) = local_server().await;
    let (resolve, _) = resolver(&[&["127.0.0.1", "192.0.2.1", "10.0.0.1"]]);
    let client = HttpClient::with_resolver(crate::system_clock(), resolve).unwrap();
    client.allow_hosts(AllowedHosts::parse(["192.0.2.0/24"]).0);
    let url = format!("http://both.example:{port}/");
    let answer = tokio::time::timeout(Duration::from_millis(300), get(&client, &url)).await;
    assert!(!matches!(answer, Ok(Ok(_))), "{answer:?}");
    assert_eq!(n_connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_administrator_can_allow_more() {
    let (port, n_connections) = local_server().await;
    for (allowed, host) in [
        ("127.0.0.0/8", "127.0.0.1"),
        ("inside.example", "inside.example"),
        ("*.example", "a.inside.example"),
    ] {
        let (resolve, _) = resolver(&[&["127.0.0.1"]]);
        let client = HttpClient::with_resolver(crate::system_clock(), resolve).unwrap();
        client.allow_hosts(AllowedHosts::parse([allowed]).0);
        let answer = get(&client, &format!("http://{host}:{port}/")).await;
        assert_eq!(answer.unwrap(), 204, "{allowed} {host}");
    }
    assert_eq!(n_connections.load(Ordering::Relaxed), 3);
}
