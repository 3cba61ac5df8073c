//! Who is notified: every session of a change that concerns all, and agents of their own proposals only.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{SOON, connect, octroi};
use crate::manage::person;
use crate::policy::{OTHER_TOKEN, as_holder, done, two_agents};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_notified_when_its_proposal_is_decided() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"\nproposals = true")).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let other = as_holder(&gateway, OTHER_TOKEN, era).await;
        let person = person(&gateway, era).await;
        let propose = async |rationale: &str| {
            let source = format!("# {rationale}\n[[deny]]\ntool = \"peer.touch\"\n");
            let asked = json!({"source": source, "rationale": rationale});
            done(&agent, "policy_propose", asked).await["id"].as_i64().expect("a number")
        };
        let (first, second) = (propose("first").await, propose("second").await);
        let of = |id: i64| format!("resource://approval-policy/proposals/{id}");
        let active = "resource://approval-policy/policy";

        let state = "resource://agents/tester/policy/state";
        // For it, another agent's proposal does not exist.
        for uri in [of(first), state.to_owned()] {
            let watched = other.watch(Watch::resource(&*uri)).await;
            if let Ok(mut watched) = watched {
                done(&person, "agents_set_policy", json!({"agent_id": "tester", "source": ""})).await;
                assert!(watched.next(SHORT).await.is_none(), "{era:?}: {uri} is reported to another agent");
            }
        }

        let mut of_first = agent.watch(Watch::resource(of(first))).await.expect("its own can be watched");
        let mut of_active = agent.watch(Watch::resource(active)).await.expect("its own can be watched");
        let mut others_active = other.watch(Watch::resource(active)).await.expect("its own can be watched");
        done(&person, "agents_reject_proposal", json!({"id": first, "reason": "no"})).await;
        let notice = of_first.next(SOON).await.expect("it was decided");
        assert!(notice.to_string().contains(&of(first)), "{era:?}: {notice}");
        assert!(of_active.next(SHORT).await.is_none(), "{era:?}: a refused one changes nothing");
        let mut of_state = agent.watch(Watch::resource(state)).await.expect("its own can be watched");
        done(&person, "agents_approve_proposal", json!({ "id": second })).await;
        for (what, watcher) in [("state", &mut of_state), ("active", &mut of_active)] {
            assert!(watcher.next(SOON).await.is_some(), "{era:?}: {what}");
        }
        assert!(of_first.next(SHORT).await.is_none(), "{era:?}: that is another one");
        let heard = others_active.next(SHORT).await;
        assert_eq!(heard, None, "{era:?}: another agent's policy is another one");
    }
    gateway.stop().await;
}

/// Proposing is a setting; reading and watching what is one's own is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_may_not_propose_watch_their_own_and_nothing_else_of_octroi() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let tools = agent.list_tools().await.expect("a list");
        assert!(tools.iter().all(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("peer_"))));
        let templates = agent.list("resources/templates/list", "resourceTemplates").await.expect("a list");
        for own in ["state", "info", "snapshot", "session/state", "approvals/pending", "policy/state"] {
            let own = format!("resource://agents/{{agent_id}}/{own}");
            assert!(templates.iter().any(|template| template["uriTemplate"] == *own), "{era:?}: {own}");
        }
        let mut answers = Vec::new();
        for uri in [
            // Of another agent, of nobody, and of people.
            "resource://agents/other/state",
            "resource://agents/nobody/state",
            "resource://agents/list",
            "resource://approvals/pending",
            "resource://servers/list",
        ] {
            let unread = agent.request("resources/read", json!({ "uri": uri })).await.expect_err("not there");
            answers.push(unread.to_string().replace(uri, "URI"));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "foreign and unknown are one answer: {answers:?}");
        let state = crate::manage::read(&agent, "resource://agents/tester/state").await;
        assert_eq!((&state["agent_id"], &state["paused"]), (&json!("tester"), &json!(null)), "{state}");
    }
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    for uri in ["resource://agents/other/state", "resource://agents/nobody/state", "resource://servers/list"]
    {
        let refused =
            agent.request("resources/subscribe", json!({ "uri": uri })).await.expect_err("not there");
        assert!(refused.to_string().contains("unknown resource"), "{refused}");
    }
    let person = person(&gateway, Era::Modern).await;
    for (uri, change) in [
        ("resource://agents/tester/info", "tester"),
        ("resource://agents/tester/state", "tester"),
        ("resource://agents/tester/session/state", "tester"),
    ] {
        let mut own = agent.watch(Watch::resource(uri)).await.expect("its own can be watched");
        done(&person, "agents_update", json!({"agent_id": "other", "title": uri})).await;
        assert!(own.next(SHORT).await.is_none(), "{uri}: that is another agent");
        done(&person, "agents_update", json!({"agent_id": change, "title": uri})).await;
        assert!(own.next(SOON).await.is_some(), "{uri}");
        own.close(&agent).await.expect("it ends");
    }
    gateway.stop().await;
}

/// A server of a few lines that has a resource and reports no changes.
const SILENT: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"notifications/'*) continue ;;
    *'"initialize"'*)
      result='"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"silent","version":"0"}}' ;;
    *'"resources/list"'*) result='"result":{"resources":[{"uri":"note://one","name":"one"}]}' ;;
    *'"resources/templates/list"'*) result='"result":{"resourceTemplates":[]}' ;;
    *'"ping"'*) result='"result":{}' ;;
    *) result='"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$result"
done
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_that_a_server_does_not_have_are_refused_with_their_own_codes() {
    let command = json!(["sh", "-c", SILENT]);
    let config = format!("[[mcp.servers]]\nname = \"silent\"\nera = \"legacy\"\ncommand = {command}\n");
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let uri = {
        let listed = agent.request("resources/list", json!({})).await.expect("a list");
        let mut uris =
            listed["resources"].as_array().into_iter().flatten().filter_map(|one| one["uri"].as_str());
        uris.find(|uri| uri.starts_with("note:")).expect("a resource of the server").to_owned()
    };
    for (method, code, word) in [
        ("resources/subscribe", -32960, "subscribe_unsupported"),
        ("resources/unsubscribe", -32961, "unsubscribe_unsupported"),
    ] {
        let refused = agent.request(method, json!({ "uri": uri })).await.expect_err("it has none");
        assert_eq!(refused.code(), Some(code), "{refused}");
        assert!(format!("{refused:?}").contains(word), "{refused:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_resource_has_the_number_of_the_clients_era() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"\nproposals = true")).await;
    for (era, code) in [(Era::Modern, -32602), (Era::Legacy("2025-11-25"), -32002)] {
        let (agent, person) =
            (connect(&gateway, era, ClientOptions::default()).await, person(&gateway, era).await);
        for (client, uri) in [
            (&agent, "resource://nothing/like/this"),
            (&person, "resource://nothing/like/this"),
            (&agent, "nobody://x"),
            (&person, "nobody://x"),
            (&agent, "resource://agents/other/policy/state"),
        ] {
            let unknown = client.request("resources/read", json!({ "uri": uri })).await.expect_err("unknown");
            assert_eq!(unknown.code(), Some(code), "{era:?} {uri}: {unknown}");
        }
    }
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let unknown =
        agent.request("resources/subscribe", json!({"uri": "nobody://x"})).await.expect_err("unknown");
    assert_eq!(unknown.code(), Some(-32002), "{unknown}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_session_hears_of_a_change_also_when_another_is_gone() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    let legacy = Era::Legacy("2025-11-25");
    let mut clients = Vec::new();
    for era in [legacy, Era::Modern] {
        clients.push(connect(&gateway, era, ClientOptions::default()).await);
        clients.push(connect(&gateway, era, ClientOptions::default()).await);
        clients.push(as_holder(&gateway, OTHER_TOKEN, era).await);
    }
    let old =
        TestClient::connect(gateway.sse_transport(), Era::Legacy("2024-11-05"), ClientOptions::default());
    clients.push(old.await.expect("a client of the old transport"));
    let mut watching = Vec::new();
    for client in &clients {
        watching.push(client.watch(Watch::tools()).await.expect("a stream"));
    }
    // Sessions whose streams are gone, without a goodbye.
    for n_gone in [3, 0] {
        drop(watching.remove(n_gone));
    }
    for round in 0..2 {
        clients[0].call("peer_grow", json!({})).await.expect("a result");
        let heard = watching.iter_mut().map(|news| news.next(SOON));
        let heard = futures_util::future::join_all(heard).await;
        let n_heard = heard.iter().flatten().count();
        assert_eq!(n_heard, watching.len(), "round {round}: {heard:?}");
    }
    gateway.stop().await;
}
