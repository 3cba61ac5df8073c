//! `octroi-agent`: an agent of a gateway under attack, honest or hostile, as a program.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use octroi_testkit::agent::{self, AgentOptions};

fn main() -> ExitCode {
    let options = AgentOptions::parse();
    // One thread: an agent must not take more than a core.
    let outcome = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let outcome = runtime.block_on(agent::run(options));
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "octroi-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
