//! The cost of a call through Octroi, compared with the same load sent directly to the same server and through
//! a relay that does nothing else.
//!
//! Every measurement is a ratio or a difference within one run: machines differ and are noisy, so absolute
//! numbers mean little. CPU time is read from the scheduler's accounting.

use std::time::Duration;

mod audit;
mod callgrind;
mod cpu;
mod http_load;
mod lists;
mod process;
mod report;
mod sessions;
mod stdio_load;
mod table;

/// A result whose error ends the benchmark.
pub(crate) type BenchResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const CLIENTS: [usize; 4] = [1, 16, 64, 256];

/// How long one measurement takes.
const SPAN: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> BenchResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_selected = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    report::build().await?;
    // More arguments select rows: `calls legacy http 16`.
    if is_selected("calls") {
        table::calls(&arguments).await?;
    }
    if is_selected("flat") {
        table::flat().await?;
    }
    if is_selected("lists") {
        lists::remembered().await?;
    }
    if is_selected("sessions") {
        sessions::opened_and_dropped().await?;
    }
    if is_selected("instructions") {
        callgrind::instructions().await?;
    }
    // Takes ten minutes and as many gigabytes, so it runs only on request; a number after it makes it
    // shorter.
    if let Some(position) = arguments.iter().position(|argument| argument == "audit") {
        let n_records = arguments.get(position + 1).map(|number| number.parse()).transpose()?;
        audit::long_log(n_records).await?;
    }
    Ok(())
}
