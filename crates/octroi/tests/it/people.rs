//! People and their tokens: users, invitations, what a token stands for and how it ends, and who decides.

mod approvers;
mod invitations;
mod reset_admin;
mod revoking;
mod token_file;
mod tokens;
mod users;

use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::TestGateway;
use serde_json::Value;

use crate::manage::{exit_and_output, run};

/// Runs a command that must succeed; returns what it writes to standard output.
async fn stdout(gateway: &TestGateway, arguments: &[&str]) -> String {
    let output = run(&gateway.directory().join("data"), arguments).await;
    assert!(output.status.success(), "{arguments:?}: {:?}", exit_and_output(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The same with `--json`.
async fn json_of(gateway: &TestGateway, arguments: &[&str]) -> Value {
    let text = stdout(gateway, &[arguments, &["--json"]].concat()).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

/// Runs a command that must fail; returns its output.
async fn failure(gateway: &TestGateway, arguments: &[&str]) -> String {
    let (code, text) = exit_and_output(&run(&gateway.directory().join("data"), arguments).await);
    assert_ne!(code, Some(0), "{arguments:?}: {text}");
    text
}

/// What the gateway answers to this token.
async fn answer_to(gateway: &TestGateway, method: &str, path: &str, token: &str) -> RawResponse {
    let (url, bearer) = (format!("{}{path}", gateway.base), format!("Bearer {token}"));
    let method = method.parse().expect("a method");
    raw::fetch(method, &url, &[("authorization", &bearer)], "").await.expect("an answer")
}

/// Whether the gateway knows this token: an empty request is refused for another reason.
async fn is_known(gateway: &TestGateway, token: &str) -> bool {
    answer_to(gateway, "POST", "/mcp", token).await.status != 401
}
