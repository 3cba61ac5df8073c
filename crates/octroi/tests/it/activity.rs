//! What people see of calls, of clients and of what needs them: lists, changes since, and live feeds.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};

use crate::approvals::pending;
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::person;
use crate::operations::outcome;
use crate::policy::{OTHER_TOKEN, as_holder};

pub(crate) const ANA: &str = "ana-s-token-of-this-test";
const BOB: &str = "bob-s-token-of-this-test";

/// Calls of `add` need approval, `fail` is denied; the agent is ana's.
pub(crate) fn config() -> String {
    format!(
        "[mcp]\nauto_reload = false\n{}risk_overrides = {{ add = \"high\" }}\ndeny_tools = [\"fail\"]\n\
         [[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n\
         [[tokens]]\ntoken = \"{ANA}\"\nrole = \"human\"\nuser = \"ana\"\n\
         [[tokens]]\ntoken = \"{BOB}\"\nrole = \"human\"\nuser = \"bob\"\n\
         [[agents]]\nid = \"tester\"\nowner = \"ana\"\n[[agents]]\nid = \"other\"\nowner = \"bob\"\n\
         [policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n",
        stdio_entry("peer", &[])
    )
}

pub(crate) async fn done(client: &TestClient, operation: &str, arguments: Value) -> Value {
    let result = client.call(operation, arguments).await;
    assert_eq!(outcome(&result), "done", "{operation}: {result:?}");
    result.expect("a result")["structuredContent"].clone()
}

async fn read(client: &TestClient, uri: &str) -> Value {
    let read = client.request("resources/read", json!({ "uri": uri })).await.expect("a content");
    serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON")
}

/// Reads until it is as expected, or fails with what there is.
pub(crate) async fn until(mut look: impl AsyncFnMut() -> Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + SOON;
    loop {
        let found = look().await;
        if is_it(&found) {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn outcomes(page: &Value) -> Vec<(String, String)> {
    let calls = page["calls"].as_array().expect("calls").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    calls.map(|call| (text(&call["tool"]), text(&call["outcome"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(tool, outcome)| (format!("mcp:peer:{tool}"), (*outcome).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_one_row_from_the_question_to_its_end() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, owner) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
    let stranger = as_holder(&gateway, BOB, Era::Modern).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let start = done(&owner, "calls_list", json!({})).await;
    assert_eq!(outcomes(&start), [], "{start}");
    let mut watcher = owner.watch(Watch::resource("resource://calls/recent")).await.expect("a stream");

    agent.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    assert!(agent.call("peer_fail", json!({})).await.is_err());
    let approval = pending(&agent.call("peer_add", json!({"a": 1, "b": 2})).await.expect("a result"));
    watcher.next(SOON).await.expect("the feed changed");

    let waiting = pairs(&[("add", "waiting"), ("fail", "denied"), ("echo", "completed")]);
    let listed =
        until(async || done(&owner, "calls_list", json!({})).await, |page| outcomes(page) == waiting).await;
    assert_eq!(outcomes(&read(&owner, "resource://calls/recent").await), waiting);
    let denied = &listed["calls"][1];
    assert_eq!(denied["decided"]["decision"], "deny_continue", "{denied}");
    assert_eq!((&denied["decided"]["gate"], &denied["caller"]["owner"]), (&json!("access"), &json!("ana")));
    assert!(listed["calls"][2]["duration_ms"].is_u64(), "{listed}");

    // Somebody else's calls are not there, under any name.
    assert_eq!(outcomes(&done(&stranger, "calls_list", json!({})).await), []);
    assert_eq!(outcome(&stranger.call("calls_list", json!({"agent": "tester"})).await), "not_found");
    for id in [listed["calls"][1]["id"].clone(), json!(approval)] {
        assert_eq!(outcome(&stranger.call("calls_get", json!({ "id": id })).await), "not_found");
        assert_eq!(outcome(&owner.call("calls_get", json!({ "id": id })).await), "done");
    }

    // What changes is read from the position on, each call once with what became of it.
    let after = listed["position"].clone();
    done(&owner, "agents_approve_request", json!({"call_id": approval, "reason": "go on"})).await;
    agent.call("peer_add", json!({"a": 1, "b": 2})).await.expect("the sum");
    let changed = until(
        async || done(&owner, "calls_list", json!({ "after": after })).await,
        |page| outcomes(page) == pairs(&[("add", "completed")]),
    )
    .await;
    assert_eq!(changed["calls"][0]["approval"], json!(approval));
    let nothing = done(&owner, "calls_list", json!({ "after": changed["position"] })).await;
    assert_eq!(outcomes(&nothing), [], "{nothing}");
    let ended = pairs(&[("add", "completed"), ("fail", "denied"), ("echo", "completed")]);
    assert_eq!(outcomes(&done(&admin, "calls_list", json!({})).await), ended, "still one row");

    let shown = done(&owner, "calls_get", json!({ "id": approval })).await;
    assert_eq!(shown["request"]["arguments"], json!({"a": 1, "b": 2}), "{shown:#}");
    assert_eq!(
        (&shown["answer"]["outcome"], &shown["request"]["is_whole"]),
        (&json!("completed"), &json!(true))
    );
    let what: Vec<&str> = shown["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["what"].as_str())
        .collect();
    assert_eq!(what, ["waiting", "approved", "allow", "completed"], "{shown:#}");
    let person = shown["gates"].as_array().expect("gates").iter().find(|gate| gate["gate"] == "person");
    assert_eq!(person.expect("the person")["by"], "ana", "{shown:#}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_stay_put_while_calls_arrive_and_filters_find_what_they_say() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let admin = person(&gateway, Era::Modern).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let other = as_holder(&gateway, OTHER_TOKEN, Era::Modern).await;
    for n in 0..25 {
        agent.call("peer_echo", json!({"text": n.to_string()})).await.expect("a result");
    }
    other.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    assert!(agent.call("peer_fail", json!({})).await.is_err());
    let mut seen = Vec::new();
    let mut before = Value::Null;
    loop {
        let mut request = json!({"limit": 7});
        if !before.is_null() {
            request["before"] = before.clone();
        }
        let page = done(&admin, "calls_list", request).await;
        let calls = page["calls"].as_array().expect("calls").clone();
        assert!(calls.len() <= 7, "{page}");
        assert!(calls.iter().all(|call| call["outcome"] != "running"), "every end is found: {page:#}");
        seen.extend(calls.iter().map(|call| call["id"].as_str().expect("an id").to_owned()));
        // What comes meanwhile is on no later page.
        agent.call("peer_echo", json!({"text": "meanwhile"})).await.expect("a result");
        before = page["next"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 27);
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!(distinct.len(), 27, "none twice");
    for (filter, expected) in [
        (json!({"agent": "other"}), 1),
        (json!({"outcome": "failure"}), 1),
        (json!({"decision": "deny_continue"}), 1),
        (json!({"tool": "*fail"}), 1),
        (json!({"server": "nobody"}), 0),
        (json!({"until_ms": 1}), 0),
        (json!({"agent": "tester", "outcome": "completed", "tool": "mcp:peer:echo", "limit": 3}), 3),
    ] {
        let found = done(&admin, "calls_list", filter.clone()).await;
        assert_eq!(found["calls"].as_array().map(Vec::len), Some(expected), "{filter}: {found:#}");
    }
    let both = admin.call("calls_list", json!({"before": 1, "after": 1})).await;
    assert_eq!(outcome(&both), "invalid_arguments");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_listed_while_they_are_connected() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, owner) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
    let stranger = as_holder(&gateway, BOB, Era::Modern).await;
    let mut watcher = owner.watch(Watch::resource("resource://clients/list")).await.expect("a stream");
    let legacy = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    legacy.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    watcher.next(SOON).await.expect("a client came");
    let of_agent = |list: &Value| {
        let clients = list["clients"].as_array().expect("clients").iter();
        clients.filter(|client| client["agent"] == "tester").cloned().collect::<Vec<_>>()
    };
    let listed = done(&owner, "clients_list", json!({})).await;
    let [client] = &of_agent(&listed)[..] else { panic!("{listed:#}") };
    assert_eq!((&client["era"], &client["user"]), (&json!("legacy"), &json!("ana")), "{client}");
    assert!(client["program"]["name"].is_string() && client["session"].is_string(), "{client}");
    assert!(client["requests"].as_u64() >= Some(1) && client["in_flight"] == 0, "{client}");
    let own = listed["clients"].as_array().expect("clients").iter().find(|one| one["agent"].is_null());
    assert_eq!(own.expect("the owner")["subscriptions"], 1, "{listed:#}");
    assert!(of_agent(&done(&admin, "clients_list", json!({})).await).len() == 1);
    assert!(of_agent(&done(&stranger, "clients_list", json!({})).await).is_empty());
    legacy.close().await.expect("it ends");
    until(async || done(&owner, "clients_list", json!({})).await, |list| of_agent(list).is_empty()).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needs_a_person_is_listed_for_those_who_can_act() {
    let broken = "[[mcp.servers]]\nname = \"broken\"\ncommand = [\"false\"]\n";
    let gateway = TestGateway::start(&octroi(), &format!("{}{broken}", config())).await;
    let (admin, owner) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
    let stranger = as_holder(&gateway, BOB, Era::Modern).await;
    let steps = |attention: &Value| -> Vec<bool> {
        let steps = attention["first_steps"].as_array().expect("steps").iter();
        steps.map(|step| step["done"] == true).collect()
    };
    assert_eq!(steps(&done(&owner, "attention_list", json!({})).await), [true, false, false, false]);
    let mut watcher = owner.watch(Watch::resource("resource://attention/list")).await.expect("a stream");
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let approval = pending(&agent.call("peer_add", json!({"a": 1, "b": 2})).await.expect("a result"));
    watcher.next(SOON).await.expect("something came up");
    let token = json!({"agent_id": "tester", "expires_in_seconds": 3600});
    done(&owner, "tokens_create", token).await;

    let kinds = |attention: &Value| -> Vec<String> {
        let counts = attention["counts"].as_array().expect("counts").iter();
        counts.map(|count| format!("{} {}", count["kind"].as_str().unwrap_or_default(), count["n"])).collect()
    };
    let attention = read(&owner, "resource://attention/list").await;
    assert_eq!(kinds(&attention), ["approval 1", "token 1"], "{attention:#}");
    assert_eq!(attention["items"][0]["id"], json!(approval));
    assert_eq!(steps(&attention)[..2], [true, true], "{attention:#}");
    let of_admin = until(
        async || done(&admin, "attention_list", json!({})).await,
        |attention| kinds(attention).contains(&"server 1".to_owned()),
    )
    .await;
    assert!(kinds(&of_admin).contains(&"approval 1".to_owned()), "{of_admin:#}");
    let of_stranger = done(&stranger, "attention_list", json!({})).await;
    assert_eq!(kinds(&of_stranger), [""; 0], "{of_stranger:#}");
    assert_eq!(steps(&of_stranger), [true, false, false, false]);

    done(&owner, "agents_deny_request", json!({"call_id": approval})).await;
    let attention = until(
        async || done(&owner, "attention_list", json!({})).await,
        |attention| steps(attention) == [true; 4],
    )
    .await;
    assert_eq!(kinds(&attention), ["token 1"], "{attention:#}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_sees_what_helps_to_decide_and_can_take_a_rule_back() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (owner, stranger) =
        (as_holder(&gateway, ANA, Era::Modern).await, as_holder(&gateway, BOB, Era::Modern).await);
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let asks =
        async |a: u64| pending(&agent.call("peer_add", json!({"a": a, "b": 2})).await.expect("a result"));
    let first = asks(1).await;
    let remember = json!({"call_id": first, "remember": "exact", "reason": "fine"});
    done(&owner, "agents_approve_request", remember).await;
    agent.call("peer_add", json!({"a": 1, "b": 2})).await.expect("the sum");

    let second = asks(2).await;
    let context = until(
        async || done(&owner, "approvals_context", json!({ "id": second })).await,
        |context| context["last_call"].is_object(),
    )
    .await;
    assert_eq!(context["last_call"]["arguments"], json!({"a": 1, "b": 2}), "{context:#}");
    assert_eq!((&context["similar"][0]["id"], &context["similar"][0]["by"]), (&json!(first), &json!("ana")));
    assert_eq!(context["similar"][0]["same_arguments"], false);
    assert_eq!(context["facts"]["is_first_use"], false, "{context:#}");
    let rules = context["rules"].as_array().expect("rules");
    assert_eq!(rules.iter().map(|rule| &rule["remember"]).collect::<Vec<_>>(), ["exact", "tool"]);
    assert!(rules[0]["rule"].as_str().is_some_and(|rule| rule.contains("exact_args")), "{rules:?}");

    for (arguments, is_ok) in
        [(json!({"a": 1, "b": 3}), true), (json!({"a": "one", "b": 3}), false), (json!({}), false)]
    {
        let request = json!({"id": second, "arguments": arguments});
        let checked = done(&owner, "approvals_check_arguments", request).await;
        assert_eq!(
            (&checked["ok"], checked["complaint"].is_string()),
            (&json!(is_ok), !is_ok),
            "{checked:#}"
        );
        assert_eq!(checked["decision"].is_string(), is_ok, "{checked:#}");
    }

    // Several at once: what is somebody else's, decided already or unknown fails alone.
    let third = asks(3).await;
    let many = json!({"ids": [second, first, "ap_unknown", third, second], "decision": "deny_continue", "reason": "no"});
    let of_stranger = done(&stranger, "approvals_decide_many", many.clone()).await;
    assert_eq!((&of_stranger["decided"], &of_stranger["failed"]), (&json!(0), &json!(4)), "{of_stranger:#}");
    let codes = |answer: &Value| -> Vec<Value> {
        answer["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|one| one["error"]["code"].clone())
            .collect()
    };
    assert_eq!(codes(&of_stranger), vec![json!("not_found"); 4], "{of_stranger:#}");
    let decided = done(&owner, "approvals_decide_many", many).await;
    assert_eq!(
        codes(&decided),
        [json!(null), json!("conflict"), json!("not_found"), json!(null)],
        "{decided:#}"
    );
    assert_eq!(decided["results"][3]["decided"]["state"], "denied_continue");
    let admin = person(&gateway, Era::Modern).await;
    let recorded = until(
        async || {
            done(&admin, "audit_query", json!({"kinds": ["approval_resolved"], "text": "decide_many"})).await
        },
        |found| found["records"].as_array().map(Vec::len) == Some(2),
    )
    .await;
    assert_eq!(recorded["records"][0]["actor"]["id"], "ana", "each has its record: {recorded:#}");

    // The rule is in effect until it is taken back.
    agent.call("peer_add", json!({"a": 1, "b": 2})).await.expect("allowed by the rule");
    let id = json!({ "id": first });
    assert_eq!(outcome(&stranger.call("approvals_forget_rule", id.clone()).await), "not_found");
    let policy = done(&owner, "approvals_forget_rule", id.clone()).await;
    assert_eq!(policy["source"], "", "{policy:#}");
    assert_eq!(outcome(&owner.call("approvals_forget_rule", id).await), "not_found", "once");
    asks(1).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_followed_while_the_server_writes() {
    let noise = "(n=0; while sleep 0.02; do n=$((n+1)); echo line $n >&2; done) & exec";
    let script = json!(["sh", "-c", format!("{noise} '{}'", peer_binary().display())]);
    let config = format!("{}[[mcp.servers]]\nname = \"noisy\"\ncommand = {script}\n", config());
    let gateway = TestGateway::start(&octroi(), &config).await;
    let (admin, owner) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
    let uri = "resource://servers/noisy/logs";
    let mut watcher = admin.watch(Watch::resource(uri)).await.expect("a stream");
    let (begun, mut n_told, mut last) = (Instant::now(), 0_u32, 0);
    while begun.elapsed() < Duration::from_secs(2) {
        if watcher.next(Duration::from_secs(1)).await.is_some() {
            n_told += 1;
            let lines = read(&admin, uri).await;
            let number = lines["lines"].as_array().and_then(|lines| lines.last()?["number"].as_u64());
            assert!(number > Some(last), "there is something new each time: {lines:#}");
            last = number.unwrap_or_default();
        }
    }
    assert!((2..=10).contains(&n_told), "{n_told} in {:?}", begun.elapsed());
    let more = done(&admin, "servers_logs", json!({"name": "noisy", "from": last, "lines": 3})).await;
    assert!(more["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{more}");
    let refused = owner.request("resources/read", json!({ "uri": uri })).await;
    assert_eq!(outcome(&refused), "resource_not_found");
    gateway.stop().await;
}
