//! The keys of what is decided and kept: policies, agents, approvals, pins, the audit log, quotas, gates and what is
//! known about tools.

use super::{Key, Kind, RISKS, Word, key, names};
use crate::config::{DenialStyle, Durability, KeptResults};
use crate::decision::{Mode, Profile};
use crate::pin::PinPolicy;

/// Where an audit handler sends to, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum HandlerWord {
    Webhook,
    Jsonl,
    Syslog,
    Otlp,
}

pub(in crate::config) const PROFILES: [Word<Profile>; 3] =
    [("strict", Profile::Strict, &[]), ("guarded", Profile::Guarded, &[]), ("open", Profile::Open, &[])];
pub(in crate::config) const MODES: [Word<Mode>; 2] =
    [("planning", Mode::Planning, &[]), ("execution", Mode::Execution, &[])];
pub(in crate::config) const DENIAL_STYLES: [Word<DenialStyle>; 2] =
    [("rpc", DenialStyle::Rpc, &[]), ("result", DenialStyle::Result, &[])];
pub(in crate::config) const PIN_MODES: [Word<PinPolicy>; 3] = [
    ("trust_first", PinPolicy::TrustFirst, &[]),
    ("ask", PinPolicy::Ask, &[]),
    ("strict", PinPolicy::Strict, &[]),
];
pub(in crate::config) const DURABILITIES: [Word<Durability>; 2] =
    [("normal", Durability::Normal, &[]), ("full", Durability::Full, &[])];
pub(in crate::config) const KEPT_RESULTS: [Word<KeptResults>; 2] =
    [("none", KeptResults::None, &[]), ("summary", KeptResults::Summary, &[])];
pub(in crate::config) const HANDLERS: [Word<HandlerWord>; 4] = [
    ("webhook", HandlerWord::Webhook, &[]),
    ("jsonl", HandlerWord::Jsonl, &[]),
    ("syslog", HandlerWord::Syslog, &[]),
    ("otlp", HandlerWord::Otlp, &[]),
];

/// `[policy]`.
pub const POLICY: &[Key] = &[
    key("profile", Kind::Words(|| names(&PROFILES)), "guarded", "The profile of agents that name none."),
    key("floor", Kind::Text, "none", "The policy file that nothing below it can loosen."),
    key("global", Kind::Text, "none", "The policy file for all agents."),
    key(
        "errors",
        Kind::Words(|| names(&DENIAL_STYLES)),
        "rpc",
        "How clients are told of a denial: `rpc` is a JSON-RPC error, `result` a result that says it is one.",
    ),
    key(
        "proposals",
        Kind::Flag,
        "false",
        "Whether agents may propose policies for themselves; a person decides about each.",
    ),
];

/// `[[agents]]`.
pub const AGENT: &[Key] = &[
    key("id", Kind::Identifier, "", "Its name, as in `agent_id` of its token.").required(),
    key("profile", Kind::Words(|| names(&PROFILES)), "`policy.profile`", "How strict the gates are with it."),
    key("mode", Kind::Words(|| names(&MODES)), "execution", "`planning` may look, not touch."),
    key("project", Kind::Text, "none", "What it works on."),
    key("project_root", Kind::Text, "none", "The directory of what it works on."),
    key("spec_hash", Kind::Text, "none", "The hash of what it is to build."),
    key("spec_frozen", Kind::Flag, "false", "Whether what it is to build is settled."),
    key(
        "blacklist",
        Kind::Texts,
        "payments, cloud.key_delete",
        "Side effects it must not have; replaces the default.",
    ),
    key("policy", Kind::Text, "none", "The policy file of this agent."),
];

/// `[approvals]`.
pub const APPROVALS: &[Key] = &[
    key(
        "wait",
        Kind::DurationOrOff,
        "50s",
        "How long a caller is kept waiting for a person; `false` answers at once that one was asked.",
    ),
    key("expires", Kind::Duration, "1h", "How long a question stays open."),
    key("grant_expires", Kind::Duration, "10m", "How long an approved call may be picked up."),
    key(
        "form",
        Kind::Flag,
        "false",
        "Whether a form that the agent's own client shows counts as a person's answer.",
    ),
    key("url", Kind::Text, "where Octroi listens", "The address under which people reach Octroi."),
];

/// `[pins]`.
pub const PINS: &[Key] = &[
    key(
        "mode",
        Kind::Words(|| names(&PIN_MODES)),
        "trust_first",
        "What becomes of a tool that is seen for the first time: `trust_first` takes it as it is, `ask` asks a \
        person, `strict` refuses what is not in the lock file.",
    ),
    key("lock", Kind::Text, "octroi.lock beside the file", "Where the approved definitions are kept."),
];

/// `[audit]`.
pub const AUDIT: &[Key] = &[
    key(
        "durability",
        Kind::Words(|| names(&DURABILITIES)),
        "normal",
        "`full` has every record on disk before its call is made; `normal` those of calls that change something.",
    ),
    key(
        "retention",
        Kind::DurationOrOff,
        "false",
        "How long records are kept, at least `1d`; `false` is for ever.",
    ),
    key("max_argument_bytes", Kind::Count(0), "4096", "How much of a call's arguments is kept."),
    key("results", Kind::Words(|| names(&KEPT_RESULTS)), "summary", "How much of a call's result is kept."),
    key("handlers", Kind::Tables(HANDLER), "", "Where else records are sent."),
];

/// `[[audit.handlers]]`.
pub const HANDLER: &[Key] = &[
    key("name", Kind::Identifier, "", "Its name.").required(),
    key("kind", Kind::Words(|| names(&HANDLERS)), "", "How records are sent.").required(),
    key(
        "url",
        Kind::Text,
        "",
        "Where to: `http://` or `https://` for `webhook` and `otlp`; `udp://host:514`, `tcp://host:601` or \
        `unix:///dev/log` for `syslog`.",
    ),
    key("path", Kind::Text, "", "The file that `jsonl` appends to."),
    key("headers", Kind::TextMap, "none", "Sent with every request of `webhook` and `otlp`."),
    key("events", Kind::Texts, "all", "Only these kinds of events; `*` stands for any letters."),
    key("max_lag", Kind::Count(1), "100000", "How many events may wait; more drop the oldest."),
    key("timeout", Kind::Duration, "10s", "For sending once."),
];

/// `[[quotas]]`.
pub const QUOTA: &[Key] = &[
    key("name", Kind::Identifier, "its number", "What a refusal calls it."),
    key("token", Kind::Text, "", "Whose calls count: a pattern over labels of tokens.").one_of(WHOSE),
    key("agent", Kind::Text, "", "Whose calls count: a pattern over ids of agents.").one_of(WHOSE),
    key("server", Kind::Text, "", "Which calls count: a pattern over names of servers.").one_of(WHOSE),
    key("tool", Kind::Text, "", "Which calls count: a pattern over `server.tool`.").one_of(WHOSE),
    key("calls_per_minute", Kind::Count(1), "", "Calls begun within a minute.").one_of(LIMIT),
    key("max_in_flight", Kind::Count(1), "", "Calls at once.").one_of(LIMIT),
    key("max_runtime", Kind::Duration, "", "How long one call may take.").one_of(LIMIT),
    key(
        "each",
        Kind::Flag,
        "true",
        "Whether each token, agent, server or tool that fits counts for itself; `false` counts them together.",
    ),
];
const WHOSE: &str = "one of `token`, `agent`, `server`, `tool`";
const LIMIT: &str = "one of `calls_per_minute`, `max_in_flight`, `max_runtime`";

/// `[[gates]]`.
pub const GATE: &[Key] = &[
    key("name", Kind::Identifier, "", "What a denial calls it.").required(),
    key(
        "command",
        Kind::Command,
        "",
        "The program to ask, alone or with its arguments; never run by a shell.",
    )
    .required(),
    key("args", Kind::Texts, "none", "More arguments."),
    key("env", Kind::TextMap, "none", "Variables for the program, besides the few that every program gets."),
    key("tools", Kind::Texts, "all", "Patterns over `server.tool`: it is asked only about these."),
    key("timeout", Kind::Duration, "2s", "For one answer; a late one denies."),
    key("memory", Kind::Count(1), "256", "How much memory it may take, in MiB."),
];

/// `[[inference]]`.
pub const INFERENCE: &[Key] = &[
    key("tools", Kind::Text, "*", "Which tools: a pattern over `server.tool`."),
    key("words", Kind::Texts, "none", "Words of which one must stand in the name or the description."),
    key("risk", Kind::Words(|| names(&RISKS)), "", "How risky such a tool is.").one_of(KNOWLEDGE),
    key("side_effects", Kind::Texts, "", "What it does, as tags; none with `[]`.").one_of(KNOWLEDGE),
];
const KNOWLEDGE: &str = "one of `risk`, `side_effects`";
