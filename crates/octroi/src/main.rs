//! Octroi: the gate between AI agents and their tools.

use std::process::ExitCode;

mod cli;
mod client;
mod clock;
mod commands;
mod config;
mod demo;
mod endpoint;
mod failure;
mod governance;
mod hidden_input;
mod logging;
mod printer;
mod relay;
mod table;
mod terminal;
mod tls;
mod token;

/// It has a thread that returns memory soon: after large messages the system's allocator keeps several times what it
/// needs.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Every server process has a reaper, which is this program; it needs no runtime and no command line.
    if let Some(code) = octroi_gateway::take_over(std::env::args_os().skip(1)) {
        return code;
    }
    let (cli, format) = match cli::read(std::env::args_os()) {
        Ok(read) => read,
        Err(error) => return error.report(),
    };
    let outcome = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(commands::run(cli));
            // Blocking reads of standard input cannot be interrupted; do not wait for them.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(failure::Failure::new(format!("cannot start: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer::failure(&failure, format);
            ExitCode::from(failure.exit.code())
        }
    }
}
