//! Stored secrets: how they reach servers, and that a missing one keeps only its server off.

use std::path::Path;
use std::process::{Output, Stdio};

use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::harness::{SOON, octroi, remote_entry, stdio_entry};
use crate::manage::{self, exit_and_output};

/// Runs `octroi` on a data directory with this on its standard input and these variables.
pub(super) async fn run(
    data: &Path,
    arguments: &[&str],
    input: &str,
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let mut child = Command::new(octroi())
        .args(arguments)
        .env("OCTROI_DATA", data)
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("octroi can be started");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A command that reads nothing may have closed it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output: Output = child.wait_with_output().await.expect("octroi ends");
    exit_and_output(&output)
}

/// Sets a secret as a person does in a script.
pub(super) async fn set(gateway: &TestGateway, name: &str, value: &str) -> String {
    let data = gateway.directory().join("data");
    let (code, output) = run(&data, &["secret", "set", name], &format!("{value}\n"), &[]).await;
    assert_eq!(code, Some(0), "{output}");
    assert!(!output.contains(value), "{output}");
    output
}

/// A server that leaves its variable `KEY` in a file of its own at every start.
pub(super) fn entry_with_key(directory: &Path, name: &str, key: &str) -> String {
    let script = format!(
        "printf %s \"$KEY\" > {}; exec {}",
        directory.join(format!("seen-by-{name}")).display(),
        peer_binary().display()
    );
    format!(
        "[[mcp.servers]]\nname = \"{name}\"\ncommand = {}\nenv = {{ KEY = \"{key}\" }}\n",
        json!(["sh", "-c", script])
    )
}

/// Waits until a server was started with this key.
pub(super) async fn started_with(directory: &Path, name: &str, key: &str) {
    let file = directory.join(format!("seen-by-{name}"));
    let begun = tokio::time::Instant::now();
    loop {
        let seen = std::fs::read_to_string(&file).unwrap_or_default();
        if seen == key {
            return;
        }
        assert!(begun.elapsed() < 3 * SOON, "{name} has `{seen}`, not `{key}`");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn state_of(gateway: &TestGateway, name: &str) -> Option<String> {
    let health = gateway.health().await;
    let servers = health["servers"]["list"].as_array().cloned().unwrap_or_default();
    let server = servers.into_iter().find(|server| server["name"] == name)?;
    server["state"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_its_secret_and_gets_each_new_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_owned();
    let config = format!(
        "[mcp]\nauto_reload = \"ask\"\n{}{}",
        entry_with_key(&place, "hub", "Bearer ${secret:hub.key}"),
        stdio_entry("peer", &[])
    );
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    assert_eq!(state_of(&gateway, "peer").await.as_deref(), Some("running"), "the others go on");
    assert_eq!(state_of(&gateway, "hub").await, None);
    let status = manage::command(&gateway, 0, &["status"]).await;
    assert!(status.contains("the secret `hub.key` is not set"), "{status}");
    assert!(status.contains("octroi secret set hub.key"), "{status}");

    let output = set(&gateway, "hub.key", "the-first-value").await;
    assert!(output.contains("server hub started"), "{output}");
    started_with(&place, "hub", "Bearer the-first-value").await;
    gateway.wait_until_settled().await;
    assert_eq!(state_of(&gateway, "hub").await.as_deref(), Some("running"));
    let status = manage::command(&gateway, 0, &["status"]).await;
    assert!(!status.contains("hub.key"), "{status}");

    let output = set(&gateway, "hub.key", "the-second-value").await;
    assert!(output.contains("server hub started again with it"), "{output}");
    started_with(&place, "hub", "Bearer the-second-value").await;

    let listed = manage::command(&gateway, 0, &["secret", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(
        (&listed[0]["name"], &listed[0]["revision"], &listed[0]["servers"], &listed[0]["updated_by"]),
        (&json!("hub.key"), &json!(2), &json!(["hub"]), &json!("admin"))
    );
    let refused = manage::command(&gateway, 1, &["secret", "remove", "hub.key"]).await;
    assert!(refused.contains("used by server `hub`") && refused.contains("--force"), "{refused}");
    assert_eq!(state_of(&gateway, "hub").await.as_deref(), Some("running"));

    // What was set is there after a crash.
    let directory = gateway.kill().await;
    std::fs::remove_file(place.join("seen-by-hub")).expect("it was started");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    started_with(&place, "hub", "Bearer the-second-value").await;
    gateway.wait_until_settled().await;
    let output = manage::command(&gateway, 0, &["secret", "remove", "hub.key", "--force"]).await;
    assert!(output.contains("server hub stopped"), "{output}");
    assert_eq!(state_of(&gateway, "hub").await, None);
    assert_eq!(state_of(&gateway, "peer").await.as_deref(), Some("running"));
    set(&gateway, "hub.key", "the-third-value").await;
    started_with(&place, "hub", "Bearer the-third-value").await;
    gateway.stop().await;
}

/// With `auto_reload = false` a changed file does nothing by itself, also when a secret changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_a_secret_brings_in_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_owned();
    let begin = format!("[mcp]\nauto_reload = false\n{}", entry_with_key(&place, "hub", "${secret:hub}"));
    let config = format!("{begin}{}", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    gateway.rewrite_config(&begin);
    set(&gateway, "hub", "the-first-value").await;
    started_with(&place, "hub", "the-first-value").await;
    assert_eq!(state_of(&gateway, "peer").await.as_deref(), Some("running"));
    gateway.rewrite_config("this is not TOML");
    set(&gateway, "hub", "the-second-value").await;
    started_with(&place, "hub", "the-second-value").await;
    assert_eq!(state_of(&gateway, "peer").await.as_deref(), Some("running"));
    gateway.stop().await;
}

/// The head of the first request that names this header.
async fn header_sent(listener: &tokio::net::TcpListener, name: &str) -> String {
    use tokio::io::AsyncReadExt as _;
    loop {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut bytes = vec![0; 8192];
        let mut n_read = 0;
        while !bytes[..n_read].windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut bytes[n_read..]).await {
                Ok(0) | Err(_) => break,
                Ok(more) => n_read += more,
            }
        }
        let head = String::from_utf8_lossy(&bytes[..n_read]).into_owned();
        let _ = stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
        let sent = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        if let Some(sent) = sent {
            return sent.to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_server_gets_its_secret_as_a_header() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let config =
        format!("{}headers = {{ X-Key = \"${{secret:far}}\" }}\n", remote_entry("far", "http", &url));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    for value in ["the-first-value", "the-second-value"] {
        set(&gateway, "far", value).await;
        let sent = tokio::time::timeout(3 * SOON, async {
            loop {
                let sent = header_sent(&listener, "x-key").await;
                if sent.ends_with(value) {
                    return sent;
                }
            }
        });
        sent.await.unwrap_or_else(|_| panic!("{value} was not sent"));
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_comes_from_anywhere_but_the_command_line() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let data = gateway.directory().join("data");
    let file = gateway.directory().join("value.txt");
    std::fs::write(&file, "value-of-a-file\n").expect("it can be written");
    let file = file.display().to_string();
    let (code, output) = run(&data, &["secret", "set", "a", "value-of-an-argument"], "", &[]).await;
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("every user of this machine sees arguments"), "{output}");
    assert!(!output.contains("value-of-an-argument"), "{output}");
    for (arguments, input, expected) in [
        (&["secret", "set", "a"][..], "value-of-input\n", Some(0)),
        (&["secret", "set", "b", "--file", &file], "", Some(0)),
        (&["secret", "set", "c", "--env", "A_VALUE"], "", Some(0)),
        (&["secret", "set", "d", "--env", "NO_VALUE"], "", Some(1)),
        (&["secret", "set", "d", "--file", "/nowhere"], "", Some(1)),
        (&["secret", "set", "d"], "short\n", Some(1)),
        (&["secret", "set", "d"], "", Some(1)),
        (&["secret", "set", "d d"], "value-of-input\n", Some(1)),
        (&["secret", "set", "d", "--user", "nobody"], "value-of-input\n", Some(1)),
        (&["secret", "remove", "d"], "", Some(1)),
    ] {
        let (code, output) = run(&data, arguments, input, &[("A_VALUE", "value-of-a-variable")]).await;
        assert_eq!(code, expected, "{arguments:?}: {output}");
        assert!(!output.contains("value-of") && !output.contains("short\n"), "{arguments:?}: {output}");
    }
    let listed = manage::command(&gateway, 0, &["secret", "list"]).await;
    for name in ["a", "b", "c"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{listed}");
    }
    assert!(!listed.lines().any(|line| line.starts_with('d')), "{listed}");
    gateway.stop().await;
}

/// `script` is the terminal. It shows what a terminal shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_typed_is_not_shown() {
    use tokio::io::AsyncReadExt as _;
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let data = gateway.directory().join("data");
    for (typed, is_set) in [("value-that-is-typed\r", true), ("value-that-is-typed\u{3}", false)] {
        let command = format!("'{}' secret set typed; stty -a", octroi().display());
        let mut script = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("OCTROI_DATA", &data)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`script` of util-linux is there");
        let mut output = script.stdout.take().expect("it is piped");
        let mut input = script.stdin.take().expect("it is piped");
        let mut shown = Vec::new();
        // What is typed before the question would be shown by the terminal.
        while !String::from_utf8_lossy(&shown).contains("(not shown): ") {
            let n_read = output.read_buf(&mut shown).await.expect("it can be read");
            assert!(n_read > 0, "{}", String::from_utf8_lossy(&shown));
        }
        input.write_all(typed.as_bytes()).await.expect("it reads");
        output.read_to_end(&mut shown).await.expect("it can be read");
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(!shown.contains("value-that"), "{shown}");
        assert_eq!(shown.contains("typed set"), is_set, "{shown}");
        for mode in [" echo ", " icanon ", "isig "] {
            assert!(shown.replace("\r\n", " ").contains(mode), "the terminal is as before: {shown}");
        }
        let listed = manage::command(&gateway, 0, &["secret", "list"]).await;
        assert!(listed.contains("typed"), "{listed}");
    }
    gateway.stop().await;
}

/// Whoever can write the file, and nothing else, must not read secrets by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_not_resolved_where_others_see_it() {
    let config = format!(
        "[mcp]\nauto_reload = true\n\
         [[mcp.servers]]\nname = \"shown\"\ntitle = \"${{secret:hub}}\"\ncommand = \"true\"\n\
         [[mcp.servers]]\nname = \"argued\"\ncommand = [\"true\", \"${{secret:hub}}\"]\n\
         [[mcp.servers]]\nname = \"placed\"\ncwd = \"/${{secret:hub}}\"\ncommand = \"true\"\n\
         [[mcp.servers]]\nname = \"keyed\"\ncommand = \"true\"\nenv = {{ A = \"${{env:OCTROI_MASTER_KEY}}\" }}\n\
         [[mcp.servers]]\nname = \"heir\"\ncommand = \"true\"\ninherit_env = [\"OCTROI_MASTER_KEY\"]\n{}",
        stdio_entry("peer", &[])
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    set(&gateway, "hub", "value-of-the-hub").await;
    let status = manage::command(&gateway, 0, &["status"]).await;
    for server in ["shown", "argued", "placed", "keyed", "heir"] {
        assert!(status.contains(&format!("server `{server}` is left out")), "{server}: {status}");
        assert_eq!(state_of(&gateway, server).await, None, "{server}");
    }
    assert!(status.contains("`title` must not hold a stored secret"), "{status}");
    assert!(status.contains("`command` must not hold a stored secret"), "{status}");
    assert!(!status.contains("value-of-the-hub"), "{status}");
    gateway.stop().await;
}

/// A server that nobody could see, because its secret was not set, does not start by setting it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_a_secret_starts_nothing_that_nobody_agreed_to() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().to_owned();
    let begin = format!("[mcp]\nauto_reload = \"ask\"\n{}", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch_in(directory, &octroi(), &begin, &[]).await;
    gateway.wait_until_settled().await;
    let config = format!("{begin}{}", entry_with_key(&place, "sly", "${secret:hub}"));
    gateway.rewrite_config(&config);
    manage::command(&gateway, 0, &["reload", "--json"]).await;
    let output = set(&gateway, "hub", "the-first-value").await;
    assert!(output.contains("wait for you: octroi reload"), "{output}");
    assert_eq!(state_of(&gateway, "sly").await, None);
    // Nor at the next start.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    assert_eq!(state_of(&gateway, "sly").await, None);
    assert!(!place.join("seen-by-sly").exists());
    // A person can agree to it.
    manage::command(&gateway, 0, &["reload", "--yes"]).await;
    started_with(&place, "sly", "the-first-value").await;
    gateway.stop().await;
}
