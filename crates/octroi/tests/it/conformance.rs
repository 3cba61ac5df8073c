//! The official conformance suite, against servers of both eras directly and through Octroi.

use std::fmt::Write as _;

use octroi_testkit::auth_proxy::AuthProxy;
use octroi_testkit::fixture_binary;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use octroi_testkit::peer::process::PeerProcess;

use crate::harness::{keep, octroi, remote_entry};
use crate::suite::{self, FailedCheck, SuiteReport, check_id};

/// Every revision that the suite supports, with the options that select it.
const REVISIONS: [(&str, &[&str]); 4] = [
    ("2025-03-26", &["--spec-version", "2025-03-26", "--suite", "all"]),
    ("2025-06-18", &["--spec-version", "2025-06-18", "--suite", "all"]),
    ("2025-11-25", &["--requirements", "2025-11-25"]),
    ("2026-07-28", &["--requirements", "2026-07-28"]),
];

/// How the server is configured behind Octroi.
const ERAS: [&str; 3] = ["auto", "legacy", "modern"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_directly_passes_through_octroi() {
    let fixture = PeerProcess::start_program(&fixture_binary(), &["--listen", "127.0.0.1:0"]).await;
    compare_through(fixture.expect("the fixture should start"), "own").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_with_the_rust_sdk_passes_through_octroi() {
    let flags = ["--listen", "127.0.0.1:0", "--asks", "as-examples"];
    let fixture = PeerProcess::start_program(&fixture_binary(), &flags).await;
    compare_through(fixture.expect("the fixture should start"), "rust").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_with_the_typescript_sdk_passes_through_octroi() {
    let script = suite::directory().join("typescript/server.mjs");
    let fixture = PeerProcess::start_program(&suite::node(), &[script.display().to_string()]).await;
    compare_through(fixture.expect("the fixture should start"), "typescript").await;
}

/// Runs the suite against a server directly and through Octroi, and compares.
async fn compare_through(fixture: PeerProcess, name: &str) {
    let config: String = ERAS
        .map(|era| {
            format!("{}era = \"{era}\"\nmax_concurrency = 64\n", remote_entry(era, "http", &fixture.url))
        })
        .concat();
    let gateway = TestGateway::start(&octroi(), &config).await;
    let proxy = AuthProxy::start(&gateway.base, AGENT_TOKEN).await;
    let through = ERAS.map(|era| (era, format!("{}/mcp/servers/{era}", proxy.base)));

    let mut table = String::from(
        "| revision | `era` | scenarios | checks passed | failed | warnings |\n|---|---|---|---|---|---|",
    );
    let baseline = format!("baseline-{name}.toml");
    let mut complaints = Vec::new();
    for (revision, arguments) in REVISIONS {
        let direct = run(&fixture.url, arguments).await;
        suite::judge_direct(&baseline, revision, &direct);
        let _ = write!(table, "\n| {revision} | directly | {} |", summary(&direct));
        for (era, url) in &through {
            let report = run(url, arguments).await;
            let _ = write!(table, "\n| {revision} | {era} | {} |", summary(&report));
            complaints.extend(compare(&direct, &report).into_iter().map(|(check, line)| FailedCheck {
                revision: revision.to_owned(),
                through: (*era).to_owned(),
                check,
                line,
            }));
        }
    }
    let page = format!("{table}\n\n{}", suite::differences(&baseline));
    keep(&format!("conformance-{name}.md"), &page);
    suite::judge(&baseline, &complaints);
}

async fn run(url: &str, arguments: &[&str]) -> SuiteReport {
    suite::run(&[&["server", "--url", url], arguments].concat(), &[]).await.0
}

fn summary(report: &SuiteReport) -> String {
    let passed: usize = report.values().map(|tally| tally.passed.len()).sum();
    let failed: usize = report.values().map(|tally| tally.failed.len()).sum();
    let warned: usize = report.values().map(|tally| tally.warned.len()).sum();
    format!("{} | {passed} | {failed} | {warned}", report.len())
}

/// The checks that are worse in `through` than in `direct`.
fn compare(direct: &SuiteReport, through: &SuiteReport) -> Vec<(String, String)> {
    let mut worse = Vec::new();
    for (scenario, expected) in direct {
        let Some(found) = through.get(scenario) else {
            worse.push((scenario.clone(), format!("{scenario} did not run")));
            continue;
        };
        for (verb, found, expected) in
            [("fails", &found.failed, &expected.failed), ("warns", &found.warned, &expected.warned)]
        {
            let known: Vec<String> = expected.iter().map(|line| check_id(line)).collect();
            let new = found.iter().filter(|line| !known.contains(&check_id(line)));
            worse.extend(new.map(|line| (check_id(line), format!("{scenario} {verb} {line}"))));
        }
        // Another outcome is named above.
        let outcomes = || {
            found
                .passed
                .iter()
                .cloned()
                .chain(found.failed.iter().chain(&found.warned).map(|line| check_id(line)))
        };
        let left_out = expected.passed.iter().filter(|id| !outcomes().any(|other| other == **id));
        worse.extend(left_out.map(|id| (id.clone(), format!("{scenario} leaves out {id}"))));
    }
    worse
}
