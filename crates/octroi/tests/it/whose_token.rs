//! The owner of a token decides what it reaches: people manage, agents call tools, and no token does both.

mod calls;
mod first_start;
mod readme_setup;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway, stdio_transport};
use serde_json::{Value, json};

use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{command, names, person};

const ERAS: [Era; 3] = [Era::Modern, Era::Legacy("2025-11-25"), Era::Legacy("2025-03-26")];
/// The token of a person in the configuration.
const HUMAN_TOKEN: &str = "oct_hum_ann";

fn config() -> String {
    format!("{}[[tokens]]\ntoken = \"{HUMAN_TOKEN}\"\nrole = \"human\"\n", stdio_entry("peer", &[]))
}

/// Every way to connect with a token. The directory is for a gateway that a client starts itself.
fn transports(
    gateway: &TestGateway,
    directory: &std::path::Path,
    token: &str,
    era: Era,
) -> Vec<(&'static str, Transport)> {
    let http = |url: String| Transport::Http { url, token: Some(token.to_owned()) };
    let with_token = |transport: Transport| match transport {
        Transport::Stdio { command, mut args, env } => {
            args.extend(["--token".to_owned(), token.to_owned()]);
            Transport::Stdio { command, args, env }
        }
        http @ (Transport::Http { .. } | Transport::Sse { .. }) => http,
    };
    let mut transports = vec![
        ("/mcp", http(gateway.url())),
        ("/mcp/agent", http(format!("{}/mcp/agent", gateway.base))),
        ("/mcp/servers/peer", http(gateway.server_url("peer"))),
        ("stdio, as a relay", with_token(gateway.relay(&octroi()))),
        ("stdio, as the gateway", with_token(stdio_transport(&octroi(), directory, &config()))),
    ];
    if era != Era::Modern {
        let sse = |url: String| Transport::Sse { url: format!("{url}/sse"), token: Some(token.to_owned()) };
        transports.push(("/sse", sse(gateway.base.clone())));
        transports.push(("/mcp/servers/peer/sse", sse(gateway.server_url("peer"))));
    }
    transports
}

fn uris<'a>(items: &'a [Value], member: &str) -> Vec<&'a str> {
    items.iter().filter_map(|item| item[member].as_str()).collect()
}

/// The message of a request that must be refused.
fn message(refused: Result<Value, ClientError>) -> String {
    match refused {
        Ok(result) => panic!("it was done: {result}"),
        Err(ClientError::Rpc(error)) => error.message,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_token_reaches_management_only() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    for era in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, transport) in transports(&gateway, directory.path(), HUMAN_TOKEN, era) {
            let place = format!("{path}, {era:?}");
            let person = TestClient::connect(transport, era, ClientOptions::default()).await.expect(&place);
            let instructions = person.hello()["instructions"].as_str().expect(&place);
            for words in ["an agent's token", "tools_call", "octroi call"] {
                assert!(instructions.contains(words), "{place}: {instructions}");
            }

            let tools = person.list_tools().await.expect(&place);
            for name in ["servers_list", "agents_approve_request", "tools_call"] {
                assert!(names(&tools).contains(&name), "{place}: {name}");
            }
            let foreign = |name: &&str| name.starts_with("peer") || ["echo", "add", "ask"].contains(name);
            assert!(!names(&tools).iter().any(foreign), "{place}: {:?}", names(&tools));
            assert!(person.call("servers_list", json!({})).await.is_ok(), "{place}");
            for (method, field, member) in [
                ("resources/list", "resources", "uri"),
                ("resources/templates/list", "resourceTemplates", "uriTemplate"),
                ("prompts/list", "prompts", "name"),
            ] {
                let items = person.list(method, field).await.expect(&place);
                let found = uris(&items, member);
                assert!(
                    found.iter().all(|uri| uri.starts_with("resource://")),
                    "{place} {method}: {found:?}"
                );
                assert_eq!(found.is_empty(), field == "prompts", "{place} {method}: {found:?}");
            }

            for (method, params) in [
                ("tools/call", json!({"name": "peer_echo", "arguments": {"text": "x"}})),
                ("tools/call", json!({"name": "echo", "arguments": {"text": "x"}})),
                ("tools/call", json!({"name": "mcp:peer:echo", "arguments": {"text": "x"}})),
                ("resources/read", json!({"uri": "peer://peer/counter"})),
                ("resources/read", json!({"uri": "peer://counter"})),
                ("prompts/get", json!({"name": "peer_greet", "arguments": {"name": "Ada"}})),
                (
                    "completion/complete",
                    json!({
                        "ref": {"type": "ref/prompt", "name": "peer_greet"},
                        "argument": {"name": "name", "value": ""},
                    }),
                ),
            ] {
                let answer = message(person.request(method, params.clone()).await);
                for words in ["an agent's token", "octroi call"] {
                    assert!(answer.contains(words), "{place} {method} {params}: {answer}");
                }
            }
            person.close().await.expect(&place);
        }
    }
    // Nothing has reached the server.
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(agent.call_text("peer_calls_count", json!({})).await.as_deref(), Ok("0"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_token_reaches_servers_only() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    for era in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, transport) in transports(&gateway, directory.path(), AGENT_TOKEN, era) {
            let place = format!("{path}, {era:?}");
            let agent = TestClient::connect(transport, era, ClientOptions::default()).await.expect(&place);
            let echo = if path.starts_with("/mcp/servers/peer") { "echo" } else { "peer_echo" };
            assert_eq!(agent.call_text(echo, json!({"text": "x"})).await.as_deref(), Ok("x"), "{place}");
            let tools = agent.list_tools().await.expect(&place);
            assert!(names(&tools).contains(&echo), "{place}: {:?}", names(&tools));
            for own in ["servers_list", "agents_approve_request", "tools_call"] {
                assert!(!names(&tools).contains(&own), "{place}: {own}");
            }
            for (method, params) in [
                ("tools/call", json!({"name": "servers_list", "arguments": {}})),
                ("tools/call", json!({"name": "agents_approve_request", "arguments": {"call_id": "ap_x"}})),
                (
                    "tools/call",
                    json!({"name": "tools_call", "arguments": {"agent": "default", "tool": "peer.echo"}}),
                ),
                ("resources/read", json!({"uri": "resource://servers/list"})),
            ] {
                let answer = message(agent.request(method, params.clone()).await);
                assert!(!answer.contains("octroi call"), "{place} {method} {params}: {answer}");
            }
            agent.close().await.expect(&place);
        }
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_hear_of_changes_over_every_transport() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    for era in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, transport) in transports(&gateway, directory.path(), HUMAN_TOKEN, era) {
            let place = format!("{path}, {era:?}");
            let person = TestClient::connect(transport, era, ClientOptions::default()).await.expect(&place);
            let watch = Watch { tools: true, resources: vec!["resource://agents/list".to_owned()] };
            let mut watcher = person.watch(watch).await.expect(&place);
            if era == Era::Modern {
                // Its lists never change, so it does not offer notifications of changes.
                let expected = json!({"resourceSubscriptions": ["resource://agents/list"]});
                assert_eq!(watcher.acknowledged, expected, "{place}");
            }
            let change = json!({"agent_id": "tester", "mode": "planning"});
            person.call("agents_update", change).await.expect(&place);
            let heard = watcher.next(SOON).await.unwrap_or_else(|| panic!("{place}: nothing is heard"));
            assert_eq!(heard["params"]["uri"], "resource://agents/list", "{place}");
            watcher.close(&person).await.expect(&place);
            person.close().await.expect(&place);
        }
    }
    gateway.stop().await;
}

/// With one token for both, a model could approve its own calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_approves_and_acts_with_one_token() {
    let config = format!(
        "{}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"200ms\"\n",
        stdio_entry("peer", &[])
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    for (n_before, era) in ERAS.into_iter().enumerate() {
        let (agent, person) =
            (connect(&gateway, era, ClientOptions::default()).await, person(&gateway, era).await);
        let text = format!("x{n_before}");
        let echo = json!({ "text": text });
        let asked =
            crate::approvals::pending(&agent.call("peer_echo", echo.clone()).await.expect("a result"));
        let approve = json!({ "call_id": asked });
        let answer = message(agent.call("agents_approve_request", approve.clone()).await);
        assert!(answer.contains("unknown tool"), "{era:?}: {answer}");
        let approved = person.call("agents_approve_request", approve).await.expect("a result");
        assert_eq!(approved["structuredContent"]["state"], "approved", "{era:?}: {approved}");
        // The person's token makes no call, and a person's call as the agent is another call.
        let answer = message(person.call("peer_echo", echo.clone()).await);
        assert!(answer.contains("an agent's token"), "{era:?}: {answer}");
        let tried = json!({"agent": "tester", "tool": "peer_echo", "arguments": echo});
        let tried = person.call("tools_call", tried).await.expect("a result")["structuredContent"].clone();
        assert_eq!(tried["outcome"], "waiting", "{era:?}: {tried}");
        assert_ne!(tried["approval"], asked.as_str(), "{era:?}: {tried}");
        let count = async || agent.call_text("peer_calls_count", json!({})).await.expect("a count");
        assert_eq!(count().await, n_before.to_string(), "{era:?}");
        assert_eq!(agent.call_text("peer_echo", echo.clone()).await.as_deref(), Ok(&*text), "{era:?}");
        assert_eq!(count().await, (n_before + 1).to_string(), "{era:?}");
        // Nor can the agent use what was approved for the person.
        let approval = tried["approval"].as_str().expect("an approval");
        command(&gateway, 0, &["approve", approval]).await;
        crate::approvals::pending(&agent.call("peer_echo", echo).await.expect("a result"));
        assert_eq!(count().await, (n_before + 1).to_string(), "{era:?}");
        for waiting in listed(&gateway, "pending").await {
            command(&gateway, 0, &["deny", &waiting]).await;
        }
    }
    gateway.stop().await;
}

/// The approvals in one state.
async fn listed(gateway: &TestGateway, state: &str) -> Vec<String> {
    let text = command(gateway, 0, &["approvals", "--all", "--json"]).await;
    let all: Vec<Value> = serde_json::from_str(&text).expect("an array");
    let found = all.iter().filter(|approval| approval["state"] == state);
    found.filter_map(|approval| approval["id"].as_str().map(str::to_owned)).collect()
}

/// Actors of the records, once this many are found: the index is a little behind the log.
async fn actors(gateway: &TestGateway, options: &[&str], n_expected: usize) -> Vec<Value> {
    for _ in 0..100 {
        let found = crate::audit::records(&gateway.directory().join("data"), options).await;
        if found.len() >= n_expected {
            return found.iter().map(|record| record["actor"].clone()).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{options:?} are not recorded");
}
