//! The official conformance suite: how it is run, what it reports, and what is expected of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde::Deserialize;

/// The results of each scenario's checks.
pub(crate) type SuiteReport = BTreeMap<String, ScenarioTally>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScenarioTally {
    /// The ids of the checks that passed.
    pub(crate) passed: Vec<String>,
    /// `check-id: what is wrong`.
    pub(crate) failed: Vec<String>,
    pub(crate) warned: Vec<String>,
}

/// A check without the expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedCheck {
    pub(crate) revision: String,
    /// What was between the suite and its subject.
    pub(crate) through: String,
    pub(crate) check: String,
    /// All details, for the reader of the failed test.
    pub(crate) line: String,
}

/// A file of the checks that cannot pass.
#[derive(Deserialize)]
struct Baseline {
    #[serde(default)]
    expected: Vec<Expected>,
    /// Scenarios that fail directly.
    #[serde(default)]
    direct: Vec<Direct>,
}

#[derive(Deserialize)]
struct Direct {
    revision: String,
    /// How the names of the scenarios begin.
    scenarios: String,
    reason: String,
    fault: String,
}

#[derive(Deserialize)]
struct Expected {
    revision: String,
    through: Vec<String>,
    checks: Vec<String>,
    reason: String,
    /// Whose fault it is.
    #[serde(default)]
    fault: String,
}

impl Expected {
    fn is_about(&self, complaint: &FailedCheck) -> bool {
        self.revision == complaint.revision
            && self.through.contains(&complaint.through)
            && self.checks.contains(&complaint.check)
    }

    /// Those that it names and that nobody complains about.
    fn unmet<'a>(&'a self, complaints: &'a [FailedCheck]) -> impl Iterator<Item = String> + 'a {
        let pairs =
            self.through.iter().flat_map(|through| self.checks.iter().map(move |check| (through, check)));
        let is_met = |(through, check): &(&String, &String)| {
            complaints.iter().any(|complaint| {
                self.is_about(complaint) && complaint.through == **through && complaint.check == **check
            })
        };
        pairs.filter(move |pair| !is_met(pair)).map(|(through, check)| format!("{check} ({through})"))
    }
}

#[derive(Deserialize)]
struct Check {
    id: String,
    status: String,
    #[serde(rename = "errorMessage")]
    error: Option<String>,
}

/// The expected differences as a table, with their reasons and whose fault they are.
pub(crate) fn differences(baseline: &str) -> String {
    let text = std::fs::read_to_string(directory().join(baseline)).expect("the baseline can be read");
    let baseline: Baseline = toml::from_str(&text).expect("the baseline is valid");
    let mut direct = String::new();
    for Direct { revision, scenarios, reason, fault } in &baseline.direct {
        let _ = write!(
            direct,
            "\nAt {revision}, only `{scenarios}…` fail directly, by fault of {fault}. {reason}\n"
        );
    }
    if baseline.expected.is_empty() {
        return format!("No check differs.\n{direct}");
    }
    let mut table = String::from(
        "| revision | `era` | checks that differ | fault of | reason |\n|---|---|---|---|---|\n",
    );
    for Expected { revision, through, checks, reason, fault } in &baseline.expected {
        let checks: Vec<String> = checks.iter().map(|check| format!("`{check}`")).collect();
        let (through, checks) = (through.join(", "), checks.join(", "));
        let _ = writeln!(table, "| {revision} | {through} | {checks} | {fault} | {reason} |");
    }
    table + &direct
}

/// Fails on a scenario that fails directly without a reason in the baseline, and on a reason without such a scenario.
pub(crate) fn judge_direct(baseline: &str, revision: &str, report: &SuiteReport) {
    let text = std::fs::read_to_string(directory().join(baseline)).expect("the baseline can be read");
    let baseline: Baseline = toml::from_str(&text).expect("the baseline is valid");
    let is_known = |scenario: &str, direct: &Direct| {
        direct.revision == revision && scenario.starts_with(&direct.scenarios)
    };
    let failing = report.iter().filter(|(_, tally)| !tally.failed.is_empty());
    let failing: Vec<&String> = failing.map(|(scenario, _)| scenario).collect();
    for scenario in &failing {
        let is_known = baseline.direct.iter().any(|direct| is_known(scenario, direct));
        assert!(is_known, "{revision}: {scenario} fails directly: {:?}", report[*scenario].failed);
    }
    for direct in baseline.direct.iter().filter(|direct| direct.revision == revision) {
        let is_met = failing.iter().any(|scenario| is_known(scenario, direct));
        assert!(is_met, "{revision}: {} passes directly now", direct.scenarios);
    }
}

/// Fails on a complaint that the baseline does not expect, and on an expectation that is not met.
pub(crate) fn judge(baseline: &str, complaints: &[FailedCheck]) {
    let text = std::fs::read_to_string(directory().join(baseline)).expect("the baseline can be read");
    let verdict = verdict(&text, complaints);
    assert!(verdict.is_empty(), "against {baseline}:\n{}", verdict.join("\n"));
}

fn verdict(baseline: &str, complaints: &[FailedCheck]) -> Vec<String> {
    let baseline: Baseline = toml::from_str(baseline).expect("the baseline is valid");
    let mut verdict = Vec::new();
    for complaint in complaints {
        if !baseline.expected.iter().any(|expected| expected.is_about(complaint)) {
            verdict.push(format!("{}, {}: {}", complaint.revision, complaint.through, complaint.line));
        }
    }
    for expected in &baseline.expected {
        if expected.reason.is_empty() {
            verdict.push(format!("{} needs a reason", expected.checks.join(", ")));
        }
        for unmet in expected.unmet(complaints) {
            verdict.push(format!("{unmet} passes now: remove it from the baseline"));
        }
    }
    verdict
}

/// The id of the check that a line of a [`ScenarioTally`] is about.
pub(crate) fn check_id(line: &str) -> String {
    line.split(':').next().unwrap_or_default().to_owned()
}

/// Runs the suite and reads its report files.
pub(crate) async fn run(arguments: &[&str], environment: &[(&str, &Path)]) -> (SuiteReport, Output) {
    let results = tempfile::tempdir().expect("a temporary directory");
    let output = command(arguments)
        .arg("-o")
        .arg(results.path())
        .envs(environment.iter().copied())
        .output()
        .await
        .expect("the suite should run");
    let report = read(results.path());
    assert!(
        !report.is_empty(),
        "the suite left no results:\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (report, output)
}

/// The suite with these arguments.
pub(crate) fn command(arguments: &[&str]) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(node());
    command
        .arg(directory().join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(arguments);
    command
}

/// The Node that the suite needs.
pub(crate) fn node() -> PathBuf {
    let node = directory().join("node_modules/.bin/node");
    assert!(
        node.exists(),
        "the conformance suite is not installed; run `npm ci` in tests/conformance, or `cargo xtask test`"
    );
    node
}

/// Where the suite, its baselines and the server on the TypeScript SDK are.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

fn read(directory: &Path) -> SuiteReport {
    let mut report = SuiteReport::new();
    let entries = std::fs::read_dir(directory).expect("the results can be listed");
    for entry in entries.flatten() {
        let checks: PathBuf = entry.path().join("checks.json");
        let Ok(text) = std::fs::read_to_string(&checks) else {
            continue;
        };
        let checks: Vec<Check> = serde_json::from_str(&text).expect("the results can be read");
        let tally = report.entry(scenario(&entry.file_name().to_string_lossy())).or_default();
        for check in checks {
            let line = format!("{}: {}", check.id, check.error.unwrap_or_default());
            match check.status.as_str() {
                "SUCCESS" => tally.passed.push(check.id),
                "FAILURE" => tally.failed.push(line),
                "WARNING" => tally.warned.push(line),
                _ => {}
            }
        }
    }
    report
}

/// `server-tools-list-2026-11-15T22-13-10-081Z` is about `tools-list`. Client scenarios have no such prefix.
fn scenario(directory: &str) -> String {
    let name = directory.strip_prefix("server-").unwrap_or(directory);
    let stamp = name.rfind('T').map_or(name.len(), |position| position.saturating_sub(11));
    name[..stamp].to_owned()
}

#[test]
fn a_baseline_excuses_what_it_names_and_nothing_else() {
    let line = |reason: &str| {
        format!(
            "[[expected]]\nrevision = \"r\"\nthrough = [\"t\"]\nchecks = [\"known\"]\nreason = \"{reason}\"\n"
        )
    };
    let complaint = |check: &str| FailedCheck {
        revision: "r".to_owned(),
        through: "t".to_owned(),
        check: check.to_owned(),
        line: format!("{check}: fails"),
    };
    for (baseline, complaints, expected) in [
        (String::new(), vec![], vec![]),
        (line("why"), vec![complaint("known")], vec![]),
        (line(""), vec![complaint("known")], vec!["known needs a reason"]),
        (line("why"), vec![complaint("known"), complaint("new")], vec!["r, t: new: fails"]),
        (line("why"), vec![], vec!["known (t) passes now: remove it from the baseline"]),
    ] {
        assert_eq!(verdict(&baseline, &complaints), expected, "{baseline}");
    }
}
