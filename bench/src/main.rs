//! What a call through Octroi costs, against the same load sent directly to the same server.
//!
//! Every figure is a ratio or a difference within one run: machines differ and are noisy, so absolute
//! numbers mean little. CPU time is read from the scheduler's own accounts.

use std::time::Duration;

mod audit;
mod callgrind;
mod cpu;
mod http_load;
mod lists;
mod process;
mod sessions;
mod stdio_load;
mod table;

/// Anything that ends a measurement.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const CLIENTS: [usize; 4] = [1, 16, 64, 256];

/// How long one measurement takes.
const SPAN: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    // Words after it choose rows: `calls legacy http 16`.
    if wanted("calls") {
        table::calls(&arguments).await?;
    }
    if wanted("flat") {
        table::flat().await?;
    }
    if wanted("lists") {
        lists::remembered().await?;
    }
    if wanted("sessions") {
        sessions::opened_and_dropped().await?;
    }
    if wanted("instructions") {
        callgrind::instructions().await?;
    }
    // Takes ten minutes and as many gigabytes, so only when asked for; a number after it makes it shorter.
    if let Some(place) = arguments.iter().position(|argument| argument == "audit") {
        let n_records = arguments.get(place + 1).map(|number| number.parse()).transpose()?;
        audit::long_log(n_records).await?;
    }
    Ok(())
}
