//! Servers that crash, hang, talk nonsense and come back, at random, while clients call.

use std::time::{Duration, Instant};

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::peer_binary;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::processes::{descendants, left_of};
use crate::soak;

const CALM: Duration = Duration::from_secs(10);
const CHAOS: Duration = Duration::from_mins(2);
/// How long callers of a bad server wait at most; callers of a healthy server must not wait that long.
const BAD_TIMEOUT_MS: u64 = 500;
const BAD: [&str; 6] = ["bad0", "bad1", "bad2", "bad3", "bad4", "bad5"];
const HEALTHY: [&str; 3] = ["good0", "good1", "good2"];

/// Pseudo-random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }
}

/// A server that behaves differently each time it starts.
fn bad_entry(name: &str) -> String {
    let faults =
        "die-mid-call never garbage no-start noise twice unknown-id huge-line wrong-shape stderr-flood";
    let script = format!(
        "set -- {faults}; n=$(( ($$ + $(date +%N | sed 's/^0*//') ) % 12 )); shift $(( n > 9 ? 9 : n )); \
         if [ $n -gt 9 ]; then exec '{peer}'; else exec '{peer}' --fault $1; fi",
        peer = peer_binary().display()
    );
    let command = json!(["sh", "-c", script]);
    format!(
        "[[mcp.servers]]\nname = \"{name}\"\ncommand = {command}\ntimeout = {BAD_TIMEOUT_MS}\nconnect_timeout = \"2s\"\n\
         list_timeout = \"1s\"\nmax_message_bytes = 1000000\nshutdown_grace = \"100ms\"\nhealth_interval = \"1s\"\n"
    )
}

/// Calls healthy servers until `stop`; returns how long each call took.
async fn call_healthy(gateway: &TestGateway, era: Era, stop: CancellationToken) -> Vec<Duration> {
    let client = connect(gateway, era, ClientOptions::default()).await;
    let mut latencies = Vec::new();
    while !stop.is_cancelled() {
        for name in HEALTHY {
            let begun = Instant::now();
            let answered = client.call_text(&format!("{name}_echo"), json!({ "text": "x" })).await;
            assert_eq!(answered.as_deref(), Ok("x"), "{name} is healthy");
            latencies.push(begun.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    latencies
}

/// Calls bad servers; each failure must name the server, in one sentence.
async fn call_bad(gateway: &TestGateway, seed: u64, stop: CancellationToken) -> usize {
    let mut dice = Dice(seed);
    let client = connect(gateway, Era::Modern, ClientOptions::default()).await;
    let mut n_failures = 0;
    while !stop.is_cancelled() {
        let name = BAD[dice.roll(BAD.len())];
        let tool = ["echo", "die", "never", "garbage", "huge"][dice.roll(5)];
        match client.call(&format!("{name}_{tool}"), json!({ "text": "x" })).await {
            Ok(result) if result["isError"] == true => {
                n_failures += 1;
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                // A tool that is missing because the server behaves differently now has an error of its own.
                let is_told = text.contains(&format!("server `{name}`")) || text.contains("tool");
                assert!(is_told && !text.contains('\n'), "{name}_{tool}: {text}");
            }
            Ok(_) => {}
            Err(error) => {
                n_failures += 1;
                let error = error.to_string();
                assert!(error.contains(name) || error.contains(tool), "{name}_{tool}: {error}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    n_failures
}

fn quantile(latencies: &mut [Duration], share: f64) -> Duration {
    latencies.sort_unstable();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let index = (latencies.len() as f64 * share) as usize;
    latencies[index.min(latencies.len() - 1)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn healthy_servers_do_not_notice() {
    let remote = PeerProcess::start(&["--transport", "http"]).await.expect("the peer");
    let healthy = format!(
        "{}{}{}",
        stdio_entry("good0", &[]),
        stdio_entry("good1", &["--era", "modern"]),
        remote_entry("good2", "http", &remote.url)
    );
    let bad: String = BAD.iter().map(|name| bad_entry(name)).collect();
    let gateway = TestGateway::launch(&octroi(), &format!("{healthy}{bad}"), &[]).await;
    let id = gateway.child.id().expect("it runs");

    let eras = [Era::Modern, Era::Legacy("2025-06-18")];
    let stop = CancellationToken::new();
    let calls = eras.map(|era| call_healthy(&gateway, era, stop.clone()));
    let timer = async {
        tokio::time::sleep(CALM).await;
        stop.cancel();
    };
    let (calm, ()) = tokio::join!(futures_util::future::join_all(calls), timer);
    let before = quantile(&mut calm.concat(), 0.99);

    let stop = CancellationToken::new();
    let calls = futures_util::future::join_all(eras.map(|era| call_healthy(&gateway, era, stop.clone())));
    let bad = futures_util::future::join_all((1..=4).map(|seed| call_bad(&gateway, seed, stop.clone())));
    let chaos = async {
        let mut dice = Dice(7);
        let until = Instant::now() + soak::at_least(CHAOS);
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(300)).await;
            // Healthy processes are left alone: those of bad servers run below `sh` or carry a fault.
            let victims: Vec<u32> = descendants(id).into_iter().filter(|process| is_bad(*process)).collect();
            if !victims.is_empty() {
                let victim = victims[dice.roll(victims.len())].to_string();
                let signal = ["-KILL", "-TERM", "-STOP"][dice.roll(3)];
                let _ = std::process::Command::new("kill").args([signal, &victim]).output();
            }
        }
        stop.cancel();
    };
    let (healthy, failures, ()) = tokio::join!(calls, bad, chaos);
    let mut latencies = healthy.concat();
    let after = quantile(&mut latencies, 0.99);
    let n_failures: usize = failures.iter().sum();
    println!(
        "{} calls, p99 {before:?} before and {after:?} during; {n_failures} failures reported",
        latencies.len()
    );
    assert!(n_failures > 100, "the bad servers were bad: {n_failures}");
    assert!(after < before + Duration::from_millis(BAD_TIMEOUT_MS / 2), "p99 {before:?}, then {after:?}");
    let processes = descendants(id);
    gateway.stop().await;
    assert_eq!(left_of(&processes).await, Vec::<u32>::new());
}

fn is_bad(process: u32) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    line.contains("--fault") || line.contains("die-mid-call")
}
