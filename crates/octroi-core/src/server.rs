//! How a server is defined.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::glob::Glob;
use crate::name::{ServerKey, ServerName};
use crate::secret::Secret;
use crate::tool::{Risk, ToolOverride};

/// One configured server, valid as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// What tells it from all others.
    pub key: ServerKey,
    /// What people call it.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Where it is.
    pub transport: Transport,
    /// Which era to speak to it.
    pub era: EraChoice,
    /// When to connect.
    pub start: Start,
    /// Who shares a process or a connection.
    pub sharing: Sharing,
    /// Whether to connect again after the connection was lost.
    pub reconnect: bool,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How much it may send, and how much it is asked at once.
    pub limits: Limits,
    /// How often to ask whether it is well; `None` never asks.
    pub health_interval: Option<Duration>,
    /// Stopped after this long without a call, until the next one.
    pub idle_stop: Option<Duration>,
    /// How far it is trusted.
    pub trust: Trust,
    /// What of it may be used.
    pub access: ToolAccess,
    /// How risky its tools are, where somebody knows better: patterns over their own names.
    pub risk_overrides: BTreeMap<String, Risk>,
    /// What holds for single tools, by their own names. It stands above `risk_overrides`.
    pub tools_override: BTreeMap<String, ToolOverride>,
    /// Whether and how to sign in to a remote server.
    pub oauth: OauthChoice,
    /// What provides the program.
    pub runtime: Runtime,
    /// The template it was made from.
    pub template_id: Option<String>,
}

impl ServerSpec {
    /// A definition with everything but name and address left at its default.
    pub fn new(key: ServerKey, transport: Transport) -> Self {
        Self {
            key,
            title: None,
            description: None,
            enabled: true,
            transport,
            era: EraChoice::default(),
            start: Start::default(),
            sharing: Sharing::default(),
            reconnect: true,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            health_interval: Some(Duration::from_mins(1)),
            idle_stop: None,
            trust: Trust::default(),
            access: ToolAccess::default(),
            risk_overrides: BTreeMap::new(),
            tools_override: BTreeMap::new(),
            oauth: OauthChoice::default(),
            runtime: Runtime::default(),
            template_id: None,
        }
    }

    /// The name under which it appears.
    pub fn name(&self) -> &ServerName {
        &self.key.name
    }

    /// All that this entry says of one of its tools.
    pub fn said_of(&self, tool: &str) -> ToolOverride {
        let mut said = self.tools_override.get(tool).cloned().unwrap_or_default();
        let by_pattern = || self.risk_overrides.iter().find(|(pattern, _)| Glob::new(pattern).matches(tool));
        said.risk = said.risk.or_else(|| by_pattern().map(|(_, risk)| *risk));
        said
    }
}

/// Who shares a process or a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Everybody.
    #[default]
    Shared,
    /// All sessions of one principal.
    PerUser,
    /// Nobody: each client session has its own.
    PerSession,
}

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Unknown source, or dangerous operations.
    Low,
    /// Community servers, limited side effects.
    #[default]
    Medium,
    /// Official or verified sources.
    High,
}

impl Trust {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Which tools of a server may be used, as glob patterns over their own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAccess {
    /// If not empty, only these.
    pub allow_tools: Vec<String>,
    /// Never these.
    pub deny_tools: Vec<String>,
    /// No tool with one of these side effects.
    pub deny_side_effect_tags: Vec<String>,
}

/// Whether and how to sign in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OauthChoice {
    /// Nothing was said.
    #[default]
    Unset,
    /// Never.
    Off,
    /// As this client; an empty one registers itself.
    On(OauthClient),
}

/// A client to sign in as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OauthClient {
    /// The id it was registered under.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// What to ask for.
    pub scope: Option<String>,
}

/// What provides a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Which way.
    pub kind: RuntimeKind,
    /// The runtime that its package needs.
    pub runtime: Option<String>,
    /// The package to install.
    pub package: Option<String>,
    /// The image to run.
    pub image: Option<String>,
}

/// Ways to provide a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeKind {
    /// It is on this machine.
    #[default]
    Host,
    /// Its package is installed when it starts.
    DynamicInjected,
    /// It is part of the base image.
    Preinstalled,
    /// It has an image of its own.
    CustomImage,
}

/// Where a server is and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that talks over its standard streams.
    Stdio(Program),
    /// Streamable HTTP; falls back to HTTP+SSE where the server only has that.
    Http(Remote),
    /// The old HTTP+SSE.
    Sse(Remote),
}

/// A program to run. Its arguments may hold secrets, so only their number shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// What to run; never through a shell.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets besides the few that every child gets.
    pub env: BTreeMap<String, Secret>,
    /// Names of Octroi's own variables that it gets too.
    pub inherit_env: Vec<String>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
}

/// An address to call. Its path and query may hold secrets, so only the host shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    /// `http://` or `https://`.
    pub url: String,
    /// Sent with every request.
    pub headers: BTreeMap<String, Secret>,
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Program")
            .field("command", &self.command)
            .field("n_args", &self.args.len())
            .field("env", &self.env)
            .field("inherit_env", &self.inherit_env)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        formatter
            .debug_struct("Remote")
            .field("host", &format_args!("{scheme}://{host}"))
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Which era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraChoice {
    /// Find out.
    #[default]
    Auto,
    /// `initialize` and sessions.
    Legacy,
    /// Stateless.
    Modern,
}

/// When to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// In the background, when Octroi starts.
    #[default]
    Eager,
    /// When somebody lists or calls.
    Lazy,
    /// When somebody says so.
    Manual,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From starting a process or opening a connection to the end of the handshake. Generous, because
    /// `npx` may have to download the server first.
    pub connect: Duration,
    /// For an answer to a call; progress starts it anew.
    pub call: Duration,
    /// For a call in all, whatever progress it reports.
    pub call_cap: Duration,
    /// For one page of a list.
    pub list: Duration,
    /// For a process to end by itself before it is killed.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_mins(1),
            call: Duration::from_secs(30),
            call_cap: Duration::from_mins(5),
            list: Duration::from_secs(15),
            shutdown: Duration::from_secs(5),
        }
    }
}

/// How much a server may send, and how much it is asked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest message, in bytes.
    pub message_bytes: usize,
    /// Calls in flight; more wait.
    pub concurrency: usize,
    /// Calls that may wait; more are refused as busy.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_bytes: 16 << 20, concurrency: 10, queue: 100 }
    }
}

/// Reads a duration as configuration writes it: a bare number is milliseconds, a text has a unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" | "min" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
        "d" => Some(Duration::from_secs(number.checked_mul(86_400)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, expected) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("30s", Some(Duration::from_secs(30))),
            ("2m", Some(Duration::from_mins(2))),
            ("1 h", Some(Duration::from_hours(1))),
            ("90d", Some(Duration::from_hours(90 * 24))),
            ("18446744073709551615d", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("", None),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn a_definition_shows_no_secret() {
        let remote = Remote {
            url: "https://me:hunter2@example.com/hunter2?key=hunter2".into(),
            headers: BTreeMap::from([("authorization".into(), Secret::new("hunter2"))]),
        };
        let shown = format!("{remote:?}");
        assert!(!shown.contains("hunter2") && shown.contains("https://example.com"), "{shown}");
        let program = Program {
            command: "run".into(),
            args: vec!["--key=hunter2".into()],
            env: BTreeMap::from([("KEY".into(), Secret::new("hunter2"))]),
            inherit_env: Vec::new(),
            cwd: None,
        };
        assert!(!format!("{program:?}").contains("hunter2"));
    }
}
