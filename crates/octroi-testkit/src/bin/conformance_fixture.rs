//! Starts the conformance fixture, prints where it listens, and optionally exits with its parent.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use octroi_testkit::conformance::{Answers, Asks, Era, Server, serve_stdio};
use tokio::sync::oneshot;

/// The server that the MCP conformance suite is pointed at.
#[derive(Parser)]
struct Arguments {
    /// Serve Streamable HTTP at /mcp on this address; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// The protocol eras to serve.
    #[arg(long, value_enum, default_value_t = Era::Both)]
    era: Era,

    /// The response format of a 2026-07-28 request over HTTP.
    #[arg(long, value_enum, default_value_t = Answers::Events)]
    answers: Answers,

    /// When to ask in which way.
    #[arg(long, value_enum, default_value_t = Asks::InEachEra)]
    asks: Asks,

    /// Serve one client on stdin and stdout instead of HTTP.
    #[arg(long)]
    stdio: bool,

    /// Exit when stdin is closed, so that a test that dies leaves no process behind.
    #[arg(long, conflicts_with = "stdio")]
    exit_with_stdin: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> io::Result<()> {
    if arguments.stdio {
        return serve_stdio(arguments.era, arguments.asks).await;
    }
    let server = Server::bind(arguments.listen, arguments.era, arguments.answers, arguments.asks).await?;
    writeln!(io::stdout(), "listening on {}", server.url()?)?;
    if !arguments.exit_with_stdin {
        return server.run().await;
    }
    tokio::select! {
        result = server.run() => result,
        _ = stdin_closed() => Ok(()),
    }
}

/// Resolves when stdin ends.
///
/// Read on its own thread: the runtime would wait for its own pending read on shutdown.
fn stdin_closed() -> oneshot::Receiver<()> {
    let (closed, receiver) = oneshot::channel();
    thread::spawn(move || {
        // Whether it ended or failed, the parent is gone.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = closed.send(());
    });
    receiver
}
