//! The official conformance suite, against our fixture directly and through Octroi.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use octroi_testkit::fixture_binary;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::porter::Porter;
use serde::Deserialize;

use crate::harness::{keep, octroi, remote_entry};

/// Every revision the suite has, as it is asked for it.
const REVISIONS: [(&str, &[&str]); 4] = [
    ("2025-03-26", &["--spec-version", "2025-03-26", "--suite", "all"]),
    ("2025-06-18", &["--spec-version", "2025-06-18", "--suite", "all"]),
    ("2025-11-25", &["--requirements", "2025-11-25"]),
    ("2026-07-28", &["--requirements", "2026-07-28"]),
];

/// What each scenario's checks came to.
type Report = BTreeMap<String, Tally>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    warned: Vec<String>,
}

/// `tests/conformance/baseline.toml`.
#[derive(Deserialize)]
struct Baseline {
    expected: Vec<Expected>,
}

/// A check that cannot pass through Octroi.
#[derive(Deserialize)]
struct Expected {
    revision: String,
    through: String,
    check: String,
    reason: String,
}

#[derive(Deserialize)]
struct Check {
    id: String,
    status: String,
    #[serde(rename = "errorMessage")]
    error: Option<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_directly_passes_through_octroi() {
    let fixture = PeerProcess::start_program(&fixture_binary(), &["--listen", "127.0.0.1:0"])
        .await
        .expect("the fixture should start");
    let config: String = ["legacy", "modern"]
        .map(|era| {
            format!("{}era = \"{era}\"\nmax_concurrency = 64\n", remote_entry(era, "http", &fixture.url))
        })
        .concat();
    let gateway = TestGateway::start(&octroi(), &config).await;
    let porter = Porter::start(&gateway.base, AGENT_TOKEN).await;
    let through = |era: &str| format!("{}/mcp/servers/{era}", porter.base);
    let targets = [
        ("directly", fixture.url.clone()),
        ("legacy upstream", through("legacy")),
        ("modern upstream", through("modern")),
    ];

    let mut table = String::from(
        "| revision | | scenarios | checks passed | failed | warnings |\n|---|---|---|---|---|---|",
    );
    let mut regressions = Vec::new();
    for (revision, arguments) in REVISIONS {
        let mut direct = Report::new();
        for (index, (how, url)) in targets.iter().enumerate() {
            let report = run("server", &["--url", url], arguments).await;
            let passed: usize = report.values().map(|tally| tally.passed).sum();
            let failed: usize = report.values().map(|tally| tally.failed.len()).sum();
            let warned: usize = report.values().map(|tally| tally.warned.len()).sum();
            let _ =
                write!(table, "\n| {revision} | {how} | {} | {passed} | {failed} | {warned} |", report.len());
            if index == 0 {
                direct = report;
            } else {
                regressions.extend(
                    compare(&direct, &report).into_iter().map(|(check, line)| (revision, *how, check, line)),
                );
            }
        }
    }
    table.push('\n');
    println!("{table}");
    keep("conformance-server.md", &table);
    judge(&regressions);
}

/// Fails on what is worse and not expected, and on what is expected and not worse.
fn judge(regressions: &[(&str, &str, String, String)]) {
    let file = suite().join("baseline.toml");
    let text = std::fs::read_to_string(&file).expect("the baseline can be read");
    let baseline: Baseline = toml::from_str(&text).expect("the baseline is valid");
    let mut complaints = Vec::new();
    for (revision, how, check, line) in regressions {
        let is_expected = |expected: &Expected| {
            expected.revision == *revision && expected.through == *how && expected.check == *check
        };
        if !baseline.expected.iter().any(is_expected) {
            complaints.push(format!("{revision}, {how}: {line}"));
        }
    }
    for expected in &baseline.expected {
        assert!(!expected.reason.is_empty(), "{} needs a reason", expected.check);
        let is_worse = regressions.iter().any(|(revision, how, check, _)| {
            expected.revision == *revision && expected.through == *how && expected.check == *check
        });
        if !is_worse {
            complaints.push(format!("{} passes now: remove it from the baseline", expected.check));
        }
    }
    assert!(complaints.is_empty(), "against the baseline:\n{}", complaints.join("\n"));
}

/// What is worse in `through` than in `direct`.
fn compare(direct: &Report, through: &Report) -> Vec<(String, String)> {
    let id = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let mut worse = Vec::new();
    for (scenario, expected) in direct {
        let Some(found) = through.get(scenario) else {
            worse.push((scenario.clone(), format!("{scenario} did not run")));
            continue;
        };
        for (verb, found, expected) in
            [("fails", &found.failed, &expected.failed), ("warns", &found.warned, &expected.warned)]
        {
            let known: Vec<String> = expected.iter().map(|line| id(line)).collect();
            let new = found.iter().filter(|line| !known.contains(&id(line)));
            worse.extend(new.map(|line| (id(line), format!("{scenario} {verb} {line}"))));
        }
    }
    worse
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

/// Runs the suite and reads what it left behind.
async fn run(side: &str, target: &[&str], arguments: &[&str]) -> Report {
    let suite = suite();
    let node = suite.join("node_modules/.bin/node");
    assert!(
        node.exists(),
        "the conformance suite is not installed; run `npm ci` in tests/conformance, or `cargo xtask test`"
    );
    let results = tempfile::tempdir().expect("a temporary directory");
    let output = tokio::process::Command::new(&node)
        .arg(suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .arg(side)
        .args(target)
        .arg("-o")
        .arg(results.path())
        .args(arguments)
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
    report
}

fn read(directory: &Path) -> Report {
    let mut report = Report::new();
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
                "SUCCESS" => tally.passed += 1,
                "FAILURE" => tally.failed.push(line),
                "WARNING" => tally.warned.push(line),
                _ => {}
            }
        }
    }
    report
}

/// `server-tools-list-2026-11-15T22-13-10-081Z` is about `tools-list`.
fn scenario(directory: &str) -> String {
    let name = directory.split_once('-').map_or(directory, |(_, rest)| rest);
    let stamp = name.rfind('T').map_or(name.len(), |position| position.saturating_sub(11));
    name[..stamp].to_owned()
}
