//! The tables of `docs/performance.md`.

use std::time::Duration;

use crate::http_load::{self, LoadClient, LoadTarget, Measured};
use crate::process::{BenchGateway, BenchPeer, BenchPolicy, OctroiBinary, http_entry, stdio_entry};
use crate::report::{self, grouped, grouped_size};
use crate::{BenchResult, CLIENTS, SPAN, cpu, stdio_load};

const ERAS: [&str; 2] = ["modern", "legacy"];
const SERVERS: [&str; 3] = ["http", "sdk", "stdio"];

/// Direct, relay and gateway take turns, so that what else the machine does meets all of them.
const TURNS: usize = 3;

/// CPU and latency of calls: directly, through a relay that does nothing, and through Octroi. Arguments select
/// eras, servers and numbers of clients. Another binary takes its turns in the same rows.
pub(crate) async fn calls(words: &[String], against: Option<&OctroiBinary>) -> BenchResult<()> {
    let eras = chosen(&ERAS, words, |era| (*era).to_owned());
    let servers = chosen(&SERVERS, words, |server| (*server).to_owned());
    let clients = chosen(&CLIENTS, words, ToString::to_string);
    let mut columns = vec![
        "era",
        "server",
        "clients",
        "direct: server µs, p50, p99",
        "relay µs, p50, p99",
        "octroi µs, p50, p99",
        "octroi / relay: CPU, p50, p99",
        "octroi / server",
        "calls/s",
    ];
    if against.is_some() {
        columns.extend(["other binary µs, p50, p99", "octroi / other binary: CPU, p50, p99"]);
    }
    report::table("Calls compared with a relay", &columns);
    let mut rows = Vec::new();
    for era in &eras {
        for server in &servers {
            for n_clients in &clients {
                let row = row(era, server, *n_clients, against).await?;
                rows.push((format!("{server}, {era}, {n_clients}"), row));
            }
        }
    }
    // What users want to know first, from the same measurements.
    report::table(
        "What Octroi adds to a call",
        &[
            "server, era, clients",
            "p50 through a relay",
            "through Octroi",
            "p99 through a relay",
            "through Octroi",
        ],
    );
    for (row, (relay, octroi)) in &rows {
        let [p50, p99] = [0.5, 0.99]
            .map(|share| [relay, octroi].map(|way| milliseconds(way.measured.quantile(share))).join(" | "));
        println!("| {row} | {p50} | {p99} |");
    }
    Ok(())
}

fn chosen<T: Copy>(all: &[T], words: &[String], word: impl Fn(&T) -> String) -> Vec<T> {
    let named: Vec<T> = all.iter().filter(|one| words.contains(&word(one))).copied().collect();
    if named.is_empty() { all.to_vec() } else { named }
}

/// One way to the server: what was measured and the CPU that a process used.
#[derive(Default)]
struct Way {
    measured: Measured,
    used: Duration,
}

impl Way {
    async fn turn(&mut self, target: &LoadTarget, n_clients: usize, process: u32) -> BenchResult<()> {
        let before = cpu::time_of(process);
        let measured = http_load::run(target, n_clients, SPAN).await?;
        self.add(measured, cpu::time_of(process).saturating_sub(before));
        Ok(())
    }

    fn add(&mut self, measured: Measured, used: Duration) {
        self.measured.add(measured);
        self.used += used;
    }

    fn cpu(&self) -> f64 {
        per_call(self.used, &self.measured)
    }

    fn text(&self) -> String {
        let [p50, p99] = [0.5, 0.99].map(|share| milliseconds(self.measured.quantile(share)));
        format!("{:.1}, {p50}, {p99}", self.cpu())
    }

    fn compared_with(&self, floor: &Self) -> String {
        let [p50, p99] = [0.5, 0.99].map(|share| {
            self.measured.quantile(share).as_secs_f64() / floor.measured.quantile(share).as_secs_f64()
        });
        format!("{:.2}, {p50:.2}, {p99:.2}", self.cpu() / floor.cpu())
    }
}

/// Prints a row; returns the calls through the relay and through Octroi.
async fn row(
    era: &'static str,
    server: &str,
    n_clients: usize,
    against: Option<&OctroiBinary>,
) -> BenchResult<(Way, Way)> {
    let (tool, published) = match server {
        "sdk" => ("test_simple_text", "peer_test_simple_text"),
        _ => ("echo", "peer_echo"),
    };
    let peer = match server {
        "http" => Some(BenchPeer::http(era, 0).await?),
        "sdk" => Some(BenchPeer::sdk(era).await?),
        _ => None,
    };
    let (relay, entry) = match &peer {
        Some(peer) => (BenchPeer::relay(&peer.url).await?, http_entry(&peer.url)),
        None => (BenchPeer::stdio_relay(era).await?, stdio_entry(era)?),
    };
    let gateway = BenchGateway::start(&entry).await?;
    let other = match against {
        Some(octroi) => Some(BenchGateway::start_with(octroi, &entry, BenchPolicy::Rules, &[]).await?),
        None => None,
    };
    let at = |url: &str, tool| LoadTarget { url: url.to_owned(), era, tool };
    let (relayed, governed) = (at(&relay.url, published), at(&gateway.url, published));
    // The first calls open connections; they are not measured.
    let compared = other.as_ref().map(|gateway| at(&gateway.url, published));
    for target in [&relayed, &governed].into_iter().chain(&compared) {
        http_load::run(target, 1, Duration::from_millis(200)).await?;
    }
    let octroi = gateway.id()?;
    let server_process = match &peer {
        Some(peer) => peer.id()?,
        None => cpu::server_of(octroi).ok_or("octroi has started no server")?,
    };
    let [mut direct, mut floor, mut through, mut other_way] = std::array::from_fn(|_| Way::default());
    let mut server_used = Duration::ZERO;
    for _ in 0..TURNS {
        match &peer {
            Some(peer) => direct.turn(&at(&peer.url, tool), n_clients, server_process).await?,
            None => {
                let (measured, used) = stdio_load::run(era, n_clients, SPAN).await?;
                direct.add(measured, used);
            }
        }
        floor.turn(&relayed, n_clients, relay.id()?).await?;
        let before = cpu::time_of(server_process);
        through.turn(&governed, n_clients, octroi).await?;
        server_used += cpu::time_of(server_process).saturating_sub(before);
        if let (Some(gateway), Some(target)) = (&other, &compared) {
            other_way.turn(target, n_clients, gateway.id()?).await?;
        }
    }
    let compared = match &other {
        Some(_) => format!(" {} | {} |", other_way.text(), through.compared_with(&other_way)),
        None => String::new(),
    };
    println!(
        "| {era} | {server} | {n_clients} | {} | {} | {} | {} | {:.2} | {} |{compared}",
        direct.text(),
        floor.text(),
        through.text(),
        through.compared_with(&floor),
        through.cpu() / per_call(server_used, &through.measured),
        grouped(per_second(&through.measured)),
    );
    Ok((floor, through))
}

/// Whether a call costs the same however many tools are listed and however many sessions are idle.
pub(crate) async fn flat() -> BenchResult<()> {
    report::table("Many tools and idle sessions", &["tools", "idle sessions", "octroi µs per call"]);
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
        println!("| {} | {} | {used:.1} |", grouped_size(tools), grouped_size(sessions));
    }
    Ok(())
}

fn per_call(used: Duration, measured: &Measured) -> f64 {
    used.as_secs_f64() * 1e6 / measured.calls().max(1) as f64
}

fn per_second(measured: &Measured) -> u64 {
    let calls = u128::try_from(measured.calls()).unwrap_or_default();
    u64::try_from(calls * 1_000 / measured.span.as_millis().max(1)).unwrap_or(u64::MAX)
}

fn milliseconds(latency: Duration) -> String {
    format!("{:.2} ms", latency.as_secs_f64() * 1e3)
}
