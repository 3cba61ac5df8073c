//! A changed configuration is no way in: what needs a person waits for one.

use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::audit::{of_kind, records};
use crate::harness::{SOON, connect, octroi, stdio_entry};

/// As a user has it who wrote nothing about reloading.
const ASK: &str = "[mcp]\nauto_reload = \"ask\"\n";
/// Longer than the gateway takes to look at the file.
const NOTICED: Duration = Duration::from_millis(2_500);

fn config(rest: &str) -> String {
    format!("{ASK}{}{rest}", stdio_entry("one", &[]))
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Runs a command against the gateway of a directory; returns its exit code and its output.
async fn run(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(octroi())
        .args(arguments)
        .arg("--data")
        .arg(directory.join("data"))
        .env("NO_COLOR", "1")
        .output()
        .await
        .expect("octroi runs");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().unwrap_or(-1), text.concat())
}

async fn servers(gateway: &TestGateway) -> Vec<String> {
    let (code, text) = run(gateway.directory(), &["list", "--json"]).await;
    assert_eq!(code, 0, "{text}");
    let list: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    list.iter().filter_map(|server| server["name"].as_str().map(str::to_owned)).collect()
}

/// The settings that wait.
async fn waiting(gateway: &TestGateway) -> Vec<String> {
    let (code, text) = run(gateway.directory(), &["status", "--json"]).await;
    assert_eq!(code, 0, "{text}");
    let status: Value = serde_json::from_str(&text).expect("JSON");
    let waiting = status["waiting"].as_array().cloned().unwrap_or_default();
    waiting.iter().filter_map(|change| change["setting"].as_str().map(str::to_owned)).collect()
}

fn signal(gateway: &TestGateway, name: &str) {
    let process = gateway.child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args([name, &process]).status().expect("kill runs");
    assert!(sent.success());
}

/// What somebody could write who wants to get in: a program, a person's token, a looser policy.
fn attack(directory: &Path) -> String {
    let touched = directory.join("touched");
    let program = json!(["/bin/sh", "-c", format!("touch {}", touched.display())]);
    let more = format!(
        "[[mcp.servers]]\nname = \"evil\"\ncommand = {program}\n\
         [[tokens]]\ntoken = \"oct_hum_evil\"\nrole = \"human\"\n"
    );
    config(&more).replace("\"ask\"", "true")
}

async fn nobody_got_in(gateway: &TestGateway) {
    assert!(!gateway.directory().join("touched").exists(), "a program ran");
    assert_eq!(servers(gateway).await, ["one"]);
    let transport = Transport::Http { url: gateway.url(), token: Some("oct_hum_evil".to_owned()) };
    let client = TestClient::connect(transport, Era::Modern, ClientOptions::default()).await;
    let list = match &client {
        Ok(client) => client.list_tools().await.map(drop).err().map(|error| format!("{error:?}")),
        Err(error) => Some(format!("{error:?}")),
    };
    assert!(list.is_some(), "the token was accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_lets_somebody_in_waits_for_a_person() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let data = gateway.directory().join("data");
    gateway.rewrite_config(&attack(gateway.directory()));
    until("the waiting change", async || waiting(&gateway).await.len() == 3).await;
    nobody_got_in(&gateway).await;
    signal(&gateway, "-HUP");
    tokio::time::sleep(NOTICED).await;
    nobody_got_in(&gateway).await;

    let (_, status) = run(gateway.directory(), &["status"]).await;
    for part in ["@ server evil", "+ {", "touch ", "@ token admin", "@ mcp: auto_reload", "octroi reload"] {
        assert!(status.contains(part), "{part}: {status}");
    }
    assert!(!status.contains("oct_hum_evil"), "{status}");
    let reloads = records(&data, &[]).await;
    let record = of_kind(&reloads, "config_reloaded").first().copied().cloned().expect("a record");
    let settings: Vec<&str> = record["context"]["after"]["waiting"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["setting"].as_str())
        .collect();
    assert_eq!(settings.len(), 3, "{record}");

    // An agent cannot agree; a person can.
    let agent = gateway.kept_token("default.token");
    let (code, refused) = run(gateway.directory(), &["reload", "--token", &agent]).await;
    assert_ne!(code, 0, "{refused}");
    nobody_got_in(&gateway).await;
    // Without a terminal nobody can be asked, so nothing is accepted by accident.
    let (code, text) = run(gateway.directory(), &["reload"]).await;
    assert!(code != 0 && text.contains("@ server evil") && text.contains("--yes"), "{text}");
    nobody_got_in(&gateway).await;
    let (code, text) = run(gateway.directory(), &["reload", "--yes"]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("@ token admin"), "what is accepted is shown: {text}");
    until("the program", async || gateway.directory().join("touched").exists()).await;
    assert_eq!(servers(&gateway).await, ["evil", "one"]);
    assert_eq!(waiting(&gateway).await, Vec::<String>::new());
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_tightens_takes_effect_also_beside_what_waits() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let n_tools = client.list_tools().await.expect("a list").len();
    let denied = config("deny_tools = [\"echo\"]\n");
    gateway.rewrite_config(&denied);
    until("the tool going", async || client.list_tools().await.expect("a list").len() == n_tools - 1).await;
    assert_eq!(waiting(&gateway).await, Vec::<String>::new());

    // The rest of this change waits.
    let mixed = format!("{}{}", config("deny_tools = [\"echo\", \"slow\"]\n"), stdio_entry("two", &[]));
    gateway.rewrite_config(&mixed);
    until("another tool going", async || client.list_tools().await.expect("a list").len() == n_tools - 2)
        .await;
    assert_eq!(waiting(&gateway).await, ["server two"]);
    // What was tightened is accepted: the old file would loosen it, and so waits.
    gateway.rewrite_config(&config(""));
    until("the loosening waiting", async || waiting(&gateway).await == ["server one: deny_tools"]).await;
    assert_eq!(client.list_tools().await.expect("a list").len(), n_tools - 2);
    drop(client);

    // The same after a start without a terminal.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    gateway.wait_until_settled().await;
    assert_eq!(waiting(&gateway).await, ["server one: deny_tools"]);
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(client.list_tools().await.expect("a list").len(), n_tools - 2);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_terminal_goes_on_with_what_was_accepted() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let changed = attack(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &changed, &[]).await;
    gateway.wait_until_settled().await;
    nobody_got_in(&gateway).await;
    assert_eq!(waiting(&gateway).await.len(), 3);
    let (directory, output) = gateway.stop_and_keep().await;
    assert!(output.contains("going on with the accepted configuration"), "{output}");

    let gateway = TestGateway::launch_in(directory, &octroi(), &changed, &["--accept-config"]).await;
    until("the program", async || gateway.directory().join("touched").exists()).await;
    let all = records(&gateway.directory().join("data"), &[]).await;
    let by: Vec<&str> = of_kind(&all, "config_reloaded")
        .iter()
        .filter_map(|record| record["context"]["accepted"].as_str())
        .collect();
    assert!(by.contains(&"--accept-config") && by.contains(&"nobody"), "{by:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_waits_like_any_change() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let home = gateway.directory().join("mcpservers/found");
    std::fs::create_dir_all(&home).expect("a directory");
    let command = json!({ "command": [peer_binary().display().to_string()] });
    std::fs::write(home.join("config.jsonc"), command.to_string()).expect("a file");
    until("the waiting server", async || waiting(&gateway).await == ["server found"]).await;
    assert_eq!(servers(&gateway).await, ["one"]);
    let (code, text) = run(gateway.directory(), &["reload", "--yes"]).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(servers(&gateway).await, ["found", "one"]);
    // What was found is accepted now, and found again.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    assert_eq!(servers(&gateway).await, ["found", "one"]);
    assert_eq!(waiting(&gateway).await, Vec::<String>::new());
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_somebody_has_seen_is_accepted() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let mine = format!("{}{}", config(""), stdio_entry("mine", &[]));
    gateway.rewrite_config(&mine);
    until("the waiting server", async || waiting(&gateway).await == ["server mine"]).await;
    let (_, status) = run(gateway.directory(), &["status", "--json"]).await;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let digest = status["waiting_digest"].as_str().expect("a digest").to_owned();

    // Between looking and accepting, somebody adds a token.
    gateway.rewrite_config(&format!("{mine}[[tokens]]\ntoken = \"oct_hum_evil\"\nrole = \"human\"\n"));
    let (code, text) = run(gateway.directory(), &["reload", "--digest", &digest]).await;
    assert!(code != 0 && text.contains("has changed since you looked at it"), "{text}");
    assert!(text.contains("octroi status"), "{text}");
    nobody_got_in(&gateway).await;

    gateway.rewrite_config(&mine);
    let (code, text) = run(gateway.directory(), &["reload", "--digest", &digest]).await;
    assert_eq!(code, 0, "{text}");
    assert_eq!(servers(&gateway).await, ["mine", "one"]);
    assert_eq!(waiting(&gateway).await, Vec::<String>::new());
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_accepted_configuration_is_accepted_again() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let kept = directory.path().join("data/accepted-config.json");
    std::fs::remove_file(&kept).expect("it was kept");
    let changed = attack(directory.path());
    std::fs::write(directory.path().join("octroi.toml"), &changed).expect("a file");
    for command in ["up", "stdio"] {
        let start = Command::new(octroi())
            .arg(command)
            .arg("--config")
            .arg(directory.path().join("octroi.toml"))
            .arg("--data")
            .arg(directory.path().join("data"))
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true)
            .output();
        let output =
            tokio::time::timeout(SOON, start).await.expect("it does not start").expect("octroi runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{text}");
        for part in ["has lost the accepted configuration", "@ server evil", "octroi up --accept-config"] {
            assert!(text.contains(part), "{command}, {part}: {text}");
        }
    }
    assert!(!directory.path().join("touched").exists() && !kept.exists());

    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &["--accept-config"]).await;
    assert_eq!(servers(&gateway).await, ["one"]);
    let all = records(&gateway.directory().join("data"), &[]).await;
    let record = of_kind(&all, "config_reloaded").first().copied().cloned().expect("a record");
    assert_eq!(record["context"]["before"]["accepted"], "lost", "{record}");
    assert_eq!(record["context"]["accepted"], "--accept-config", "{record}");
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    assert_eq!(servers(&gateway).await, ["one"]);
    gateway.stop().await;
}

/// Another file is another configuration: it neither adds nor removes anything by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_beside_another_file_changes_nothing() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let other = directory.path().join("elsewhere.toml");
    std::fs::write(&other, format!("{ASK}{}", stdio_entry("two", &[]))).expect("a file");
    let mut up = Command::new(octroi())
        .args(["up", "--listen", "127.0.0.1:0", "--config"])
        .arg(&other)
        .arg("--data")
        .arg(directory.path().join("data"))
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("octroi runs");
    let mut status = Value::Null;
    until("the start", async || {
        let (code, text) = run(directory.path(), &["status", "--json"]).await;
        status = serde_json::from_str(&text).unwrap_or_default();
        code == 0
    })
    .await;
    let names: Vec<_> = status["servers"].as_array().into_iter().flatten().map(|one| &one["name"]).collect();
    assert_eq!(names, ["one"], "{status}");
    let settings: Vec<_> =
        status["waiting"].as_array().into_iter().flatten().map(|one| &one["setting"]).collect();
    assert_eq!(settings.first().and_then(|first| first.as_str()), Some("the configuration file"), "{status}");
    for expected in ["server one", "server two"] {
        assert!(settings.iter().any(|setting| *setting == expected), "{expected}: {status}");
    }
    up.kill().await.expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_and_a_check_say_who_can_write_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let set = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(gateway.directory(), permissions).expect("a mode");
    };
    let file = gateway.directory().join("octroi.toml").display().to_string();
    set(0o777);
    for arguments in [&["reload"][..], &["config", "check", "--config", &file], &["status"]] {
        let (code, text) = run(gateway.directory(), arguments).await;
        assert!(text.contains("chmod go-w"), "{arguments:?}: {text}");
        assert_eq!(code != 0, arguments[0] != "status", "{arguments:?}: {text}");
    }
    set(0o700);
    let (code, text) = run(gateway.directory(), &["config", "check", "--config", &file]).await;
    assert!(code == 0 && text.contains("fine"), "{text}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_others_can_write_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("octroi.toml");
    std::fs::write(&file, "").expect("a file");
    let data = directory.path().join("data");
    std::fs::create_dir(&data).expect("a directory");
    let start = async || {
        let up = Command::new(octroi())
            .args(["up", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .arg("--data")
            .arg(&data)
            .env("NO_COLOR", "1")
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(SOON, up).await.expect("it does not start").expect("octroi runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    set(&data, 0o777);
    let refused = start().await;
    assert!(refused.contains("chmod go-w") && refused.contains("/data"), "{refused}");
    set(&data, 0o700);
    set(&file, 0o666);
    let refused = start().await;
    assert!(refused.contains("chmod go-w") && refused.contains("octroi.toml"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_runs_in_a_directory_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("run.sh"), "pwd >&2; cat \"$1\" >&2; exec \"$2\"").expect("a file");
    std::fs::write(directory.path().join("beside.txt"), "found beside the file\n").expect("a file");
    let command = json!(["/bin/sh", "run.sh", "beside.txt", peer_binary()]);
    let entry = format!("{ASK}[[mcp.servers]]\nname = \"one\"\ncommand = {command}\n");
    let gateway = TestGateway::launch_in(directory, &octroi(), &entry, &[]).await;
    gateway.wait_until_settled().await;
    let (_, logs) = run(gateway.directory(), &["logs", "one"]).await;
    assert!(logs.contains("/data/servers/one\n") && logs.contains("found beside the file"), "{logs}");
    gateway.stop().await;
}

/// Starts a gateway at a terminal, which `script` is, and answers its question.
async fn start_at_terminal(directory: &Path, answer: &str) -> (tokio::process::Child, String) {
    let command = format!(
        "exec '{}' up --listen 127.0.0.1:0 --config '{}' --data '{}'",
        octroi().display(),
        directory.join("octroi.toml").display(),
        directory.join("data").display()
    );
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("`script` of util-linux is there");
    let mut output = script.stdout.take().expect("it is piped");
    let mut input = script.stdin.take().expect("it is piped");
    let mut text = String::new();
    let mut is_answered = false;
    let mut buffer = vec![0; 4096];
    while !text.contains("MCP  ") {
        let read = tokio::time::timeout(SOON, output.read(&mut buffer)).await.expect("it goes on");
        let n_read = read.expect("it can be read");
        assert_ne!(n_read, 0, "it ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..n_read]));
        if !is_answered && text.contains("[y/N]") {
            input.write_all(answer.as_bytes()).await.expect("it can be answered");
            input.flush().await.expect("it can be answered");
            is_answered = true;
        }
    }
    assert!(is_answered, "nobody was asked: {text}");
    // Nobody closes the terminal as long as the process is watched.
    script.stdin = Some(input);
    tokio::spawn(async move { while output.read(&mut buffer).await.is_ok_and(|n_read| n_read > 0) {} });
    (script, text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_at_a_terminal_asks_its_person() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let directory = directory.path();
    std::fs::write(directory.join("octroi.toml"), attack(directory)).expect("a file");
    for (answer, is_accepted) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let (mut script, text) = start_at_terminal(directory, answer).await;
        for part in ["has changed since it was accepted", "@ server evil", "Accept this configuration?"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let touched = directory.join("touched");
        if is_accepted {
            until("the program", async || touched.exists()).await;
        } else {
            assert!(text.contains("going on with the accepted configuration"), "{text}");
            tokio::time::sleep(NOTICED).await;
            assert!(!touched.exists(), "{answer:?}: a program ran");
        }
        let all = records(&directory.join("data"), &[]).await;
        // The directory is free only when the process is gone.
        let process = std::fs::read_to_string(directory.join("data/gateway.pid")).expect("a gateway runs");
        script.kill().await.expect("it ends");
        let process = std::path::Path::new("/proc").join(process.trim());
        until("the end", async || !process.exists()).await;
        let last =
            of_kind(&all, "config_reloaded").last().map(|record| record["context"]["accepted"].clone());
        assert_eq!(last == Some(json!("terminal")), is_accepted, "{answer:?}: {last:?}");
    }
}
