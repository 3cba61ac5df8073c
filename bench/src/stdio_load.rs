//! The same closed loop over one pair of pipes: as many calls in flight as there would be clients.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::BenchResult;
use crate::http_load::Measured;
use crate::process::stdio_peer;

const TEXT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Calls directly for as long as `span`; also returns the CPU time of the server.
pub(crate) async fn run(era: &str, in_flight: usize, span: Duration) -> BenchResult<(Measured, Duration)> {
    let (child, mut stdin, stdout) = stdio_peer(era)?;
    let process = child.id().ok_or("the peer has ended")?;
    let mut lines = BufReader::new(stdout).lines();
    if era == "legacy" {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        stdin.write_all(format!("{hello}\n").as_bytes()).await?;
        lines.next_line().await?;
        stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await?;
    }
    let meta = if era == "modern" {
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#
    } else {
        ""
    };
    let request = |id: u64| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"{TEXT}\"}}{meta}}}}}\n"
        )
    };
    let before = crate::cpu::time_of(process);
    let begun = Instant::now();
    let mut sent = HashMap::new();
    let mut next = 1;
    for _ in 0..in_flight {
        stdin.write_all(request(next).as_bytes()).await?;
        sent.insert(next, Instant::now());
        next += 1;
    }
    let mut measured = Measured::default();
    while let Some(line) = lines.next_line().await? {
        let answer: serde_json::Value = serde_json::from_str(&line)?;
        let Some(at) = answer["id"].as_u64().and_then(|id| sent.remove(&id)) else {
            continue;
        };
        measured.latencies.push(at.elapsed());
        if begun.elapsed() < span {
            stdin.write_all(request(next).as_bytes()).await?;
            sent.insert(next, Instant::now());
            next += 1;
        } else if sent.is_empty() {
            break;
        }
    }
    measured.span = begun.elapsed();
    Ok((measured, crate::cpu::time_of(process).saturating_sub(before)))
}
