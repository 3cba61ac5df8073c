//! The official conformance suite's client scenarios, with Octroi as the client.
//!
//! The suite's server checks Octroi's requests. Clients of both eras are connected to Octroi in turn, since
//! its requests must be right for both. Scenarios under `auth/` are left out: Octroi sends configured headers
//! to servers and has no OAuth client yet.

use std::fmt::Write as _;

use octroi_testkit::conformance_client_binary;

use crate::harness::{keep, octroi};
use crate::suite::{self, FailedCheck, ScenarioTally, check_id};

const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_find_octroi_a_good_client() {
    let mut table = String::from(
        "| scenario | revision | client of Octroi | checks passed | failed | warnings |\n|---|---|---|---|---|---|\n",
    );
    let mut complaints = Vec::new();
    for revision in REVISIONS {
        for scenario in scenarios(revision).await {
            for era in ["legacy", "modern"] {
                let mut tally = run(&scenario, revision, era).await;
                if is_only_late(&tally) {
                    tally = run(&scenario, revision, era).await;
                }
                let (failed, warned) = (tally.failed.len(), tally.warned.len());
                let _ = writeln!(
                    table,
                    "| {scenario} | {revision} | {era} | {} | {failed} | {warned} |",
                    tally.passed.len()
                );
                complaints.extend(tally.failed.iter().chain(&tally.warned).map(|line| FailedCheck {
                    revision: revision.to_owned(),
                    through: format!("{era} client"),
                    check: check_id(line),
                    line: format!("{scenario} {line}"),
                }));
            }
        }
    }
    assert!(table.lines().count() > 2, "the suite lists no scenarios");
    println!("{table}");
    keep("conformance-client.md", &table);
    suite::judge("baseline-client.toml", &complaints);
}

/// The suite allows a fifth of a second, which a loaded machine can miss once; being late twice is a failure.
fn is_only_late(tally: &ScenarioTally) -> bool {
    let is_about_time = |line: &String| check_id(line) == "client-sse-retry-timing";
    tally.failed.is_empty() && !tally.warned.is_empty() && tally.warned.iter().all(is_about_time)
}

/// The scenarios that apply to a revision, by the suite's own list, so that none is forgotten.
async fn scenarios(revision: &str) -> Vec<String> {
    let listed = suite::command(&["list", "--client", "--spec-version", revision])
        .output()
        .await
        .expect("the suite should list its scenarios");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    names.filter(|name| !name.starts_with("auth/")).map(str::to_owned).collect()
}

async fn run(scenario: &str, revision: &str, era: &str) -> ScenarioTally {
    let client = format!("{} --era {era}", conformance_client_binary().display());
    let arguments = ["client", "--command", &client, "--scenario", scenario, "--spec-version", revision];
    let (report, output) = suite::run(&arguments, &[("OCTROI_BIN", &octroi())]).await;
    let mut tally = report.into_values().next().expect("one scenario was run");
    // The suite sees only what reached its server; the client reports whether it got its answers.
    if !output.status.success() && tally.failed.is_empty() && tally.warned.is_empty() {
        tally.failed.push(format!("client: {}", String::from_utf8_lossy(&output.stderr)));
    }
    tally
}
