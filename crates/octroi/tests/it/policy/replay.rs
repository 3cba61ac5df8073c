//! Recorded calls, decided again under another policy.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_calls_are_decided_again() {
    let config = format!("{}[policy]\nprofile = \"open\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for text in ["x", "drop production", "AKIAIOSFODNN7EXAMPLE", &"long ".repeat(2_000)] {
        agent.call("peer_echo", json!({ "text": text })).await.expect("a result");
    }
    agent.call("peer_touch", json!({})).await.expect("a result");
    agent.call("peer_touch", json!({})).await.expect("a result");
    write(&gateway, "calm.toml", &CALM.replace("[[ask]]", "[[deny]]\nid = \"calm\""));
    write(&gateway, "first.toml", "[[ask]]\ntool = \"peer.*\"\nfacts = { is_first_use = true }\n");
    write(&gateway, "all.toml", "[[deny]]\ntool = \"*\"\n");
    let transcript = session(
        &gateway,
        &[
            "octroi policy replay --policy calm.toml",
            "octroi policy replay --policy first.toml",
            "octroi policy replay --policy all.toml --agent tester | head -n 2",
            "octroi policy replay --policy all.toml --agent other",
            "octroi policy replay --policy all.toml --since 2099-01-01",
            "octroi policy replay --policy all.toml --since yesterday",
            "octroi policy apply all.toml --yes | tail -n 1",
            "octroi policy replay --policy calm.toml | head -n 4",
        ],
    )
    .await;
    expect![[r#"
        $ octroi policy replay --policy calm.toml
        4 calls, 1 with another outcome
             1  allow → deny_continue
        2027-01-31T12:00:00.000Z #7 tester mcp:peer:echo: allow → deny_continue by global calm
        cannot tell of 2: arguments cut or redacted 2, tool gone 0, unreadable 0
        $ octroi policy replay --policy first.toml
        4 calls, 2 with another outcome
             2  allow → ask
        2027-01-31T12:00:00.000Z #5 tester mcp:peer:echo: allow → ask by global ask[1]
        2027-01-31T12:00:00.000Z #13 tester mcp:peer:touch: allow → ask by global ask[1]
        cannot tell of 2: arguments cut or redacted 2, tool gone 0, unreadable 0
        $ octroi policy replay --policy all.toml --agent tester | head -n 2
        4 calls, 4 with another outcome
             4  allow → deny_continue
        $ octroi policy replay --policy all.toml --agent other
        error: there is no agent `other`
        hint: `octroi agents` lists agents; `octroi token create --agent other` makes this one, and a token for it
        [exit 1]
        $ octroi policy replay --policy all.toml --since 2099-01-01
        0 calls, 0 with another outcome
        $ octroi policy replay --policy all.toml --since yesterday
        error: `yesterday` is not a time
        hint: write --since 30d or --since 2027-01-31
        [exit 2]
        $ octroi policy apply all.toml --yes | tail -n 1
        global policy version 1 is active; undo with `octroi policy apply /dev/null --global`
        $ octroi policy replay --policy calm.toml | head -n 4
        4 calls, 3 with another outcome
             3  deny_continue → allow
        2027-01-31T12:00:00.000Z #5 tester mcp:peer:echo: deny_continue → allow by global deny[1]
        2027-01-31T12:00:00.000Z #13 tester mcp:peer:touch: deny_continue → allow by global deny[1]
    "#]]
    .assert_eq(&transcript);
    gateway.rewrite_config("[policy]\nprofile = \"open\"\n");
    let transcript =
        session(&gateway, &["octroi reload | head -n 1", "octroi policy replay --policy calm.toml"]).await;
    expect![[r#"
        $ octroi reload | head -n 1
        removed    peer
        $ octroi policy replay --policy calm.toml
        0 calls, 0 with another outcome
        cannot tell of 6: arguments cut or redacted 0, tool gone 6, unreadable 0
    "#]]
    .assert_eq(&transcript);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_and_denials_are_decided_again_too() {
    let config =
        format!("{}[policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    write(&gateway, "touch.toml", "[[deny]]\ntool = \"peer.touch\"\n");
    write(&gateway, "add.toml", "[[allow]]\ntool = \"peer.add\"\n");
    let (_, output) = sh(gateway.directory(), "octroi policy apply touch.toml --yes | tail -n 1").await;
    assert!(output.contains("is active"), "{output}");
    assert!(agent.call("peer_touch", json!({})).await.is_err(), "it is denied");
    // The answer says that approval was needed.
    let _ = agent.call("peer_add", json!({"a": 1, "b": 2})).await;
    let transcript = session(&gateway, &["octroi policy replay --policy add.toml"]).await;
    expect![[r#"
        $ octroi policy replay --policy add.toml
        2 calls, 2 with another outcome
             1  ask → allow
             1  deny_continue → ask
        2027-01-31T12:00:00.000Z #6 tester mcp:peer:touch: deny_continue → ask by global deny[1]
        2027-01-31T12:00:00.000Z #7 tester mcp:peer:add: ask → allow by global allow[1]
    "#]]
    .assert_eq(&transcript);
    // A replay or a hypothetical call does not count as use.
    let (_, output) = sh(gateway.directory(), "octroi policy why --agent newcomer peer.echo --json").await;
    assert!(
        output.contains("\"is_first_use\":true") && output.contains("\"calls_last_minute\":0"),
        "{output}"
    );
    let (_, again) = sh(gateway.directory(), "octroi policy why --agent newcomer peer.echo --json").await;
    assert_eq!(output, again);
    gateway.stop().await;
}
