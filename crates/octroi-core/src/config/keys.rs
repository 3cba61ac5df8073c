//! Every key that can be written, once.
//!
//! The normaliser takes names and synonyms from here, and so do the JSON Schema, the reference page and the
//! suggestions for misspelt keys.

use crate::principal::Role;
use crate::server::{EraChoice, RuntimeKind, Sharing, Start, Trust};
use crate::tool::Risk;

pub mod governance;

use governance::{AGENT, APPROVALS, AUDIT, DENIAL_STYLES, GATE, INFERENCE, PINS, POLICY, QUOTA};

/// One key.
#[derive(Debug)]
pub struct Key {
    /// How it is written in the canonical form.
    pub name: &'static str,
    /// How else it may be written.
    pub synonyms: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// What holds if it is not written; empty if nothing does.
    pub default: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether a table can do without it.
    pub need: Need,
}

/// Whether a table can do without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It can.
    Optional,
    /// It cannot.
    Required,
    /// It needs at least one of all keys with this text, which says so in messages.
    OneOf(&'static str),
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A text.
    Text,
    /// A name that is taken as it is written: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`.
    Identifier,
    /// A list of texts.
    Texts,
    /// A table of texts.
    TextMap,
    /// A text, or a list of texts.
    Command,
    /// A duration above zero.
    Duration,
    /// A duration, or `false` for never.
    DurationOrOff,
    /// A whole number, at least this.
    Count(usize),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A table whose values are one of these words.
    WordMap(fn() -> Vec<&'static str>),
    /// A table with keys of its own.
    Table(&'static [Key]),
    /// A list of such tables.
    Tables(&'static [Key]),
    /// A table of such tables, by names that are not known beforehand.
    TableMap(&'static [Key]),
    /// A table with keys of its own, or `false`.
    TableOrOff(&'static [Key]),
}

/// A word, what it means, and how else it may be written.
pub type Word<T> = (&'static str, T, &'static [&'static str]);

fn names<T>(words: &[Word<T>]) -> Vec<&'static str> {
    words.iter().map(|(name, _, _)| *name).collect()
}

/// How a server is reached, as written.
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
pub(super) const SHARINGS: [Word<Sharing>; 3] = [
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
pub(super) const SCOPES: [Word<()>; 1] = [("system", (), &[])];
pub(super) const ROLES: [Word<Role>; 2] = [("human", Role::Human, &[]), ("agent", Role::Agent, &[])];
pub(super) const DOORS: [Word<TransportWord>; 2] =
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

    /// Whether it may be written like this.
    pub fn is(&self, spelled: &str) -> bool {
        self.name == spelled || self.synonyms.contains(&spelled)
    }
}

/// The whole file, in its canonical form.
pub const ROOT: &[Key] = &[
    key("server", Kind::Table(SERVER), "", "How Octroi itself is reached."),
    key("mcp", Kind::Table(MCP), "", "The servers behind it."),
    key("tokens", Kind::Tables(TOKEN), "", "Who may come in."),
    key("policy", Kind::Table(POLICY), "", "What is allowed, asked and denied."),
    key("agents", Kind::Tables(AGENT), "", "What is known about agents."),
    key("approvals", Kind::Table(APPROVALS), "", "How people are asked."),
    key("pins", Kind::Table(PINS), "", "What becomes of tools that are new or have changed."),
    key("audit", Kind::Table(AUDIT), "", "What is recorded."),
    key("quotas", Kind::Tables(QUOTA), "", "How much may be called."),
    key("gates", Kind::Tables(GATE), "", "Programs that are asked about calls."),
    key(
        "inference",
        Kind::Tables(INFERENCE),
        "",
        "What is known about tools; the first entry that fits counts.",
    ),
];

/// Shapes of other programs, told by their keys at the top of the file.
pub(super) const SHAPES: [&str; 6] =
    ["mcp_servers", "mcpServers", "mcpServer", "servers", "inputs", "$schema"];

/// `[server]`.
pub const SERVER: &[Key] = &[
    key(
        "listen",
        Kind::Text,
        "127.0.0.1:7878",
        "Address and port. Anything but a loopback address needs at least one token in the file.",
    ),
    key("allowed_hosts", Kind::Texts, "none", "Names besides localhost under which clients reach Octroi."),
    key("allowed_origins", Kind::Texts, "none", "Web pages that may call it."),
    key("max_body_bytes", Kind::Count(1), "4194304", "The largest request."),
    key("session_idle", Kind::Duration, "30m", "After how long without a request a session ends."),
    key(
        "admin_token",
        Kind::Text,
        "",
        "The token that opens what agents must not do; not one of `[[tokens]]`.",
    ),
    key("admin_token_sha256", Kind::Text, "", "Its hash, in its place: 64 hexadecimal digits."),
];

/// `[mcp]`.
pub const MCP: &[Key] = &[
    key("enabled", Kind::Flag, "true", "`false` switches every server off."),
    key("auto_reload", Kind::Flag, "true", "Whether a changed file counts at once."),
    key(
        "health_check_interval",
        Kind::DurationOrOff,
        "1m",
        "How often servers are asked whether they are well, unless they say otherwise.",
    ),
    key("strict", Kind::Flag, "true", "Whether an unknown key is an error; `false` makes it a warning."),
    key("servers", Kind::Tables(ENTRY), "", "The servers.").or(&["clients"]),
];

/// `[[mcp.servers]]`.
pub const ENTRY: &[Key] = &[
    key("name", Kind::Text, "", "Its name: a-z, 0-9, `_` and `-`, up to 32 characters.")
        .or(&["id"])
        .required(),
    key("title", Kind::Text, "", "What people call it.").or(&["display_name"]),
    key("description", Kind::Text, "", "What it is for."),
    key("enabled", Kind::Flag, "true", "`false` leaves it out; the default with `trust = \"low\"`."),
    key(
        "transport",
        Kind::Words(|| names(&TRANSPORTS)),
        "by `command` or `url`",
        "How it is reached: `http` \
        falls back to the old event stream where a server only has that.",
    )
    .or(&["type"]),
    key(
        "command",
        Kind::Command,
        "",
        "The program to start, alone or with its arguments; never run by a shell.",
    ),
    key("args", Kind::Texts, "none", "More arguments."),
    key("env", Kind::TextMap, "none", "Variables for the program, besides the few that every program gets.")
        .or(&["environment"]),
    key("inherit_env", Kind::Texts, "none", "Variables of Octroi that the program gets too."),
    key("cwd", Kind::Text, "the file's directory", "Where the program runs."),
    key(
        "url",
        Kind::Text,
        "",
        "The address of a remote server; also `sse://…`, and `stdio://…` for a program.",
    ),
    key("headers", Kind::TextMap, "none", "Sent with every request to a remote server."),
    key(
        "oauth",
        Kind::TableOrOff(OAUTH),
        "",
        "A client to sign in as; `{}` finds out, `false` never signs in. \
        Kept, not acted on yet.",
    ),
    key(
        "api_key_env",
        Kind::Text,
        "",
        "A variable of Octroi that holds the server's key: a program gets the \
        variable, a remote server a bearer token.",
    ),
    key("era", Kind::Words(|| names(&ERAS)), "auto", "Which era of the protocol to speak."),
    key(
        "start",
        Kind::Words(|| names(&STARTS)),
        "eager",
        "When to connect. `auto_start = true` is `eager`, `false` \
        is `lazy`.",
    )
    .or(&["auto_start"]),
    key("sharing", Kind::Words(|| names(&SHARINGS)), "shared", "Who shares a process or a connection."),
    key("reconnect", Kind::Flag, "true", "Whether to connect again after the connection was lost."),
    key("timeout", Kind::Duration, "30s", "For one call; progress starts it anew.")
        .or(&["call_timeout", "timeout_ms"]),
    key("max_call_timeout", Kind::Duration, "5m", "For a call in all."),
    key("connect_timeout", Kind::Duration, "1m", "For starting it and shaking hands."),
    key("list_timeout", Kind::Duration, "15s", "For one page of a list."),
    key("shutdown_grace", Kind::Duration, "5s", "For a program to end by itself."),
    key("max_message_bytes", Kind::Count(1), "16777216", "The largest message it may send."),
    key("max_concurrency", Kind::Count(1), "10", "Calls at once; more wait."),
    key("queue", Kind::Count(0), "100", "Calls that may wait; more are refused."),
    key(
        "health_interval",
        Kind::DurationOrOff,
        "`mcp.health_check_interval`",
        "How often to ask whether it is well.",
    ),
    key(
        "idle_stop",
        Kind::DurationOrOff,
        "false",
        "Stopped after this long without a call, until the next one.",
    ),
    key("trust", Kind::Words(|| names(&TRUSTS)), "medium; low on another machine", "How far it is trusted."),
    key("allow_tools", Kind::Texts, "all", "Patterns over its own tool names: only these."),
    key("deny_tools", Kind::Texts, "none", "Patterns over its own tool names: never these."),
    key("deny_side_effect_tags", Kind::Texts, "none", "No tool with one of these side effects."),
    key(
        "risk_overrides",
        Kind::WordMap(|| names(&RISKS)),
        "none",
        "Patterns over its own tool names, and their risk.",
    ),
    key(
        "tools_override",
        Kind::TableMap(OVERRIDE),
        "none",
        "What holds for single tools, by their own names.",
    )
    .or(&["tool_overrides"]),
    key("template_id", Kind::Text, "", "The template it was made from."),
    key("scope", Kind::Words(|| names(&SCOPES)), "system", "What is written in a file is for everybody."),
    key(
        "env_type",
        Kind::Words(|| names(&RUNTIMES)),
        "host",
        "What provides the program. Kept, not acted on yet.",
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
        "`false` switches it off: nobody sees it, and every call of it is denied.",
    ),
    key("reason", Kind::Text, "none", "Why it is off, for whoever is denied."),
    key("risk", Kind::Words(|| names(&RISKS)), "by its name and its hints", "How risky it is."),
    key("side_effects", Kind::Texts, "by its name and its hints", "What it does, as tags; none with `[]`."),
    key(
        "requires_admin_token",
        Kind::Flag,
        "for a critical risk",
        "Whether a call of it needs the admin token.",
    ),
];

/// These keys of an entry may also stand one level deeper.
pub const NESTED: (&str, &[&str]) = ("env_config", &["env", "cwd", "headers", "runtime", "package", "image"]);

/// `oauth = { … }`.
pub const OAUTH: &[Key] = &[
    key("client_id", Kind::Text, "", "The client that was registered.").or(&["clientId"]),
    key("client_secret", Kind::Text, "", "Its secret.").or(&["clientSecret"]),
    key("scope", Kind::Text, "", "What to ask for."),
];

/// `[[tokens]]`.
pub const TOKEN: &[Key] = &[
    key("token", Kind::Text, "", "The token itself."),
    key("sha256", Kind::Text, "", "Its hash, in its place: 64 hexadecimal digits."),
    key("role", Kind::Words(|| names(&ROLES)), "", "Whose it is.").required(),
    key("agent_id", Kind::Text, "", "Which agent, for an agent's token."),
    key(
        "label",
        Kind::Text,
        "`agent:` and the agent's id, or `human-` and its number",
        "What quotas call it.",
    ),
    key(
        "errors",
        Kind::Words(|| names(&DENIAL_STYLES)),
        "`policy.errors`",
        "How its clients are told of a denial.",
    ),
];

/// Octroi's own server in the shape `mcpServer` or `mcp.server`.
pub(super) const OWN: &[Key] = &[
    key("enabled", Kind::Flag, "true", ""),
    key("transport", Kind::Words(|| names(&DOORS)), "", ""),
    key("http", Kind::Table(OWN_HTTP), "", ""),
];
pub(super) const OWN_HTTP: &[Key] =
    &[key("port", Kind::Count(1), "3000", ""), key("host", Kind::Text, "127.0.0.1", "")];
