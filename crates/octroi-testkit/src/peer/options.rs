//! The command line of `octroi-peer`.

use std::net::SocketAddr;

use clap::{Parser, ValueEnum};

use crate::faults::Fault;

/// The only modern version the peer speaks.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The legacy versions the peer speaks, oldest first. They are dates, so they compare as text.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A scripted MCP server for tests: it does what the specification says, or, with `--fault`, one thing it forbids.
#[derive(Debug, Clone, Parser)]
#[command(name = "octroi-peer", version)]
pub struct PeerOptions {
    /// How clients reach the server.
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    pub transport: Transport,

    /// Which eras of the protocol the server speaks.
    #[arg(long, value_enum, default_value_t = Eras::Legacy)]
    pub era: Eras,

    /// The newest legacy version the server speaks; it speaks the older ones too.
    #[arg(long, value_name = "VERSION", default_value = LEGACY_VERSIONS[3], value_parser = LEGACY_VERSIONS)]
    pub legacy_version: String,

    /// Where `http` and `sse` listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,

    /// How many dummy tools (`t0001`, ...) to add, so that lists have several pages.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub tools: usize,

    /// With `http` and `sse`: exit when stdin ends, so that no test leaves a server behind.
    #[arg(long)]
    pub exit_with_stdin: bool,

    /// With stdio and `--era legacy`: do not answer requests that come before `initialize`.
    #[arg(long)]
    pub probe_silence: bool,

    /// The name in `serverInfo`.
    #[arg(long, default_value = "octroi-peer")]
    pub name: String,

    /// Misbehave in one way; everything else still works.
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,

    /// With `--fault slow-start`: how long to sleep before reading anything.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub delay_ms: u64,

    /// With `--fault session-lost`: how many tool calls a session lives for.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub lost_after: u64,
}

impl PeerOptions {
    /// The legacy versions this server speaks, oldest first.
    pub(crate) fn legacy_versions(&self) -> Vec<&'static str> {
        LEGACY_VERSIONS.into_iter().filter(|version| *version <= self.legacy_version.as_str()).collect()
    }
}

/// How clients reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Newline-delimited messages on the standard streams.
    Stdio,
    /// Streamable HTTP at `/mcp`.
    Http,
    /// The HTTP+SSE of 2024-11-05 at `/sse`; legacy only.
    Sse,
}

/// Which eras of the protocol the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Eras {
    /// `initialize` and sessions.
    Legacy,
    /// Stateless requests that carry `_meta`.
    Modern,
    /// Whichever the client opens with.
    Both,
}
