//! Agents for a gateway under attack: one that works as it should and measures how long that takes, and
//! hostile ones.
//!
//! Each runs as a process of its own, `octroi-agent`, so that a test can give the hostile ones a lower
//! priority. What is then measured is the gateway, and not who gets a core.

mod attack;
mod deep;
mod honest;
mod huge;
mod lying;
mod many;
pub mod report;
mod slow;
mod wire;

use std::io;

use clap::{Parser, ValueEnum};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, Stdin};

use attack::Attack;
use honest::HonestAgent;

/// The command line of `octroi-agent`.
#[derive(Debug, Clone, Parser)]
#[command(name = "octroi-agent", version)]
pub struct AgentOptions {
    /// The gateway, as `http://HOST:PORT`.
    #[arg(long)]
    pub gateway: String,

    /// The agent's token.
    #[arg(long)]
    pub token: String,

    /// What it does; several at the same time if it is hostile.
    #[arg(long, value_enum, required = true)]
    pub behaviour: Vec<Behaviour>,

    /// A session of another agent, which a lying one tries to use.
    #[arg(long, default_value = "")]
    pub foreign_session: String,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Behaviour {
    /// Calls, lists and reads in both eras, at a moderate pace, and checks every answer.
    Honest,
    /// Sends headers and bodies byte by byte, and reads nothing of its answers and streams.
    Slow,
    /// Sends and requests as much as it may, and more.
    Huge,
    /// Sends nested messages, and arguments that are expensive to check.
    Deep,
    /// As many connections, sessions, subscriptions, approvals, tasks, calls and wrong tokens as it can.
    Many,
    /// Sends wrong ids, sessions of others, names in several spellings and forged headers.
    Lying,
}

/// Runs the agent until stdin ends. Each line of stdin ends a phase: the agent prints what happened in it,
/// as one line of JSON.
pub async fn run(options: AgentOptions) -> io::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    if options.behaviour.contains(&Behaviour::Honest) {
        let agent = HonestAgent::new(&options);
        return tokio::select! {
            biased;
            ended = answer_lines(&mut lines, || agent.report()) => ended,
            () = agent.work() => Ok(()),
        };
    }
    let attack = Attack::new(&options);
    tokio::select! {
        biased;
        ended = answer_lines(&mut lines, || attack.report()) => ended,
        _ = futures_util::future::join_all(options.behaviour.iter().map(|behaviour| attack.run(*behaviour))) => Ok(()),
    }
}

/// Prints a report for each line, until stdin ends.
async fn answer_lines<R: serde::Serialize>(
    lines: &mut Lines<BufReader<Stdin>>,
    report: impl Fn() -> R,
) -> io::Result<()> {
    let mut stdout = tokio::io::stdout();
    while lines.next_line().await?.is_some() {
        let text = serde_json::to_string(&report())?;
        stdout.write_all(format!("{text}\n").as_bytes()).await?;
        stdout.flush().await?;
    }
    Ok(())
}
