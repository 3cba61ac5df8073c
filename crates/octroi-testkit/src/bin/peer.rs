//! `octroi-peer`: the scripted MCP server as a program.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use octroi_testkit::peer::{self, options::PeerOptions};

fn main() -> ExitCode {
    let options = PeerOptions::parse();
    let outcome =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().and_then(
            |runtime| {
                let outcome = runtime.block_on(peer::run(options));
                // A read of stdin cannot be interrupted; waiting for it would keep a finished server alive.
                runtime.shutdown_background();
                outcome
            },
        );
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "octroi-peer: {error}");
            ExitCode::FAILURE
        }
    }
}
