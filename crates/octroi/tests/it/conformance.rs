//! The official conformance suite, against our fixture directly and through Octroi.

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
    let proxy = AuthProxy::start(&gateway.base, AGENT_TOKEN).await;
    let through = |era: &str| format!("{}/mcp/servers/{era}", proxy.base);
    let targets = [
        ("directly", fixture.url.clone()),
        ("legacy upstream", through("legacy")),
        ("modern upstream", through("modern")),
    ];

    let mut table = String::from(
        "| revision | | scenarios | checks passed | failed | warnings |\n|---|---|---|---|---|---|",
    );
    let mut complaints = Vec::new();
    for (revision, arguments) in REVISIONS {
        let mut direct = SuiteReport::new();
        for (index, (how, url)) in targets.iter().enumerate() {
            let (report, _) = suite::run(&[&["server", "--url", url], arguments].concat(), &[]).await;
            let passed: usize = report.values().map(|tally| tally.passed).sum();
            let failed: usize = report.values().map(|tally| tally.failed.len()).sum();
            let warned: usize = report.values().map(|tally| tally.warned.len()).sum();
            let _ =
                write!(table, "\n| {revision} | {how} | {} | {passed} | {failed} | {warned} |", report.len());
            if index == 0 {
                direct = report;
            } else {
                complaints.extend(compare(&direct, &report).into_iter().map(|(check, line)| FailedCheck {
                    revision: revision.to_owned(),
                    through: (*how).to_owned(),
                    check,
                    line,
                }));
            }
        }
    }
    table.push('\n');
    println!("{table}");
    keep("conformance-server.md", &table);
    suite::judge("baseline.toml", &complaints);
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
    }
    worse
}
