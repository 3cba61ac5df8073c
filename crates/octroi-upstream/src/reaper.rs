//! The process between Octroi and a server's program.
//!
//! Programs start others: `npx` starts node, node starts a browser, the browser detaches itself. Killing
//! a process group misses processes that left the group, and nothing is killed when Octroi itself is killed.
//! So each program gets a reaper. It adopts the orphans among its descendants (as a Linux subreaper), is
//! signalled when Octroi dies, and ends only when all of them have. The streams belong to the program
//! alone: no byte passes through the reaper.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, getrlimit, kill_process, prlimit,
    set_child_subreaper, set_parent_process_death_signal, setrlimit, wait,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::clock::system_clock;
use crate::open_files;
use crate::processes::descendants;

/// The running program, also after an update replaced its file.
const SELF: &str = "/proc/self/exe";
/// First word of a reaper's command line.
pub(crate) const KEEP: &str = "keep";
/// First word of the command line that becomes the program.
const LAUNCH: &str = "launch";
/// The command line argument for "no limit".
const UNLIMITED: &str = "-";
/// The exit code of a shell when a program cannot be run.
const NOT_RUN: u8 = 126;

/// The command line of a reaper: `keep PARENT GRACE_MS MEMORY FILES PROGRAM ARGS…`.
pub(crate) fn command_line(grace: Duration, memory: Option<Memory>, program: &str) -> Vec<OsString> {
    let memory = memory.map_or_else(|| UNLIMITED.to_owned(), |Memory(bytes)| bytes.to_string());
    let files = open_files::inherited().map_or_else(|| UNLIMITED.to_owned(), |files| files.to_string());
    let grace = grace.as_millis().to_string();
    let words = [KEEP.to_owned(), std::process::id().to_string(), grace, memory, files];
    words.into_iter().chain([program.to_owned()]).map(OsString::from).collect()
}

/// The memory limit of each process of a program, in bytes.
///
/// It limits private writable memory (`RLIMIT_DATA`), not address space (`RLIMIT_AS`): V8 reserves gigabytes
/// of address space that it never uses, and Node.js hangs at its start without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(u64);

impl Memory {
    pub(crate) fn mebibytes(count: usize) -> Self {
        Self(u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(1 << 20))
    }

    /// Limits a process, or this one. Also disables core dumps.
    pub(crate) fn limit(self, process: Option<Pid>) -> io::Result<()> {
        // Octroi's own hard limit cannot be exceeded.
        let bytes = getrlimit(Resource::Data).maximum.map_or(self.0, |most| most.min(self.0));
        prlimit(process, Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) })?;
        prlimit(process, Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        Ok(())
    }

    /// Limits this process to the value from its command line.
    fn apply(word: &OsStr) -> io::Result<()> {
        if word == UNLIMITED {
            return Ok(());
        }
        let bytes = word.to_str().and_then(|digits| digits.parse().ok());
        Self(bytes.ok_or_else(|| io::Error::other("the memory limit is not a number"))?).limit(None)
    }
}

/// Takes over if the command line is that of a reaper. To be called before anything else: a process
/// with several threads could not do the following.
pub fn take_over(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let role = arguments.next()?;
    let outcome = if role == KEEP {
        let parent = number(arguments.next())?;
        let grace = Duration::from_millis(u64::try_from(number(arguments.next())?).ok()?);
        let limits = [arguments.next()?, arguments.next()?];
        keep(Pid::from_raw(parent)?, grace, limits, arguments)
    } else if role == LAUNCH {
        let parent = number(arguments.next())?;
        let limits = [arguments.next()?, arguments.next()?];
        Err(launch(Pid::from_raw(parent)?, &limits, arguments))
    } else {
        return None;
    };
    Some(outcome.unwrap_or_else(|error| {
        // Octroi reads this and keeps a server's last output.
        let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{error}\n"));
        ExitCode::from(NOT_RUN)
    }))
}

fn number(argument: Option<OsString>) -> Option<i32> {
    argument?.to_str()?.parse().ok()
}

/// Replaces this process with the program, which is killed when its reaper dies.
fn launch(
    reaper: Pid,
    [memory, files]: &[OsString; 2],
    mut words: impl Iterator<Item = OsString>,
) -> io::Error {
    let Some(program) = words.next() else {
        return io::Error::other("no program was named");
    };
    if let Err(error) = die_with(reaper, Signal::KILL) {
        return error;
    }
    #[expect(clippy::disallowed_methods, reason = "this process becomes the program")]
    let mut command = Command::new(&program);
    command.args(words);
    if let Some(files) = files.to_str().and_then(|digits| digits.parse().ok()) {
        open_files::lower(files);
    }
    // Last, because this process may already use more.
    if let Err(error) = Memory::apply(memory) {
        return error;
    }
    let error = command.exec();
    io::Error::new(error.kind(), format!("cannot run `{}`: {error}", program.display()))
}

/// Requests a signal when the parent dies, which may have happened already.
fn die_with(parent: Pid, by: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(by))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::other("the parent process is gone")) }
}

fn keep(
    octroi: Pid,
    grace: Duration,
    limits: [OsString; 2],
    words: impl Iterator<Item = OsString>,
) -> io::Result<ExitCode> {
    // Otherwise it would be listed under the name of the link it was started by.
    let _ = rustix::thread::set_name(c"octroi-reaper");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        // Before the program is started, so that its end cannot be missed.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut child_ended = signal(SignalKind::child())?;
        die_with(octroi, Signal::TERM)?;
        set_child_subreaper(Some(getpid()))?;
        let program = start(limits, words)?;
        let clock = system_clock();
        let mut give_up: Option<Instant> = None;
        let mut ended: Option<ExitStatus> = None;
        loop {
            let patience = async {
                match give_up {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = terminate.recv() => {
                    // Each one once, also those that left the group: a second signal may mean urgency.
                    for process in descendants(getpid()) {
                        let _ = kill_process(process, Signal::TERM);
                    }
                    give_up.get_or_insert(Instant::from_std(clock.instant()) + grace);
                }
                _ = child_ended.recv() => {
                    ended = reap(program).or(ended);
                    // After SIGTERM, all of them get the grace period.
                    if ended.is_some() && (give_up.is_none() || descendants(getpid()).is_empty()) {
                        return io::Result::Ok(ended);
                    }
                }
                () = patience => return Ok(ended),
            }
        }
    });
    end_all();
    Ok(mirror(ended?))
}

fn start(limits: [OsString; 2], words: impl Iterator<Item = OsString>) -> io::Result<Pid> {
    #[expect(clippy::disallowed_methods, reason = "the reaper starts the program that Octroi names")]
    let child = Command::new(SELF)
        .arg(LAUNCH)
        .arg(getpid().as_raw_nonzero().to_string())
        .args(limits)
        .args(words)
        .process_group(0)
        .spawn()?;
    // The pipes belong to the program: if they stayed open here, the other ends would never see EOF.
    let nothing = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("no process id"))
}

/// Reaps every process that has ended; returns the exit status of the program if it is among them.
fn reap(program: Pid) -> Option<ExitStatus> {
    let mut ended = None;
    while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
        if process == program {
            ended = Some(ExitStatus::from_raw(status.as_raw()));
        }
    }
    ended
}

/// Kills all remaining descendants, including those started meanwhile.
fn end_all() {
    const ROUNDS: u32 = 2_000;
    for _ in 0..ROUNDS {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let left = descendants(getpid());
        if left.is_empty() {
            return;
        }
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends with the status of the program, so that Octroi can report it.
fn mirror(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else {
        return signalled(Signal::KILL);
    };
    match (status.code(), status.signal().and_then(Signal::from_named_raw)) {
        (Some(code), _) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        (None, Some(signal)) => signalled(signal),
        (None, None) => ExitCode::FAILURE,
    }
}

fn signalled(signal: Signal) -> ExitCode {
    // The program may have dumped core; a core dump of its reaper is useless.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = kill_process(getpid(), signal);
    // Some signals do not end this process; then the exit code that shells use.
    ExitCode::from(u8::try_from(128 + signal.as_raw()).unwrap_or(1))
}
