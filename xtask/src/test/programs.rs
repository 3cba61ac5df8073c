//! The test programs of the workspace: built once, listed, and started as cargo starts them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::shell::{self, Failure, cargo_command, cargo_program, output, root};

/// The tests of the binary, as a label.
pub(crate) const BINARY: &str = "crates/octroi (it)";

/// A built program with tests in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// `crates/octroi-core (lib)`.
    pub(crate) label: String,
    /// The directory of its package, where tests expect to be started.
    pub(crate) package: PathBuf,
    pub(crate) executable: PathBuf,
}

impl Program {
    /// The program, started in the directory and with the environment that cargo would use.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .current_dir(&self.package)
            .env("CARGO", cargo_program())
            .env("CARGO_MANIFEST_DIR", &self.package)
            .env("CARGO_MANIFEST_PATH", self.package.join("Cargo.toml"));
        command
    }

    /// The names of all its tests.
    pub(crate) fn tests(&self) -> Result<Vec<String>, Failure> {
        let listed = output(self.command().args(["--list", "--format", "terse"]))?;
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

/// Builds every library, program and test of the workspace; returns those with tests.
pub(crate) fn build() -> Result<Vec<Program>, Failure> {
    let mut command =
        cargo_command(&["build", "--workspace", "--all-targets", "--message-format=json-render-diagnostics"]);
    let child = command.stdout(Stdio::piped()).spawn().map_err(|error| {
        Failure::new(format!("cannot run cargo: {error}"), "is it installed and on the PATH?")
    })?;
    // Progress and warnings go to standard error, which is the terminal's.
    let output = shell::with_heartbeat("cargo build --workspace --all-targets", || child.wait_with_output());
    match output {
        Ok(output) if output.status.success() => Ok(read(&String::from_utf8_lossy(&output.stdout), &root())),
        _ => Err(Failure::new("the workspace cannot be built", "cargo's output is above")),
    }
}

/// Picks the test programs out of what cargo reports.
fn read(messages: &str, root: &Path) -> Vec<Program> {
    let mut programs: Vec<Program> = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["profile"]["test"] == true)
        .filter_map(|message| {
            let manifest = Path::new(message["manifest_path"].as_str()?);
            let package = manifest.parent()?.to_path_buf();
            let target = match message["target"]["kind"][0].as_str()? {
                "lib" => "lib".to_owned(),
                _ => message["target"]["name"].as_str()?.to_owned(),
            };
            let label = format!("{} ({target})", package.strip_prefix(root).unwrap_or(&package).display());
            Some(Program { label, package, executable: message["executable"].as_str()?.into() })
        })
        .collect();
    // The tests of the whole binary last: they take longest, and are least specific about a fault.
    programs.sort_by_key(|program| (program.package.ends_with("crates/octroi"), program.label.clone()));
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_reports() {
        let artifact = |package: &str, kind: &str, name: &str, is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/{package}/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{is_test}}},"executable":"/t/{name}"}}"#
            )
        };
        let messages = [
            artifact("crates/octroi", "test", "it", true),
            artifact("crates/octroi", "bin", "octroi", false),
            artifact("crates/octroi-core", "lib", "octroi_core", true),
            artifact("bench", "bin", "octroi-bench", true),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let labels: Vec<String> =
            read(&messages.join("\n"), Path::new("/p")).into_iter().map(|program| program.label).collect();
        assert_eq!(labels, ["bench (octroi-bench)", "crates/octroi-core (lib)", "crates/octroi (it)"]);
    }
}
