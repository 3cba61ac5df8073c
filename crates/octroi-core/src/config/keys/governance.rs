//! The keys of governance: policies, agents, approvals, pins, the audit log, quotas, gates and inference.

use super::{Key, Kind, RISKS, Word, key, names};
use crate::agent::{Mode, Profile};
use crate::config::{DenialStyle, Durability, KeptResults, NoticeTopic};
use crate::pin::{NewTools, PinPolicy};

/// The `kind` of an audit handler, as written.
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
pub(in crate::config) const NEW_TOOLS: [Word<Option<NewTools>>; 4] = [
    ("by_profile", None, &[]),
    ("review", Some(NewTools::Review), &[]),
    ("notice", Some(NewTools::Notice), &[]),
    ("allow", Some(NewTools::Allow), &[]),
];

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

pub(in crate::config) const NOTICE_TOPICS: [Word<NoticeTopic>; 2] = [
    (NoticeTopic::Approvals.as_str(), NoticeTopic::Approvals, &[]),
    (NoticeTopic::Quarantine.as_str(), NoticeTopic::Quarantine, &[]),
];

/// `[policy]`.
pub const POLICY: &[Key] = &[
    key("profile", Kind::Words(|| names(&PROFILES)), "guarded", "The profile of agents without their own."),
    key("floor", Kind::Text, "none", "The policy file that no other policy can loosen."),
    key("global", Kind::Text, "none", "The policy file for all agents."),
    key(
        "errors",
        Kind::Words(|| names(&DENIAL_STYLES)),
        "rpc",
        "How clients get a denial: `rpc` as a JSON-RPC error, `result` as a result with `isError`.",
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
    key("id", Kind::Identifier, "", "The agent's name, as in `agent_id` of its token.").required(),
    key("profile", Kind::Words(|| names(&PROFILES)), "`policy.profile`", "How strict the gates are with it."),
    key("mode", Kind::Words(|| names(&MODES)), "execution", "`planning` may only read."),
    key("project", Kind::Text, "none", "The project it works on."),
    key("project_root", Kind::Text, "none", "The directory of the project."),
    key("spec_hash", Kind::Text, "none", "The hash of its specification."),
    key("spec_frozen", Kind::Flag, "false", "Whether its specification is frozen."),
    key(
        "blacklist",
        Kind::Texts,
        "payments, cloud.key_delete",
        "Side effects it must not have; replaces the default.",
    ),
    key("owner", Kind::Text, "\"admin\"", "The user it belongs to, who decides about its calls."),
    key("policy", Kind::Text, "none", "The policy file of this agent."),
];

/// `[approvals]`.
pub const APPROVALS: &[Key] = &[
    key(
        "wait",
        Kind::DurationOrOff,
        "50s",
        "How long a caller waits for a person; `false` answers immediately that approval is pending.",
    ),
    key("expires", Kind::Duration, "1h", "How long an approval can be decided."),
    key("grant_expires", Kind::Duration, "10m", "How long an approved call can be made."),
    key(
        "form",
        Kind::Flag,
        "false",
        "Whether a form that the agent's own client shows counts as a person's answer.",
    ),
    key("url", Kind::Text, "where Octroi listens", "The address at which people reach Octroi."),
    key(
        "keep_arguments",
        Kind::Duration,
        "1h",
        "How long the arguments of a finished approval are kept, encrypted; their digest stays.",
    ),
    key(
        "retention",
        Kind::Duration,
        "90d",
        "How long a finished approval is listed; the audit log keeps its records.",
    ),
    key(
        "max_argument_bytes",
        Kind::Count(0),
        "1048576",
        "How large arguments and other params may be that a person is asked about; larger calls are refused.",
    ),
    key(
        "max_pending",
        Kind::Count(1),
        "100",
        "Calls of one agent that may wait for a person; more are refused.",
    ),
    key(
        "max_pending_bytes",
        Kind::Count(1024),
        "8388608",
        "The arguments and other params of these calls together, in bytes; more are refused. Those of finished calls are kept in what is left.",
    ),
];

/// `[pins]`.
pub const PINS: &[Key] = &[
    key(
        "mode",
        Kind::Words(|| names(&PIN_MODES)),
        "trust_first",
        "What happens to a tool that is seen for the first time. `trust_first` accepts it, `ask` quarantines \
        it until a person has reviewed it, `strict` refuses what is not in the lock file.",
    ),
    key(
        "new_tools",
        Kind::Words(|| names(&NEW_TOOLS)),
        "by_profile",
        "What happens in mode `trust_first` to a tool that a known server adds. `review` quarantines it until a \
        person has accepted it, `notice` accepts it and shows it in `octroi status` for a week. `by_profile` is `review` if any agent has the profile `strict`, else \
        `notice` if any has `guarded`, else `allow`.",
    ),
    key("lock", Kind::Text, "octroi.lock beside the file", "The lock file with the accepted definitions."),
];

/// `[notify]`.
pub const NOTIFY: &[Key] = &[
    key(
        "about",
        Kind::Texts,
        "approvals, quarantine",
        "What is told: `approvals` are calls that begin to wait for approval, `quarantine` definitions of tools that are \
        quarantined.",
    ),
    key(
        "command",
        Kind::Command,
        "none",
        "A program that gets each notice as JSON on its standard input, alone or with its arguments; never run through a \
        shell.",
    ),
    key("args", Kind::Texts, "none", "More arguments."),
    key(
        "env",
        Kind::TextMap,
        "none",
        "Environment variables for the program, besides the few that every program gets.",
    ),
    key(
        "webhook",
        Kind::Text,
        "none",
        "Where each notice is posted as JSON: an https:// address, or an http:// address of this machine.",
    ),
    key("headers", Kind::TextMap, "none", "Headers for every request to the webhook."),
    key(
        "desktop",
        Kind::Flag,
        "false",
        "Whether the desktop of this machine shows each notice: `notify-send` on Linux, `osascript` on macOS.",
    ),
    key(
        "every",
        Kind::Duration,
        "10s",
        "The shortest time between two notices; what happens meanwhile is told together.",
    ),
    key("timeout", Kind::Duration, "10s", "For one delivery."),
];

/// `[audit]`.
pub const AUDIT: &[Key] = &[
    key(
        "durability",
        Kind::Words(|| names(&DURABILITIES)),
        "normal",
        "`full` has every record on disk before its call is made; `normal` those of calls with side \
        effects, high risk or an approval.",
    ),
    key(
        "retention",
        Kind::DurationOrOff,
        "90d",
        "How long records are kept, at least `1d`; `false` keeps them forever.",
    ),
    key(
        "max_bytes",
        Kind::Count(0),
        "10000000000",
        "The maximum size of the log; beyond it the oldest records are removed. 0 for no limit.",
    ),
    key("max_argument_bytes", Kind::Count(0), "4096", "How many bytes of a call's arguments are kept."),
    key("results", Kind::Words(|| names(&KEPT_RESULTS)), "summary", "How much of a call's result is kept."),
    key("handlers", Kind::Tables(HANDLER), "", "Where copies of records are sent."),
];

/// `[[audit.handlers]]`.
pub const HANDLER: &[Key] = &[
    key("name", Kind::Identifier, "", "The handler's name.").required(),
    key("kind", Kind::Words(|| names(&HANDLERS)), "", "How records are sent.").required(),
    key(
        "url",
        Kind::Text,
        "",
        "Where to: `http://` or `https://` for `webhook` and `otlp`; `udp://host:514`, `tcp://host:601` or \
        `unix:///dev/log` for `syslog`.",
    ),
    key("path", Kind::Text, "", "The file that `jsonl` appends to."),
    key("headers", Kind::TextMap, "none", "Headers for every request of `webhook` and `otlp`."),
    key("events", Kind::Texts, "all", "Only these kinds of events; `*` matches any characters."),
    key("max_lag", Kind::Count(1), "100000", "How many events may wait; more drop the oldest."),
    key("timeout", Kind::Duration, "10s", "For one delivery."),
];

/// `[[quotas]]`.
pub const QUOTA: &[Key] = &[
    key("name", Kind::Identifier, "its number", "Its name in denials."),
    key("token", Kind::Text, "", "Whose calls count: a pattern over labels of tokens.").one_of(WHOSE),
    key("agent", Kind::Text, "", "Whose calls count: a pattern over ids of agents.").one_of(WHOSE),
    key("server", Kind::Text, "", "Which calls count: a pattern over names of servers.").one_of(WHOSE),
    key("tool", Kind::Text, "", "Which calls count: a pattern over `server.tool`.").one_of(WHOSE),
    key("calls_per_minute", Kind::Count(1), "", "Calls started within a minute.").one_of(LIMIT),
    key("max_in_flight", Kind::Count(1), "", "Calls at the same time.").one_of(LIMIT),
    key("max_runtime", Kind::Duration, "", "How long one call may take.").one_of(LIMIT),
    key(
        "each",
        Kind::Flag,
        "true",
        "Whether each matching token, agent, server or tool is counted separately; `false` counts them together.",
    ),
];
const WHOSE: &str = "one of `token`, `agent`, `server`, `tool`";
const LIMIT: &str = "one of `calls_per_minute`, `max_in_flight`, `max_runtime`";

/// `[[gates]]`.
pub const GATE: &[Key] = &[
    key("name", Kind::Identifier, "", "Its name in denials.").required(),
    key("command", Kind::Command, "", "The program, alone or with its arguments; never run through a shell.")
        .required(),
    key("args", Kind::Texts, "none", "More arguments."),
    key(
        "env",
        Kind::TextMap,
        "none",
        "Environment variables for the program, besides the few that every program gets.",
    ),
    key("tools", Kind::Texts, "all", "Patterns over `server.tool`: it is asked only about these."),
    key("timeout", Kind::Duration, "2s", "For one answer; a late answer denies."),
    key("memory", Kind::Count(1), "256", "How much memory it may use, in MiB."),
];

/// `[[inference]]`.
pub const INFERENCE: &[Key] = &[
    key("tools", Kind::Text, "*", "Which tools: a pattern over `server.tool`."),
    key("words", Kind::Texts, "none", "Words; one of them must occur in the name or the description."),
    key("risk", Kind::Words(|| names(&RISKS)), "", "The risk of these tools.").one_of(KNOWLEDGE),
    key("side_effects", Kind::Texts, "", "Their side effects, as tags; none with `[]`.").one_of(KNOWLEDGE),
];
const KNOWLEDGE: &str = "one of `risk`, `side_effects`";
