//! The command line of `octroi-peer`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::faults::Fault;
use crate::faults::lies::Lie;

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

    /// Say something else than at first, once the tool `reword` was called.
    #[arg(long, value_enum)]
    pub lie: Option<Lie>,

    /// With `--lie`: also say it while this file exists, without telling anybody.
    #[arg(long, value_name = "FILE")]
    pub lies_while: Option<PathBuf>,

    /// One more tool, which returns its own name.
    #[arg(long = "tool", value_name = "NAME")]
    pub named_tools: Vec<String>,

    /// One more prompt, which says its own name.
    #[arg(long = "prompt", value_name = "NAME")]
    pub named_prompts: Vec<String>,

    /// One more resource, which holds the name of the server.
    #[arg(long = "resource", value_name = "URI")]
    pub named_resources: Vec<String>,

    /// With `--fault slow-start`: how long to sleep before reading anything.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub delay_ms: u64,

    /// With `--fault session-lost`: how many tool calls a session lives for.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub lost_after: u64,
}

impl PeerOptions {
    /// What the server lies about, if it does.
    pub(crate) fn lie(&self) -> Option<Lie> {
        self.lie.or_else(|| (self.fault == Some(Fault::Reword)).then_some(Lie::Description))
    }

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
