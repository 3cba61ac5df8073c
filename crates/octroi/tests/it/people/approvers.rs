//! Who decides: the owner of the agent and administrators, or those that a rule names.

use octroi_api::ApiError;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::raw;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::pending;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::person;
use crate::policy::as_holder;

const ANA: &str = "ana-s-token-of-this-test";
const BOB: &str = "bob-s-token-of-this-test";
const ROOT: &str = "root-s-token-of-this-test";

/// The agent is ana's, who allows it everything. Bob is another member, and root another administrator.
async fn start() -> (TestGateway, TestClient, TestClient, TestClient, TestClient, TestClient) {
    let token = |token: &str, user: &str| {
        format!(
            "[[tokens]]\ntoken = \"{token}\"\nrole = \"human\"\nuser = \"{user}\"\nadmin = {}\n",
            user == "root"
        )
    };
    let config = format!(
        "{}{}{}{}[[agents]]\nid = \"tester\"\nowner = \"ana\"\nprofile = \"open\"\n[approvals]\nwait = false\n",
        stdio_entry("peer", &[]),
        token(ANA, "ana"),
        token(BOB, "bob"),
        token(ROOT, "root"),
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    let admin = person(&gateway, Era::Modern).await;
    let ana = as_holder(&gateway, ANA, Era::Modern).await;
    let bob = as_holder(&gateway, BOB, Era::Modern).await;
    let root = as_holder(&gateway, ROOT, Era::Modern).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let own = json!({"agent_id": "tester", "source": "[[allow]]\ntool = \"peer.*\"\n"});
    assert_eq!(outcome(&ana.call("agents_set_policy", own).await), "done");
    (gateway, admin, ana, bob, root, agent)
}

fn error(answered: &Result<Value, ClientError>) -> Option<ApiError> {
    match answered {
        Ok(result) => ApiError::from_result(result),
        Err(ClientError::Rpc(error)) => {
            Some(ApiError::from_rpc(error.code, &error.message, Some(&error.data)))
        }
        Err(error) => panic!("{error}"),
    }
}

/// The outcome of a request in one word: `done`, or the code of the error.
fn outcome(answered: &Result<Value, ClientError>) -> String {
    error(answered).map_or_else(|| "done".to_owned(), |error| error.code.to_string())
}

async fn decide(person: &TestClient, id: &str) -> String {
    outcome(&person.call("agents_decide_request", json!({"call_id": id, "decision": "approve"})).await)
}

async fn asks(agent: &TestClient, text: &str) -> String {
    pending(&agent.call("peer_echo", json!({"text": text})).await.expect("a result"))
}

async fn listed(person: &TestClient) -> Vec<Value> {
    let listed = person.call("approvals_list", json!({})).await.expect("a list");
    let ids = listed["structuredContent"]["approvals"].as_array().expect("approvals").iter();
    ids.map(|approval| approval["id"].clone()).collect()
}

async fn set_global(admin: &TestClient, source: &str) {
    assert_eq!(
        outcome(&admin.call("policy_set_global", json!({"source": source})).await),
        "done",
        "{source}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_those_that_a_rule_names_decide() {
    let (gateway, admin, ana, bob, root, agent) = start().await;
    let rule = |approvers: &str| format!("[[ask]]\ntool = \"peer.echo\"\napprovers = {approvers}\n");

    // Without approvers, the agent's own policy wins over the global one.
    set_global(&admin, "[[ask]]\ntool = \"peer.echo\"\n").await;
    assert_eq!(agent.call_text("peer_echo", json!({"text": "free"})).await.as_deref(), Ok("free"));

    for (approvers, ana_may, bob_may, root_may) in [
        ("[\"admin\"]", "not_an_approver", "not_found", "done"),
        ("\"not_owner\"", "not_an_approver", "not_found", "done"),
        ("[\"bob\"]", "not_an_approver", "done", "not_an_approver"),
        ("[\"ana\", \"bob\"]", "done", "done", "not_an_approver"),
        ("[\"ana\", \"admin\", \"not_owner\"]", "not_an_approver", "not_found", "done"),
    ] {
        set_global(&admin, &rule(approvers)).await;
        for (who, person, expected) in
            [("ana", &ana, ana_may), ("bob", &bob, bob_may), ("root", &root, root_may)]
        {
            let id = asks(&agent, &format!("{approvers} {who}")).await;
            let sees = listed(person).await.contains(&json!(id));
            assert_eq!(sees, expected != "not_found", "{approvers} {who}");
            assert_eq!(decide(person, &id).await, expected, "{approvers} {who}");
            let answer = agent.call("peer_echo", json!({"text": format!("{approvers} {who}")})).await;
            let is_made = answer.expect("a result")["isError"] != json!(true);
            assert_eq!(is_made, expected == "done", "{approvers} {who}");
        }
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_and_the_page_name_who_may() {
    let (gateway, admin, ana, _, _, agent) = start().await;
    let floor = "[[ask]]\ntool = \"peer.*\"\nreason = \"four eyes\"\napprovers = [\"bob\", \"admin\"]\n";
    assert_eq!(outcome(&admin.call("policy_set_floor", json!({"source": floor})).await), "done");
    let id = asks(&agent, "secret plan").await;
    let refused = ana.call("agents_approve_request", json!({"call_id": id})).await;
    let error = error(&refused).expect("an error");
    assert_eq!(error.message, format!("only `bob` or an administrator may decide about {id}"));
    let shown = ana.call("approvals_get", json!({"id": id})).await.expect("the owner sees it");
    assert_eq!(shown["structuredContent"]["approvers"], "`bob` or an administrator");

    let url = format!("{}/approvals/{id}", gateway.base);
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    for (token, decides) in [(ANA, false), (BOB, true)] {
        let page =
            raw::fetch(hyper::Method::POST, &url, &headers, format!("token={token}")).await.expect("a page");
        let html = String::from_utf8_lossy(&page.body).into_owned();
        assert_eq!((page.status, html.contains("value=\"approve\"")), (200, decides), "{html}");
        assert_eq!(html.contains("Only `bob` or an administrator may decide"), !decides, "{html}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_remembered_or_older_loosens_it() {
    let (gateway, admin, ana, bob, _, agent) = start().await;
    set_global(&admin, "[[ask]]\ntool = \"peer.echo\"\napprovers = [\"bob\"]\n").await;
    let id = asks(&agent, "again").await;
    let remember = json!({"call_id": id, "decision": "approve", "remember": "tool"});
    assert_eq!(outcome(&bob.call("agents_decide_request", remember).await), "invalid_arguments");
    let forbid = json!({"call_id": id, "decision": "deny_continue", "remember": "tool"});
    assert_eq!(
        outcome(&bob.call("agents_decide_request", forbid).await),
        "invalid_arguments",
        "not his agent"
    );
    assert_eq!(decide(&bob, &id).await, "done");
    assert_eq!(agent.call_text("peer_echo", json!({"text": "again"})).await.as_deref(), Ok("again"));
    assert_ne!(asks(&agent, "again").await, id, "each call is asked about");

    // A question from before the rule is asked anew, to those that the rule names.
    assert_eq!(
        outcome(&ana.call("agents_set_policy", json!({"agent_id": "tester", "source": ""})).await),
        "done"
    );
    set_global(&admin, "[[ask]]\ntool = \"peer.echo\"\n").await;
    let open = asks(&agent, "old").await;
    set_global(&admin, "[[ask]]\ntool = \"peer.echo\"\napprovers = [\"bob\"]\n").await;
    assert_eq!(decide(&ana, &open).await, "done", "it was hers to decide when it was asked");
    let answer = agent.call("peer_echo", json!({"text": "old"})).await.expect("a result");
    assert_eq!(answer["isError"], true, "and is of no use now: {answer}");
    assert_eq!(decide(&ana, &asks(&agent, "old").await).await, "not_an_approver");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_eyes_are_those_of_two_people() {
    let (gateway, admin, _, _, root, _) = start().await;
    set_global(&admin, "[[ask]]\ntool = \"peer.echo\"\napprovers = \"not_owner\"\n").await;
    let own_call = json!({"tool": "peer.echo", "agent": "tester", "arguments": {"text": "own"}});
    let tried = root.call("tools_call", own_call).await.expect("an answer");
    let id = tried["structuredContent"]["approval"].as_str().unwrap_or_else(|| panic!("{tried}")).to_owned();
    assert_eq!(decide(&root, &id).await, "not_an_approver", "it is root's own call");
    assert_eq!(decide(&admin, &id).await, "done");
    gateway.stop().await;
}
