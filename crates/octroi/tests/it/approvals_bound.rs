//! An approval is valid for one call as the person saw it: not for another tool of that name, not for other
//! arguments, and not twice.

use std::sync::Arc;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::{ClientError, RpcError};
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::approvals::{asked, pending};
use crate::forgery::send_once;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::command;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Calls of `echo` need approval, and its server may change the definition.
fn guarded(wait: &str) -> String {
    guarded_with(wait, &[])
}

fn guarded_with(wait: &str, flags: &[&str]) -> String {
    let entry = stdio_entry("peer", &[&["--lie", "description"], flags].concat());
    let risks = "risk_overrides = { echo = \"high\", reword = \"low\", calls_count = \"low\" }";
    format!("{entry}{risks}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"{wait}\"\n")
}

async fn echo(agent: &TestClient, text: &str) -> Result<Value, ClientError> {
    agent.call("peer_echo", json!({ "text": text })).await
}

/// How often `echo` was called, as counted by the server, which counts only `echo` and `reword`.
async fn n_echoes(agent: &TestClient, n_reworded: u64) -> u64 {
    let count = agent.call_text("peer_calls_count", json!({})).await.expect("a count");
    count.parse::<u64>().expect("a number") - n_reworded
}

/// Makes the server change the definition, and waits until it is quarantined.
async fn reword(gateway: &TestGateway, agent: &TestClient) {
    assert_eq!(agent.call_text("peer_reword", json!({})).await.as_deref(), Ok("reworded"));
    for _ in 0..400 {
        if !command(gateway, 0, &["pins"]).await.contains("no quarantined definition waits") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("nothing is kept back");
}

fn assert_quarantined(outcome: Result<Value, ClientError>, what: &str) {
    let Err(ClientError::Rpc(RpcError { code, message, data, .. })) = outcome else {
        panic!("{what}: {outcome:?}");
    };
    assert!(code == -32951 && message.starts_with("tool_changed_needs_review: "), "{what}: {message}");
    let reason = data["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("its definition differs from the accepted one"), "{what}: {data}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_not_for_another_definition() {
    for era in ERAS {
        let what = format!("{era:?}");
        let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let id = pending(&echo(&agent, "x").await.expect("a result"));
        command(&gateway, 0, &["approve", &id]).await;
        reword(&gateway, &agent).await;
        assert_quarantined(echo(&agent, "x").await, &what);
        assert_eq!(n_echoes(&agent, 1).await, 0, "{what}");

        // Accepting the new definition does not approve the call.
        command(&gateway, 0, &["pins", "accept", "peer.echo"]).await;
        let again = pending(&echo(&agent, "x").await.expect("a result"));
        assert_ne!(again, id, "{what}: it is asked anew");
        assert_eq!(n_echoes(&agent, 1).await, 0, "{what}");
        let output = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(!output.contains("completed"), "{what}: {output}");
        command(&gateway, 0, &["approve", &again]).await;
        assert_eq!(echo(&agent, "x").await.expect("a result")["content"][0]["text"], "x", "{what}");
        pending(&echo(&agent, "x").await.expect("a result"));
        assert_eq!(n_echoes(&agent, 1).await, 1, "{what}: once");
        gateway.stop().await;
    }
}

/// After a restart the server has another definition, and the very first call would find the approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_not_for_another_definition_after_a_restart() {
    for era in ERAS {
        let what = format!("{era:?}");
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("lie");
        let config = guarded_with("200ms", &["--lies-while", &file.display().to_string()]);
        let gateway = TestGateway::start(&octroi(), &config).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let id = pending(&echo(&agent, "x").await.expect("a result"));
        command(&gateway, 0, &["approve", &id]).await;
        let (kept, _) = gateway.stop_and_keep().await;
        std::fs::write(&file, "").expect("the server begins to lie");
        let gateway = TestGateway::launch_in(kept, &octroi(), &config, &[]).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        assert_quarantined(echo(&agent, "x").await, &what);
        assert_eq!(n_echoes(&agent, 0).await, 0, "{what}");
        gateway.stop().await;
    }
}

/// The definition changes while the caller waits, and only then a person approves what they saw before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_changes_while_a_person_thinks_stops_the_call() {
    // Whether the new definition is accepted meanwhile, and how denials are reported.
    for (is_accepted, errors) in [(false, "rpc"), (true, "rpc"), (false, "result")] {
        let policy = format!("profile = \"guarded\"\nerrors = \"{errors}\"");
        let config = guarded("50s").replace("profile = \"guarded\"", &policy);
        for era in ERAS {
            let what = format!("{era:?}, accepted: {is_accepted}, {errors}");
            let gateway = TestGateway::start(&octroi(), &config).await;
            let agent = connect(&gateway, era, ClientOptions::default()).await;
            let decide = async {
                let id = asked(&gateway).await;
                reword(&gateway, &agent).await;
                if is_accepted {
                    command(&gateway, 0, &["pins", "accept", "peer.echo"]).await;
                }
                let output = command(&gateway, 0, &["approve", &id]).await;
                let warning =
                    if is_accepted { "definition has changed since" } else { "the tool is quarantined" };
                assert!(output.contains("warning: ") && output.contains(warning), "{what}: {output}");
                id
            };
            let (outcome, id) = tokio::join!(echo(&agent, "x"), decide);
            let (word, data) = match &outcome {
                Err(ClientError::Rpc(error)) if errors == "rpc" => (error.message.clone(), &error.data),
                Ok(result) if errors == "result" && result["isError"] == true => {
                    let error = &result["_meta"]["octroi/error"];
                    (error["code"].as_str().unwrap_or_default().to_owned(), error)
                }
                outcome => panic!("{what}: {outcome:?}"),
            };
            let reason = data["reason"].as_str().unwrap_or_default();
            assert!(
                word.starts_with("tool_changed_needs_review") && reason.contains("its definition"),
                "{what}: {data}"
            );
            assert_eq!(n_echoes(&agent, 1).await, 0, "{what}");
            let output = command(&gateway, 0, &["approvals", "show", &id]).await;
            assert!(output.contains("done") && !output.contains("completed"), "{what}: {output}");
            gateway.stop().await;
        }
    }
}

/// A client that can open pages, whose user returns from one when the test says so.
struct Visitor {
    options: ClientOptions,
    pages: mpsc::Receiver<String>,
    come_back: mpsc::Sender<()>,
}

fn capabilities() -> Value {
    json!({ "elicitation": { "url": {} } })
}

impl Visitor {
    fn new(era: Era) -> Self {
        let (opened, pages) = mpsc::channel(8);
        let (come_back, back) = mpsc::channel(8);
        let back = Arc::new(Mutex::new(back));
        let options = ClientOptions {
            capabilities: capabilities(),
            on_request: Arc::new(move |method, params| {
                let (opened, back) = (opened.clone(), Arc::clone(&back));
                Box::pin(async move {
                    assert_eq!(method, "elicitation/create");
                    let url = params["url"].as_str().unwrap_or_default().to_owned();
                    if let Era::Legacy(_) = era {
                        assert_eq!(params["_meta"]["octroi/approval"]["id"], params["elicitationId"]);
                    }
                    opened.send(url).await.expect("the test listens");
                    back.lock().await.recv().await.expect("the test goes on");
                    Ok(json!({ "action": "accept" }))
                })
            }),
            ..ClientOptions::default()
        };
        Self { options, pages, come_back }
    }

    /// The approval whose page is shown.
    async fn approval(&mut self) -> String {
        let url = self.pages.recv().await.expect("a page");
        url.rsplit('/').next().expect("an id").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_sent_to_a_page_is_bound_to_it_too() {
    for era in ERAS {
        let what = format!("{era:?}");
        let gateway = TestGateway::start(&octroi(), &guarded("50s")).await;
        let other = connect(&gateway, era, ClientOptions::default()).await;
        let mut visitor = Visitor::new(era);
        let agent = connect(&gateway, era, visitor.options.clone()).await;

        let (outcome, id) = tokio::join!(echo(&agent, "x"), async {
            let id = visitor.approval().await;
            command(&gateway, 0, &["approve", &id]).await;
            visitor.come_back.send(()).await.expect("the client waits");
            id
        });
        assert_eq!(outcome.expect("a result")["content"][0]["text"], "x", "{what}");
        assert_eq!(n_echoes(&other, 0).await, 1, "{what}");

        // The same call again is another one, and so is one with other arguments.
        for text in ["x", "X"] {
            let (outcome, again) = tokio::join!(echo(&agent, text), async {
                let again = visitor.approval().await;
                command(&gateway, 0, &["deny", &again]).await;
                visitor.come_back.send(()).await.expect("the client waits");
                again
            });
            assert_eq!(outcome.expect_err("denied").code(), Some(-32951), "{what}");
            assert_ne!(again, id, "{what}");
        }
        assert_eq!(n_echoes(&other, 0).await, 1, "{what}");

        let (outcome, ()) = tokio::join!(echo(&agent, "z"), async {
            let id = visitor.approval().await;
            reword(&gateway, &other).await;
            command(&gateway, 0, &["approve", &id]).await;
            visitor.come_back.send(()).await.expect("the client waits");
        });
        assert_quarantined(outcome, &what);
        assert_eq!(n_echoes(&other, 1).await, 1, "{what}");
        gateway.stop().await;
    }
}

/// The request state that a modern client returns is valid for one call only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_is_good_for_its_call_and_once() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let send = async |params: &Value| send_once(&agent, "peer_echo", params, &capabilities()).await;
    let mut call = json!({ "arguments": { "text": "x" } });
    let result = send(&call).await["result"].take();
    assert_eq!(result["resultType"], "input_required", "{result}");
    call["requestState"] = result["requestState"].clone();
    call["inputResponses"] = json!({ "approval": { "action": "accept" } });
    let id = asked(&gateway).await;
    assert_eq!(result["_meta"]["octroi/approval"], json!({ "id": id, "tool": "mcp:peer:echo" }));

    // A retry before the decision, or with changed arguments, makes no call.
    assert_eq!(send(&call).await["result"]["resultType"], "input_required");
    command(&gateway, 0, &["approve", &id]).await;
    let mut changed = call.clone();
    changed["arguments"]["text"] = json!("x ");
    let answer = send(&changed).await;
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("requestState is not valid"), "{answer}");
    assert_eq!(n_echoes(&agent, 0).await, 0);
    let output = command(&gateway, 0, &["approvals", "show", &id]).await;
    assert!(output.contains("approved"), "it is unused: {output}");

    assert_eq!(send(&call).await["result"]["content"][0]["text"], "x");
    assert_eq!(n_echoes(&agent, 0).await, 1);
    let replayed = send(&call).await;
    assert!(replayed["result"]["content"].is_null(), "{replayed}");
    assert_eq!(n_echoes(&agent, 0).await, 1, "once");
    let fresh = send(&json!({ "arguments": { "text": "x" } })).await;
    assert_eq!(fresh["result"]["resultType"], "input_required", "{fresh}");
    assert_ne!(asked(&gateway).await, id, "it is asked anew");
    gateway.stop().await;
}

/// A remembered call is the same call: what it sends beside its arguments counts, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remembered_call_has_the_remembered_params() {
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &guarded("100ms")).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let call = async |params: &Value| {
            let mut params = params.clone();
            params["name"] = json!("peer_echo");
            params["arguments"] = json!({"text": "x"});
            agent.request("tools/call", params).await.expect("a result")
        };
        let remember =
            async |id: &str| command(&gateway, 0, &["approve", id, "--remember", "exact", "--yes"]).await;
        let (none, ours) = (json!({}), json!({"options": {"to": "ann", "n": 1}}));
        let other = json!({"options": {"to": "mallory", "n": 1}});
        let rule = remember(&pending(&call(&none).await)).await;
        assert!(rule.contains("exact_args") && !rule.contains("exact_params"), "{rule}");
        assert_eq!(call(&none).await["content"][0]["text"], "x", "{era:?}");
        pending(&call(&other).await);
        let rule = remember(&pending(&call(&ours).await)).await;
        assert!(rule.contains("exact_params = '{\"options\":{"), "{rule}");
        // The grant, and then the rule.
        for _ in 0..3 {
            assert_eq!(call(&ours).await["content"][0]["text"], "x", "{era:?}");
        }
        for changed in [&other, &json!({"options": {"to": "ann", "n": 1.0}}), &json!({"option": 1})] {
            pending(&call(changed).await);
        }
        assert_eq!(call(&none).await["content"][0]["text"], "x", "{era:?}");
        gateway.stop().await;
    }
}

/// A person who edits arguments means the digits that are written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edited_arguments_are_sent_as_they_are_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("input");
    let script = format!("tee '{}' | '{}'", input.display(), peer_binary().display());
    let entry = format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {}\n", json!(["sh", "-c", script]));
    let risks = "risk_overrides = { echo = \"high\" }";
    let config = format!("{entry}{risks}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"20s\"\n");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let edited = r#"{"text":"edited","account":12345678901234567890123,"rate":1.10}"#;
    let call = agent.start("tools/call", json!({"name": "peer_echo", "arguments": {"text": "x"}}));
    let id = asked(&gateway).await;
    command(&gateway, 0, &["approve", &id, "--args", edited]).await;
    assert!(call.finish().await.is_ok());
    let sent = std::fs::read_to_string(&input).expect("what the server read");
    assert!(sent.contains(edited), "{sent}");
    gateway.stop().await;
}
