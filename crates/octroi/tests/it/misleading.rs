//! Errors name the mistake and the next command. Each of these once said something else.

use std::path::Path;

use expect_test::{Expect, expect};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{octroi, stdio_entry};
use crate::manage::{command, exit_and_output, run};

/// Runs commands and shows what each prints, with what differs from run to run replaced.
async fn shown(gateway: &TestGateway, commands: &[&[&str]]) -> String {
    let data = gateway.directory().join("data");
    let mut text = String::new();
    for arguments in commands {
        let (code, output) = exit_and_output(&run(&data, arguments).await);
        text.push_str(&format!("$ octroi {}\n{output}[exit {}]\n", arguments.join(" "), code.unwrap_or(-1)));
    }
    text.replace(&data.display().to_string(), "DATA").replace(&gateway.address(), "ADDRESS")
}

async fn check(gateway: &TestGateway, commands: &[&[&str]], expected: Expect) {
    expected.assert_eq(&shown(gateway, commands).await);
}

/// Servers that never run, each for its own reason, beside one that does.
fn servers_that_do_not_run() -> String {
    let entry = |name: &str, command: &[&str], more: &str| {
        format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = {}\nreconnect = false\n{more}", json!(command))
    };
    [
        stdio_entry("peer", &[]),
        entry("missing", &["/no/such/program"], ""),
        entry("ends", &["sh", "-c", "echo secret of the log >&2; exit 3"], ""),
        entry("manual", &["sh", "-c", "exit 1"], "start = \"manual\"\n"),
        entry("off", &["sh", "-c", "exit 1"], "enabled = false\n"),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_token_is_recognised() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["status", "--token", AGENT_TOKEN],
            &["call", "peer.echo", "text=x", "--token", AGENT_TOKEN, "--json"],
        ],
        expect![[r#""#]],
    )
    .await;
    // Also where it was put into the wrong file.
    let other = gateway.directory().join("other");
    std::fs::create_dir_all(&other).expect("a directory");
    std::fs::write(other.join("admin.token"), AGENT_TOKEN).expect("a file");
    let (code, text) = exit_and_output(&run(&other, &["agents", "--url", &gateway.address()]).await);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("other/admin.token is an agent's"), "{text}");
    // A person's token for something that is not there is still that.
    let text = command(&gateway, 1, &["tools", "show", "servers_lisst"]).await;
    assert!(text.contains("unknown tool `servers_lisst`"), "{text}");
    for wrong in ["", "two\nlines"] {
        let text = command(&gateway, 3, &["status", "--token", wrong]).await;
        assert!(text.contains("the token"), "{text}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_are_completed_or_explained() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let admin = gateway.kept_token("admin.token");
    let address = gateway.address();
    for url in
        [address.clone(), format!("{address}/mcp"), format!("http://{address}"), format!("http://{address}/")]
    {
        let text = command(&gateway, 0, &["status", "--url", &url]).await;
        assert!(text.contains("1 of 1 server running"), "{url}: {text}");
    }
    let (tls, elsewhere) = (format!("https://{address}"), format!("http://{address}/elsewhere"));
    let given = |url: &'static str| ["status", "--token", "x", "--url", url];
    check(
        &gateway,
        &[
            &["status", "--token", &admin, "--url", &tls],
            &["status", "--token", &admin, "--url", &elsewhere],
            &given("gateway.example:7878"),
            &given("ftp://gateway.example"),
            &given(""),
        ],
        expect![[r#""#]],
    )
    .await;
    gateway.stop().await;
}

/// What a listener with TLS answers to plain HTTP: an alert, or nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_on_a_port_with_tls_is_recognised() {
    for answer in [&b"\x15\x03\x03\x00\x02\x02\x46"[..], &[]] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(answer).await;
        });
        let (code, text) = exit_and_output(
            &run(Path::new("/nonexistent"), &["status", "--token", "x", "--url", &url]).await,
        );
        serving.await.expect("it was reached");
        assert_eq!(code, Some(4), "{text}");
        assert!(text.contains("does not answer in plain HTTP"), "{answer:?}: {text}");
        assert!(text.contains(&format!("write {}", url.replace("http:", "https:"))), "{answer:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_exist_is_not_found() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["tools", "--server", "pear"],
            &["tools", "--server", "nope", "--json"],
            &["get", "nope"],
            &["agents", "set", "nobody", "--mode", "planning"],
            &["call", "peer.echo", "text=x", "--agent", "nobody"],
            &["call", "peer.nothing"],
            &["approvals", "--agent", "nobody"],
            &["audit", "show", "999999"],
            &["audit", "show", "nonsense"],
            &["policy", "why", "peer.nothing"],
        ],
        expect![[r#""#]],
    )
    .await;
    let agents = run(&gateway.directory().join("data"), &["agents", "--json"]).await;
    let agents: Vec<Value> = serde_json::from_slice(&agents.stdout).expect("JSON");
    assert!(agents.iter().all(|agent| agent["id"] != "nobody"), "{agents:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_values_are_named_in_words() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["audit", "list", "-n", "many"],
            &["logs", "peer", "-n", "many"],
            &["policy", "proposals", "first"],
            &["policy", "apply", "--version", "old"],
            &["up", "--listen", "localhost:7878"],
            &["audit", "list", "--since", "soon"],
            &["policy", "why", "peer.echo", "text"],
            &["call", "peer.add", "a=one", "b=2"],
            &["call", "peer.add", "a=1"],
        ],
        expect![[r#""#]],
    )
    .await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_do_not_run_say_why() {
    let gateway = TestGateway::start(&octroi(), &servers_that_do_not_run()).await;
    check(
        &gateway,
        &[
            &["list"],
            &["status"],
            &["call", "missing.anything"],
            &["call", "ends.anything"],
            &["call", "manual.anything"],
            &["tools", "show", "manual.anything"],
            &["test", "manual"],
            &["test", "off"],
            &["test", "ends"],
        ],
        expect![[r#""#]],
    )
    .await;
    let output = run(&gateway.directory().join("data"), &["status", "--json"]).await;
    assert_eq!(output.status.code(), Some(1), "it fails for programs, too");
    let status: Value = serde_json::from_slice(&output.stdout).expect("the status is printed anyway");
    assert_eq!(status["servers"].as_array().map(Vec::len), Some(5));
    let error: Value = serde_json::from_slice(&output.stderr).expect("one line of JSON");
    assert_eq!(error["error"]["message"], "2 of 5 servers failed: ends, missing");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_switch_of_all_servers_is_named() {
    let config = format!("[mcp]\nenabled = false\n{}", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    check(&gateway, &[&["enable", "peer"], &["status"], &["disable", "peer"]], expect![[r#""#]]).await;
    gateway.stop().await;
}

#[tokio::test]
async fn mistakes_in_the_configuration_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("octroi.toml");
    let entry = |entry: &str| format!("[[mcp.servers]]\nname = \"fs\"\n{entry}\n");
    let mut text = String::new();
    for config in [
        entry("command = \"npx -y a-server --token abc\""),
        entry("command = [\"npx -y a-server\"]"),
        entry("command = \"/bin/sh -c true\""),
        entry("command = \"/opt/My Tools/serve\""),
        entry("url = \"localhost:3000/mcp\""),
        "[[mcp.server]]\nname = \"fs\"\ncommand = \"npx\"\n".to_owned(),
        "[[server]]\nname = \"fs\"\ncommand = \"npx\"\n".to_owned(),
        "[[gates]]\nname = \"days\"\ncommand = \"python gate.py\"\n".to_owned(),
    ] {
        std::fs::write(&file, &config).expect("a file");
        let path = file.display().to_string();
        let output = run(directory.path(), &["config", "check", "--config", &path]).await;
        let (code, output) = exit_and_output(&output);
        text.push_str(&format!("{config}=> {code:?} {}\n", output.replace(&path, "octroi.toml")));
        assert!(!output.contains("abc"), "{output}");
    }
    expect![[r#""#]].assert_eq(&text);
}
