//! The cost of reading a long audit log: time, and memory that must not grow with the log.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use octroi_core::audit::{Actor, ActorKind, CallId, Event, Kind, Ruling, SourceType};
use octroi_gateway::audit::{AuditLog, Options};
use tokio::process::Command;

use crate::process::{BenchGateway, BenchPolicy, program};
use crate::report::{self, grouped};
use crate::{BenchResult, cpu};

const RECORDS: u64 = 10_000_000;
/// The records are spread over this many days, which end now.
const DAYS: u64 = 20;
const TOOLS: u64 = 40;
const AGENTS: u64 = 12;
/// How often memory is sampled.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);

/// Writes a log of ten million records, or of `n_records`, verifies it, and searches it.
pub(crate) async fn long_log(n_records: Option<u64>) -> BenchResult<()> {
    let n_records = n_records.unwrap_or(RECORDS);
    let directory = tempfile::tempdir()?;
    let data = directory.path().join("data");
    let records = format!("{} records", grouped(n_records));
    report::table("A long audit log", &[records.as_str(), "seconds", "CPU seconds", "KiB of memory at most"]);
    let begun = Instant::now();
    let before = cpu::time_of(std::process::id());
    fill(&data.join("audit"), n_records).await?;
    let used = cpu::time_of(std::process::id()).saturating_sub(before);
    let size = bytes_for_each(&data.join("audit"), n_records)?;
    let what = format!("written, by one writer: {size} bytes for each record");
    row(&what, begun.elapsed(), used, cpu::most_memory_of(std::process::id()));

    let begun = Instant::now();
    let used = compress(&data.join("audit")).await?;
    let size = bytes_for_each(&data.join("audit"), n_records)?;
    let what = format!("compressed, in the background: {size} bytes for each record");
    row(&what, begun.elapsed(), used, cpu::most_memory_of(std::process::id()));

    measured("`octroi audit verify`", &data, &["audit", "verify"]).await?;
    measured("`octroi audit export --since 1h`", &data, &["audit", "export", "--since", "1h"]).await?;

    let begun = Instant::now();
    let gateway = BenchGateway::start_in(directory, "", BenchPolicy::None, &[]).await?;
    while is_behind(&data).await? {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let octroi = gateway.id()?;
    row(
        "search table rebuilt by the gateway",
        begun.elapsed(),
        cpu::time_of(octroi),
        cpu::most_memory_of(octroi),
    );
    for (what, arguments) in [
        ("`octroi audit list`", &["audit", "list"][..]),
        ("`… --tool t7 --agent agent-3`", &["audit", "list", "--tool", "t7", "--agent", "agent-3"]),
        (
            "`… --kind policy_violation --since 7d`",
            &["audit", "list", "--kind", "policy_violation", "--since", "7d"],
        ),
        ("`octroi audit report --since 7d`", &["audit", "report", "--since", "7d"]),
    ] {
        measured(what, &data, arguments).await?;
    }
    row("the gateway in total", begun.elapsed(), cpu::time_of(octroi), cpu::most_memory_of(octroi));
    gateway.stop().await?;
    Ok(())
}

/// Starts and ends of calls, as the gateway writes them, and some denials.
async fn fill(directory: &Path, n_records: u64) -> BenchResult<()> {
    let options = Options { compress: false, ..Options::new(octroi_gateway::system_clock()) };
    let log = AuditLog::open(directory, &options)?.log;
    let now_ms = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let span_ms = DAYS * 24 * 3_600_000;
    let trace = r#"[{"gate":"disabled","verdict":"pass"},{"gate":"arguments","verdict":"pass"},{"gate":"pin","verdict":"pass"},{"gate":"policy","verdict":"allow"}]"#;
    let begun_context = format!(
        r#"{{"arguments":{{"path":"docs/a.md","limit":20}},"risk":"low","side_effects":[],"definition":"{}","mode":"implementation","revision":3,"trace":{trace}}}"#,
        "0".repeat(64)
    );
    let ended_context = r#"{"outcome":"completed","duration_ms":12,"result_bytes":2048}"#;
    let time_of = |number: u64| -> BenchResult<u64> {
        let passed = u128::from(span_ms) * u128::from(number) / u128::from(n_records);
        Ok(now_ms - span_ms + u64::try_from(passed)?)
    };
    for number in 0..n_records {
        let call = number / 2;
        let agent = format!("agent-{}", call % AGENTS);
        let tool = format!("mcp:server{}:t{}", call % 5, call % TOOLS);
        let server = format!("server{}", call % 5);
        let (kind, context) = match number % 2 {
            _ if call % 1_000 == 0 => (Kind::PolicyViolation, begun_context.as_str()),
            0 => (Kind::ToolInvocationStart, begun_context.as_str()),
            _ => (Kind::ToolInvocationEnd, ended_context),
        };
        let at_ms = time_of(number)?;
        let event = Event {
            agent: Some(&agent),
            server: Some(&server),
            tool: Some(&tool),
            source: Some(SourceType::Mcp),
            // Ids begin with the time of the call.
            call: Some(CallId(u128::from(time_of(2 * call)?) << 80 | u128::from(call))),
            ruling: (number % 2 == 0).then_some(Ruling::Allow),
            context,
            ..Event::new(at_ms, kind, Actor::new(ActorKind::Agent, &agent))
        };
        log.append_later(&event).await?;
    }
    log.close().await?;
    Ok(())
}

/// Opens the log, and waits until it has compressed its closed segments. Returns the time that its threads ran.
async fn compress(directory: &Path) -> BenchResult<Duration> {
    let before = cpu::time_of(std::process::id());
    let log = AuditLog::open(directory, &Options::new(octroi_gateway::system_clock()))?.log;
    // The last one is being written.
    while n_uncompressed(directory)? > 1 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // While the threads are there: those that ended do not count any more.
    let used = cpu::time_of(std::process::id()).saturating_sub(before);
    log.close().await?;
    Ok(used)
}

/// The segments of a log.
fn segments(directory: &Path) -> BenchResult<Vec<PathBuf>> {
    let paths = std::fs::read_dir(directory)?.map(|item| item.map(|item| item.path()));
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    Ok(paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect())
}

/// How many segments have version 1 in their header.
fn n_uncompressed(directory: &Path) -> BenchResult<usize> {
    let mut n_uncompressed = 0;
    for path in segments(directory)? {
        let mut header = [0; 12];
        File::open(path)?.read_exact(&mut header)?;
        n_uncompressed += usize::from(header[8..] == 1_u32.to_le_bytes());
    }
    Ok(n_uncompressed)
}

/// The space of a log on disk, for each of its records.
fn bytes_for_each(directory: &Path, n_records: u64) -> BenchResult<u64> {
    let mut n_bytes = 0;
    for path in segments(directory)? {
        n_bytes += std::fs::metadata(path)?.len();
    }
    Ok(n_bytes / n_records.max(1))
}

/// Whether the search table is behind the log, which `octroi audit list` reports.
async fn is_behind(data: &Path) -> BenchResult<bool> {
    let output = Command::new(program("octroi")?)
        .args(["audit", "list", "--lines", "1", "--data"])
        .arg(data)
        .output()
        .await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(stderr.contains("are not indexed yet")) } else { Err(stderr.into()) }
}

async fn measured(what: &str, data: &Path, arguments: &[&str]) -> BenchResult<()> {
    let begun = Instant::now();
    let mut child = Command::new(program("octroi")?)
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    let process = child.id().ok_or("it has ended")?;
    let (mut most, mut used) = (0, Duration::ZERO);
    let status = loop {
        most = cpu::most_memory_of(process).max(most);
        used = cpu::time_of(process).max(used);
        if let Ok(status) = tokio::time::timeout(SAMPLE_EVERY, child.wait()).await {
            break status?;
        }
    };
    if !status.success() {
        return Err(format!("{what} failed").into());
    }
    row(what, begun.elapsed(), used, most);
    Ok(())
}

fn row(what: &str, elapsed: Duration, used: Duration, kib: u64) {
    println!("| {what} | {:.1} | {:.1} | {} |", elapsed.as_secs_f64(), used.as_secs_f64(), grouped(kib));
}
