//! What the first start creates and prints: the agent's token for clients, and no other token.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::manage::{exit_and_output, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_start_shows_the_token_of_an_agent() {
    let gateway = TestGateway::launch(&octroi(), "[approvals]\nwait = false\n", &["--demo"]).await;
    gateway.wait_until_settled().await;
    let data = gateway.directory().join("data");
    let files = ["admin.token", "default.token", "stdio.token"];
    let tokens = files.map(|name| gateway.kept_token(name));
    let [admin, default, local] = &tokens;
    for name in files {
        let mode = std::fs::metadata(data.join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(admin.starts_with("oct_hum_") && default.starts_with("oct_agt_"));
    assert_ne!(default, local);

    // It is an agent like any other.
    let transport = Transport::Http { url: gateway.url(), token: Some(default.clone()) };
    let client =
        TestClient::connect(transport, Era::Modern, ClientOptions::default()).await.expect("a client");
    assert_eq!(client.call_text("demo_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    let recorded = actors(&gateway, &["--agent", "default", "--tool", "mcp:demo:echo"], 2).await;
    assert_eq!(recorded, vec![json!({"kind": "agent", "id": "agent:default"}); 2]);
    assert!(command(&gateway, 0, &["agents"]).await.contains("default"));
    command(&gateway, 0, &["agents", "set", "default", "--profile", "strict"]).await;
    crate::approvals::pending(&client.call("demo_echo", json!({"text": "y"})).await.expect("a result"));
    drop(client);

    let (directory, banner) = gateway.stop_and_keep().await;
    let line =
        format!("{default}   (agent default, shown once, kept in {})", data.join("default.token").display());
    let token = banner.lines().find(|line| line.trim_start().starts_with("Token")).expect("a line");
    assert!(token.ends_with(&line), "{banner}");
    let kept = data.join("admin.token").display().to_string();
    assert!(banner.lines().any(|line| line.contains("Admin") && line.contains(&kept)), "{banner}");
    for secret in [admin, local] {
        assert!(!banner.contains(secret.as_str()), "{banner}");
    }

    // The next start uses the same tokens and prints none of them.
    let gateway =
        TestGateway::launch_in(directory, &octroi(), "[approvals]\nwait = false\n", &["--demo"]).await;
    assert_eq!(files.map(|name| gateway.kept_token(name)), tokens);
    let (directory, banner) = gateway.stop_and_keep().await;
    assert!(banner.contains("default.token   (agent default)"), "{banner}");
    for secret in &tokens {
        assert!(!banner.contains(secret.as_str()), "{banner}");
    }
    let (code, text) = exit_and_output(&run(&directory.path().join("data"), &["status"]).await);
    assert_eq!(code, Some(4), "{text}");
}
