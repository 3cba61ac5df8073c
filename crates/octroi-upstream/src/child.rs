//! Child processes: how they are started, listened to, and ended.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::server::Program;
use octroi_core::{Secret, ServerName};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tracing::debug;

use crate::error::UpstreamError;
use crate::lines::{Line, Lines};

/// What every child gets of Octroi's own environment. Anything else could be a secret.
const INHERITED: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "XDG_RUNTIME_DIR",
];

/// Values shorter than this are words like `true`, which are no secrets.
const SECRET_LENGTH: usize = 6;
const STDERR_LINES: usize = 50;
const STDERR_LINE_BYTES: usize = 4 << 10;
/// How long a process has to follow SIGTERM before SIGKILL.
const TERM_PATIENCE: Duration = Duration::from_secs(2);

/// A running child and the last lines of its standard error.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    /// What the child was given and must not be repeated from its output.
    secrets: Vec<Secret>,
    stderr_reader: tokio::task::JoinHandle<()>,
}

/// The streams to talk over.
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts the program in a process group of its own, with a clean environment, never through a
    /// shell.
    pub(crate) fn spawn(
        name: &ServerName,
        program: &Program,
        tasks: &tokio_util::task::TaskTracker,
    ) -> Result<(Self, Streams), UpstreamError> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place where processes are started")]
        let mut command = Command::new(&program.command);
        command
            .args(&program.args)
            .env_clear()
            .envs(environment(program))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(|error| UpstreamError::spawn(&program.command, &error))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(UpstreamError::Protocol("the child has no standard streams".to_owned()));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let stderr_reader = tasks.spawn(keep_stderr(name.clone(), stderr, Arc::clone(&kept)));
        let secrets =
            program.env.values().filter(|value| value.expose().len() >= SECRET_LENGTH).cloned().collect();
        Ok((Self { child, group, stderr: kept, secrets, stderr_reader }, Streams { stdin, stdout }))
    }

    /// Waits for the process to end by itself and says how it did.
    pub(crate) async fn ended(&mut self) -> String {
        let status = self.child.wait().await;
        // The pipe may be held open by a grandchild, so what is still in it gets a moment only.
        let _ = tokio::time::timeout(Duration::from_millis(100), &mut self.stderr_reader).await;
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        match self.last_words() {
            Some(words) => format!("{how}; its last words: {words}"),
            None => how,
        }
    }

    /// Ends the process and its whole group: patience, then SIGTERM, then SIGKILL. Its standard input
    /// has been closed before, which is the polite way to ask.
    pub(crate) async fn stop(&mut self, patience: Duration) {
        if tokio::time::timeout(patience, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            if tokio::time::timeout(TERM_PATIENCE, self.child.wait()).await.is_err() {
                let _ = self.child.start_kill();
            }
        }
        // Also what the process left behind in its group.
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
        self.stderr_reader.abort();
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails when the group is gone already, which is what is wanted.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    fn last_words(&self) -> Option<String> {
        let lines = self.stderr.lock();
        let words: Vec<&str> = lines.iter().rev().take(3).map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().rev().filter(|line| !line.trim().is_empty()).collect();
        if words.is_empty() {
            return None;
        }
        let words = words.join(" | ");
        Some(self.secrets.iter().fold(words, |words, secret| words.replace(secret.expose(), "***")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.stderr_reader.abort();
    }
}

fn environment(program: &Program) -> Vec<(String, String)> {
    let inherited = INHERITED.iter().copied().chain(program.inherit_env.iter().map(String::as_str));
    let mut variables: Vec<(String, String)> =
        inherited.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
    variables.extend(
        program.env.iter().map(|(name, value): (_, &Secret)| (name.clone(), value.expose().to_owned())),
    );
    variables
}

async fn keep_stderr(name: ServerName, stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut lines = Lines::new(stderr, STDERR_LINE_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        let text = match line {
            Line::Whole(text) => String::from_utf8_lossy(&text).trim_end().to_owned(),
            Line::TooLong { head, .. } => format!("{}…", String::from_utf8_lossy(&head)),
        };
        debug!(server.name = %name, stderr = text, "server says");
        let mut kept = kept.lock();
        if kept.len() == STDERR_LINES {
            kept.pop_front();
        }
        kept.push_back(text);
    }
}
