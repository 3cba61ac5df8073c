//! Child processes: start, standard error, and termination.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use octroi_core::Secret;
use octroi_core::server::Program;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tracing::{debug, warn};

use crate::background::BackgroundTasks;
use crate::error::{LAST_OUTPUT, UpstreamError};
use crate::lines::{Line, Lines};
use crate::logs::Logs;
use crate::reaper::{self, Memory};
use crate::spawner::{Mark, Spawner};

/// The environment variables that every child inherits from Octroi. Any other could be a secret.
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

const STDERR_LINE_BYTES: usize = 4 << 10;
/// How long a process may take to end after SIGTERM before it gets SIGKILL.
const TERM_PATIENCE: Duration = Duration::from_secs(2);
/// How long its reaper may take to kill the remaining processes.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// The program to start and its limits.
pub(crate) struct LaunchSpec<'a> {
    /// The name used in the log.
    pub(crate) name: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) memory: Option<Memory>,
}

/// A running child process and its descendants.
#[derive(Debug)]
pub(crate) struct Process {
    /// The name used in the log.
    name: String,
    child: Child,
    id: Option<Pid>,
    is_kept: bool,
    /// Whether its end was seen, and what it left behind was ended.
    has_ended: bool,
    mark: Mark,
    logs: Arc<Logs>,
    /// The number of its first line in the log.
    since: u64,
    stderr_reader: tokio::task::JoinHandle<()>,
    running: Arc<ProcessList>,
}

/// The processes that currently run for one server.
#[derive(Debug, Default)]
pub(crate) struct ProcessList {
    running: Mutex<Vec<Pid>>,
    /// How often a reaper was killed and left processes behind.
    n_killed_reapers: AtomicU64,
}

impl ProcessList {
    pub(crate) fn list(&self) -> Vec<Pid> {
        self.running.lock().clone()
    }

    pub(crate) fn n_killed_reapers(&self) -> u64 {
        self.n_killed_reapers.load(Ordering::Relaxed)
    }
}

/// The pipes to the standard streams of a child.
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts the program in its own process group with a clean environment, never through a shell.
    pub(crate) async fn spawn(
        LaunchSpec { name, program, memory }: LaunchSpec<'_>,
        spawner: &Spawner,
        (logs, running): (&Arc<Logs>, &Arc<ProcessList>),
        tasks: &BackgroundTasks,
    ) -> Result<(Self, Streams), UpstreamError> {
        let environment = environment(program);
        // Checked here because a reaper could only report it as text.
        find_program(program, &environment)?;
        let reaper = spawner.reaper();
        #[expect(clippy::disallowed_methods, reason = "this is the one place where processes are started")]
        let mut command = match reaper {
            Some(reaper) => {
                let mut command = Command::new(reaper);
                command.arg0("octroi").args(reaper::command_line(TERM_PATIENCE, memory, &program.command));
                command
            }
            None => Command::new(&program.command),
        };
        command
            .args(&program.args)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        let is_kept = reaper.is_some();
        let started = spawner.spawn(command).await;
        let (mut child, mark) = started.map_err(|error| UpstreamError::spawn(&program.command, &error))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(UpstreamError::Protocol("the child has no standard streams".to_owned()));
        };
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // Without a reaper the limit can only be set from outside, once the process runs.
        if let Some(memory) = memory.filter(|_| !is_kept)
            && let Err(error) = memory.limit(id)
        {
            let _ = child.start_kill();
            return Err(UpstreamError::spawn(&program.command, &error));
        }
        running.running.lock().extend(id);
        let since = logs.next();
        let stderr_reader = tasks.spawn("stderr", keep_stderr(name.to_owned(), stderr, Arc::clone(logs)));
        let (logs, running) = (Arc::clone(logs), Arc::clone(running));
        let name = name.to_owned();
        Ok((
            Self { name, child, id, is_kept, has_ended: false, mark, logs, since, stderr_reader, running },
            Streams { stdin, stdout },
        ))
    }

    /// Waits until the process ends by itself; returns its exit status and its last standard error lines.
    pub(crate) async fn ended(&mut self) -> String {
        let how = self.exited().await;
        match self.last_words() {
            Some(words) => format!("{how}{LAST_OUTPUT}{words}"),
            None => how,
        }
    }

    /// Waits until the process ends by itself; `Err` is how, unless it succeeded.
    pub(crate) async fn succeeded(&mut self) -> Result<(), String> {
        let how = self.ended().await;
        match self.child.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(_) | Err(_) => Err(how),
        }
    }

    /// Waits until the process ends by itself; returns its exit status.
    pub(crate) async fn exited(&mut self) -> String {
        let status = self.child.wait().await;
        let n_left = self.end_what_is_left(&status);
        if self.is_kept && n_left > 0 {
            self.report_killed_reaper(n_left);
        }
        // A grandchild may hold the pipe open, so the rest of it is read for a short time only.
        let _ = tokio::time::timeout(Duration::from_millis(100), &mut self.stderr_reader).await;
        match status {
            Ok(status) if self.is_kept && n_left > 0 => format!("its reaper was killed ({status})"),
            Ok(status) => status.to_string(),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    /// Ends the process and all its descendants: waits for `patience`, then SIGTERM, then SIGKILL. Its
    /// standard input has been closed before, which asks it to end.
    pub(crate) async fn stop(&mut self, patience: Duration) {
        if tokio::time::timeout(patience, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let limit = if self.is_kept { TERM_PATIENCE + KILL_PATIENCE } else { TERM_PATIENCE };
            if tokio::time::timeout(limit, self.child.wait()).await.is_err() {
                let _ = self.child.start_kill();
            }
        }
        if !self.is_kept {
            // Remaining processes of its group.
            self.signal(Signal::KILL);
        }
        let status = self.child.wait().await;
        self.end_what_is_left(&status);
        self.stderr_reader.abort();
    }

    /// A reaper ends after all its processes. One that was killed, as its own server can do, leaves them
    /// behind; they are found by their mark, and because they are children of Octroi now.
    ///
    /// Returns how many were left. A reaper that ends by itself leaves none.
    fn end_what_is_left(&mut self, status: &io::Result<ExitStatus>) -> usize {
        let (Ok(status), Some(id), false) = (status, self.id, self.has_ended) else {
            return 0;
        };
        self.has_ended = true;
        self.mark.forget(id);
        if status.code().is_none() { self.mark.kill() } else { 0 }
    }

    fn report_killed_reaper(&self, n_processes: usize) {
        self.running.n_killed_reapers.fetch_add(1, Ordering::Relaxed);
        warn!(
            server.name = self.name,
            n_processes, "the reaper was killed; the processes that it watched were ended"
        );
    }

    /// A reaper forwards the signal; without one, the whole process group gets it.
    fn signal(&self, signal: Signal) {
        let Some(id) = self.id else {
            return;
        };
        // Fails when no process is left, which is fine.
        let _ = if self.is_kept {
            rustix::process::kill_process(id, signal)
        } else {
            rustix::process::kill_process_group(id, signal)
        };
    }

    /// The last lines it wrote to its standard error, joined.
    pub(crate) fn last_words(&self) -> Option<String> {
        let lines = self.logs.last(3, self.since);
        let words: Vec<&str> =
            lines.iter().map(|line| line.text.as_str()).filter(|text| !text.trim().is_empty()).collect();
        (!words.is_empty()).then(|| words.join(" | "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.running.lock().retain(|id| Some(*id) != self.id);
        // No caller waits any more. A reaper finishes by itself.
        if self.child.id().is_some() {
            self.signal(if self.is_kept { Signal::TERM } else { Signal::KILL });
        }
        self.stderr_reader.abort();
    }
}

/// Checks beforehand whether the program can be run.
fn find_program(program: &Program, environment: &[(String, String)]) -> Result<(), UpstreamError> {
    let missing = || UpstreamError::spawn(&program.command, &io::ErrorKind::NotFound.into());
    if let Some(cwd) = program.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        let reason = format!("its directory {} does not exist", cwd.display());
        return Err(UpstreamError::Spawn { command: program.command.clone(), reason });
    }
    let is_found = if program.command.contains('/') {
        program.cwd.clone().unwrap_or_default().join(&program.command).exists()
    } else {
        let path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        std::env::split_paths(path.unwrap_or("/usr/local/bin:/usr/bin:/bin"))
            .any(|directory| directory.join(&program.command).is_file())
    };
    if is_found { Ok(()) } else { Err(missing()) }
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

async fn keep_stderr(name: String, stderr: impl AsyncRead + Unpin, logs: Arc<Logs>) {
    let mut lines = Lines::new(stderr, STDERR_LINE_BYTES).keeping(STDERR_LINE_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        let line = match line {
            Line::Whole(text) => logs.push(String::from_utf8_lossy(&text).trim_end()),
            Line::TooLong { head, .. } => logs.push_beginning(&String::from_utf8_lossy(&head)),
        };
        debug!(program.name = name, stderr = line, "program output");
    }
}
