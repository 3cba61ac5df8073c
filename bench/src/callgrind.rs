//! Instructions per call, counted by callgrind: the same on every run, whatever else the machine does.

use std::path::Path;

use crate::Outcome;
use crate::http_load::{Client, Target};
use crate::process::{Gateway, Peer, http_entry, stdio_entry};

const FEW: u64 = 200;
const MANY: u64 = 1_200;

/// The difference between many and few calls, so that start and end do not count.
pub(crate) async fn instructions() -> Outcome<()> {
    println!("\n| era | server | instructions per call (user space) |\n|---|---|---|");
    for era in ["modern", "legacy"] {
        for transport in ["http", "stdio"] {
            let few = counted(era, transport, FEW).await?;
            let many = counted(era, transport, MANY).await?;
            println!("| {era} | {transport} | {} |", many.saturating_sub(few) / (MANY - FEW));
        }
    }
    Ok(())
}

async fn counted(era: &'static str, transport: &str, calls: u64) -> Outcome<u64> {
    let peer = Peer::http(era, 0).await?;
    let entry = if transport == "http" { http_entry(&peer.url) } else { stdio_entry(era)? };
    let directory = tempfile::tempdir()?;
    let out = directory.path().join("callgrind.out");
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        "--trace-children=no".to_owned(),
        // Its remarks would break into the lines that say where Octroi listens.
        "--log-file=/dev/null".to_owned(),
        format!("--callgrind-out-file={}", out.display()),
    ];
    let gateway = Gateway::start(&entry, &wrapper).await?;
    let target = Target { url: gateway.url.clone(), era, tool: "peer_echo" };
    let mut client = Client::connect(&target).await?;
    for _ in 0..calls {
        client.call().await?;
    }
    drop(client);
    gateway.stop().await?;
    read_total(&out)
}

fn read_total(file: &Path) -> Outcome<u64> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find(|line| line.starts_with("summary:") || line.starts_with("totals:"));
    let total = line.and_then(|line| line.split_whitespace().nth(1)).ok_or("callgrind left no total")?;
    Ok(total.parse()?)
}
