//! Clients of a gateway with a certificate: the command line, the relay, and a program in another language.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::tls::{AUTHORITY, SELF_SIGNED, SERVER};
use serde_json::json;

use super::{port_of, run, secure, until};
use crate::harness::octroi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_and_the_relay_trust_the_gateway_of_the_data_directory() {
    let gateway = secure(SELF_SIGNED, "").await;
    let data = gateway.directory().join("data");
    until("the peer runs", async || run(&data, &["status"], &[]).await.1.contains("running")).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let relayed = TestClient::connect(gateway.relay(&octroi()), era, ClientOptions::default()).await;
        let relayed = relayed.expect("the relay connects");
        assert_eq!(relayed.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"), "{era:?}");
        // A renewed certificate is followed.
        SERVER.write(gateway.directory());
        until("it is announced", async || {
            std::fs::read(data.join("endpoint.der")).is_ok_and(|announced| announced == SERVER.der())
        })
        .await;
        assert_eq!(run(&data, &["status"], &[]).await.0, 0);
        assert_eq!(relayed.call_text("peer_echo", json!({"text": "y"})).await.as_deref(), Ok("y"), "{era:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_named_by_its_address_needs_a_certificate_that_is_trusted() {
    let gateway = secure(SERVER, "").await;
    let elsewhere = tempfile::tempdir().expect("a directory");
    let token = gateway.kept_token("admin.token");
    let authority = gateway.directory().join("ca.pem");
    let own = gateway.directory().join("cert.pem");
    std::fs::write(&authority, AUTHORITY).expect("a file");
    let (authority, own) = (authority.display().to_string(), own.display().to_string());
    let url = format!("https://{}/mcp", port_of(&gateway));
    let by_name = url.replace("127.0.0.1", "localhost");
    let none: &[(&str, &str)] = &[];
    for (url, options, variables, code) in [
        (&url, &[][..], none, 4),
        (&url, &["--ca-file", &authority][..], none, 0),
        (&by_name, &["--ca-file", &authority], none, 0),
        // The certificate itself is trusted as well.
        (&url, &["--ca-file", &own], none, 0),
        (&url, &[], &[("OCTROI_CA_FILE", &*authority)], 0),
        (&url, &[], &[("SSL_CERT_FILE", &*authority)], 0),
        (&url, &["--ca-file", "/no/such/file"], none, 1),
    ] {
        let command = [&["status", "--url", url, "--token", &token], options].concat();
        let (found, output) = run(elsewhere.path(), &command, variables).await;
        assert_eq!(found, code, "{options:?} {variables:?}\n{output}");
        assert!(!output.contains(&token), "{output}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_self_signed_certificate_can_be_trusted_by_its_file() {
    let gateway = secure(SELF_SIGNED, "").await;
    let elsewhere = tempfile::tempdir().expect("a directory");
    let token = gateway.kept_token("admin.token");
    let own = gateway.directory().join("cert.pem").display().to_string();
    let other = gateway.directory().join("other.pem");
    std::fs::write(&other, SERVER.cert).expect("a file");
    let other = other.display().to_string();
    for (host, file, code) in
        [("localhost", &own, 0), ("127.0.0.1", &own, 0), ("127.0.0.2", &own, 4), ("localhost", &other, 4)]
    {
        let url = format!("https://{}/mcp", port_of(&gateway).replace("127.0.0.1", host));
        let command = ["status", "--url", &url, "--token", &token, "--ca-file", file];
        let (found, output) = run(elsewhere.path(), &command, &[]).await;
        assert_eq!(found, code, "{host} {file}\n{output}");
    }
    gateway.stop().await;
}

/// The TLS of another library than ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_python_is_served() {
    const PROGRAM: &str = "import ssl, sys, urllib.request\n\
        context = ssl.create_default_context(cafile=sys.argv[2])\n\
        print(urllib.request.urlopen(sys.argv[1], context=context).read().decode())";
    let gateway = secure(SERVER, "").await;
    let authority = gateway.directory().join("ca.pem");
    std::fs::write(&authority, AUTHORITY).expect("a file");
    let url = format!("{}/health", gateway.base);
    let mut python = tokio::process::Command::new("python3");
    let output = python.args(["-c", PROGRAM, &url]).arg(authority).output().await.expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\"status\":\"ok\""), "{text}{}", String::from_utf8_lossy(&output.stderr));
    gateway.stop().await;
}
