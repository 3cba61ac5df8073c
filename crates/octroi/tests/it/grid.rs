//! Every era and transport of a client against every era and transport of a server, through Octroi.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::{TestGateway, stdio_transport};
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use crate::harness::{SOON, answering, keep, octroi, remote_entry, stdio_entry};

/// The features that are tested in every cell.
pub(crate) const FEATURES: [&str; 14] = [
    "list",
    "call",
    "error",
    "progress",
    "log",
    "cancel",
    "accept",
    "decline",
    "sampling",
    "roots",
    "update",
    "list change",
    "prompt",
    "completion",
];

const CLIENTS: [(&str, Era, &str); 7] = [
    ("2024-11-05", Era::Legacy("2024-11-05"), "sse"),
    ("2025-06-18", Era::Legacy("2025-06-18"), "http"),
    ("2025-06-18", Era::Legacy("2025-06-18"), "stdio"),
    ("2025-11-25", Era::Legacy("2025-11-25"), "http"),
    ("2025-11-25", Era::Legacy("2025-11-25"), "stdio"),
    ("2026-07-28", Era::Modern, "http"),
    ("2026-07-28", Era::Modern, "stdio"),
];

const SERVERS: [(&str, &str, &str); 7] = [
    ("2025-06-18", "legacy", "stdio"),
    ("2025-11-25", "legacy", "stdio"),
    ("2025-06-18", "legacy", "http"),
    ("2025-11-25", "legacy", "http"),
    ("2024-11-05", "legacy", "sse"),
    ("2026-07-28", "modern", "stdio"),
    ("2026-07-28", "modern", "http"),
];

pub(crate) type FeatureOutcome = Result<(), String>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_meets_every_server() {
    let mut grid = BTreeMap::new();
    for (column, server) in SERVERS.into_iter().enumerate() {
        let backend = Backend::start(server).await;
        for (row, (_, era, over)) in CLIENTS.into_iter().enumerate() {
            grid.insert((row, column), Cell { backend: &backend, era, over }.run().await);
        }
    }
    let table = render(&grid);
    println!("{table}");
    keep("grid.md", &table);
    let failures: Vec<String> = grid
        .iter()
        .flat_map(|((row, column), cell)| {
            cell.iter().filter_map(move |(feature, outcome)| {
                let (version, _, transport) = SERVERS[*column];
                let (client, _, over) = CLIENTS[*row];
                let reason = outcome.as_ref().err()?;
                Some(format!("{client} over {over} to {version} over {transport}: {feature}: {reason}"))
            })
        })
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// One server and the gateway in front of it.
struct Backend {
    config: String,
    gateway: TestGateway,
    _peer: Option<PeerProcess>,
}

impl Backend {
    async fn start((version, era, transport): (&str, &str, &str)) -> Self {
        let mut flags = vec!["--era", era];
        if era == "legacy" {
            flags.extend(["--legacy-version", version]);
        }
        let (config, peer) = if transport == "stdio" {
            (stdio_entry("peer", &flags), None)
        } else {
            flags.extend(["--transport", transport]);
            let peer = PeerProcess::start(&flags).await.expect("the peer should start");
            (remote_entry("peer", transport, &peer.url), Some(peer))
        };
        let gateway = TestGateway::start(&octroi(), &config).await;
        Self { config, gateway, _peer: peer }
    }
}

struct Cell<'a> {
    backend: &'a Backend,
    era: Era,
    over: &'static str,
}

impl Cell<'_> {
    async fn run(&self) -> Vec<(&'static str, FeatureOutcome)> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let accepting = answering(json!({ "action": "accept", "content": { "name": "Ada" } }));
        let client = match self.connect(directory.path(), accepting).await {
            Ok(client) => client,
            Err(error) => return FEATURES.iter().map(|feature| (*feature, Err(error.clone()))).collect(),
        };
        let mut outcomes = Vec::new();
        for feature in FEATURES {
            let attempt = self.attempt(feature, &client, directory.path());
            let outcome = tokio::time::timeout(SOON * 2, attempt)
                .await
                .unwrap_or_else(|_| Err("took too long".to_owned()));
            outcomes.push((feature, outcome));
        }
        let _ = client.close().await;
        outcomes
    }

    async fn connect(&self, directory: &Path, options: ClientOptions) -> Result<TestClient, String> {
        let transport: Transport = match self.over {
            "stdio" => stdio_transport(&octroi(), directory, &self.backend.config),
            "sse" => self.backend.gateway.sse_transport(),
            _ => self.backend.gateway.transport(),
        };
        TestClient::connect(transport, self.era, options).await.map_err(|error| format!("{error:?}"))
    }

    async fn attempt(&self, feature: &str, client: &TestClient, directory: &Path) -> FeatureOutcome {
        if feature != "decline" {
            return attempt(feature, client).await;
        }
        let declining = self.connect(directory, answering(json!({ "action": "decline" }))).await?;
        let outcome = attempt(feature, &declining).await;
        let _ = declining.close().await;
        outcome
    }
}

/// Tests one feature. For `decline` the client's user must decline, for the others answer with the name Ada.
pub(crate) async fn attempt(feature: &str, client: &TestClient) -> FeatureOutcome {
    match feature {
        "list" => list(client).await,
        "call" => call(client).await,
        "error" => error(client).await,
        "progress" => progress(client).await,
        "log" => log(client, client.era()).await,
        "cancel" => cancel(client).await,
        "accept" => says(client, "peer_ask", "hello Ada").await,
        "decline" => says(client, "peer_ask", "declined").await,
        "sampling" => says(client, "peer_sample", "the model said: something").await,
        "roots" => says(client, "peer_roots", "file:///a file:///b").await,
        "update" => update(client).await,
        "list change" => list_change(client).await,
        "prompt" => prompt(client).await,
        _ => completion(client).await,
    }
}

fn expect(found: &Value, expected: &Value) -> FeatureOutcome {
    if found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}

async fn says(client: &TestClient, tool: &str, expected: &str) -> FeatureOutcome {
    let text = client.call_text(tool, json!({})).await.map_err(|error| format!("{error:?}"))?;
    expect(&json!(text), &json!(expected))
}

async fn list(client: &TestClient) -> FeatureOutcome {
    let tools = client.list_tools().await.map_err(|error| format!("{error:?}"))?;
    let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    if has("peer_echo") && has("peer_ask") {
        Ok(())
    } else {
        Err(format!("{} tools, some missing", tools.len()))
    }
}

async fn call(client: &TestClient) -> FeatureOutcome {
    let result =
        client.call("peer_echo", json!({ "text": "héllo" })).await.map_err(|error| format!("{error:?}"))?;
    expect(&result["content"][0]["text"], &json!("héllo"))?;
    expect(&result["x-unknown"], &json!({ "kept": true }))?;
    expect(&result["_meta"]["dev.octroi.peer/kept"], &json!({ "nested": [1, "two", null] }))
}

async fn error(client: &TestClient) -> FeatureOutcome {
    let failed = client.call("peer_fail", json!({})).await.map_err(|error| format!("{error:?}"))?;
    expect(&failed["isError"], &json!(true))?;
    for tool in ["peer_protocol_error", "peer_none"] {
        let error = client.call(tool, json!({})).await.err().ok_or("no error")?;
        expect(&json!(error.code()), &json!(-32602))?;
    }
    Ok(())
}

async fn progress(client: &TestClient) -> FeatureOutcome {
    let call = json!({ "name": "peer_slow", "arguments": { "steps": 3, "delay_ms": 5 } });
    let (outcome, progress) = client.request_with_progress("tools/call", call).await;
    let result = outcome.map_err(|error| format!("{error:?}"))?;
    expect(&result["content"][0]["text"], &json!("done after 3 steps"))?;
    let steps: Vec<Value> =
        progress.iter().map(|notification| notification["params"]["progress"].clone()).collect();
    expect(&json!(steps), &json!([1, 2, 3]))
}

async fn log(client: &TestClient, era: Era) -> FeatureOutcome {
    let mut call = json!({ "name": "peer_log", "arguments": {} });
    if era == Era::Modern {
        call["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "info" });
    }
    let (outcome, notifications) = client.start("tools/call", call).finish_with_notifications().await;
    outcome.map_err(|error| format!("{error:?}"))?;
    let methods: Vec<&Value> = notifications.iter().map(|notification| &notification["method"]).collect();
    expect(&json!(methods), &json!(["notifications/message"]))
}

async fn cancel(client: &TestClient) -> FeatureOutcome {
    let count = async || {
        client.call_text("peer_cancelled_count", json!({})).await.map_err(|error| format!("{error:?}"))
    };
    let before: u64 = count().await?.parse().map_err(|_| "no count")?;
    let call = json!({
        "name": "peer_slow", "arguments": { "steps": 1000, "delay_ms": 20 }, "_meta": { "progressToken": "p" },
    });
    let mut in_flight = client.start("tools/call", call);
    in_flight.notification(SOON).await.ok_or("the call did not begin")?;
    in_flight.cancel().await;
    for _ in 0..100 {
        if count().await? == (before + 1).to_string() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the server never heard of it".to_owned())
}

async fn update(client: &TestClient) -> FeatureOutcome {
    let mut watcher =
        client.watch(Watch::resource("peer://peer/counter")).await.map_err(|error| format!("{error:?}"))?;
    client.call("peer_touch", json!({})).await.map_err(|error| format!("{error:?}"))?;
    let change = watcher.next(SOON).await.ok_or("no notification")?;
    let _ = watcher.close(client).await;
    expect(&change["method"], &json!("notifications/resources/updated"))?;
    expect(&change["params"]["uri"], &json!("peer://peer/counter"))?;
    let read = client
        .request("resources/read", json!({ "uri": "peer://peer/counter" }))
        .await
        .map_err(|error| format!("{error:?}"))?;
    if read["contents"][0]["text"].is_string() { Ok(()) } else { Err(format!("{read}")) }
}

async fn list_change(client: &TestClient) -> FeatureOutcome {
    let mut watcher = client.watch(Watch::tools()).await.map_err(|error| format!("{error:?}"))?;
    let grown = client.call_text("peer_grow", json!({})).await.map_err(|error| format!("{error:?}"))?;
    let change = watcher.next(SOON).await.ok_or("no notification")?;
    let _ = watcher.close(client).await;
    expect(&change["method"], &json!("notifications/tools/list_changed"))?;
    let tools = client.list_tools().await.map_err(|error| format!("{error:?}"))?;
    let name = format!("peer_{grown}");
    if tools.iter().any(|tool| tool["name"] == name.as_str()) {
        Ok(())
    } else {
        Err(format!("{name} is not listed"))
    }
}

async fn prompt(client: &TestClient) -> FeatureOutcome {
    let prompt = client
        .request("prompts/get", json!({ "name": "peer_greet", "arguments": { "name": "Ada" } }))
        .await
        .map_err(|error| format!("{error:?}"))?;
    if prompt.to_string().contains("Ada") { Ok(()) } else { Err(format!("{prompt}")) }
}

async fn completion(client: &TestClient) -> FeatureOutcome {
    for reference in [
        json!({ "type": "ref/prompt", "name": "peer_greet" }),
        json!({ "type": "ref/resource", "uri": "peer://peer/item/{id}" }),
    ] {
        let argument = if reference["name"].is_string() { "name" } else { "id" };
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        let result =
            client.request("completion/complete", params).await.map_err(|error| format!("{error:?}"))?;
        if result["completion"]["values"].as_array().is_none_or(Vec::is_empty) {
            return Err(format!("{result}"));
        }
    }
    Ok(())
}

fn render(grid: &BTreeMap<(usize, usize), Vec<(&'static str, FeatureOutcome)>>) -> String {
    let mut out = String::from("| client |");
    for (version, _, transport) in SERVERS {
        let _ = write!(out, " {version} {transport} |");
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(SERVERS.len()));
    for (row, (version, _, over)) in CLIENTS.into_iter().enumerate() {
        let _ = write!(out, "\n| {version} {over} |");
        for column in 0..SERVERS.len() {
            let cell = &grid[&(row, column)];
            let failed: Vec<&str> =
                cell.iter().filter(|(_, outcome)| outcome.is_err()).map(|(name, _)| *name).collect();
            if failed.is_empty() {
                let _ = write!(out, " {} of {} |", cell.len(), cell.len());
            } else {
                let _ = write!(
                    out,
                    " {} of {}, not: {} |",
                    cell.len() - failed.len(),
                    cell.len(),
                    failed.join(", ")
                );
            }
        }
    }
    let _ = write!(out, "\n\nIn every cell: {}.\n", FEATURES.join(", "));
    out
}
