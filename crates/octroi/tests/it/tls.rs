//! HTTPS: certificates and how they are replaced, clients of every kind, and proxies that end TLS elsewhere.

mod certificates;
mod clients;
mod proxies;

use std::path::Path;
use std::time::Duration;

use octroi_testkit::gateway::TestGateway;
use octroi_testkit::tls::{self, Pair};

use crate::harness::{octroi, stdio_entry};

const CONFIG: &str = "[server]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n";

/// A gateway with this certificate beside its configuration.
async fn secure(pair: Pair, more: &str) -> TestGateway {
    let directory = tempfile::tempdir().expect("a directory");
    pair.write(directory.path());
    let config = format!("{CONFIG}{more}\n{}", stdio_entry("peer", &[]));
    TestGateway::launch_in(directory, &octroi(), &config, &[]).await
}

fn port_of(gateway: &TestGateway) -> String {
    gateway.base.trim_start_matches("https://").to_owned()
}

/// The status line and body of `GET /health` over TLS.
async fn health(address: &str) -> std::io::Result<String> {
    let mut stream = tls::connect(address, &["http/1.1"]).await?;
    tls::exchange(&mut stream, "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await
}

/// What `octroi COMMAND --data DATA` prints, and its exit code.
async fn run(data: &Path, command: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    let mut process = tokio::process::Command::new(octroi());
    process.args(command).arg("--data").arg(data).env("NO_COLOR", "1").envs(variables.iter().copied());
    let output = process.output().await.expect("octroi runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}");
}
