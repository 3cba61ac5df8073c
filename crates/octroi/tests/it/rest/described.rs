//! The description of the interface, and requests that a tool makes from it.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::peers::installed;
use crate::soak;

/// How many requests a second: what is tested is what is answered, not how much.
const RATE: &str = "40/s";
/// How long it runs where it is one test among many.
const SHORT: Duration = Duration::from_secs(20);

/// The path that switches servers.
const TOGGLE: &str = "/api/mcp/servers/{id}/toggle";

/// What is not checked, and why.
const EXCLUDED: [&str; 5] = [
    // A schema does not say which names and ids exist.
    "positive_data_acceptance",
    // A query has only texts: `a=1` is one like `a=x`.
    "negative_data_rejection",
    // There is nothing to use after it was removed that others do not make again.
    "use_after_free",
    "ensure_resource_availability",
    // It takes two tokens; the tests above have five.
    "object_level_authorization",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_description_is_served_to_everybody() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let nobody = RestClient { gateway: &gateway, token: None };
    let served = nobody.get("/api/openapi.json").await;
    assert_eq!((served.status, header(&served, "content-type")), (200, "application/json"));
    assert_eq!(served.json(), octroi_api::rest::openapi());
    let answer = nobody.send(Method::POST, "/api/openapi.json", &[], "").await;
    assert_eq!(problem(&answer), (405, "method_not_allowed".to_owned()));
    gateway.stop().await;
}

/// No server error, and no answer that the description does not have, whatever is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_one_of_the_description() {
    let tool = installed::program("rest", "st");
    // A server that does not answer is a 502, which is right, and not what is looked for.
    let gateway = TestGateway::start(&octroi(), &config().replace(BROKEN, "")).await;
    let token = gateway.kept_token("admin.token");
    // So is one that was switched off in between.
    for (filter, span) in [("--exclude-path", soak::at_least(SHORT)), ("--include-path", SHORT / 4)] {
        let output = run(&tool, &gateway, &token, (filter, TOGGLE), span).await;
        let text = String::from_utf8_lossy(&output.stdout);
        println!("{text}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}\n{errors}");
    }
    // The gateway is as it was.
    assert_eq!(RestClient::new(&gateway, &token).get("/api/mcp/servers").await.status, 200);
    gateway.stop().await;
}

async fn run(
    tool: &Path,
    gateway: &TestGateway,
    token: &str,
    (filter, path): (&str, &str),
    span: Duration,
) -> std::process::Output {
    let seconds = span.as_secs().to_string();
    let mut command = tokio::process::Command::new(tool);
    command
        .args(["run", &format!("{}/api/openapi.json", gateway.base)])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--rate-limit", RATE, "--max-time", &seconds, "--request-timeout", "60", "--workers", "1"])
        .args([filter, path])
        .args(["--checks", "all", "--exclude-checks", &EXCLUDED.join(",")])
        .args(["--suppress-health-check", "all", "--warnings", "off", "--no-color"])
        .current_dir(gateway.directory())
        .kill_on_drop(true);
    command.output().await.expect("the tool runs")
}
