//! A coding agent while a server is slow to start: the others are there for it.

use octroi_testkit::gateway::TestGateway;

use super::model::ScriptedModel;
use super::programs::CodingAgent;
use crate::harness::{octroi, stdio_entry};

/// Longer than Claude Code waits for the tools of an MCP server.
const SLOW: [&str; 4] = ["--fault", "slow-start", "--delay-ms", "10000"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_is_shown_the_tools_of_the_others_while_a_server_is_slow() {
    // With `list_wait` as it is for everybody, which the other tests make longer.
    let settings = "[mcp]\nauto_reload = true\n";
    let config = format!("{settings}{}{}", stdio_entry("quick", &[]), stdio_entry("slow", &SLOW));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let mut model = ScriptedModel::start().await;
    let home = tempfile::tempdir().expect("a temporary directory");
    let running = CodingAgent::ClaudeCode.start(home.path(), model.port, &gateway.transport());
    let turn = model.turn().await.unwrap_or_else(|error| panic!("{error}: {}", running.output()));
    assert!(turn.offers("quick_echo"), "{:?}", turn.tools);
    assert!(!turn.offers("slow_echo"), "it has not started yet: {:?}", turn.tools);
    model.say("that is all").await;
    running.finish().await.expect("it ends");
    gateway.stop().await;
}
