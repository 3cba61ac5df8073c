//! However servers behave and however they or the gateway end, no process is left behind.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::json;

use crate::harness::{connect, octroi, stdio_entry};
use crate::manage;
use crate::processes::{descendants, left_of};
use crate::soak;

const CYCLES: u64 = 1_000;
const GATEWAYS: u64 = 12;

/// Shell scripts that become servers after doing this first.
const HOSTILE: [(&str, &str); 6] = [
    ("plain", ""),
    ("ignores_term", "trap '' TERM;"),
    ("forks", "sleep 1000 & sleep 1000 &"),
    ("detaches", "setsid sleep 1000 &"),
    ("daemon", "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & wait' &) ;"),
    ("floods", "(yes flood >&2) &"),
];

fn entries() -> String {
    let scripts = HOSTILE.iter().map(|(name, first)| {
        let script = format!("{first} exec '{}'", peer_binary().display());
        let command = json!(["sh", "-c", script]);
        format!(
            "[[mcp.servers]]\nname = \"{name}\"\ncommand = {command}\nstart = \"lazy\"\nshutdown_grace = \"50ms\"\n"
        )
    });
    scripts.collect()
}

/// Calls until it works. A call may fail while the gateway notices that the server has died.
async fn call(client: &TestClient, server: &str) {
    let tool = format!("{server}_echo");
    let mut answered = client.call_text(&tool, json!({ "text": "x" })).await;
    for _ in 0..40 {
        if answered.as_deref() == Ok("x") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        answered = client.call_text(&tool, json!({ "text": "x" })).await;
    }
    assert_eq!(answered.as_deref(), Ok("x"), "{server}");
}

/// The reaper of each server and what is below it.
fn kept(gateway: u32) -> Vec<u32> {
    descendants(gateway)
}

fn kill(process: u32, signal: &str) {
    let _ = std::process::Command::new("kill").args([signal, &process.to_string()]).output();
}

fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

fn temporary() -> usize {
    std::fs::read_dir(std::env::temp_dir()).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_deaths_leave_nothing() {
    let gateway = TestGateway::launch(&octroi(), &entries(), &[]).await;
    let id = gateway.child.id().expect("it runs");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for (name, _) in HOSTILE {
        call(&client, name).await;
    }
    let (before, n_temporary) = (descriptors(id), temporary());
    let n_processes = kept(id).len();
    for cycle in soak::rounds(CYCLES) {
        let cycle = usize::try_from(cycle).expect("not that many");
        let (name, _) = HOSTILE[cycle % HOSTILE.len()];
        let processes = kept(id);
        // Reapers, programs and their children, in turn.
        let victim = processes[cycle * 7 % processes.len()];
        kill(victim, if cycle % 3 == 0 { "-TERM" } else { "-KILL" });
        call(&client, name).await;
    }
    for (name, _) in HOSTILE {
        call(&client, name).await;
    }
    // The kernel may still be busy with the last ones.
    for _ in 0..100 {
        if kept(id).len() <= n_processes && descriptors(id) <= before + 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(kept(id).len() <= n_processes, "{} processes, {n_processes} before", kept(id).len());
    assert!(descriptors(id) <= before + 4, "{} descriptors, {before} before", descriptors(id));
    assert!(temporary() <= n_temporary + 1, "temporary files were left");
    let processes = kept(id);
    drop(client);
    gateway.stop().await;
    assert_eq!(left_of(&processes).await, Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_takes_everything_with_it() {
    for cycle in soak::rounds(GATEWAYS) {
        let mut gateway = TestGateway::launch(&octroi(), &entries(), &[]).await;
        let id = gateway.child.id().expect("it runs");
        let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        for (name, _) in HOSTILE {
            call(&client, name).await;
        }
        let processes = kept(id);
        assert!(processes.len() > 2 * HOSTILE.len(), "reapers, programs and what those started");
        drop(client);
        if cycle % 2 == 0 {
            gateway.child.start_kill().expect("it can be killed");
            gateway.child.wait().await.expect("it ends");
        } else {
            gateway.stop().await;
        }
        assert_eq!(left_of(&processes).await, Vec::<u32>::new(), "cycle {cycle}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_share_their_servers() {
    let config: String = (0..10).map(|number| stdio_entry(&format!("s{number}"), &[])).collect();
    let gateway = TestGateway::start(&octroi(), &config).await;
    let mut clients = Vec::new();
    for number in 0..50 {
        let era = if number % 2 == 0 { Era::Modern } else { Era::Legacy("2025-11-25") };
        clients.push(connect(&gateway, era, ClientOptions::default()).await);
    }
    for (number, client) in clients.iter().enumerate() {
        for server in 0..10 {
            let text = format!("{number}-{server}");
            let answered = client.call_text(&format!("s{server}_echo"), json!({ "text": text })).await;
            assert_eq!(answered.as_deref(), Ok(text.as_str()));
        }
    }
    let processes = kept(gateway.child.id().expect("it runs"));
    assert_eq!(processes.len(), 20, "ten servers, each with its reaper");
    drop(clients);
    gateway.stop().await;
    assert_eq!(left_of(&processes).await, Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_start_finds_what_is_left_when_reapers_are_killed_too() {
    let mut gateway = TestGateway::launch(&octroi(), &entries(), &[]).await;
    let id = gateway.child.id().expect("it runs");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    call(&client, "daemon").await;
    drop(client);
    let processes = kept(id);
    // Stopped reapers cannot clean up.
    for process in &processes {
        kill(*process, "-STOP");
    }
    gateway.child.start_kill().expect("it can be killed");
    gateway.child.wait().await.expect("it ends");
    kill(processes[0], "-KILL");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_ne!(
        left_of(&processes).await,
        Vec::<u32>::new(),
        "the daemon should be left, or this tests nothing"
    );
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &entries(), &[]).await;
    assert_eq!(left_of(&processes).await, Vec::<u32>::new());
    gateway.stop().await;
}

/// A server that kills its own reaper, after it started a process that hides: of another session, and without
/// the environment by which it could be found.
#[tokio::test]
async fn what_a_killed_reaper_watched_is_ended() {
    let directory = tempfile::tempdir().expect("a directory");
    let marker = directory.path().join("started");
    let unique = format!("{}.25", 90_000 + std::process::id());
    let script = format!(
        "(setsid env -i sleep {unique} &); sleep 0.3; touch '{}'; kill -9 $PPID; sleep {unique}",
        marker.display()
    );
    let command = json!(["sh", "-c", script]);
    let config = format!("[[mcp.servers]]\nname = \"bad\"\ncommand = {command}\nreconnect = false\n");
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let mut n_left = usize::MAX;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        n_left = n_running(&unique);
        if marker.exists() && n_left == 0 {
            break;
        }
    }
    assert!(marker.exists(), "the server was started");
    assert_eq!(n_left, 0, "processes are left");
    // People are told.
    let mut status = String::new();
    for _ in 0..100 {
        let shown = manage::run(&gateway.directory().join("data"), &["status"]).await;
        status = manage::exit_and_output(&shown).1;
        if status.contains("the reaper of server `bad` was killed") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the status says nothing of the reaper: {status}");
}

/// The number of processes with this word in their command line.
fn n_running(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("the processes can be listed").flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    // The script itself holds the word too, within a longer one.
    commands.filter(|command| command.split(|byte| *byte == 0).any(|part| part == word.as_bytes())).count()
}
