//! Instructions per call, counted by callgrind: the same on every run, whatever else the machine does.

use std::collections::HashMap;
use std::ops::{AddAssign, Sub};
use std::path::Path;
use std::time::Duration;

use crate::BenchResult;
use crate::http_load::{LoadClient, LoadTarget};
use crate::process::{
    BenchGateway, BenchPeer, BenchPolicy, OTHER_TOOLS, OctroiBinary, http_entry, stdio_entry,
};
use crate::report::{self, grouped};

const FEW: u64 = 200;
const MANY: u64 = 1_200;

/// The instructions of a run, by what they were spent on.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    total: u64,
    /// Of the threads that write the search table.
    table: u64,
    /// SHA-256 in software: valgrind does not emulate the processor's instructions for it.
    hashes: u64,
}

/// Prints the difference between many and few calls, so that start and shutdown cancel out. With another
/// binary, each row also has its instructions and the change from it to the built one.
pub(crate) async fn instructions(against: Option<&OctroiBinary>) -> BenchResult<()> {
    let built = OctroiBinary::built()?;
    let mut columns = vec![
        "era",
        "server",
        "policy",
        "instructions per call",
        "of these: answering, deciding, recording",
        "search table",
        "SHA-256 in software",
    ];
    if against.is_some() {
        columns.extend([
            "other binary: instructions per call",
            "answering, deciding, recording",
            "change of these",
        ]);
    }
    report::table("Instructions", &columns);
    for (era, transport, policy) in [
        ("modern", "http", BenchPolicy::None),
        ("modern", "http", BenchPolicy::Rules),
        ("modern", "http", BenchPolicy::Cedar),
        ("modern", "stdio", BenchPolicy::Rules),
        ("legacy", "http", BenchPolicy::Rules),
        ("legacy", "stdio", BenchPolicy::Rules),
    ] {
        let scene = Scene { era, transport, policy };
        let cost = scene.of_a_call(&built).await?;
        let numbers = [cost.total, cost.answering(), cost.table, cost.hashes].map(grouped).join(" | ");
        let compared = match against {
            Some(other) => {
                let other = scene.of_a_call(other).await?;
                let numbers = [other.total, other.answering()].map(grouped).join(" | ");
                format!(" {numbers} | {} |", change(other.answering(), cost.answering()))
            }
            None => String::new(),
        };
        println!("| {era} | {transport} | {} | {numbers} |{compared}", policy.as_str());
    }
    Ok(())
}

/// `+1.3 %`: what a number became, compared with what it was.
fn change(before: u64, now: u64) -> String {
    let (before, now) = (before.max(1) as f64, now as f64);
    format!("{:+.1} %", (now / before - 1.0) * 100.0)
}

/// One row.
#[derive(Clone, Copy)]
struct Scene {
    era: &'static str,
    transport: &'static str,
    policy: BenchPolicy,
}

impl Scene {
    async fn of_a_call(self, octroi: &OctroiBinary) -> BenchResult<Cost> {
        let few = counted(octroi, self, FEW).await?;
        let many = counted(octroi, self, MANY).await?;
        Ok(many - few)
    }
}

async fn counted(octroi: &OctroiBinary, scene: Scene, calls: u64) -> BenchResult<Cost> {
    let Scene { era, transport, policy } = scene;
    let peer = BenchPeer::http(era, OTHER_TOOLS).await?;
    let entry = if transport == "http" { http_entry(&peer.url) } else { stdio_entry(era)? };
    let directory = tempfile::tempdir()?;
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        "--trace-children=no".to_owned(),
        "--separate-threads=yes".to_owned(),
        // Its messages would mix with the lines that say where Octroi listens.
        "--log-file=/dev/null".to_owned(),
        format!("--callgrind-out-file={}", directory.path().join("out").display()),
    ];
    let gateway = BenchGateway::start_with(octroi, &entry, policy, &wrapper).await?;
    let target = LoadTarget { url: gateway.url.clone(), era, tool: "peer_echo" };
    let mut client = LoadClient::connect(&target).await?;
    // Cedar policies deny everything until the tools that they name are known.
    let mut n_tries = 100;
    while let Err(error) = client.call().await {
        n_tries -= 1;
        if n_tries == 0 {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..calls {
        client.call().await?;
    }
    drop(client);
    gateway.stop().await?;
    let mut cost = Cost::default();
    for file in std::fs::read_dir(directory.path())? {
        cost += of_thread(&file?.path())?;
    }
    if cost.total == 0 { Err("callgrind left no counts".into()) } else { Ok(cost) }
}

/// The instructions of one thread; its functions show what kind of thread it was.
fn of_thread(file: &Path) -> BenchResult<Cost> {
    let text = std::fs::read_to_string(file)?;
    let costs = self_costs(&text);
    let of = |part: &str| -> u64 {
        costs.iter().filter(|(name, _)| name.contains(part)).map(|(_, cost)| cost).sum()
    };
    let total = costs.values().sum();
    let hashes = of("sha2::sha256::soft");
    let rest = total - hashes;
    let is_table = of("audit_index::projection") > 0 || of("sqlite3VdbeExec") > 0;
    Ok(Cost { total, table: if is_table { rest } else { 0 }, hashes })
}

/// Instructions of each function itself, from callgrind's format: a function gets a number once, a line of
/// counts follows each position, and the line after `calls=` counts the callee.
fn self_costs(text: &str) -> HashMap<&str, u64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut costs = HashMap::new();
    let mut function = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((kind @ ("fn" | "cfn"), value)) = line.split_once('=') {
            let (number, name) = value.split_once(' ').unwrap_or((value, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            if kind == "fn" {
                function = names.get(number).copied().unwrap_or_default();
            }
        } else if line.starts_with("calls=") {
            lines.next();
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok());
            *costs.entry(function).or_default() += cost.unwrap_or_default();
        }
    }
    costs
}

impl Cost {
    /// Everything that the client waits for, except what only valgrind makes slow.
    fn answering(self) -> u64 {
        self.total.saturating_sub(self.table + self.hashes)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.total += other.total;
        self.table += other.table;
        self.hashes += other.hashes;
    }
}

impl Sub for Cost {
    type Output = Self;

    /// The difference per additional call.
    fn sub(self, other: Self) -> Self {
        let each = |many: u64, few: u64| many.saturating_sub(few) / (MANY - FEW);
        Self {
            total: each(self.total, other.total),
            table: each(self.table, other.table),
            hashes: each(self.hashes, other.hashes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(1_000, 1_013), "+1.3 %");
        assert_eq!(change(1_000, 980), "-2.0 %");
        assert_eq!(change(1_000, 1_000), "+0.0 %");
    }
}
