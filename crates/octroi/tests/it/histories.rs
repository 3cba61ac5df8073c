//! What clients keep, and what went before: checksums, versions of policies and definitions, proofs and exports.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::activity::{ANA, config, done, until};
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::person;
use crate::operations::outcome;
use crate::policy::as_holder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_knows_is_not_sent_again() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let admin = person(&gateway, era).await;
        for (method, member, mut params) in [
            ("resources/read", "contents", json!({"uri": "resource://agents/list"})),
            ("tools/list", "tools", json!({})),
            ("resources/list", "resources", json!({})),
        ] {
            let whole = admin.request(method, params.clone()).await.expect("an answer");
            let checksum = whole["_meta"]["octroi/checksum"].clone();
            assert!(checksum.is_string() && whole[member] != json!([]), "{method}: {whole}");
            params["_meta"] = json!({"octroi/checksum": checksum});
            let short = admin.request(method, params.clone()).await.expect("an answer");
            assert_eq!(
                (&short[member], &short["_meta"]["octroi/unchanged"]),
                (&json!([]), &json!(true)),
                "{method}"
            );
            params["_meta"] = json!({"octroi/checksum": "another"});
            let again = admin.request(method, params).await.expect("an answer");
            assert_eq!((&again[member], &again["_meta"]["octroi/checksum"]), (&whole[member], &checksum));
            assert_eq!(again["_meta"].get("octroi/unchanged"), None, "{method}");
        }
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_go_back_and_records_can_be_proved_and_exported() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (admin, owner) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
    let deny = "[[deny]]\ntool = \"peer.touch\"\n";
    for source in [deny, ""] {
        done(&owner, "agents_set_policy", json!({"agent_id": "tester", "source": source})).await;
    }
    let level = json!({"level": "agent", "agent_id": "tester"});
    let history = done(&owner, "policy_history", level).await;
    let diff = history["diffs"][0].as_str().expect("a diff");
    assert!(diff.contains("-tool = \"peer.touch\""), "{diff}");
    let back = json!({"level": "agent", "agent_id": "tester", "version": history["versions"][1]["version"]});
    let now = done(&owner, "policy_rollback", back.clone()).await;
    assert_eq!((&now["source"], &now["author"]), (&json!(deny), &json!("ana")), "{now:#}");
    for (level, agent, code) in
        [("global", None, "admins_only"), ("floor", Some("tester"), "invalid_arguments")]
    {
        let mut request = json!({"level": level, "version": 1});
        if let Some(agent) = agent {
            request["agent_id"] = json!(agent);
        }
        assert_eq!(outcome(&owner.call("policy_rollback", request).await), code, "{level}");
    }
    let unknown = json!({"level": "agent", "agent_id": "tester", "version": 99});
    assert_eq!(outcome(&owner.call("policy_rollback", unknown).await), "not_found");

    let directory = gateway.directory().join("data");
    // A checkpoint covers each record after ten seconds at the latest.
    let mut proof = Value::Null;
    for _ in 0..200 {
        let result = admin.call("audit_prove", json!({"seq": 2})).await.unwrap_or_default();
        proof = result["structuredContent"].clone();
        if proof["record"].is_string() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(proof["record"].is_string(), "record 2 is not signed");
    let file = gateway.directory().join("proof.json");
    std::fs::write(&file, proof.to_string()).expect("a file");
    let key = directory.join("audit/key.pub");
    let (file, key) = (file.display().to_string(), key.display().to_string());
    let checked = crate::audit::run(&directory, &["audit", "check-proof", &file, "--key", &key]).await;
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(outcome(&admin.call("audit_prove", json!({"seq": 1_000_000})).await), "not_found");

    let (mut csv, mut after) = (String::new(), None);
    loop {
        let mut request = json!({"format": "csv"});
        if let Some(after) = after {
            request["after"] = json!(after);
        }
        let page = done(&admin, "audit_export", request).await;
        csv.push_str(page["text"].as_str().expect("text"));
        after = page["last"].as_u64();
        if page["more"] != true {
            break;
        }
    }
    assert!(csv.starts_with("seq,at_ms,kind") && csv.matches("seq,at_ms").count() == 1, "{csv}");
    assert!(csv.lines().any(|line| line.contains("policy_changed")), "{csv}");
    assert_eq!(outcome(&owner.call("audit_export", json!({})).await), "admins_only");

    let shown = done(&admin, "config_show", json!({})).await["configuration"].to_string();
    assert!(shown.contains("octroi.toml") && shown.contains("guarded") && !shown.contains(ANA), "{shown}");

    let status = done(&admin, "gateway_status", json!({})).await;
    assert!(status["data"]["audit_bytes"].as_u64() > Some(0), "{status:#}");
    assert!(
        status["data"]["database_bytes"].as_u64() > Some(0) && status["data"]["audit_segments"] == 1,
        "{status:#}"
    );
    assert_eq!((&status["servers"], &status["data"]["audit_error"]), (&json!(1), &Value::Null), "{status:#}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_definition_has_a_history_and_a_quota_its_use() {
    let quota = "[[quotas]]\nname = \"few\"\nagent = \"*\"\ncalls_per_minute = 50\neach = true\n";
    let reworded = stdio_entry("peer", &["--fault", "reword"]);
    let config = format!("{reworded}risk_overrides = {{ reword = \"low\" }}\n{quota}");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let admin = person(&gateway, Era::Modern).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(agent.call_text("peer_reword", json!({})).await.as_deref(), Ok("reworded"));
    let held =
        until(async || done(&admin, "pins_list", json!({})).await, |held| held["count"] == 1).await["held"]
            [0]
        .clone();
    let name = json!({"server": "peer", "kind": held["kind"], "name": held["name"]});
    let history = done(&admin, "pins_history", name.clone()).await;
    let states = |history: &Value| -> Vec<String> {
        let versions = history["versions"].as_array().expect("versions").iter();
        versions.map(|version| version["state"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(states(&history), ["quarantined", "accepted"], "{history:#}");
    let newest = &history["versions"][0];
    assert_eq!((&newest["changes"], &newest["hash"]), (&held["changes"], &held["hash"]), "{history:#}");
    assert!(newest["diff"].as_str().is_some_and(|diff| diff.starts_with("--- ") && diff.contains("\n+")));
    assert_eq!(history["versions"][1]["diff"], "");
    let mut accept = name.clone();
    accept["hash"] = held["hash"].clone();
    done(&admin, "pins_accept", accept).await;
    let history = done(&admin, "pins_history", name).await;
    assert_eq!(states(&history), ["accepted", "replaced"], "{history:#}");
    assert!(history["versions"][1]["ended_at"].is_string() && history["versions"][0]["by"].is_string());
    let nothing = admin.call("pins_history", json!({"server": "peer", "name": "nothing"})).await;
    assert_eq!(outcome(&nothing), "not_found");

    let quotas = done(&admin, "quotas_list", json!({})).await;
    let few = &quotas["quotas"][0];
    assert_eq!(
        (&few["name"], &few["of"], &few["each"]),
        (&json!("few"), &json!(["agent = \"*\""]), &json!(true))
    );
    assert_eq!(
        (&few["counters"][0]["of"], &few["counters"][0]["calls_last_minute"]),
        (&json!(["tester"]), &json!(1))
    );
    gateway.stop().await;
}
