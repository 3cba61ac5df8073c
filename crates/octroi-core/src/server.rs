//! The definition of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::arguments::Strictness;
use crate::glob::Glob;
use crate::name::{ServerKey, ServerName};
use crate::secret::Secret;
use crate::switched_off::SwitchedOff;
use crate::tool::{Risk, ToolOverride};
use crate::trust::Trust;

/// One configured server, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// Its unique key.
    pub key: ServerKey,
    /// Its display name.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What keeps it off; `None` if it may be used.
    pub switched_off: Option<SwitchedOff>,
    /// How to reach it.
    pub transport: Transport,
    /// The protocol era to use.
    pub era: EraChoice,
    /// When to connect.
    pub start: Start,
    /// Who shares a process or a connection.
    pub sharing: Sharing,
    /// Whether to reconnect after the connection was lost.
    pub reconnect: bool,
    /// All timeouts of the server.
    pub timeouts: Timeouts,
    /// The message size and concurrency limits.
    pub limits: Limits,
    /// The interval of health checks; `None` disables them.
    pub health_interval: Option<Duration>,
    /// Stopped after this time without a call, until the next one.
    pub idle_stop: Option<Duration>,
    /// How far it is trusted.
    pub trust: Trust,
    /// Which of its tools may be used.
    pub access: ToolAccess,
    /// Risk levels set by an administrator: patterns over its own tool names.
    pub risk_overrides: BTreeMap<String, Risk>,
    /// Whether arguments that a tool's schema does not name are refused.
    pub strictness: Strictness,
    /// Settings of single tools, by their own names. They take precedence over `risk_overrides`.
    pub tools_override: BTreeMap<String, ToolOverride>,
    /// Whether and how to sign in to a remote server.
    pub oauth: OauthChoice,
    /// What provides the program.
    pub runtime: Runtime,
    /// The template it was made from.
    pub template_id: Option<String>,
    /// Who gave the definition.
    pub provenance: Provenance,
}

/// Who gave a definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    /// The configuration.
    #[default]
    File,
    /// An administrator, at run time.
    Stored,
    /// A user who is no administrator, at run time. Where the server is, is checked at every connection.
    Member,
}

impl ServerSpec {
    /// A definition with everything but name and address left at its default.
    pub fn new(key: ServerKey, transport: Transport) -> Self {
        Self {
            key,
            title: None,
            description: None,
            switched_off: None,
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
            strictness: Strictness::default(),
            tools_override: BTreeMap::new(),
            oauth: OauthChoice::default(),
            runtime: Runtime::default(),
            template_id: None,
            provenance: Provenance::default(),
        }
    }

    /// Whether it may be used at all.
    pub fn is_enabled(&self) -> bool {
        self.switched_off.is_none()
    }

    /// The name under which it is configured.
    pub fn name(&self) -> &ServerName {
        &self.key.name
    }

    /// All settings of this entry for one of its tools.
    pub fn override_of(&self, tool: &str) -> ToolOverride {
        let mut tool_override = self.tools_override.get(tool).cloned().unwrap_or_default();
        let by_pattern = || self.risk_overrides.iter().find(|(pattern, _)| Glob::new(pattern).matches(tool));
        tool_override.risk = tool_override.risk.or_else(|| by_pattern().map(|(_, risk)| *risk));
        tool_override
    }
}

/// Who shares a process or a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// All clients, until the server asks them something that needs a connection for each.
    #[default]
    Auto,
    /// All clients.
    Shared,
    /// All sessions of one principal.
    PerUser,
    /// Each client session has its own.
    PerSession,
}

/// Which tools of a server may be used, as glob patterns over their own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAccess {
    /// Unless empty, only these.
    pub allow_tools: Vec<String>,
    /// Never these.
    pub deny_tools: Vec<String>,
    /// No tool with one of these side effects.
    pub deny_side_effect_tags: Vec<String>,
}

/// Whether and how to sign in with OAuth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OauthChoice {
    /// Not configured.
    #[default]
    Unset,
    /// Never.
    Off,
    /// As this client; an empty one registers itself.
    On(OauthClient),
}

/// An OAuth client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OauthClient {
    /// The id of the registered client.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The scopes to request.
    pub scope: Option<String>,
}

/// How a program is provided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// The kind of runtime.
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
    /// It is installed on this machine.
    #[default]
    Host,
    /// Its package is installed when it starts.
    DynamicInjected,
    /// It is part of the base image.
    Preinstalled,
    /// It has its own image.
    CustomImage,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process, over its standard streams.
    Stdio(Program),
    /// Streamable HTTP; falls back to HTTP+SSE where the server only has that.
    Http(Remote),
    /// The old HTTP+SSE transport.
    Sse(Remote),
}

/// A program to run. Its arguments may contain secrets, so `Debug` shows only their number.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable; never run through a shell.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables besides the few that every child gets.
    pub env: BTreeMap<String, Secret>,
    /// Names of Octroi's environment variables that it inherits.
    pub inherit_env: Vec<String>,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
}

/// A remote address. Its path and query may contain secrets, so `Debug` shows only the host.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote {
    /// `http://` or `https://`.
    pub url: String,
    /// Headers of every request.
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

/// The protocol era to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraChoice {
    /// Detected automatically.
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
    /// On the first list or call.
    Lazy,
    /// Only on request.
    Manual,
}

/// All timeouts of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From starting a process or opening a connection to the end of the handshake. Generous, because `npx`
    /// may have to download the server first.
    pub connect: Duration,
    /// For the answer to a call; progress resets it.
    pub call: Duration,
    /// For a call in total, regardless of progress.
    pub call_cap: Duration,
    /// For one page of a list.
    pub list: Duration,
    /// For a process to exit by itself before it is killed.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_mins(1),
            call: Duration::from_mins(1),
            call_cap: Duration::from_mins(5),
            list: Duration::from_secs(15),
            shutdown: Duration::from_secs(5),
        }
    }
}

/// The message size and concurrency limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest message, in bytes.
    pub message_bytes: usize,
    /// All pages of one list together, in bytes.
    pub list_bytes: usize,
    /// Entries of one list.
    pub list_items: usize,
    /// Concurrent calls; more are queued.
    pub concurrency: usize,
    /// Queued calls; more are refused as busy.
    pub queue: usize,
    /// Connections besides the shared one, for single clients; beyond, clients share where `sharing` lets them.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            list_bytes: 4 << 20,
            list_items: 20_000,
            concurrency: 10,
            queue: 100,
            connections: 100,
        }
    }
}

/// Parses a configured duration: a bare number is milliseconds, a string has a unit.
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
        let printed = format!("{remote:?}");
        assert!(!printed.contains("hunter2") && printed.contains("https://example.com"), "{printed}");
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
