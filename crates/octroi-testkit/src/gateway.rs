//! The real binary under test, with its own configuration and a temporary directory.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::client::options::Transport;
use crate::client::raw;

/// The token of the agent `tester` in every configuration that [`TestGateway`] writes.
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
        Self::launch_in(tempfile::tempdir().expect("a temporary directory"), binary, config, flags).await
    }

    /// Starts `binary` again, with the data of an earlier run in its directory.
    pub async fn launch_in(
        directory: tempfile::TempDir,
        binary: &Path,
        config: &str,
        flags: &[&str],
    ) -> Self {
        Self::launch_at("127.0.0.1:0", directory, binary, config, flags).await
    }

    /// The same at the address of the earlier run, where its clients expect it.
    pub async fn launch_at(
        listen: &str,
        directory: tempfile::TempDir,
        binary: &Path,
        config: &str,
        flags: &[&str],
    ) -> Self {
        let file = write_config(directory.path(), config);
        let mut child = Command::new(binary)
            .args(["up", "--listen", listen, "--config"])
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
        let mut output = String::new();
        while let Some(line) = lines.next_line().await.expect("standard error can be read") {
            output.push_str(&line);
            output.push('\n');
            if let Some(url) = line.trim().strip_prefix("MCP") {
                base = Some(url.trim().trim_end_matches("/mcp").to_owned());
                break;
            }
        }
        let base = base.unwrap_or_else(|| panic!("octroi did not print where it listens:\n{output}"));
        let stderr = tokio::spawn(async move {
            let mut text = output;
            while let Ok(Some(line)) = lines.next_line().await {
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        Self { base, child, directory, stderr }
    }

    /// Where it listens: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.base.trim_start_matches("http://").to_owned()
    }

    /// The endpoint of all servers.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// The endpoint of one server alone.
    pub fn server_url(&self, name: &str) -> String {
        format!("{}/mcp/servers/{name}", self.base)
    }

    /// The transport to all servers as the agent.
    pub fn transport(&self) -> Transport {
        Transport::Http { url: self.url(), token: Some(AGENT_TOKEN.to_owned()) }
    }

    /// The transport of 2024-11-05 to all servers as the agent.
    pub fn sse_transport(&self) -> Transport {
        Transport::Sse { url: format!("{}/sse", self.base), token: Some(AGENT_TOKEN.to_owned()) }
    }

    /// The transport to the management as the person who runs the gateway.
    pub fn admin_transport(&self) -> Transport {
        Transport::Http { url: self.url(), token: Some(self.kept_token("admin.token")) }
    }

    /// A token that the gateway generated, by the name of its file.
    pub fn kept_token(&self, file: &str) -> String {
        let file = self.directory.path().join("data").join(file);
        let token = std::fs::read_to_string(&file).or_else(|error| {
            // The gateway may see another disk there.
            let process = self.child.id().ok_or(error)?;
            std::fs::read_to_string(format!("/proc/{process}/root{}", file.display()))
        });
        token.unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display())).trim().to_owned()
    }

    /// The transport of `octroi stdio` that finds this gateway.
    pub fn relay(&self, binary: &Path) -> Transport {
        let data = self.directory.path().join("data");
        Transport::stdio(binary, &["stdio", "--data", &data.display().to_string()])
    }

    /// The answer of `/health` to a person.
    pub async fn health(&self) -> serde_json::Value {
        let token = format!("Bearer {}", self.kept_token("admin.token"));
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

    /// Waits until no server is starting; those that are switched off never do.
    pub async fn wait_until_settled(&self) {
        for _ in 0..600 {
            let health = self.health().await;
            let servers = health["servers"]["list"].as_array().cloned().unwrap_or_default();
            let settled = |server: &serde_json::Value| {
                server["state"] == "failed"
                    || server["state"] == "disabled"
                    || server["tools"].as_u64().is_some_and(|tools| tools > 0)
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

    /// Replaces the configuration file, as an editor does: a new file is renamed to the old name.
    pub fn rewrite_config(&self, config: &str) {
        let file = write_config(&self.directory.path().join("new"), config);
        std::fs::rename(file, self.directory.path().join("octroi.toml")).expect("the file can be replaced");
    }

    /// Kills the process, like a power failure, and keeps its directory.
    pub async fn kill(mut self) -> tempfile::TempDir {
        let _ = self.child.kill().await;
        self.directory
    }

    /// Stops the process and returns its stderr.
    pub async fn stop(self) -> String {
        self.stop_and_keep().await.1
    }

    /// Stops the process; returns its directory and its stderr.
    pub async fn stop_and_keep(mut self) -> (tempfile::TempDir, String) {
        if let Some(id) = self.child.id() {
            let _ = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
        }
        let _ = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        let output = self.stderr.await.unwrap_or_default();
        (self.directory, output)
    }
}

/// The transport of `octroi stdio` with this configuration and the data in this directory, which must outlive
/// it.
pub fn stdio_transport(binary: &Path, directory: &Path, config: &str) -> Transport {
    let file = write_config(directory, config);
    let data = directory.join("data");
    let arguments = ["stdio", "--config", &file.display().to_string(), "--data", &data.display().to_string()];
    Transport::stdio(binary, &arguments)
}

fn write_config(directory: &Path, config: &str) -> PathBuf {
    std::fs::create_dir_all(directory).expect("the directory can be made");
    let file = directory.join("octroi.toml");
    let tokens =
        format!("\n[[tokens]]\ntoken = \"{AGENT_TOKEN}\"\nrole = \"agent\"\nagent_id = \"tester\"\n");
    // Most tests are not about policies.
    let policy = if config.contains("[policy]") { "" } else { "\n[policy]\nprofile = \"open\"\n" };
    // Nor about who accepts a changed file, or how long a list waits for servers on a busy machine.
    let has_reload = config.contains("auto_reload") || config.lines().any(|line| line == "[mcp]");
    let reload = if has_reload { "" } else { "\n[mcp]\nauto_reload = true\nlist_wait = \"10s\"\n" };
    std::fs::write(&file, format!("{config}{tokens}{policy}{reload}"))
        .expect("the configuration can be written");
    file
}
