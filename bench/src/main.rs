//! The cost of a call through Octroi, compared with the same load sent directly to the same server and through
//! a relay that does nothing else.
//!
//! Every measurement is a ratio or a difference within one run: machines differ and are noisy, so absolute
//! numbers mean little. CPU time is read from the scheduler's accounting.

use std::time::Duration;

use process::OctroiBinary;

mod audit;
mod callgrind;
mod cpu;
mod http_load;
mod lists;
mod pools;
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
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let against = against(&mut arguments)?;
    let is_selected = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == name);
    report::build().await?;
    if let Some(other) = &against {
        println!("Other binary: {}", other.version().await?);
    }
    // More arguments select rows: `calls legacy http 16`.
    if is_selected("calls") {
        table::calls(&arguments, against.as_ref()).await?;
    }
    if is_selected("flat") {
        table::flat().await?;
    }
    if is_selected("lists") {
        lists::remembered().await?;
    }
    // Takes some minutes.
    if arguments.iter().any(|argument| argument == "pools") {
        pools::many_users().await?;
    }
    if is_selected("sessions") {
        sessions::opened_and_dropped().await?;
    }
    if is_selected("instructions") {
        callgrind::instructions(against.as_ref()).await?;
    }
    // Takes ten minutes and as many gigabytes, so it runs only on request; a number after it makes it
    // shorter.
    if let Some(position) = arguments.iter().position(|argument| argument == "audit") {
        let n_records = arguments.get(position + 1).map(|number| number.parse()).transpose()?;
        audit::long_log(n_records).await?;
    }
    Ok(())
}

/// Takes `--against PATH` out of the arguments: a second binary for the tables of calls and instructions.
fn against(arguments: &mut Vec<String>) -> BenchResult<Option<OctroiBinary>> {
    let Some(position) = arguments.iter().position(|argument| argument == "--against") else {
        return Ok(None);
    };
    let path = arguments.get(position + 1).ok_or("--against needs the path of a binary")?;
    let other = OctroiBinary::at(path)?;
    arguments.drain(position..=position + 1);
    Ok(Some(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_binary_is_no_selection() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut arguments = words("calls --against /bin/sh legacy");
        assert!(against(&mut arguments).unwrap().is_some());
        assert_eq!(arguments, words("calls legacy"));
        assert!(against(&mut arguments).unwrap().is_none());
        assert!(against(&mut words("--against")).is_err());
        assert!(against(&mut words("--against /no/such/binary")).is_err());
    }
}
