//! The programs that are measured.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::BenchResult;

pub(crate) const TOKEN: &str = "oct_agt_bench";

/// A program built beside this one.
pub(crate) fn program(name: &str) -> BenchResult<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("{name} is not built; run `cargo xtask bench`").into())
}

/// A binary of Octroi that is measured.
#[derive(Clone, Debug)]
pub(crate) struct OctroiBinary(PathBuf);

impl OctroiBinary {
    /// The one that was built with this program.
    pub(crate) fn built() -> BenchResult<Self> {
        Ok(Self(program("octroi")?))
    }

    /// Another one, such as that of an earlier commit.
    pub(crate) fn at(path: &str) -> BenchResult<Self> {
        let path = std::fs::canonicalize(path).map_err(|error| format!("cannot measure {path}: {error}"))?;
        Ok(Self(path))
    }

    /// What it says of its version.
    pub(crate) async fn version(&self) -> BenchResult<String> {
        let output = Command::new(&self.0).arg("--version").output().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// The measured server, over HTTP.
pub(crate) struct BenchPeer {
    pub(crate) url: String,
    pub(crate) child: Child,
}

impl BenchPeer {
    /// octroi-testkit's peer, which does as little as possible.
    pub(crate) async fn http(era: &str, tools: usize) -> BenchResult<Self> {
        Self::start("octroi-peer", &["--transport", "http", "--era", era, "--tools", &tools.to_string()])
            .await
    }

    /// A server that is written with the official SDK.
    pub(crate) async fn sdk(era: &str) -> BenchResult<Self> {
        Self::start("octroi-conformance-fixture", &["--era", era, "--answers", "json"]).await
    }

    /// A relay to a server over HTTP, which is the floor that Octroi is compared with.
    pub(crate) async fn relay(url: &str) -> BenchResult<Self> {
        Self::start("octroi-floor", &[url]).await
    }

    /// The same to a server that the relay starts.
    pub(crate) async fn stdio_relay(era: &str) -> BenchResult<Self> {
        let peer = program("octroi-peer")?.display().to_string();
        Self::start("octroi-floor", &["--", &peer, "--era", era]).await
    }

    /// Thousands of servers, one for each path.
    pub(crate) async fn tool_servers() -> BenchResult<Self> {
        Self::start("octroi-tool-servers", &[]).await
    }

    pub(crate) fn id(&self) -> BenchResult<u32> {
        Ok(self.child.id().ok_or("the server has ended")?)
    }

    async fn start(name: &str, arguments: &[&str]) -> BenchResult<Self> {
        let mut child = Command::new(program(name)?)
            .args(arguments)
            .arg("--exit-with-stdin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let url = line.trim().strip_prefix("listening on ").ok_or("the peer did not say where it listens")?;
        Ok(Self { url: url.to_owned(), child })
    }
}

/// The same server over standard streams.
pub(crate) fn stdio_peer(era: &str) -> BenchResult<(Child, ChildStdin, ChildStdout)> {
    let mut child = Command::new(program("octroi-peer")?)
        .args(["--era", era])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdin = child.stdin.take().ok_or("no input")?;
    let stdout = child.stdout.take().ok_or("no output")?;
    Ok((child, stdin, stdout))
}

/// Octroi in front of one server.
pub(crate) struct BenchGateway {
    pub(crate) url: String,
    pub(crate) child: Child,
    directory: tempfile::TempDir,
}

impl BenchGateway {
    pub(crate) async fn start(entry: &str) -> BenchResult<Self> {
        Self::start_with(&OctroiBinary::built()?, entry, BenchPolicy::Rules, &[]).await
    }

    /// `wrapper` runs the gateway under another program, such as callgrind.
    pub(crate) async fn start_with(
        octroi: &OctroiBinary,
        entry: &str,
        policy: BenchPolicy,
        wrapper: &[String],
    ) -> BenchResult<Self> {
        let servers = format!("[[mcp.servers]]\nname = \"peer\"\nmax_concurrency = 4096\n{entry}\n");
        Self::launch(octroi, tempfile::tempdir()?, &servers, policy, wrapper).await
    }

    /// Octroi in front of these servers, with the data that an earlier one left.
    pub(crate) async fn start_in(
        directory: tempfile::TempDir,
        servers: &str,
        policy: BenchPolicy,
        wrapper: &[String],
    ) -> BenchResult<Self> {
        Self::launch(&OctroiBinary::built()?, directory, servers, policy, wrapper).await
    }

    async fn launch(
        octroi: &OctroiBinary,
        directory: tempfile::TempDir,
        servers: &str,
        policy: BenchPolicy,
        wrapper: &[String],
    ) -> BenchResult<Self> {
        let config = directory.path().join("octroi.toml");
        std::fs::write(directory.path().join("policy.toml"), policy.text())?;
        std::fs::write(
            &config,
            format!(
                "[server]\nsession_idle = \"5s\"\n{servers}\
                 [policy]\nglobal = \"policy.toml\"\n\
                 [[tokens]]\ntoken = \"{TOKEN}\"\nrole = \"agent\"\nagent_id = \"bench\"\n"
            ),
        )?;
        let octroi = octroi.0.display().to_string();
        let words: Vec<String> = wrapper.iter().cloned().chain([octroi.clone()]).collect();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["up", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .arg("--data")
            .arg(directory.path().join("data"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if !wrapper.is_empty() {
            command.env("TOKIO_WORKER_THREADS", "1").env("OCTROI_REAPER", octroi);
        }
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no output")?).lines();
        let url = loop {
            let line = lines.next_line().await?.ok_or("octroi did not start")?;
            if let Some(url) = line.trim().strip_prefix("MCP") {
                break url.trim().to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { url, child, directory })
    }

    /// Stops it and returns its directory with the data.
    pub(crate) async fn stop(mut self) -> BenchResult<tempfile::TempDir> {
        Command::new("kill").args(["-TERM", &self.id()?.to_string()]).status().await?;
        self.child.wait().await?;
        Ok(self.directory)
    }

    pub(crate) fn id(&self) -> BenchResult<u32> {
        Ok(self.child.id().ok_or("octroi has ended")?)
    }
}

/// The policy that the gateway decides by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BenchPolicy {
    None,
    /// Two hundred rules, as a company might have them: most are about other tools, some check arguments and
    /// do not match.
    Rules,
    /// Two hundred policies in Cedar: most are about other tools of the same server, ten check arguments.
    Cedar,
}

/// How many of the Cedar policies are about other tools, which the server must have.
pub(crate) const OTHER_TOOLS: usize = 190;

impl BenchPolicy {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rules => "200 rules",
            Self::Cedar => "200 in Cedar",
        }
    }

    fn text(self) -> String {
        // What the tool of the SDK's server does is not known, so a person would be asked.
        format!("{}[[allow]]\ntool = \"peer.test_simple_text\"\n", self.rules())
    }

    fn rules(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Rules => (0..50)
                .map(|number| {
                    format!(
                        "[[deny]]\ntool = \"server{number}.delete_*\"\nagent = \"team{number}-*\"\n\
                         [[ask]]\ntool = \"*.write_{number}\"\nmin_risk = \"high\"\n\
                         [[allow]]\ntool = \"server{number}.*\"\nmax_risk = \"medium\"\n\
                         [[deny]]\ntool = \"peer.*\"\nargs = {{ path{number} = \"/etc/*\" }}\n"
                    )
                })
                .collect(),
            Self::Cedar => {
                let others = (1..=OTHER_TOOLS).map(|number| {
                    format!("forbid(principal, action == Action::\"peer.t{number:04}\", resource);\n")
                });
                let own = (OTHER_TOOLS..200).map(|number| {
                    format!(
                        "forbid(principal, action == Action::\"peer.echo\", resource)\n\
                         when {{ context.args.text like \"*secret{number}*\" }};\n"
                    )
                });
                format!("cedar = '''\n{}'''\n", others.chain(own).collect::<String>())
            }
        }
    }
}

/// Configuration lines for a peer over HTTP.
pub(crate) fn http_entry(url: &str) -> String {
    format!("url = \"{url}\"")
}

/// Configuration lines for a peer that Octroi starts.
pub(crate) fn stdio_entry(era: &str) -> BenchResult<String> {
    let command = program("octroi-peer")?.display().to_string();
    Ok(format!("command = {}", serde_json::json!([command, "--era", era])))
}
