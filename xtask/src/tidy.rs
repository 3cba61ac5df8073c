//! Rules that no compiler checks.

use std::process::Command;

use serde_json::Value;

use crate::shell::{Failure, cargo_program, output, root};

/// Which crate may know which: the arrows of ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 10] = [
    ("octroi-core", &[]),
    ("octroi-cedar", &["octroi-core"]),
    ("octroi-mcp", &[]),
    ("octroi-store", &["octroi-core"]),
    ("octroi-upstream", &["octroi-core", "octroi-mcp"]),
    ("octroi-gateway", &["octroi-cedar", "octroi-core", "octroi-mcp", "octroi-store", "octroi-upstream"]),
    ("octroi-server", &["octroi-core", "octroi-gateway", "octroi-mcp", "octroi-store"]),
    ("octroi", &["octroi-core", "octroi-gateway", "octroi-mcp", "octroi-server", "octroi-store"]),
    ("octroi-testkit", &[]),
    ("octroi-bench", &["octroi-core", "octroi-gateway"]),
];

/// What the pure crates must not depend on, because it would let IO in.
const IMPURE: [&str; 7] = ["tokio", "hyper", "axum", "rustix", "getrandom", "sqlx", "tracing"];
const PURE: [&str; 3] = ["octroi-cedar", "octroi-core", "octroi-mcp"];

/// A file longer than this holds more than one idea. Tests are tables and may be longer.
const LINES_MAX: usize = 500;
const TEST_LINES_MAX: usize = 800;

/// Checks everything and reports all that is wrong at once.
pub(crate) fn check() -> Result<(), Failure> {
    let mut complaints = directions()?;
    complaints.extend(files()?);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("{} things are untidy", complaints.len()), complaints.join("\n      ")))
}

fn directions() -> Result<Vec<String>, Failure> {
    let metadata = output(
        Command::new(cargo_program())
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(root()),
    )?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| {
        Failure::new(format!("cargo metadata cannot be read: {error}"), "is cargo up to date?")
    })?;
    let mut complaints = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let allowed = match ARROWS.iter().find(|(known, _)| *known == name) {
            Some((_, allowed)) => *allowed,
            None if name == "xtask" => &[],
            None => {
                complaints.push(format!("{name} has no place in ARCHITECTURE.md and xtask/src/tidy.rs"));
                continue;
            }
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            if other.starts_with("octroi") && !is_for_tests && !allowed.contains(&other) {
                complaints.push(format!("{name} must not depend on {other}"));
            }
            if PURE.contains(&name) && IMPURE.contains(&other) && !is_for_tests {
                complaints.push(format!("{name} is pure and must not depend on {other}"));
            }
        }
    }
    Ok(complaints)
}

fn files() -> Result<Vec<String>, Failure> {
    let listed = output(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    let strays = strays();
    let mut complaints = Vec::new();
    for name in listed.lines() {
        // Lock files are written by their tools, which name their registry.
        let is_lock = name.ends_with(".lock");
        let Ok(text) = std::fs::read_to_string(root().join(name)) else {
            continue;
        };
        if name.ends_with(".rs") {
            let limit = if is_test(name) { TEST_LINES_MAX } else { LINES_MAX };
            let lines = text.lines().count();
            if lines > limit {
                complaints.push(format!("{name} has {lines} lines, more than {limit}: split it"));
            }
            if !text.starts_with("//!") && !name.ends_with("/tests.rs") {
                complaints.push(format!("{name} does not begin with `//!` and what it is for"));
            }
        }
        if is_lock {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(stray) = strays.iter().find(|stray| line.contains(stray.as_str())) {
                complaints.push(format!("{name}:{} names `{stray}`", number + 1));
            }
        }
    }
    Ok(complaints)
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("/tests.rs")
}

/// Paths of a developer's machine and hosts of registries. Put together here so that this file does
/// not name them.
fn strays() -> Vec<String> {
    let mut strays: Vec<String> =
        ["root", "work", "home"].iter().map(|directory| format!("{0}{directory}{0}", '/')).collect();
    strays.extend(
        [
            ["registry", "npmjs", "org"],
            ["files", "pythonhosted", "org"],
            ["static", "crates", "io"],
            ["index", "crates", "io"],
            ["deb", "debian", "org"],
        ]
        .iter()
        .map(|words| words.join(".")),
    );
    strays.push(["pypi", "org"].join("."));
    strays
}
