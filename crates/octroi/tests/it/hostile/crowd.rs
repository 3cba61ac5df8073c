//! The agents as processes, and what the gateway uses meanwhile.

use std::fmt::{self, Write as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use octroi_testkit::agent::report::HonestReport;
use serde::de::DeserializeOwned;

/// Runs a program so that every other one gets a core before it. Niceness alone is not enough: a nice program
/// still uses up its slice of some milliseconds before another one gets the core.
pub(crate) const LAST: [&str; 4] = [
    "sh",
    "-c",
    "if command -v chrt > /dev/null; then exec chrt --idle 0 \"$@\"; else exec nice -n 19 \"$@\"; fi",
    "sh",
];

/// An `octroi-agent`; dropping it ends it.
pub(crate) struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts an agent as any program.
    pub(crate) fn start(program: &Path, flags: &[&str]) -> Self {
        Self::spawn(Command::new(program).args(flags))
    }

    /// Starts an agent that gets a core after every other program.
    pub(crate) fn start_last(program: &Path, flags: &[&str]) -> Self {
        Self::spawn(Command::new(LAST[0]).args(&LAST[1..]).arg(program).args(flags))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, stdin, stdout }
    }

    /// What happened since the last report.
    pub(crate) fn report<R: DeserializeOwned>(&mut self) -> R {
        let line = tokio::task::block_in_place(|| {
            writeln!(self.stdin).and_then(|()| self.stdin.flush()).expect("the agent runs");
            let mut line = String::new();
            self.stdout.read_line(&mut line).expect("the agent answers");
            line
        });
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resources {
    /// Resident, in bytes.
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
}

impl Resources {
    pub(crate) fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes: u64 = resident
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .expect("a process has a size");
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        Self { memory: kibibytes << 10, descriptors }
    }

    /// The most of each that it uses within this time.
    pub(crate) async fn peak_during(process: u32, time: Duration) -> Self {
        let until = Instant::now() + time;
        let mut peak = Self::of(process);
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = Self::of(process);
            peak.memory = peak.memory.max(now.memory);
            peak.descriptors = peak.descriptors.max(now.descriptors);
        }
        peak
    }

    /// What it uses once that is nearly as little as before, or at this time.
    pub(crate) async fn settled(process: u32, before: &Self, until: Instant) -> Self {
        loop {
            let now = Self::of(process);
            let is_settled =
                now.memory <= before.memory + before.memory / 5 && now.descriptors <= before.descriptors + 8;
            if is_settled || Instant::now() > until {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} MB with {} descriptors", self.memory >> 20, self.descriptors)
    }
}

/// The latencies of each phase, in milliseconds.
pub(crate) fn table(phases: [(&str, &HonestReport); 3]) -> String {
    let mut text =
        String::from("| | requests | n | p50 ms | p99 ms | slowest ms |\n|---|---|---|---|---|---|\n");
    for (phase, report) in phases {
        for (kind, latencies) in &report.latencies {
            let [p50, p99, slowest] = [latencies.p50_us, latencies.p99_us, latencies.max_us]
                .map(|us| format!("{}.{:02}", us / 1_000, us % 1_000 / 10));
            let _ = writeln!(text, "| {phase} | {kind} | {} | {p50} | {p99} | {slowest} |", latencies.n);
        }
    }
    text
}
