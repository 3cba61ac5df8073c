//! Tests for every pair of client and server of the same era, on every transport.

use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use serde_json::{Value, json};

use crate::harness::{SOON, Setup, answering, cooperative, on_every_pair, wait_for_count};

fn plain() -> ClientOptions {
    ClientOptions::default()
}

#[tokio::test]
async fn the_server_introduces_itself() {
    on_every_pair(&["--name", "somebody"], plain(), async |Setup { pair, client, .. }| {
        let hello = client.hello();
        let capabilities = &hello["capabilities"];
        assert_eq!(capabilities["tools"], json!({ "listChanged": true }));
        assert_eq!(capabilities["resources"], json!({ "subscribe": true }));
        assert_eq!(capabilities.get("completions").is_some(), pair.speaks("2025-03-26"));
        match pair.era {
            Era::Legacy(version) => {
                assert_eq!(hello["protocolVersion"], version);
                assert_eq!(hello["serverInfo"]["name"], "somebody");
            }
            Era::Modern => {
                assert_eq!(hello["supportedVersions"], json!(["2026-07-28"]));
                assert_eq!(hello["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "somebody");
                assert_eq!(hello["resultType"], "complete");
                assert_eq!(hello["cacheScope"], "public");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn lists_come_in_pages_and_are_whole() {
    on_every_pair(&["--tools", "250"], plain(), async |Setup { pair, client, .. }| {
        let first = client.request("tools/list", json!({})).await.unwrap();
        assert_eq!(first["tools"].as_array().map(Vec::len), Some(100));
        assert_eq!(first.get("ttlMs").is_some(), pair.era == Era::Modern);
        let tools = client.list_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(
            names.iter().filter(|name| name.starts_with('t') && name.len() == 5).count(),
            251,
            "t0001.. and touch"
        );
        assert!(["echo", "ask", "t0001", "t0250"].iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(client.call_text("t0250", json!({})).await.unwrap(), "t0250");
        let error = client.request("tools/list", json!({ "cursor": "nonsense" })).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602));
    })
    .await;
}

#[tokio::test]
async fn a_call_returns_everything_the_tool_said() {
    on_every_pair(&[], plain(), async |Setup { pair, client, .. }| {
        let result = client.call("echo", json!({ "text": "héllo" })).await.unwrap();
        assert_eq!(result["content"], json!([{ "type": "text", "text": "héllo" }]));
        assert_eq!(result["x-unknown"], json!({ "kept": true }));
        assert_eq!(result["_meta"]["dev.octroi.peer/kept"], json!({ "nested": [1, "two", null] }));
        let structured = if pair.speaks("2025-06-18") { json!({ "text": "héllo" }) } else { Value::Null };
        assert_eq!(result["structuredContent"], structured);
        assert_eq!(client.call_text("add", json!({ "a": 2, "b": 3 })).await.unwrap(), "5");
        assert_eq!(client.call_text("calls_count", json!({})).await.unwrap(), "2");
        let link = client.call("link", json!({})).await.unwrap();
        assert_eq!(
            link["content"].as_array().map(Vec::len),
            Some(if pair.speaks("2025-06-18") { 2 } else { 1 })
        );
        let image = client.call("image", json!({})).await.unwrap();
        assert_eq!(image["content"][0]["mimeType"], "image/png");
    })
    .await;
}

#[tokio::test]
async fn failures_are_of_two_kinds() {
    on_every_pair(&[], plain(), async |Setup { client, .. }| {
        assert_eq!(client.call("fail", json!({})).await.unwrap()["isError"], true);
        assert_eq!(client.call("echo", json!({})).await.unwrap()["isError"], true);
        assert_eq!(client.call("protocol_error", json!({})).await.unwrap_err().code(), Some(-32602));
        assert_eq!(client.call("no such tool", json!({})).await.unwrap_err().code(), Some(-32602));
        assert_eq!(client.request("no/such/method", json!({})).await.unwrap_err().code(), Some(-32601));
    })
    .await;
}

#[tokio::test]
async fn progress_comes_in_order_and_only_when_asked_for() {
    on_every_pair(&[], plain(), async |Setup { client, .. }| {
        let call = json!({ "name": "slow", "arguments": { "steps": 3, "delay_ms": 5 } });
        let (outcome, progress) = client.request_with_progress("tools/call", call.clone()).await;
        assert_eq!(outcome.unwrap()["content"][0]["text"], "done after 3 steps");
        let steps: Vec<&Value> =
            progress.iter().map(|notification| &notification["params"]["progress"]).collect();
        assert_eq!(steps, [&json!(1), &json!(2), &json!(3)]);
        let (_, silence) = client.start("tools/call", call).finish_with_notifications().await;
        assert_eq!(silence, Vec::<Value>::new());
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    on_every_pair(&[], plain(), async |Setup { client, .. }| {
        // Once before the server has sent anything, once in the middle of its stream.
        let slow = json!({ "name": "slow", "arguments": { "steps": 1000, "delay_ms": 20 } });
        let in_flight = client.start("tools/call", slow.clone());
        wait_for_count(&client, "calls_count", 1).await;
        in_flight.cancel().await;
        wait_for_count(&client, "cancelled_count", 1).await;

        let mut with_progress = slow;
        with_progress["_meta"] = json!({ "progressToken": "p" });
        let mut in_flight = client.start("tools/call", with_progress);
        in_flight.notification(SOON).await.expect("the call has begun");
        in_flight.cancel().await;
        wait_for_count(&client, "cancelled_count", 2).await;
        assert_eq!(client.call_text("echo", json!({ "text": "alive" })).await.unwrap(), "alive");
    })
    .await;
}

#[tokio::test]
async fn a_tool_can_ask_the_user() {
    let cases = [
        (json!({ "action": "accept", "content": { "name": "Ada" } }), "hello Ada"),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "cancelled"),
    ];
    for (answer, expected) in cases {
        on_every_pair(&[], answering(answer), async |Setup { client, .. }| {
            assert_eq!(client.call_text("ask", json!({})).await.unwrap(), expected);
        })
        .await;
    }
}

#[tokio::test]
async fn a_tool_can_ask_the_model_and_for_roots() {
    on_every_pair(&[], cooperative("Ada"), async |Setup { client, .. }| {
        assert_eq!(client.call_text("sample", json!({})).await.unwrap(), "the model said: something");
        assert_eq!(client.call_text("roots", json!({})).await.unwrap(), "file:///a file:///b");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_declared_nothing_is_not_asked() {
    on_every_pair(&[], plain(), async |Setup { pair, client, .. }| {
        for (tool, capability) in [("ask", "elicitation"), ("sample", "sampling"), ("roots", "roots")] {
            let outcome = client.call(tool, json!({})).await;
            match pair.era {
                Era::Legacy(_) => assert_eq!(outcome.unwrap()["isError"], true),
                Era::Modern => {
                    let error = outcome.unwrap_err();
                    assert_eq!(error.code(), Some(-32021));
                    assert!(format!("{error:?}").contains(capability), "{error:?}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn watchers_are_told_of_a_changed_resource() {
    on_every_pair(&[], plain(), async |Setup { client, .. }| {
        let read = async || {
            let result = client.request("resources/read", json!({ "uri": "peer://counter" })).await.unwrap();
            result["contents"][0]["text"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(read().await, "0");
        let mut watcher = client.watch(Watch::resource("peer://counter")).await.unwrap();
        client.call("grow", json!({})).await.unwrap();
        client.call("touch", json!({})).await.unwrap();
        let change = watcher.next(SOON).await.expect("the change is reported");
        assert_eq!(change["method"], "notifications/resources/updated");
        assert_eq!(change["params"]["uri"], "peer://counter");
        assert_eq!(read().await, "1");
        watcher.close(&client).await.unwrap();
        let mut other = client.watch(Watch::resource("peer://static")).await.unwrap();
        client.call("touch", json!({})).await.unwrap();
        assert_eq!(other.next(Duration::from_millis(100)).await, None);
    })
    .await;
}

#[tokio::test]
async fn watchers_are_told_of_a_new_tool() {
    on_every_pair(&[], plain(), async |Setup { client, .. }| {
        let mut watcher = client.watch(Watch::tools()).await.unwrap();
        assert_eq!(client.call_text("grow", json!({})).await.unwrap(), "grown_1");
        let change = watcher.next(SOON).await.expect("the change is reported");
        assert_eq!(change["method"], "notifications/tools/list_changed");
        let tools = client.list_tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "grown_1"));
        assert_eq!(client.call_text("grown_1", json!({})).await.unwrap(), "grown_1");
    })
    .await;
}

#[tokio::test]
async fn log_messages_come_on_the_stream_of_the_call() {
    on_every_pair(&[], plain(), async |Setup { pair, client, .. }| {
        let log = async |meta: Value| {
            let params = json!({ "name": "log", "arguments": {}, "_meta": meta });
            let (outcome, notifications) =
                client.start("tools/call", params).finish_with_notifications().await;
            let text = outcome.unwrap()["content"][0]["text"].as_str().unwrap_or_default().to_owned();
            (text, notifications.len())
        };
        let enabled = match pair.era {
            Era::Legacy(_) => json!({}),
            Era::Modern => {
                assert_eq!(log(json!({})).await, ("not logged".to_owned(), 0));
                json!({ "io.modelcontextprotocol/logLevel": "debug" })
            }
        };
        assert_eq!(log(enabled.clone()).await, ("logged".to_owned(), 1));
        let disabled = match pair.era {
            Era::Legacy(_) => {
                client.request("logging/setLevel", json!({ "level": "error" })).await.unwrap();
                enabled
            }
            Era::Modern => json!({ "io.modelcontextprotocol/logLevel": "error" }),
        };
        assert_eq!(log(disabled).await, ("not logged".to_owned(), 0));
    })
    .await;
}

#[tokio::test]
async fn resources_prompts_and_completions_work() {
    on_every_pair(&[], plain(), async |Setup { pair, client, .. }| {
        assert_eq!(client.list("resources/list", "resources").await.unwrap().len(), 2);
        let templates = client.list("resources/templates/list", "resourceTemplates").await.unwrap();
        assert_eq!(templates[0]["uriTemplate"], "peer://item/{id}");
        let item = client.request("resources/read", json!({ "uri": "peer://item/7" })).await.unwrap();
        assert_eq!(item["contents"][0]["text"], r#"{"id":"7"}"#);
        let missing = client.request("resources/read", json!({ "uri": "peer://nothing" })).await.unwrap_err();
        assert_eq!(missing.code(), Some(if pair.era == Era::Modern { -32602 } else { -32002 }));
        assert_eq!(client.list("prompts/list", "prompts").await.unwrap().len(), 1);
        let prompt = json!({ "name": "greet", "arguments": { "name": "Ada" } });
        let prompt = client.request("prompts/get", prompt).await.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], "Please greet Ada.");
        let completion = json!({
            "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "name", "value": "A" },
        });
        let completion = client.request("completion/complete", completion).await.unwrap();
        assert_eq!(completion["completion"]["values"], json!(["Ada", "Alan"]));
        let completion = json!({
            "ref": { "type": "ref/resource", "uri": "peer://item/{id}" }, "argument": { "name": "id", "value": "2" },
        });
        let completion = client.request("completion/complete", completion).await.unwrap();
        assert_eq!(completion["completion"]["values"], json!(["2", "20"]));
    })
    .await;
}
