//! The real binary under test, with a configuration of its own and a directory that vanishes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::client::options::Transport;
use crate::client::raw;

/// The token of the agent in every configuration that [`TestGateway`] writes.
pub const AGENT_TOKEN: &str = "oct_agt_test";

/// A running `octroi up`. Dropping it kills the process.
pub struct TestGateway {
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    /// The process.
    pub child: Child,
    directory: tempfile::TempDir,
    stderr: tokio::task::JoinHandle<String>,
}

impl TestGateway {
    /// Starts `binary` with this configuration and waits until every server was tried once.
    pub async fn start(binary: &Path, config: &str) -> Self {
        let gateway = Self::launch(binary, config, &[]).await;
        gateway.wait_until_settled().await;
        gateway
    }

    /// Starts `binary` and waits only until it listens.
    pub async fn launch(binary: &Path, config: &str, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = write_config(directory.path(), config);
        let mut child = Command::new(binary)
            .args(["up", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .arg("--data")
            .arg(directory.path().join("data"))
            .args(flags)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", binary.display()));
        let mut lines = BufReader::new(child.stderr.take().expect("standard error is piped")).lines();
        let mut base = None;
        while let Some(line) = lines.next_line().await.expect("standard error can be read") {
            if let Some(url) = line.trim().strip_prefix("MCP") {
                base = Some(url.trim().trim_end_matches("/mcp").to_owned());
                break;
            }
        }
        let base = base.expect("octroi should say where it listens");
        let stderr = tokio::spawn(async move {
            let mut text = String::new();
            while let Ok(Some(line)) = lines.next_line().await {
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        Self { base, child, directory, stderr }
    }

    /// The endpoint of all servers.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// The endpoint of one server alone.
    pub fn server_url(&self, name: &str) -> String {
        format!("{}/mcp/servers/{name}", self.base)
    }

    /// How a client reaches all servers as the agent.
    pub fn transport(&self) -> Transport {
        Transport::Http { url: self.url(), token: Some(AGENT_TOKEN.to_owned()) }
    }

    /// What `/health` says to the agent.
    pub async fn health(&self) -> serde_json::Value {
        let token = format!("Bearer {AGENT_TOKEN}");
        let response = raw::fetch(
            hyper::Method::GET,
            &format!("{}/health", self.base),
            &[("authorization", &token)],
            "",
        )
        .await
        .expect("/health should answer");
        response.json()
    }

    /// Waits until no server is starting any more.
    pub async fn wait_until_settled(&self) {
        for _ in 0..600 {
            let health = self.health().await;
            let servers = health["servers"]["list"].as_array().cloned().unwrap_or_default();
            let settled = |server: &serde_json::Value| {
                server["state"] == "failed" || server["tools"].as_u64().is_some_and(|tools| tools > 0)
            };
            if servers.iter().all(settled) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("servers did not settle: {}", self.health().await);
    }

    /// The temporary directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Asks the process to end and returns what it said.
    pub async fn stop(mut self) -> String {
        if let Some(id) = self.child.id() {
            let _ = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
        }
        let _ = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        self.stderr.await.unwrap_or_default()
    }
}

/// How a client starts `octroi stdio` with this configuration. The directory must outlive it.
pub fn stdio_transport(binary: &Path, directory: &Path, config: &str) -> Transport {
    let file = write_config(directory, config);
    let arguments = ["stdio".to_owned(), "--config".to_owned(), file.display().to_string()];
    Transport::stdio(binary, &arguments)
}

fn write_config(directory: &Path, config: &str) -> PathBuf {
    let file = directory.join("octroi.toml");
    let tokens =
        format!("\n[[tokens]]\ntoken = \"{AGENT_TOKEN}\"\nrole = \"agent\"\nagent_id = \"tester\"\n");
    std::fs::write(&file, format!("{config}{tokens}")).expect("the configuration can be written");
    file
}
