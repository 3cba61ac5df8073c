//! Running other programs, and reporting progress.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};

/// How often a silent step reports that it still runs.
const BEAT: Duration = Duration::from_secs(15);

/// Why a command failed, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// The project's own directory.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs us.
pub(crate) fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// The platform that this machine builds for, as `rustc` calls it.
pub(crate) fn host_triple() -> Result<String, Failure> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let described = output(Command::new(rustc).arg("-vV"))?;
    let host = described.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc does not name its host", "run `rustc -vV`"))
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    run(&mut cargo_command(arguments))
}

/// Cargo with these arguments, in the project's directory.
pub(crate) fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(arguments).current_dir(root());
    command
}

/// Runs a program to its end; fails if the program fails.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let command_line = command_line(command);
    let status = command.status().map_err(|error| cannot_run(&command_line, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{command_line}` failed ({status})"), "its output is above"))
}

/// Runs a program and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let command_line = command_line(command);
    let output = command.output().map_err(|error| cannot_run(&command_line, &error))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("`{command_line}` failed"), message));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program, shows its output as it comes, and returns the output and whether the program succeeded.
/// While it is silent for long, `label` is reported.
pub(crate) fn show_and_keep(command: &mut Command, label: &str) -> Result<(String, bool), Failure> {
    let command_line = command_line(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| cannot_run(&command_line, &error))?;
    let begun = Instant::now();
    let mut kept = Vec::new();
    let (sender, receiver) = sync_channel::<Vec<u8>>(64);
    let mut pipe = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Some(Ok(n_read)) = pipe.as_mut().map(|pipe| pipe.read(&mut buffer)) {
            if n_read == 0 || sender.send(buffer[..n_read].to_vec()).is_err() {
                break;
            }
        }
    });
    loop {
        match receiver.recv_timeout(BEAT) {
            Ok(chunk) => {
                let mut stdout = std::io::stdout().lock();
                // A closed terminal is no reason to stop.
                let _ = stdout.write_all(&chunk).and_then(|()| stdout.flush());
                kept.extend(chunk);
            }
            Err(RecvTimeoutError::Timeout) => {
                let is_inside_line = kept.last().is_some_and(|last| *last != b'\n');
                beat(label, begun.elapsed(), if is_inside_line { "\n" } else { "" });
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = reader.join();
    let status = child.wait().map_err(|error| cannot_run(&command_line, &error))?;
    Ok((String::from_utf8_lossy(&kept).into_owned(), status.success()))
}

/// Like [`run`] for programs that take minutes: reports from time to time what runs, and for how long.
pub(crate) fn run_long(command: &mut Command) -> Result<(), Failure> {
    let label = command_line(command);
    with_heartbeat(&label, || run(command))
}

/// Does work that may be silent for long, and reports from time to time that it still runs.
pub(crate) fn with_heartbeat<T>(label: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                beat(label, begun.elapsed(), "");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

fn beat(label: &str, elapsed: Duration, before: &str) {
    say(&format!("{before}   … {label}, {}", duration(elapsed)));
}

/// `41 s`, `3 min 02 s`.
pub(crate) fn duration(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

fn cannot_run(command_line: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot run `{command_line}`: {error}"), "is it installed and on the PATH?")
}

fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(200) {
        Some((end, _)) => format!("{} …", &words[..end]),
        None => words,
    }
}

pub(crate) fn step(what: &str) {
    say(&format!("\n── {what}"));
}

pub(crate) fn say(text: &str) {
    // A closed terminal is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_minutes_when_there_are_any() {
        for (seconds, expected) in [(0, "0 s"), (59, "59 s"), (60, "1 min 00 s"), (1_384, "23 min 04 s")] {
            assert_eq!(duration(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn output_is_shown_and_returned_and_a_failure_is_reported() {
        for (script, expected) in [
            ("echo one; echo two >&2; printf three", ("one\nthree", true)),
            ("echo one; exit 3", ("one\n", false)),
        ] {
            let (text, is_success) =
                show_and_keep(Command::new("sh").args(["-c", script]), "a script").expect("it runs");
            assert_eq!((text.as_str(), is_success), expected);
        }
        assert!(show_and_keep(&mut Command::new("/does/not/exist"), "nothing").is_err());
    }
}
