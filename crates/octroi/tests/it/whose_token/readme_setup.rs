//! What the README's set-up gives a model, `default.token` and `octroi stdio`, opens no management.

use octroi_api::{Face, operations};

use super::*;

/// The forms in which a name could be tried.
fn spellings(name: &str) -> [String; 4] {
    [name.to_owned(), format!("octroi_{name}"), format!("octroi.{name}"), format!("builtin:{name}")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_cannot_reach_any_management_operation() {
    let config = format!("{}[approvals]\nwait = false\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let default = gateway.kept_token("default.token");
    let management: Vec<&str> =
        operations::all().filter(|entry| entry.has_face(Face::Management)).map(|entry| entry.name).collect();
    assert!(management.len() > 40, "{management:?}");

    command(&gateway, 0, &["agents", "set", "default", "--profile", "strict"]).await;
    let before = state(&gateway).await;
    let mut waiting = None;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let http = Transport::Http { url: gateway.url(), token: Some(default.clone()) };
        for (path, transport) in [("HTTP", http), ("octroi stdio", gateway.relay(&octroi()))] {
            let place = format!("{path}, {era:?}");
            let model = TestClient::connect(transport, era, ClientOptions::default()).await.expect(&place);
            if path == "HTTP" {
                let asked = model.call("peer_echo", json!({"text": format!("{era:?}")})).await;
                waiting = Some(crate::approvals::pending(&asked.expect("a result")));
            }
            let id = waiting.as_deref().expect("a call waits");

            let tools = model.list_tools().await.expect(&place);
            assert!(names(&tools).contains(&"peer_echo"), "{place}");
            for name in &management {
                for spelling in spellings(name) {
                    assert!(!names(&tools).contains(&&*spelling), "{place}: {spelling} is listed");
                    // What they need to do something: whoever could call them would be refused nothing for its form.
                    let arguments = json!({
                        "call_id": id, "name": "peer", "agent_id": "default", "agent": "default", "tool": "peer.echo",
                        "source": "", "profile": "open", "enabled": false, "approved": true,
                    });
                    for arguments in [json!({}), json!({ "call_id": id }), arguments] {
                        let answer = message(model.call(&spelling, arguments).await);
                        assert!(answer.contains("unknown tool"), "{place}: {spelling}: {answer}");
                    }
                }
            }
            model.close().await.expect(&place);
        }
    }

    let left = listed(&gateway, "pending").await;
    assert_eq!(left.len(), 2, "each question still waits: {left:?}");
    assert_eq!(state(&gateway).await, before, "nothing has changed");
    let agents = command(&gateway, 0, &["agents"]).await;
    let default = agents.lines().find(|line| line.starts_with("default")).expect("the agent");
    assert!(default.contains("strict"), "{agents}");
    gateway.stop().await;
}

/// What a model would change: policies and servers.
async fn state(gateway: &TestGateway) -> Value {
    let policy = command(gateway, 0, &["policy", "show"]).await;
    let servers: Value =
        serde_json::from_str(&command(gateway, 0, &["list", "--json"]).await).expect("an array");
    let servers = servers.as_array().expect("servers").iter();
    let servers: Vec<Value> = servers.map(|server| json!([server["name"], server["state"]])).collect();
    json!({"policy": policy, "servers": servers})
}
