//! The catalogue of all tools, as the gates see them.

use std::collections::BTreeSet;

use expect_test::expect;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{command, person, read};
use crate::policy::{done, refused};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Two servers with the same tools; two tools of the second one have overrides.
fn config() -> String {
    let overrides = "[mcp.servers.tools_override]\n\
        echo = { enabled = false, reason = \"nobody needs it twice\" }\n\
        touch = { risk = \"critical\", side_effects = [\"fs.delete\", \"payments\"] }\n";
    format!("{}{}{overrides}", stdio_entry("one", &[]), stdio_entry("two", &["--tools", "3"]))
}

fn ids(listed: &Value) -> BTreeSet<String> {
    let tools = listed["tools"].as_array().expect("tools");
    assert_eq!(listed["count"], tools.len());
    tools.iter().map(|tool| tool["tool_id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_is_found_by_what_it_is() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    for era in ERAS {
        let person = person(&gateway, era).await;
        let list = async |arguments: Value| ids(&done(&person, "tools_list_catalog", arguments).await);
        let all = list(json!({})).await;
        for id in ["mcp:one:echo", "mcp:two:echo", "mcp:two:touch", "builtin:servers_list"] {
            assert!(all.contains(id), "{era:?}: {id} is not in {all:?}");
        }
        // Each of these arguments divides all tools into disjoint sets.
        for (argument, words) in [
            ("risk_levels", &["low", "medium", "high", "critical"][..]),
            ("source_types", &["mcp", "extension", "builtin"]),
            ("servers", &["one", "two", "octroi"]),
        ] {
            let mut found = Vec::new();
            for word in words {
                found.extend(list(json!({ argument: [word] })).await);
            }
            assert_eq!((found.len(), &found.into_iter().collect()), (all.len(), &all), "{era:?}: {argument}");
            assert_eq!(list(json!({ argument: words })).await, all, "{era:?}: {argument}");
        }
        let touch = BTreeSet::from(["mcp:two:touch".to_owned()]);
        for filter in [
            json!({"side_effect_tags": ["payments"]}),
            json!({"side_effect_tags": ["fs.delete", "nothing"], "source_types": ["mcp"]}),
            json!({"risk_levels": ["CRITICAL"], "servers": ["two"]}),
        ] {
            assert_eq!(list(filter.clone()).await, touch, "{era:?}: {filter}");
        }
        assert_eq!(list(json!({"source_types": ["extension"]})).await, BTreeSet::new());
        let wrong = refused(&person, "tools_list_catalog", json!({"risk_levels": ["huge"]})).await;
        assert_eq!(wrong, "`risk_levels` must be low, medium, high or critical, not `huge`");
        assert_eq!(ids(&read(&person, "resource://tools/list").await), all);

        for name in ["mcp:two:touch", "two.touch", "two_touch"] {
            let tool = done(&person, "tools_get", json!({ "tool_id": name })).await;
            assert_eq!(tool["tool_id"], "mcp:two:touch", "{name}");
            assert_eq!(
                (&tool["risk_level"], &tool["requires_admin_token"]),
                (&json!("critical"), &json!(true))
            );
            assert_eq!(tool["side_effect_tags"], json!(["fs.delete", "payments"]));
            assert_eq!((&tool["source_type"], &tool["source_id"]), (&json!("mcp"), &json!("two")));
            assert_eq!((&tool["visible"], &tool["input_schema"]["type"]), (&json!(true), &json!("object")));
        }
        let hidden = done(&person, "tools_get", json!({"tool_id": "two.echo"})).await;
        assert_eq!((&hidden["enabled"], &hidden["visible"]), (&json!(false), &json!(false)));
        assert_eq!(hidden["hidden_because"], "nobody needs it twice");
        let missing = refused(&person, "tools_get", json!({"tool_id": "two.nothing"})).await;
        assert_eq!(missing, "unknown tool `two.nothing` (`octroi tools` lists all)");

        let agent = connect(&gateway, era, ClientOptions::default()).await;
        assert!(agent.call("tools_list_catalog", json!({})).await.is_err(), "{era:?}");
        assert!(agent.request("resources/read", json!({"uri": "resource://tools/list"})).await.is_err());
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_asked_for_again_and_changes_are_heard_of() {
    let broken = "[[mcp.servers]]\nname = \"broken\"\nstart = \"lazy\"\ncommand = [\"false\"]\n";
    let off = "[[mcp.servers]]\nname = \"off\"\nenabled = false\ncommand = [\"false\"]\n";
    let config = format!("{}{broken}{off}", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    for era in ERAS {
        let person = person(&gateway, era).await;
        let refreshed = done(&person, "servers_refresh", json!({"start": true})).await;
        assert_eq!(refreshed["refreshed"], 1, "{refreshed}");
        let failed: Vec<&String> = refreshed["failed"].as_object().expect("some").keys().collect();
        assert_eq!(failed, ["broken"], "one that is off is not asked");
        let running = done(&person, "servers_refresh", json!({})).await;
        assert_eq!(running, json!({"refreshed": 1, "failed": {}}), "one that does not run is not started");
        let one = done(&person, "servers_refresh", json!({"name": "peer"})).await;
        assert_eq!(one["name"], "peer", "{one}");
        let mut watcher =
            person.watch(Watch::resource("resource://tools/list")).await.expect("it can be watched");
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        agent.call("peer_grow", json!({})).await.expect("a result");
        assert!(watcher.next(SOON).await.is_some(), "{era:?}: there is one tool more");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_lists_tools() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    expect![[r#"
        WIRE NAME            RISK LEVEL  SIDE EFFECT TAGS          HIDDEN BECAUSE
        two_add              high        data.write
        two_ask              medium      unknown
        two_calls_count      low
        two_cancelled_count  low
        two_echo             low                                   nobody needs it twice
        two_fail             medium      unknown
        two_grow             high        data.write
        two_image            medium      unknown
        two_link             high        data.write
        two_log              medium      data.write, network.http
        two_protocol_error   medium      unknown
        two_roots            medium      unknown
        two_route            medium      unknown
        two_sample           medium      unknown
        two_slow             medium      unknown
        two_t0001            medium      unknown
        two_t0002            medium      unknown
        two_t0003            medium      unknown
        two_touch            critical    fs.delete, payments
        look closer with `octroi tools show TOOL`
    "#]]
    .assert_eq(&command(&gateway, 0, &["tools", "--server", "two"]).await);
    expect![[r#"
        id               mcp:two:touch
        called           two_touch
        description      Changes peer://counter
        source           mcp, two 0.1.0
        risk             critical
        side effects     fs.delete, payments
        admin token      yes
        trust            medium
        timeout          60 s
        seen by clients  yes
        definition       f608855c11f47196e3468688a76847ab8b6229a9797a4e2278b7552991db220b
        arguments
            {
              "type": "object",
              "properties": {},
              "required": []
            }
    "#]]
    .assert_eq(&command(&gateway, 0, &["tools", "show", "two.touch"]).await);
    expect![[r#"
        no such tools; `octroi status` shows which servers are running
    "#]]
    .assert_eq(&command(&gateway, 0, &["tools", "--effect", "no.such"]).await);
    expect![[r#"
        error: unknown tool `two.nothing`
        hint: `octroi tools` lists all
    "#]]
    .assert_eq(&command(&gateway, 1, &["tools", "show", "two.nothing"]).await);
    expect![[r#"
        error: invalid value 'huge' for '--risk <LEVEL>'
          [possible values: low, medium, high, critical]

        For more information, try '--help'.
    "#]]
    .assert_eq(&command(&gateway, 2, &["tools", "--risk", "huge"]).await);
    expect![[r#"
        2 servers refreshed
    "#]]
    .assert_eq(&command(&gateway, 0, &["refresh"]).await);
    expect![[r#"
        two listed 18 tools
    "#]]
    .assert_eq(&command(&gateway, 0, &["refresh", "two"]).await);
    let own = command(&gateway, 0, &["tools", "--source", "builtin", "--json"]).await;
    let own: Vec<Value> = serde_json::from_str(own.lines().next().expect("a line")).expect("an array");
    assert!(own.iter().any(|tool| tool["tool_id"] == "builtin:tools_get"), "{own:?}");
    gateway.stop().await;
}

/// The example server, with the entry that the guide gives for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_a_server_works() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/servers.md")).expect("the guide");
    let (_, entry) = guide.split_once("```toml\n").expect("an entry");
    let (entry, _) = entry.split_once("```").expect("its end");
    let script = root.join("examples/echo-math/server.py").display().to_string();
    let entry = entry.replace("examples/echo-math/server.py", &script);
    assert!(entry.contains(&script), "{entry}");
    let gateway = TestGateway::start(&octroi(), &entry).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        for (tool, arguments, expected) in [
            ("echo-math_echo", json!({"text": "hello"}), "hello"),
            ("echo-math_get_sum", json!({"a": 2, "b": 3}), "5"),
            ("echo-math_get_quotient", json!({"a": 3, "b": 2}), "1.5"),
        ] {
            assert_eq!(agent.call_text(tool, arguments).await.as_deref(), Ok(expected), "{era:?}: {tool}");
        }
        let failed = refused(&agent, "echo-math_get_quotient", json!({"a": 1, "b": 0})).await;
        assert_eq!(failed, "ZeroDivisionError: division by zero");
    }
    assert!(command(&gateway, 0, &["test", "echo-math"]).await.contains("echo-math answers"));
    assert!(command(&gateway, 0, &["logs", "echo-math"]).await.contains("echo-math is ready"));
    expect![[r#"
        WIRE NAME               RISK LEVEL
        echo-math_echo          low
        echo-math_get_quotient  low
        echo-math_get_sum       low
        look closer with `octroi tools show TOOL`
    "#]]
    .assert_eq(&command(&gateway, 0, &["tools", "--server", "echo-math"]).await);
    gateway.stop().await;
}
