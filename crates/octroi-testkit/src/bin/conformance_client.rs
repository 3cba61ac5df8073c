//! The client that the MCP conformance suite starts: Octroi in front of the suite's server, and a client of
//! Octroi.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use octroi_testkit::client::options::Era;
use octroi_testkit::conformance_client::run;
use serde_json::Value;

/// Shorter than the suite's timeout, so that an error can still be reported.
const ENDS_WITHIN: Duration = Duration::from_secs(25);

/// Octroi as the client of a conformance scenario.
#[derive(Parser)]
struct Arguments {
    /// The suite's server.
    url: String,

    /// The era of the client in front of Octroi.
    #[arg(long, value_enum)]
    era: ClientEra,

    /// The gateway under test.
    #[arg(long, env = "OCTROI_BIN")]
    octroi: PathBuf,

    /// The scenario; the suite sets it.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO")]
    scenario: String,

    /// The scenario's context for its client, as JSON; the suite sets it.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT", default_value = "null")]
    context: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClientEra {
    Legacy,
    Modern,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let context: Value = serde_json::from_str(&arguments.context).unwrap_or_default();
    let era = match arguments.era {
        ClientEra::Legacy => Era::Legacy("2025-11-25"),
        ClientEra::Modern => Era::Modern,
    };
    let scenario = run(&arguments.scenario, &arguments.url, era, &context, &arguments.octroi);
    match tokio::time::timeout(ENDS_WITHIN, scenario).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("error: not done after {} s", ENDS_WITHIN.as_secs());
            ExitCode::FAILURE
        }
    }
}
