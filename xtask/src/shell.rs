//! Running other programs, and saying what goes on.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What went wrong, and what to do about it.
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

/// Where cargo puts what it makes.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs us.
pub(crate) fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    run(Command::new(cargo_program()).args(arguments).current_dir(root()))
}

/// Runs a program to its end; a failure of it is ours.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    let status = command.status().map_err(|error| {
        Failure::new(format!("cannot run `{shown}`: {error}"), "is it installed and on the PATH?")
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{shown}` failed ({status})"), "its output is above"))
}

/// Runs a program and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = shown(command);
    let output = command.output().map_err(|error| {
        Failure::new(format!("cannot run `{shown}`: {error}"), "is it installed and on the PATH?")
    })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("`{shown}` failed"), message));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn step(what: &str) {
    say(&format!("\n── {what}"));
}

pub(crate) fn say(text: &str) {
    // A closed terminal is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{text}");
}
