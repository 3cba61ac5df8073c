//! The tables of `docs/performance.md`.

use std::time::Duration;

use crate::http_load::{self, LoadClient, LoadTarget, Measured};
use crate::process::{BenchGateway, BenchPeer, http_entry, stdio_entry};
use crate::{BenchResult, CLIENTS, SPAN, cpu, stdio_load};

const ERAS: [&str; 2] = ["modern", "legacy"];
const SERVERS: [&str; 3] = ["http", "sdk", "stdio"];

/// CPU and latency of calls, directly and through Octroi. Arguments select eras, servers and numbers of
/// clients.
pub(crate) async fn calls(words: &[String]) -> BenchResult<()> {
    let eras = chosen(&ERAS, words, |era| (*era).to_owned());
    let servers = chosen(&SERVERS, words, |server| (*server).to_owned());
    let clients = chosen(&CLIENTS, words, ToString::to_string);
    println!(
        "| era | server | clients | direct: server µs, p50, p99 | through: octroi µs, server µs, p50, p99 | octroi / server | calls/s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for era in &eras {
        for server in &servers {
            for n_clients in &clients {
                row(era, server, *n_clients).await?;
            }
        }
    }
    Ok(())
}

fn chosen<T: Copy>(all: &[T], words: &[String], word: impl Fn(&T) -> String) -> Vec<T> {
    let named: Vec<T> = all.iter().filter(|one| words.contains(&word(one))).copied().collect();
    if named.is_empty() { all.to_vec() } else { named }
}

async fn row(era: &'static str, server: &str, n_clients: usize) -> BenchResult<()> {
    let (tool, published) = match server {
        "sdk" => ("test_simple_text", "peer_test_simple_text"),
        _ => ("echo", "peer_echo"),
    };
    let peer = match server {
        "http" => Some(BenchPeer::http(era, 0).await?),
        "sdk" => Some(BenchPeer::sdk(era).await?),
        _ => None,
    };
    let (direct, direct_cpu, gateway) = if let Some(peer) = &peer {
        let process = peer.child.id().ok_or("the peer has ended")?;
        let target = LoadTarget { url: peer.url.clone(), era, tool };
        let before = cpu::time_of(process);
        let direct = http_load::run(&target, n_clients, SPAN).await?;
        let used = cpu::time_of(process).saturating_sub(before);
        (direct, used, BenchGateway::start(&http_entry(&peer.url)).await?)
    } else {
        let (direct, used) = stdio_load::run(era, n_clients, SPAN).await?;
        (direct, used, BenchGateway::start(&stdio_entry(era)?).await?)
    };
    let target = LoadTarget { url: gateway.url.clone(), era, tool: published };
    // The first calls open connections; they are not measured.
    http_load::run(&target, 1, Duration::from_millis(200)).await?;
    let octroi = gateway.id()?;
    let process = match &peer {
        Some(peer) => peer.child.id().ok_or("the peer has ended")?,
        None => cpu::server_of(octroi).ok_or("octroi has started no server")?,
    };
    let before = (cpu::time_of(octroi), cpu::time_of(process));
    let through = http_load::run(&target, n_clients, SPAN).await?;
    let octroi_cpu = per_call(cpu::time_of(octroi).saturating_sub(before.0), &through);
    let server_cpu = per_call(cpu::time_of(process).saturating_sub(before.1), &through);
    println!(
        "| {era} | {server} | {n_clients} | {:.1}, {}, {} | {octroi_cpu:.1}, {server_cpu:.1}, {}, {} | {:.2} | {:.0} |",
        per_call(direct_cpu, &direct),
        milliseconds(direct.quantile(0.5)),
        milliseconds(direct.quantile(0.99)),
        milliseconds(through.quantile(0.5)),
        milliseconds(through.quantile(0.99)),
        octroi_cpu / server_cpu,
        through.calls() as f64 / through.span.as_secs_f64(),
    );
    Ok(())
}

/// Whether a call costs the same however many tools are listed and however many sessions are idle.
pub(crate) async fn flat() -> BenchResult<()> {
    println!("\n| tools | idle sessions | octroi µs per call |\n|---|---|---|");
    for (tools, sessions) in [(1, 0), (1_000, 0), (1, 10_000)] {
        let peer = BenchPeer::http("modern", tools).await?;
        let gateway = BenchGateway::start(&http_entry(&peer.url)).await?;
        let target = LoadTarget { url: gateway.url.clone(), era: "modern", tool: "peer_echo" };
        let legacy = LoadTarget { era: "legacy", ..target.clone() };
        http_load::run(&target, 1, Duration::from_millis(200)).await?;
        for _ in 0..sessions {
            // The connection is closed immediately; the session stays.
            drop(LoadClient::connect(&legacy).await?);
        }
        let octroi = gateway.id()?;
        let before = cpu::time_of(octroi);
        let measured = http_load::run(&target, 16, SPAN).await?;
        let used = per_call(cpu::time_of(octroi).saturating_sub(before), &measured);
        println!("| {tools} | {sessions} | {used:.1} |");
    }
    Ok(())
}

fn per_call(used: Duration, measured: &Measured) -> f64 {
    used.as_secs_f64() * 1e6 / measured.calls().max(1) as f64
}

fn milliseconds(latency: Duration) -> String {
    format!("{:.2} ms", latency.as_secs_f64() * 1e3)
}
