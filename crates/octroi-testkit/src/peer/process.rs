//! A peer as a child process, for tests that need its address.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// How long a peer may take to print its address.
const START_LIMIT: Duration = Duration::from_secs(20);

/// An `octroi-peer` that listens on a free port; dropping this value stops it.
#[derive(Debug)]
pub struct PeerProcess {
    /// The URL for clients, which it printed.
    pub url: String,
    /// The process, for signals and its id.
    pub child: Child,
    /// Closing this pipe makes the peer exit, even if the test process is killed.
    stdin: Option<ChildStdin>,
}

impl PeerProcess {
    /// Starts the peer and waits until it listens. `arguments` must choose `--transport http` or `sse`.
    pub async fn start<A: AsRef<str>>(arguments: &[A]) -> io::Result<Self> {
        Self::start_program(&crate::peer_binary(), arguments).await
    }

    /// Starts another program of this crate that prints its address in the same way.
    pub async fn start_program<A: AsRef<str>>(program: &Path, arguments: &[A]) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments.iter().map(AsRef::as_ref))
            .arg("--exit-with-stdin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("the peer has no stdout"))?;
        let mut line = String::new();
        tokio::time::timeout(START_LIMIT, BufReader::new(stdout).read_line(&mut line))
            .await
            .map_err(|_| io::Error::other("the peer did not say where it listens"))??;
        match line.trim().strip_prefix("listening on ") {
            Some(url) => Ok(Self { url: url.to_owned(), child, stdin }),
            None => {
                Err(io::Error::other(format!("the peer said `{}` instead of where it listens", line.trim())))
            }
        }
    }

    /// Stops the peer gracefully and waits until it has exited.
    pub async fn stop(&mut self) -> io::Result<()> {
        self.stdin = None;
        self.child.wait().await.map(|_| ())
    }
}
