//! Servers that redirect: within themselves they are followed, elsewhere they are not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use octroi_core::server::{Remote, ServerSpec, Transport};
use octroi_core::{Scope, ServerKey, ServerName};
use octroi_upstream::{Upstream, UpstreamError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::bench::Bench;

const DISCOVERY: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#;

/// A server that answers at `/there`, and redirects everything else to `target`.
async fn serve(bench: &Bench, target: impl Fn(u16) -> String) -> (u16, Arc<AtomicUsize>) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let target = target(port);
    let n_requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&n_requests);
    bench.context.tasks.spawn("server", async move {
        while let Ok((mut stream, _)) = socket.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let mut read = vec![0; 8192];
            let n_read = stream.read(&mut read).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&read[..n_read]).into_owned();
            let response = if request.starts_with("POST /there") {
                let id = request.split(r#""id":"#).nth(1).and_then(|rest| rest.split([',', '}']).next());
                let body = DISCOVERY.replace(r#""id":1"#, &format!(r#""id":{}"#, id.unwrap_or("1")));
                let length = body.len();
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
            } else {
                format!("HTTP/1.1 307 Temporary Redirect\r\nconnection: close\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n")
            };
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    (port, n_requests)
}

async fn connect(bench: &Bench, scope: Scope, url: String) -> Result<(), UpstreamError> {
    let key = ServerKey { scope, name: ServerName::parse("s").unwrap() };
    let remote = Remote { url, headers: BTreeMap::new() };
    let upstream = Upstream::new(ServerSpec::new(key, Transport::Http(remote)), Arc::clone(&bench.context));
    upstream.connection().await.map(drop)
}

#[tokio::test]
async fn a_redirect_to_another_path_is_followed() {
    let bench = Bench::new();
    let (port, n_requests) = serve(&bench, |_| "/there".to_owned()).await;
    connect(&bench, Scope::System, format!("http://127.0.0.1:{port}/here")).await.unwrap();
    assert!(n_requests.load(Ordering::Relaxed) >= 2);
}

#[tokio::test]
async fn a_redirect_to_another_address_is_not_followed() {
    let bench = Bench::new();
    let (other, n_other) = serve(&bench, |_| "/there".to_owned()).await;
    for target in [
        format!("http://127.0.0.1:{other}/there"),
        format!("https://127.0.0.1:{other}/there"),
        format!("http://localhost:{other}/there"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let (port, _) = serve(&bench, |_| target.clone()).await;
        let error =
            connect(&bench, Scope::System, format!("http://127.0.0.1:{port}/here")).await.unwrap_err();
        assert!(error.to_string().contains("redirects to another address"), "{target}: {error}");
    }
    assert_eq!(n_other.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_server_that_redirects_to_itself_for_ever_is_given_up() {
    let bench = Bench::new();
    let (port, n_requests) = serve(&bench, |_| "/again".to_owned()).await;
    let error = connect(&bench, Scope::System, format!("http://127.0.0.1:{port}/here")).await.unwrap_err();
    assert!(error.to_string().contains("redirects too often"), "{error}");
    assert!(n_requests.load(Ordering::Relaxed) <= 8);
}

#[tokio::test]
async fn the_server_of_a_member_is_reached_at_public_addresses_only() {
    let bench = Bench::new();
    let (port, n_requests) = serve(&bench, |_| "/there".to_owned()).await;
    let url = format!("http://127.0.0.1:{port}/there");
    let error = connect(&bench, Scope::User("ana".into()), url.clone()).await.unwrap_err();
    assert!(matches!(error, UpstreamError::NotPublic { .. }), "{error}");
    assert_eq!(n_requests.load(Ordering::Relaxed), 0);
    connect(&bench, Scope::System, url).await.unwrap();
}
