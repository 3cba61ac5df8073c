//! The cost of a list that comes from the persisted catalogue, with every server stopped.

use std::time::Duration;

use crate::http_load::{LoadClient, LoadTarget};
use crate::process::{BenchGateway, BenchPolicy, program};
use crate::report::{self, grouped_size};
use crate::{BenchResult, cpu};

const SERVERS: usize = 50;
/// The tools that the peer always has, and four more.
const TOOLS_EACH: usize = 20;
const LISTS: u32 = 2_000;

/// Lists 1,000 tools of 50 servers after a restart, none of them running.
pub(crate) async fn remembered() -> BenchResult<()> {
    let peer = program("octroi-peer")?.display().to_string();
    let servers = |start: &str| -> String {
        let command = serde_json::json!([peer, "--tools", "4"]);
        let entry = |number| {
            format!("[[mcp.servers]]\nname = \"s{number:02}\"\nstart = \"{start}\"\ncommand = {command}\n")
        };
        (0..SERVERS).map(entry).collect()
    };
    let directory = tempfile::tempdir()?;
    let first = BenchGateway::start_in(directory, &servers("eager"), BenchPolicy::Rules, &[]).await?;
    let mut client = client_of(&first).await?;
    while client.list().await? < SERVERS * TOOLS_EACH {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let directory = first.stop().await?;

    let second = BenchGateway::start_in(directory, &servers("manual"), BenchPolicy::Rules, &[]).await?;
    let mut client = client_of(&second).await?;
    let n_tools = client.list().await?;
    let octroi = second.id()?;
    let before = cpu::time_of(octroi);
    for _ in 0..LISTS {
        client.list().await?;
    }
    let used = cpu::time_of(octroi).saturating_sub(before) / LISTS;
    report::table("Lists", &["servers, none running", "tools", "octroi µs per list"]);
    println!("| {SERVERS} | {} | {:.0} |", grouped_size(n_tools), used.as_secs_f64() * 1e6);
    Ok(())
}

async fn client_of(gateway: &BenchGateway) -> BenchResult<LoadClient> {
    LoadClient::connect(&LoadTarget { url: gateway.url.clone(), era: "modern", tool: "s00_echo" }).await
}
