//! Every configuration key, defined once.
//!
//! The normaliser takes names and synonyms from here, and so do the JSON Schema, the reference page and the
//! suggestions for misspelt keys.

use crate::principal::TokenKind;
use crate::server::{EraChoice, RuntimeKind, Sharing, Start};
use crate::tool::Risk;
use crate::trust::Trust;

pub mod governance;
mod server;

pub use server::SERVER;

use governance::{AGENT, APPROVALS, AUDIT, DENIAL_STYLES, GATE, INFERENCE, NOTIFY, PINS, POLICY, QUOTA};

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its canonical spelling.
    pub name: &'static str,
    /// Its synonyms.
    pub synonyms: &'static [&'static str],
    /// The type of its value.
    pub kind: Kind,
    /// Its default for the reference; empty if there is none.
    pub default: &'static str,
    /// Its description for the reference.
    pub about: &'static str,
    /// Whether a table must have it.
    pub need: Need,
}

/// Whether a table must have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It may be omitted.
    Optional,
    /// It must be present.
    Required,
    /// At least one key with this text must be present; the text is used in messages.
    OneOf(&'static str),
}

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// `true`, `false`, or this word.
    FlagOr(&'static str),
    /// A string.
    Text,
    /// A name without substitution: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`.
    Identifier,
    /// A list of strings.
    Texts,
    /// A table of strings.
    TextMap,
    /// A string, or a list of strings.
    Command,
    /// A duration above zero.
    Duration,
    /// A duration, or `false` for never.
    DurationOrOff,
    /// An integer of at least this.
    Count(usize),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A table whose values are one of these words.
    WordMap(fn() -> Vec<&'static str>),
    /// A table with its own keys.
    Table(&'static [Key]),
    /// A list of such tables.
    Tables(&'static [Key]),
    /// A map of such tables, with arbitrary names.
    TableMap(&'static [Key]),
    /// A table with its own keys, or `false`.
    TableOrOff(&'static [Key]),
}

/// A word, its meaning, and its synonyms.
pub type Word<T> = (&'static str, T, &'static [&'static str]);

fn names<T>(words: &[Word<T>]) -> Vec<&'static str> {
    words.iter().map(|(name, _, _)| *name).collect()
}

/// The `transport` of a server, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransportWord {
    Stdio,
    Http,
    Sse,
}

pub(super) const TRANSPORTS: [Word<TransportWord>; 3] = [
    ("stdio", TransportWord::Stdio, &["local"]),
    (
        "http",
        TransportWord::Http,
        &["remote", "streamable_http", "streamable-http", "streamableHttp", "streamablehttp"],
    ),
    ("sse", TransportWord::Sse, &[]),
];
pub(super) const ERAS: [Word<EraChoice>; 3] =
    [("auto", EraChoice::Auto, &[]), ("legacy", EraChoice::Legacy, &[]), ("modern", EraChoice::Modern, &[])];
pub(super) const STARTS: [Word<Start>; 3] =
    [("eager", Start::Eager, &[]), ("lazy", Start::Lazy, &[]), ("manual", Start::Manual, &[])];
pub(super) const SHARINGS: [Word<Sharing>; 4] = [
    ("auto", Sharing::Auto, &[]),
    ("shared", Sharing::Shared, &[]),
    ("per_user", Sharing::PerUser, &["per-user"]),
    ("per_session", Sharing::PerSession, &["per-session"]),
];
pub(super) const TRUSTS: [Word<Trust>; 3] = [
    ("low", Trust::Low, &["LOW", "untrusted", "UNTRUSTED"]),
    ("medium", Trust::Medium, &["MEDIUM"]),
    ("high", Trust::High, &["HIGH"]),
];
pub(super) const RISKS: [Word<Risk>; 4] = [
    ("low", Risk::Low, &["LOW"]),
    ("medium", Risk::Medium, &["MEDIUM", "MED", "med"]),
    ("high", Risk::High, &["HIGH"]),
    ("critical", Risk::Critical, &["CRITICAL"]),
];
pub(super) const RUNTIMES: [Word<RuntimeKind>; 4] = [
    ("host", RuntimeKind::Host, &[]),
    ("dynamic_injected", RuntimeKind::DynamicInjected, &[]),
    ("preinstalled", RuntimeKind::Preinstalled, &[]),
    ("custom_image", RuntimeKind::CustomImage, &[]),
];
/// The word of `auto_reload` besides `true` and `false`.
pub(super) const ASK: &str = "ask";
pub(super) const SCOPES: [Word<()>; 1] = [("system", (), &[])];
pub(super) const TOKEN_ROLES: [Word<TokenKind>; 3] = [
    ("human", TokenKind::Human, &[]),
    ("agent", TokenKind::Agent, &[]),
    ("service", TokenKind::Service, &[]),
];
pub(super) const GATEWAY_TRANSPORTS: [Word<TransportWord>; 2] =
    [("stdio", TransportWord::Stdio, &[]), ("http", TransportWord::Http, &[])];

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, synonyms: &[], kind, default, about, need: Need::Optional }
}

impl Key {
    const fn or(mut self, synonyms: &'static [&'static str]) -> Self {
        self.synonyms = synonyms;
        self
    }

    const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    const fn one_of(mut self, which: &'static str) -> Self {
        self.need = Need::OneOf(which);
        self
    }

    /// Whether this is one of its spellings.
    pub fn is(&self, spelled: &str) -> bool {
        self.name == spelled || self.synonyms.contains(&spelled)
    }
}

/// The whole file, in its canonical form.
pub const ROOT: &[Key] = &[
    key("server", Kind::Table(SERVER), "", "How clients reach Octroi."),
    key("rest", Kind::Table(REST), "", "The REST interface for scripts."),
    key("mcp", Kind::Table(MCP), "", "The MCP servers behind Octroi."),
    key("tokens", Kind::Tables(TOKEN), "", "Who may connect."),
    key("policy", Kind::Table(POLICY), "", "What is allowed, needs approval, or is denied."),
    key("agents", Kind::Tables(AGENT), "", "Settings of single agents."),
    key("approvals", Kind::Table(APPROVALS), "", "How people approve calls."),
    key("pins", Kind::Table(PINS), "", "What happens to tools that are new or have changed."),
    key("notify", Kind::Table(NOTIFY), "", "Who is told that a person is needed."),
    key("secrets", Kind::Table(SECRETS), "", "How stored secrets are encrypted."),
    key("members", Kind::Table(MEMBERS), "", "What users who are no administrators may do with servers."),
    key("templates", Kind::Table(TEMPLATES), "", "Templates of one's own, to add servers from."),
    key("presets", Kind::Table(PRESETS), "", "Presets of one's own, to create agents from."),
    key("audit", Kind::Table(AUDIT), "", "What is recorded."),
    key("quotas", Kind::Tables(QUOTA), "", "Limits on calls."),
    key("gates", Kind::Tables(GATE), "", "Custom gates: programs that check calls."),
    key(
        "inference",
        Kind::Tables(INFERENCE),
        "",
        "Risk and side effects of tools; the first matching entry applies.",
    ),
];

/// File shapes of other programs, recognized by their top-level keys.
pub(super) const SHAPES: [&str; 6] =
    ["mcp_servers", "mcpServers", "mcpServer", "servers", "inputs", "$schema"];

/// `[rest]`.
pub const REST: &[Key] = &[key(
    "enabled",
    Kind::Flag,
    "true",
    "Answer requests at `/api`. Without it everything there is not found; MCP and the command line are not affected.",
)];

/// `[secrets]`.
pub const SECRETS: &[Key] = &[key(
    "key_file",
    Kind::Text,
    "`master.key` in the data directory",
    "The file with the key that stored secrets are encrypted with: 64 hexadecimal digits. `OCTROI_MASTER_KEY` comes \
    before it. Takes effect at the next start.",
)];

/// `[members]`.
pub const MEMBERS: &[Key] = &[
    key(
        "allow_hosts",
        Kind::Texts,
        "none",
        "Where servers that members add may be although it is no public address: hosts, `*.` and a host for all \
        below it, or networks such as `10.1.0.0/16`.",
    ),
    key(
        "allow_host_commands",
        Kind::Flag,
        "false",
        "Whether members may add servers that run a command on this machine.",
    ),
];

/// `[templates]`.
pub const TEMPLATES: &[Key] = &[key(
    "dir",
    Kind::Text,
    "`templates` beside the file",
    "The directory with templates of your own, one TOML file each.",
)];

/// `[presets]`.
pub const PRESETS: &[Key] = &[key(
    "dir",
    Kind::Text,
    "`presets` beside the file",
    "The directory with presets of your own, one TOML or YAML file each. `OCTROI_PRESETS` comes before it.",
)];

/// `[mcp]`.
pub const MCP: &[Key] = &[
    key("enabled", Kind::Flag, "true", "`false` switches every server off."),
    key(
        "auto_reload",
        Kind::FlagOr(ASK),
        "\"ask\"",
        "What a changed file does by itself. `true` takes effect as a whole; `\"ask\"` applies what tightens or is \
        harmless, and the rest waits for a person; `false` does nothing.",
    ),
    key(
        "health_check_interval",
        Kind::DurationOrOff,
        "1m",
        "How often the health of servers is checked, unless their entry says otherwise.",
    ),
    key(
        "health_retention",
        Kind::DurationOrOff,
        "7d",
        "How long the results of health checks are kept, up to 12000 for each server; `false` for as long as that.",
    ),
    key("strict", Kind::Flag, "true", "Whether an unknown key is an error; `false` makes it a warning."),
    key(
        "wire_name_max",
        Kind::Count(24),
        "50",
        "The longest name of a tool or prompt in lists; longer ones are cut and get a part of a hash. Most clients accept \
        64 characters, and some put a prefix like `mcp__octroi__` before the name.",
    ),
    key(
        "list_wait",
        Kind::Duration,
        "1500ms",
        "How long lists wait for a server that was never seen, counted from its first start; what it offers later is \
        announced. Servers that are remembered are not waited for.",
    ),
    key(
        "pool_idle",
        Kind::Duration,
        "10m",
        "How long the table of names of a set of servers is kept that nobody uses; it is made again when it is needed.",
    ),
    key(
        "max_pools",
        Kind::Count(1),
        "1000",
        "How many such tables are kept. Everybody who sees the same servers shares one; beyond the limit, those go \
        that were unused for longest.",
    ),
    key("servers", Kind::Tables(ENTRY), "", "The servers.").or(&["clients"]),
];

/// `[[mcp.servers]]`.
pub const ENTRY: &[Key] = &[
    key("name", Kind::Text, "", "The server's name: a-z, 0-9, `_` and `-`, up to 32 characters.")
        .or(&["id"])
        .required(),
    key("title", Kind::Text, "", "A title for people.").or(&["display_name"]),
    key("description", Kind::Text, "", "What the server is for."),
    key(
        "enabled",
        Kind::Flag,
        "true",
        "`false` switches the server off; the default with `trust = \"low\"`.",
    ),
    key(
        "transport",
        Kind::Words(|| names(&TRANSPORTS)),
        "by `command` or `url`",
        "How the server is reached. `http` falls back to HTTP+SSE where a server has only that.",
    )
    .or(&["type"]),
    key(
        "command",
        Kind::Command,
        "",
        "The program to start, alone or with its arguments; never run through a shell.",
    ),
    key("args", Kind::Texts, "none", "More arguments."),
    key(
        "env",
        Kind::TextMap,
        "none",
        "Environment variables for the program, besides the few that every program gets.",
    )
    .or(&["environment"]),
    key("inherit_env", Kind::Texts, "none", "Environment variables of Octroi that the program also gets."),
    key(
        "cwd",
        Kind::Text,
        "a directory of its own in the data directory",
        "The working directory of the program.",
    ),
    key(
        "url",
        Kind::Text,
        "",
        "The address of a remote server; also `sse://…`, and `stdio://…` for a program.",
    ),
    key("headers", Kind::TextMap, "none", "Headers for every request to a remote server."),
    key(
        "oauth",
        Kind::TableOrOff(OAUTH),
        "",
        "The OAuth client to sign in as; `{}` discovers it, `false` never signs in. Without effect yet.",
    ),
    key(
        "api_key_env",
        Kind::Text,
        "",
        "A variable of Octroi with the server's key. A program gets the variable, \
        a remote server a bearer token.",
    ),
    key("era", Kind::Words(|| names(&ERAS)), "auto", "Which protocol era to use."),
    key(
        "start",
        Kind::Words(|| names(&STARTS)),
        "eager",
        "When to connect. `auto_start = true` is `eager`, `false` \
        is `lazy`.",
    )
    .or(&["auto_start"]),
    key("sharing", Kind::Words(|| names(&SHARINGS)), "auto", "Who shares a process or a connection."),
    key("reconnect", Kind::Flag, "true", "Whether to reconnect after the connection was lost."),
    key("timeout", Kind::Duration, "1m", "For one call; progress resets it.")
        .or(&["call_timeout", "timeout_ms"]),
    key("max_call_timeout", Kind::Duration, "5m", "For one call in total."),
    key("connect_timeout", Kind::Duration, "1m", "For the start and the handshake."),
    key("list_timeout", Kind::Duration, "15s", "For one page of a list."),
    key("shutdown_grace", Kind::Duration, "5s", "For a program to exit by itself."),
    key("max_message_bytes", Kind::Count(1), "16777216", "The largest message it may send, in bytes."),
    key("max_list_bytes", Kind::Count(1), "4194304", "All pages of one of its lists together, in bytes."),
    key("max_list_items", Kind::Count(1), "20000", "Entries of one of its lists; the rest is left out."),
    key("max_concurrency", Kind::Count(1), "10", "The concurrency limit: calls at the same time; more wait."),
    key("queue", Kind::Count(0), "100", "Calls that may wait; more are refused."),
    key(
        "max_connections",
        Kind::Count(1),
        "100",
        "Processes or connections for single clients; more clients share with `auto`, and are refused otherwise.",
    ),
    key(
        "health_interval",
        Kind::DurationOrOff,
        "`mcp.health_check_interval`",
        "How often the server's health is checked.",
    ),
    key(
        "idle_stop",
        Kind::DurationOrOff,
        "false",
        "Stopped after this time without a call, until the next one.",
    ),
    key(
        "trust",
        Kind::Words(|| names(&TRUSTS)),
        "medium; low on another machine",
        "How far the server is trusted.",
    ),
    key("allow_tools", Kind::Texts, "all", "Patterns over its own tool names: only these tools."),
    key("deny_tools", Kind::Texts, "none", "Patterns over its own tool names: never these tools."),
    key("deny_side_effect_tags", Kind::Texts, "none", "No tool with one of these side effects."),
    key(
        "strict_arguments",
        Kind::Flag,
        "false",
        "Whether arguments that a tool's input schema does not name are refused, at every level where it lists properties.",
    ),
    key(
        "risk_overrides",
        Kind::WordMap(|| names(&RISKS)),
        "none",
        "Patterns over its own tool names, and their risk.",
    ),
    key("tools_override", Kind::TableMap(OVERRIDE), "none", "Settings of single tools, by their own names.")
        .or(&["tool_overrides"]),
    key("template_id", Kind::Text, "", "The template it was made from."),
    key("scope", Kind::Words(|| names(&SCOPES)), "system", "Servers in a file belong to everybody."),
    key(
        "env_type",
        Kind::Words(|| names(&RUNTIMES)),
        "host",
        "What provides the program. Environments are not built yet: a server with `custom_image` is refused, with the others the command runs on this machine.",
    ),
    key("runtime", Kind::Text, "", "The runtime the package needs, for `dynamic_injected`."),
    key("package", Kind::Text, "", "The package to install, for `dynamic_injected`."),
    key("image", Kind::Text, "", "The image to run, for `custom_image`."),
];

/// `[mcp.servers.tools_override.NAME]`.
pub const OVERRIDE: &[Key] = &[
    key(
        "enabled",
        Kind::Flag,
        "true",
        "`false` switches the tool off: no client sees it, and every call of it is denied.",
    ),
    key("reason", Kind::Text, "none", "Why it is off, for callers whose call is denied."),
    key("risk", Kind::Words(|| names(&RISKS)), "by its name and its hints", "The tool's risk."),
    key(
        "side_effects",
        Kind::Texts,
        "by its name and its hints",
        "The tool's side effects, as tags; none with `[]`.",
    ),
    key("requires_admin_token", Kind::Flag, "for a critical risk", "Whether its calls need the admin token."),
];

/// These keys of an entry may also be nested one level deeper.
pub const NESTED: (&str, &[&str]) = ("env_config", &["env", "cwd", "headers", "runtime", "package", "image"]);

/// `oauth = { … }`.
pub const OAUTH: &[Key] = &[
    key("client_id", Kind::Text, "", "The id of the registered client.").or(&["clientId"]),
    key("client_secret", Kind::Text, "", "The client's secret.").or(&["clientSecret"]),
    key("scope", Kind::Text, "", "The scopes to request."),
];

/// `[[tokens]]`.
pub const TOKEN: &[Key] = &[
    key("token", Kind::Text, "", "The token itself."),
    key("sha256", Kind::Text, "", "The SHA-256 of the token, instead of it: 64 hexadecimal digits."),
    key(
        "role",
        Kind::Words(|| names(&TOKEN_ROLES)),
        "",
        "Whether it belongs to a person, to an agent, or to a service that reads metrics.",
    )
    .required(),
    key("agent_id", Kind::Text, "", "Which agent, for an agent's token."),
    key("user", Kind::Text, "\"admin\"", "Which user, for a person's token."),
    key("admin", Kind::Flag, "false", "Whether the user is an administrator; `admin` always is."),
    key("label", Kind::Text, "the user, or `agent:` and the agent's id", "Its name in quotas."),
    key("errors", Kind::Words(|| names(&DENIAL_STYLES)), "`policy.errors`", "How its clients get a denial."),
];

/// Octroi's own server in the file shapes `mcpServer` or `mcp.server`.
pub(super) const OWN: &[Key] = &[
    key("enabled", Kind::Flag, "true", ""),
    key("transport", Kind::Words(|| names(&GATEWAY_TRANSPORTS)), "", ""),
    key("http", Kind::Table(OWN_HTTP), "", ""),
];
pub(super) const OWN_HTTP: &[Key] =
    &[key("port", Kind::Count(1), "3000", ""), key("host", Kind::Text, "127.0.0.1", "")];
