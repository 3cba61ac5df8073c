//! Custom gates: their status, and what of their output reaches people.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::{exit_and_output, run};

/// Denies with hidden characters in the reason, or asks; exits while the file `broken` exists.
const GATE: &str = r#"while read -r line; do
    [ -e broken ] && { echo "I cannot go on" >&2; exit 1; }
    id=${line#*\"id\":}
    case "$line" in
        *'"name":"touch"'*) verdict=ask ;;
        *) verdict=deny ;;
    esac
    printf '%s\n' "{\"id\":${id%%,*},\"verdict\":\"$verdict\",\"reason\":\"no\\u202e\\u200b\\u001b[2J\\nyes\"}"
done"#;
const SHOWN: &str = "no\\u{202e}\\u{200b} [2J yes";

async fn started(profile: &str) -> TestGateway {
    let config = format!(
        "{}[policy]\nprofile = \"{profile}\"\n[approvals]\nwait = false\n\
         [[gates]]\nname = \"days\"\ncommand = {}\ntools = [\"peer.echo\", \"peer.touch\"]\n",
        stdio_entry("peer", &[]),
        json!(["sh", "gate.sh"]),
    );
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("gate.sh"), GATE).expect("written");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    gateway
}

async fn output_of(gateway: &TestGateway, arguments: &[&str]) -> String {
    let (code, text) = exit_and_output(&run(&gateway.directory().join("data"), arguments).await);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_of_a_gate_cannot_hide_anything() {
    let gateway = started("open").await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let denied = agent.call("peer_echo", json!({"text": "x"})).await.expect_err("the gate says no");
        assert_eq!(denied.code(), Some(-32951), "{denied}");
        let asked = agent.call("peer_touch", json!({})).await.expect("a result");
        let text = asked["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(SHOWN), "{era:?}: {text:?}");
    }
    let why = ["policy", "why", "--agent", "tester", "peer.touch"];
    for arguments in [&["audit", "list"][..], &["approvals"], &why] {
        let (_, text) = exit_and_output(&run(&gateway.directory().join("data"), arguments).await);
        // The list of approvals cuts long lines.
        let shown = if arguments == ["approvals"] { "no\\u{202e}" } else { SHOWN };
        assert!(text.contains(shown), "{arguments:?}: {text:?}");
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{arguments:?}: {text:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_gate_is_reported_once() {
    let gateway = started("open").await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let state = async || -> Value {
        let output = run(&gateway.directory().join("data"), &["status", "--json"]).await;
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        status["gates"][0].clone()
    };
    assert_eq!((&state().await["state"], &state().await["asked"]), (&json!("idle"), &json!(0)));
    assert!(agent.call("peer_echo", json!({"text": "x"})).await.is_err());
    let working = state().await;
    assert_eq!(
        (&working["state"], &working["asked"], &working["failed"]),
        (&json!("working"), &json!(1), &json!(0))
    );

    let broken = gateway.directory().join("broken");
    std::fs::write(&broken, "").expect("written");
    for _ in 0..5 {
        assert!(agent.call("peer_echo", json!({"text": "x"})).await.is_err(), "a gate that fails denies");
    }
    let failing = state().await;
    assert_eq!(
        (&failing["state"], &failing["asked"], &failing["failed"]),
        (&json!("failing"), &json!(6), &json!(5))
    );
    assert!(
        failing["last_error"].as_str().is_some_and(|error| error.contains("gate `days` ended")),
        "{failing}"
    );
    for arguments in [&["status"][..], &["policy", "show"]] {
        let text = output_of(&gateway, arguments).await;
        assert!(
            text.contains("gate days  failing, asked 6 times, 5 without a verdict: gate `days`"),
            "{text}"
        );
    }

    std::fs::remove_file(&broken).expect("removed");
    // After repeated failures there is a pause before it is started again.
    for _ in 0..100 {
        let _ = agent.call("peer_echo", json!({"text": "x"})).await;
        if state().await["state"] == "working" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(state().await["state"], "working");
    let log = gateway.stop().await;
    assert_eq!(log.matches("gate fails").count(), 1, "{log}");
    assert_eq!(log.matches("gate works again").count(), 1, "{log}");
    assert!(log.contains("I cannot go on"), "{log}");
}

/// A gate that fails decided nothing, which is another error than its denial.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_is_late_or_fails_is_an_evaluator_that_failed() {
    for (program, reason) in [
        (json!(["sh", "-c", "read -r line; sleep 60"]), "gate `days` did not answer within 300ms"),
        (json!(["sh", "-c", "exit 3"]), "gate `days` ended"),
        (json!(["/no/such/gate"]), "gate `days` cannot be started"),
    ] {
        let config = format!(
            "{}[policy]\nprofile = \"open\"\n[[gates]]\nname = \"days\"\ncommand = {program}\ntimeout = \"300ms\"\n",
            stdio_entry("peer", &[]),
        );
        let gateway = TestGateway::start(&octroi(), &config).await;
        for era in [Era::Modern, Era::Legacy("2025-11-25")] {
            let agent = connect(&gateway, era, ClientOptions::default()).await;
            let denied =
                agent.call("peer_echo", json!({"text": "x"})).await.expect_err("nothing was decided");
            assert_eq!(denied.code(), Some(-32953), "{program} {era:?}: {denied}");
            let text = denied.to_string();
            assert!(
                text.contains("policy_evaluator_error") && text.contains("gate `days`"),
                "{era:?}: {text}"
            );
            if era == Era::Modern {
                assert!(text.contains(reason), "{program}: {text}");
            }
            assert_eq!(
                agent.call_text("peer_calls_count", json!({})).await.ok(),
                None,
                "it is asked about all calls"
            );
        }
        gateway.stop().await;
    }
}
