//! Checks the dependencies that cargo resolved against the rules of `deny.toml`.
//!
//! This does what `cargo deny check bans licenses sources` does, from the same file, in a second and with
//! nothing to install. A key of `deny.toml` that is not supported here is an error, so that every rule is
//! enforced. Where cargo-deny is installed, it runs as well; `docs/adr/0019` says why.

use std::process::{Command, Stdio};

use crate::shell::{Failure, cargo, cargo_command, output, root, say};

mod bans;
mod graph;
mod licenses;
mod rules;
mod sources;

use graph::Graph;
use rules::Rules;

/// Checks everything and reports all problems at once.
pub(crate) fn check() -> Result<(), Failure> {
    let text = std::fs::read_to_string(root().join("deny.toml"))
        .map_err(|error| Failure::new(format!("cannot read deny.toml: {error}"), "is the checkout whole?"))?;
    let rules = rules::read(&text)
        .map_err(|problem| Failure::new("xtask does not support something in deny.toml", problem))?;
    let graph = resolve(&rules.graph.targets)?;
    let complaints = complaints(&rules, &graph);
    if complaints.is_empty() {
        say(&format!("{} packages, each of an allowed licence, source and use", graph.n_packages()));
        return check_with_cargo_deny();
    }
    Err(Failure::new(
        format!("{} problems with the rules of deny.toml", complaints.len()),
        complaints.join("\n      "),
    ))
}

/// Lets the program whose rules these are check them too, if this machine has it.
fn check_with_cargo_deny() -> Result<(), Failure> {
    let mut version = cargo_command(&["deny", "--version"]);
    if !is_installed(&mut version) {
        say("cargo-deny is not installed, so it did not check the same rules as well");
        return Ok(());
    }
    cargo(&["deny", "--locked", "--offline", "check", "bans", "licenses", "sources"])
}

/// Whether a program can be run. Nothing of its output is shown.
fn is_installed(version: &mut Command) -> bool {
    let status = version.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn complaints(rules: &Rules, graph: &Graph) -> Vec<String> {
    [
        bans::check(&rules.bans, graph),
        licenses::check(&rules.licenses, graph),
        sources::check(&rules.sources, graph),
    ]
    .concat()
}

/// Everything that is compiled for any of these platforms.
fn resolve(platforms: &[String]) -> Result<Graph, Failure> {
    let list = |arguments: &[&str], option: &str| {
        let mut command = cargo_command(arguments);
        command.arg("--locked").args(platforms.iter().flat_map(|platform| [option, platform]));
        output(&mut command)
    };
    let metadata = list(&["metadata", "--format-version", "1"], "--filter-platform")?;
    // Metadata also names optional packages that no enabled feature asks for; the tree does not.
    let tree = list(
        &["tree", "--workspace", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}"],
        "--target",
    )?;
    graph::read(&metadata, &tree).map_err(|error| {
        Failure::new(format!("cargo metadata cannot be read: {error}"), "is cargo up to date?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_or_fails_is_not_installed() {
        assert!(is_installed(&mut cargo_command(&["--version"])));
        assert!(!is_installed(&mut cargo_command(&["no-such-command-of-cargo", "--version"])));
        assert!(!is_installed(&mut Command::new("no-such-program-of-octroi")));
    }
}
