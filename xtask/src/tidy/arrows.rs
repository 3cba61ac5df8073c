//! Which crate may depend on which.

use std::process::Command;

use serde_json::Value;

use super::{Finding, Rule};
use crate::shell::{Failure, cargo_program, output, root};

/// Which crate may depend on which: the arrows of ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 12] = [
    ("octroi-core", &[]),
    ("octroi-api", &["octroi-core"]),
    ("octroi-cedar", &["octroi-core"]),
    ("octroi-mcp", &[]),
    ("octroi-store", &["octroi-core"]),
    ("octroi-upstream", &["octroi-core", "octroi-mcp"]),
    (
        "octroi-gateway",
        &["octroi-api", "octroi-cedar", "octroi-core", "octroi-mcp", "octroi-store", "octroi-upstream"],
    ),
    ("octroi-server", &["octroi-api", "octroi-core", "octroi-gateway", "octroi-mcp", "octroi-ui"]),
    ("octroi", &["octroi-api", "octroi-core", "octroi-gateway", "octroi-mcp", "octroi-server"]),
    ("octroi-testkit", &[]),
    ("octroi-ui", &[]),
    ("octroi-bench", &["octroi-core", "octroi-gateway", "octroi-mcp"]),
];

/// Libraries that the pure crates must not depend on, because they do IO.
const IMPURE: [&str; 7] = ["tokio", "hyper", "axum", "rustix", "getrandom", "sqlx", "tracing"];
const PURE: [&str; 4] = ["octroi-api", "octroi-cedar", "octroi-core", "octroi-mcp"];

/// Asks cargo for the dependencies of every member of the workspace.
pub(crate) fn check() -> Result<Vec<Finding>, Failure> {
    let metadata = output(
        Command::new(cargo_program())
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(root()),
    )?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| {
        Failure::new(format!("cargo metadata cannot be read: {error}"), "is cargo up to date?")
    })?;
    Ok(findings(&metadata))
}

fn findings(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add =
        |place: String, message: String| findings.push(Finding { rule: Rule::Arrow, place, message });
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let allowed = match ARROWS.iter().find(|(known, _)| *known == name) {
            Some((_, allowed)) => *allowed,
            None if name == "xtask" => &[],
            None => {
                let message = format!("{name} is missing in ARCHITECTURE.md and xtask/src/tidy/arrows.rs");
                add(name.to_owned(), message);
                continue;
            }
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = dependency["name"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            if other.starts_with("octroi") && !is_for_tests && !allowed.contains(&other) {
                add(format!("{name} -> {other}"), format!("{name} must not depend on {other}"));
            }
            if PURE.contains(&name) && IMPURE.contains(&other) && !is_for_tests {
                add(format!("{name} -> {other}"), format!("{name} is pure and must not depend on {other}"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dependencies_follow_the_arrows() {
        let table = [
            ("octroi-core", "serde", "normal", vec![]),
            ("octroi-core", "octroi-mcp", "normal", vec!["octroi-core must not depend on octroi-mcp"]),
            ("octroi-core", "octroi-testkit", "dev", vec![]),
            ("octroi-core", "tokio", "normal", vec!["octroi-core is pure and must not depend on tokio"]),
            ("octroi-core", "tokio", "dev", vec![]),
            ("octroi-gateway", "tokio", "normal", vec![]),
            ("xtask", "octroi-core", "normal", vec!["xtask must not depend on octroi-core"]),
            (
                "octroi-new",
                "serde",
                "normal",
                vec!["octroi-new is missing in ARCHITECTURE.md and xtask/src/tidy/arrows.rs"],
            ),
        ];
        for (name, dependency, kind, expected) in table {
            let metadata = json!({"packages": [
                {"name": name, "dependencies": [{"name": dependency, "kind": kind}]},
            ]});
            let messages: Vec<String> =
                findings(&metadata).into_iter().map(|finding| finding.message).collect();
            assert_eq!(messages, expected, "{name} -> {dependency} ({kind})");
        }
    }
}
