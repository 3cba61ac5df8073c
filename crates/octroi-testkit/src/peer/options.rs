//! The command line of `octroi-peer`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::peer::faults::Fault;
use crate::peer::faults::lies::Lie;

/// The only modern version that the peer supports.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The legacy versions that the peer supports, oldest first. They are dates, so they compare as text.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A scripted MCP server for tests: it follows the specification or, with `--fault`, violates it in one way.
#[derive(Debug, Clone, Parser)]
#[command(name = "octroi-peer", version)]
pub struct PeerOptions {
    /// How clients reach the server.
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    pub transport: Transport,

    /// The protocol eras that the server supports.
    #[arg(long, value_enum, default_value_t = Eras::Legacy)]
    pub era: Eras,

    /// The newest legacy version that the server supports; it supports the older ones too.
    #[arg(long, value_name = "VERSION", default_value = LEGACY_VERSIONS[3], value_parser = LEGACY_VERSIONS)]
    pub legacy_version: String,

    /// Where `http` and `sse` listen; port 0 picks a free one.
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

    /// With `--era both`: ask only over legacy connections, as servers of common SDKs do.
    #[arg(long)]
    pub asks_legacy_only: bool,

    /// The name in `serverInfo`.
    #[arg(long, default_value = "octroi-peer")]
    pub name: String,

    /// Misbehave in one way; everything else still works.
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,

    /// Change the lists in one way, once the tool `reword` was called.
    #[arg(long, value_enum)]
    pub lie: Option<Lie>,

    /// With `--lie`: also while this file exists, without a notification.
    #[arg(long, value_name = "FILE")]
    pub lies_while: Option<PathBuf>,

    /// One more tool, which returns its own name.
    #[arg(long = "tool", value_name = "NAME")]
    pub named_tools: Vec<String>,

    /// One more prompt, which returns its own name.
    #[arg(long = "prompt", value_name = "NAME")]
    pub named_prompts: Vec<String>,

    /// One more resource, which contains the name of the server.
    #[arg(long = "resource", value_name = "URI")]
    pub named_resources: Vec<String>,

    /// With `--fault slow-start`: how long to sleep before reading anything.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub delay_ms: u64,

    /// With `--fault session-lost`: after how many tool calls a session is lost.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub lost_after: u64,

    /// With `http` and `--era legacy`: how requests of an unknown session are refused.
    #[arg(long, value_enum, default_value_t = UnknownSession::NotFound)]
    pub unknown_session: UnknownSession,
}

impl PeerOptions {
    /// The lie of the server, if any.
    pub(crate) fn lie(&self) -> Option<Lie> {
        self.lie.or_else(|| (self.fault == Some(Fault::Reword)).then_some(Lie::Description))
    }

    /// The legacy versions that this server supports, oldest first.
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

/// How a server refuses an unknown session, in the words of common SDKs and their examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnknownSession {
    /// 404, as the specification says.
    NotFound,
    /// 400, as many examples do.
    BadRequest,
    /// 400, because no session was begun.
    NotInitialized,
    /// 401.
    Unauthorized,
    /// 422.
    Unprocessable,
    /// 200, with an error that belongs to no request.
    Ok,
    /// 200, with an error that answers the request.
    OkAnswered,
    /// 200, with a stream of that error.
    OkStreamed,
}

/// The protocol eras of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Eras {
    /// `initialize` and sessions.
    Legacy,
    /// Stateless requests that carry `_meta`.
    Modern,
    /// The era that the client starts with.
    Both,
}
