//! Child processes: how they are started, listened to, and ended.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::Secret;
use octroi_core::server::Program;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tracing::debug;

use crate::background::BackgroundTasks;
use crate::error::UpstreamError;
use crate::lines::{Line, Lines};
use crate::logs::Logs;
use crate::reaper::{self, Memory};
use crate::spawner::{Mark, Spawner};

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

const STDERR_LINE_BYTES: usize = 4 << 10;
/// How long a process has to follow SIGTERM before SIGKILL.
const TERM_PATIENCE: Duration = Duration::from_secs(2);
/// How long its reaper may take to kill what is left, once it does so.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// What is to be run.
pub(crate) struct Order<'a> {
    /// What the log calls it.
    pub(crate) name: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) memory: Option<Memory>,
}

/// A running child and what it started.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    id: Option<Pid>,
    is_kept: bool,
    mark: Mark,
    logs: Arc<Logs>,
    /// Where in the log this start begins.
    since: u64,
    stderr_reader: tokio::task::JoinHandle<()>,
    running: Arc<ProcessList>,
}

/// The processes that run for one server at present.
#[derive(Debug, Default)]
pub(crate) struct ProcessList(Mutex<Vec<Pid>>);

impl ProcessList {
    pub(crate) fn list(&self) -> Vec<Pid> {
        self.0.lock().clone()
    }
}

/// The streams to talk over.
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts the program in a process group of its own, with a clean environment, never through a
    /// shell.
    pub(crate) async fn spawn(
        Order { name, program, memory }: Order<'_>,
        spawner: &Spawner,
        (logs, running): (&Arc<Logs>, &Arc<ProcessList>),
        tasks: &BackgroundTasks,
    ) -> Result<(Self, Streams), UpstreamError> {
        let environment = environment(program);
        // A reaper could only say so in words.
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
        // Without a reaper it can be limited only from the outside, when it runs already.
        if let Some(memory) = memory.filter(|_| !is_kept)
            && let Err(error) = memory.limit(id)
        {
            let _ = child.start_kill();
            return Err(UpstreamError::spawn(&program.command, &error));
        }
        running.0.lock().extend(id);
        let since = logs.next();
        let stderr_reader = tasks.spawn("stderr", keep_stderr(name.to_owned(), stderr, Arc::clone(logs)));
        let (logs, running) = (Arc::clone(logs), Arc::clone(running));
        Ok((
            Self { child, id, is_kept, mark, logs, since, stderr_reader, running },
            Streams { stdin, stdout },
        ))
    }

    /// Waits for the process to end by itself and says how it did, with its last words.
    pub(crate) async fn ended(&mut self) -> String {
        let how = self.exited().await;
        match self.last_words() {
            Some(words) => format!("{how}; its last words: {words}"),
            None => how,
        }
    }

    /// Waits for the process to end by itself and says how it did.
    pub(crate) async fn exited(&mut self) -> String {
        let status = self.child.wait().await;
        // The pipe may be held open by a grandchild, so what is still in it gets a moment only.
        let _ = tokio::time::timeout(Duration::from_millis(100), &mut self.stderr_reader).await;
        match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    /// Ends the process and everything it started: patience, then SIGTERM, then SIGKILL. Its standard
    /// input has been closed before, which is the polite way to ask.
    pub(crate) async fn stop(&mut self, patience: Duration) {
        if tokio::time::timeout(patience, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let limit = if self.is_kept { TERM_PATIENCE + KILL_PATIENCE } else { TERM_PATIENCE };
            if tokio::time::timeout(limit, self.child.wait()).await.is_err() {
                let _ = self.child.start_kill();
            }
        }
        if !self.is_kept {
            // What the process left behind in its group.
            self.signal(Signal::KILL);
        }
        match self.child.wait().await {
            // Somebody killed the reaper, so what it kept is looked for.
            Ok(status) if status.code().is_none() => {
                self.mark.kill();
            }
            Ok(_) | Err(_) => {}
        }
        self.stderr_reader.abort();
    }

    /// A reaper passes on what it is told; without one the whole group is told.
    fn signal(&self, signal: Signal) {
        let Some(id) = self.id else {
            return;
        };
        // Fails when nobody is left, which is what is wanted.
        let _ = if self.is_kept {
            rustix::process::kill_process(id, signal)
        } else {
            rustix::process::kill_process_group(id, signal)
        };
    }

    /// The last lines it wrote to its standard error.
    pub(crate) fn last_words(&self) -> Option<String> {
        let lines = self.logs.last(3, self.since);
        let words: Vec<&str> =
            lines.iter().map(|line| line.text.as_str()).filter(|text| !text.trim().is_empty()).collect();
        (!words.is_empty()).then(|| words.join(" | "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.running.0.lock().retain(|id| Some(*id) != self.id);
        // Nobody waits any more. A reaper needs nobody for the rest.
        if self.child.id().is_some() {
            self.signal(if self.is_kept { Signal::TERM } else { Signal::KILL });
        }
        self.stderr_reader.abort();
    }
}

/// Says why a program cannot be run, if that can be seen beforehand.
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
    let mut lines = Lines::new(stderr, STDERR_LINE_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        let text = match line {
            Line::Whole(text) => String::from_utf8_lossy(&text).trim_end().to_owned(),
            Line::TooLong { head, .. } => format!("{}…", String::from_utf8_lossy(&head)),
        };
        let shown = logs.push(&text);
        debug!(program.name = name, stderr = shown, "program says");
    }
}
