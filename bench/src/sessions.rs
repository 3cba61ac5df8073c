//! Whether sessions that are opened and abandoned leak memory.

use std::time::Duration;

use crate::http_load::{self, LoadClient, LoadTarget};
use crate::process::{BenchGateway, BenchPeer, http_entry};
use crate::report::{self, grouped, grouped_size};
use crate::{BenchResult, cpu};

const SESSIONS: usize = 10_000;

/// Opens sessions, abandons them, waits until they expire, and compares memory.
pub(crate) async fn opened_and_dropped() -> BenchResult<()> {
    let peer = BenchPeer::http("modern", 0).await?;
    let gateway = BenchGateway::start(&http_entry(&peer.url)).await?;
    let octroi = gateway.id()?;
    let target = LoadTarget { url: gateway.url.clone(), era: "legacy", tool: "peer_echo" };
    http_load::run(&target, 16, Duration::from_millis(500)).await?;
    report::table("Opening and closing sessions", &["after", "KiB of memory"]);
    println!("| a warm start | {} |", grouped(cpu::memory_of(octroi)));
    for round in 1..=3 {
        for _ in 0..SESSIONS {
            drop(LoadClient::connect(&target).await?);
        }
        let open = cpu::memory_of(octroi);
        // Idle for longer than the configured five seconds, and swept at most that much later.
        tokio::time::sleep(Duration::from_secs(12)).await;
        println!("| {} sessions opened, round {round} | {} |", grouped_size(SESSIONS), grouped(open));
        println!("| all dropped, round {round} | {} |", grouped(cpu::memory_of(octroi)));
    }
    Ok(())
}
