//! `requestState` is accepted only from its owner, for its call, and unchanged.

use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use super::{Modern, OTHER_TOKEN, gateway, refusal};

const INVALID: i64 = -32602;

/// Calls `ask` and returns the state and the key under which an answer is expected.
async fn interrupted(gateway: &TestGateway) -> (String, String) {
    let response = Modern::call("1", "peer_ask", &json!({})).send(gateway).await.json();
    let result = &response["result"];
    assert_eq!(result["resultType"], "input_required", "{response}");
    let key = result["inputRequests"].as_object().and_then(|requests| requests.keys().next());
    (result["requestState"].as_str().expect("a state").to_owned(), key.expect("a question").clone())
}

fn retry(tool: &str, arguments: &Value, state: &str, key: &str) -> Modern {
    Modern::new(
        "2",
        "tools/call",
        json!({
            "name": tool, "arguments": arguments, "requestState": state,
            "inputResponses": { key: { "action": "accept", "content": { "name": "Ada" } } },
        }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_is_good_for_its_owner_and_its_call_only() {
    for era in ["legacy", "modern"] {
        let gateway = gateway(&["--era", era]).await;
        let elsewhere = super::gateway(&["--era", era]).await;
        let (state, key) = interrupted(&gateway).await;
        let (foreign, _) = interrupted(&elsewhere).await;
        let none = json!({});
        let mut tampered = state.clone().into_bytes();
        tampered[30] = if tampered[30] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).expect("still text");
        for (what, tool, arguments, state, token) in [
            ("tampered", "peer_ask", none.clone(), tampered.as_str(), AGENT_TOKEN),
            ("cut", "peer_ask", none.clone(), &state[..state.len() - 4], AGENT_TOKEN),
            ("of another gateway", "peer_ask", none.clone(), &foreign, AGENT_TOKEN),
            ("not a state", "peer_ask", none.clone(), "eyJleHAiOjB9", AGENT_TOKEN),
            ("empty", "peer_ask", none.clone(), "", AGENT_TOKEN),
            ("of another principal", "peer_ask", none.clone(), &state, OTHER_TOKEN),
            ("for another tool", "peer_sample", none.clone(), &state, AGENT_TOKEN),
            ("for other arguments", "peer_ask", json!({ "x": 1 }), &state, AGENT_TOKEN),
        ] {
            let response = retry(tool, &arguments, state, &key).send_as(&gateway, token).await;
            assert_eq!(refusal(&response).1, INVALID, "{era}: {what}: {:?}", response.body);
            let message = response.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
            println!("{era}, {what}: {message}");
            assert!(message.starts_with("requestState is not valid"), "{era}: {what}: {message}");
        }
        // The call still works after all these attempts.
        let response = retry("peer_ask", &none, &state, &key).send(&gateway).await.json();
        assert_eq!(response["result"]["content"][0]["text"], "hello Ada", "{era}: {response}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_answered_cannot_be_answered_again() {
    let gateway = gateway(&["--era", "legacy"]).await;
    let (state, key) = interrupted(&gateway).await;
    let retry = retry("peer_ask", &json!({}), &state, &key);
    assert_eq!(retry.send(&gateway).await.json()["result"]["content"][0]["text"], "hello Ada");
    let again = retry.send(&gateway).await;
    assert_eq!(refusal(&again).1, INVALID);
    println!("{}", again.json()["error"]["message"]);
}
