//! The certificate of a gateway: reading it, replacing it, and what is served meanwhile.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use octroi_testkit::tls::{self, OTHER, SERVER, exchange, presented};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{CONFIG, health, port_of, run, secure, until};
use crate::harness::octroi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_is_served_without_cutting_a_connection_off() {
    let gateway = secure(SERVER, "").await;
    let address = port_of(&gateway);
    assert!(gateway.base.starts_with("https://127.0.0.1:"), "{}", gateway.base);
    assert!(health(&address).await.expect("an answer").starts_with("HTTP/1.1 200"));
    let mut open = tls::connect(&address, &[]).await.expect("a connection");
    assert_eq!(presented(&open), SERVER.der());

    let served = async || presented(&tls::connect(&address, &[]).await.expect("a connection"));
    OTHER.write(gateway.directory());
    until("the new certificate is served", async || served().await == OTHER.der()).await;
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = exchange(&mut open, request).await.expect("the old connection goes on");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    // A key of another certificate: the old pair stays, and the status says why.
    let data = gateway.directory().join("data");
    std::fs::write(gateway.directory().join("cert.pem"), SERVER.cert).expect("a file");
    let problem = "the new certificate is not in use, the old one stays";
    until("the status says why", async || run(&data, &["status"], &[]).await.1.contains(problem)).await;
    assert_eq!(served().await, OTHER.der());
    assert!(health(&address).await.expect("an answer").starts_with("HTTP/1.1 200"));

    // So does one that every user can read.
    SERVER.write(gateway.directory());
    let key = gateway.directory().join("key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("the mode can be set");
    let open_key = "every user of this machine can read the private key";
    until("the status names the key", async || run(&data, &["status"], &[]).await.1.contains(open_key)).await;
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("the mode can be set");
    until("the pair is served", async || served().await == SERVER.der()).await;
    let (_, status) = run(&data, &["status"], &[]).await;
    assert!(!status.contains("certificate"), "{status}");
    let log = gateway.stop().await;
    assert!(log.contains(problem), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_a_usable_certificate_does_not_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let (file, data) = (directory.path().join("octroi.toml"), directory.path().join("data"));
    let check = async |config: &str| {
        std::fs::write(&file, config).expect("a file");
        let file = file.display().to_string();
        let checked = run(&data, &["config", "check", "--config", &file], &[]).await;
        let started = run(&data, &["up", "--listen", "127.0.0.1:0", "--config", &file], &[]).await;
        assert_ne!((checked.0, started.0), (0, 0), "{config}");
        (checked.1, started.1)
    };
    let mode = |mode: u32| {
        let key = directory.path().join("key.pem");
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(mode)).expect("the mode can be set");
    };
    let half = check("[server]\ntls_cert = \"cert.pem\"\n").await;
    let missing = check(CONFIG).await;
    SERVER.write(directory.path());
    mode(0o644);
    let readable = check(CONFIG).await;
    mode(0o600);
    std::fs::write(directory.path().join("cert.pem"), OTHER.cert).expect("a file");
    let other = check(CONFIG).await;
    for ((checked, started), reason) in [
        (half, "`tls_cert` needs `tls_key` beside it"),
        (missing, "cert.pem"),
        (readable, "chmod o-rwx"),
        (other, "cannot use the certificate"),
    ] {
        assert!(checked.contains(reason) && started.contains(reason), "{reason}: {checked}\n{started}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_takes_too_long_or_fails_ends() {
    let gateway = secure(SERVER, "header_timeout = \"500ms\"\nmax_new_connections = 4\n").await;
    let address = port_of(&gateway);
    // A client that begins a handshake and sends no more, one that sends nothing, one that sends nonsense.
    for sent in [&[0x16, 3, 1][..], &[], &[0x16, 3, 1, 0, 5, 9, 9, 9, 9, 9]] {
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        stream.write_all(sent).await.expect("it can be sent");
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "{sent:?}: the connection is still open");
    }
    // They count like other connections without a token, and make room for others.
    let mut waiting = Vec::new();
    for _ in 0..12 {
        waiting.push(TcpStream::connect(&address).await.expect("a connection"));
    }
    assert!(health(&address).await.expect("an answer").starts_with("HTTP/1.1 200"));
    // HTTP/1.1 is spoken, and nothing else.
    let stream = tls::connect(&address, &["h2", "http/1.1"]).await.expect("a connection");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(tls::connect(&address, &["h2"]).await.is_err(), "no protocol in common");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_to_the_secure_port_is_told_so() {
    let gateway = secure(SERVER, "").await;
    let url = format!("http://{}/mcp", port_of(&gateway));
    let answer =
        octroi_testkit::client::raw::fetch(hyper::Method::POST, &url, &[], "x".repeat(100_000)).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("https://"), "{message}");
    // The command line says the same.
    let data = gateway.directory().join("data");
    let (code, output) = run(&data, &["status", "--url", &url], &[]).await;
    assert!(code != 0 && output.contains("https://"), "{output}");
    gateway.stop().await;

    // And the other way round.
    let plain = octroi_testkit::gateway::TestGateway::launch(&octroi(), "", &[]).await;
    let data = plain.directory().join("data");
    let url = plain.url().replace("http://", "https://");
    let (code, output) = run(&data, &["status", "--url", &url], &[]).await;
    assert!(code == 4 && output.contains("http://"), "{output}");
    plain.stop().await;
}
