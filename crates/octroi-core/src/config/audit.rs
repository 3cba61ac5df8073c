//! `[audit]` and `[[audit.handlers]]`: what is recorded, how durably, and where copies are sent.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::fields::Field;
use super::forms::host;
use super::keys::governance::{AUDIT, DURABILITIES, HANDLER, HANDLERS, HandlerWord, KEPT_RESULTS};
use super::listed::{Entries, Listed};
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::root;
use super::settings::{Context, Read};
use super::show::HIDDEN;
use crate::audit::Kind;
use crate::glob::Glob;
use crate::server::Remote;
use crate::substitute::Filled;
use crate::suggest::did_you_mean;
use crate::syntax::{Map, Member, Node, Origin};

const DEFAULT_ARGUMENT_BYTES: usize = 4096;
const DEFAULT_LAG: usize = 100_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The default of `retention`.
const DEFAULT_RETENTION: Duration = Duration::from_hours(90 * 24);
/// The default of `max_bytes`.
const DEFAULT_MAX_BYTES: u64 = 10_000_000_000;
/// Four segments.
const SMALLEST_MAX_BYTES: u64 = 4 * (64 << 20);
const SHORTEST_RETENTION: Duration = Duration::from_hours(24);

/// `[audit]`: what is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSection {
    /// When a record must be on disk.
    pub durability: Durability,
    /// How long records are kept; `None` keeps them forever.
    pub retention: Option<Duration>,
    /// The maximum size of the log; `None` for no limit.
    pub max_bytes: Option<u64>,
    /// How many bytes of a call's arguments are recorded.
    pub argument_bytes: usize,
    /// How much of a call's result is recorded.
    pub results: KeptResults,
    /// Where copies of records are sent.
    pub handlers: Vec<HandlerSpec>,
}

impl Default for AuditSection {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            retention: Some(DEFAULT_RETENTION),
            max_bytes: Some(DEFAULT_MAX_BYTES),
            argument_bytes: DEFAULT_ARGUMENT_BYTES,
            results: KeptResults::default(),
            handlers: Vec::new(),
        }
    }
}

/// When a record must be on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Before the call if it has side effects; slightly later otherwise.
    #[default]
    Normal,
    /// Before every call.
    Full,
}

/// How much of a call's result is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeptResults {
    /// Nothing.
    None,
    /// Its size and whether it is an error.
    #[default]
    Summary,
}

/// One of `[[audit.handlers]]`: a destination for copies of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerSpec {
    /// Its unique name.
    pub name: String,
    /// Where it sends records.
    pub destination: Destination,
    /// Only these kinds of events; empty for all.
    pub events: Vec<Glob>,
    /// How many events may be queued; beyond that the oldest are dropped.
    pub max_lag: usize,
    /// Timeout of one delivery.
    pub timeout: Duration,
}

/// The destination of an audit handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// HTTP POST as JSON.
    Webhook(Remote),
    /// Appended to a file, one record per line.
    Jsonl(PathBuf),
    /// A local or remote syslog.
    Syslog(SyslogAddress),
    /// HTTP POST as OpenTelemetry logs.
    Otlp(Remote),
}

/// The address of a syslog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogAddress {
    /// Host and port; one datagram per record.
    Udp(String),
    /// Host and port; all records in one stream.
    Tcp(String),
    /// A local socket.
    Unix(PathBuf),
}

impl HandlerSpec {
    /// Whether it sends events of this kind.
    pub fn wants(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| pattern.matches(kind))
    }
}

impl Context<'_> {
    /// The section without its handlers, and the unread handler entries.
    pub(super) fn audit(&self, map: &Map) -> (Read<AuditSection>, Vec<Node>) {
        let mut reader = self.reader(map, AUDIT, ProblemLog::of_restriction(None));
        let section = AuditSection {
            durability: reader.word_or("durability", &DURABILITIES, Durability::default()),
            retention: retention(&mut reader),
            max_bytes: max_bytes(&mut reader),
            argument_bytes: reader.count("max_argument_bytes", 0, DEFAULT_ARGUMENT_BYTES),
            results: reader.word_or("results", &KEPT_RESULTS, KeptResults::default()),
            handlers: Vec::new(),
        };
        let handlers = match reader.fields.get("handlers") {
            Some(Field { spelled, node, .. }) => {
                let key = format!("audit.{spelled}");
                let member = Member { key, origin: node.origin.clone(), node: node.clone() };
                root::list(&member, &mut reader.log)
            }
            None => Vec::new(),
        };
        ((section, reader.settings, reader.log.problems), handlers)
    }

    pub(super) fn handlers(&self, nodes: &[Node]) -> Entries<HandlerSpec> {
        let listed = Listed { what: "audit handler", name: Some("name"), keys: HANDLER };
        self.each(nodes, &listed, |reader, origin, _| handler(reader, origin))
    }
}

/// A bare number is milliseconds, but whoever writes `90` means days: a very short time is a mistake.
fn retention(reader: &mut TableReader<'_>) -> Option<Duration> {
    let retention = reader.duration_or_off("retention", Some(DEFAULT_RETENTION));
    if retention.is_some_and(|retention| retention < SHORTEST_RETENTION) {
        let origin = reader.origin("retention");
        let hint = "write a number of days, as in \"90d\"".to_owned();
        reader.log.error_with_hint(&origin, "`retention` must be at least a day", hint);
    }
    retention
}

/// The log is cut by whole segments: a lower limit could never be kept.
fn max_bytes(reader: &mut TableReader<'_>) -> Option<u64> {
    let default = usize::try_from(DEFAULT_MAX_BYTES).unwrap_or(usize::MAX);
    let max_bytes = reader.count("max_bytes", 0, default) as u64;
    if (1..SMALLEST_MAX_BYTES).contains(&max_bytes) {
        let origin = reader.origin("max_bytes");
        let hint = format!("write at least {SMALLEST_MAX_BYTES}, or 0 for no limit");
        reader.log.error_with_hint(
            &origin,
            "`max_bytes` is too small: the log is cut by whole segments",
            hint,
        );
    }
    Some(max_bytes).filter(|max_bytes| *max_bytes > 0)
}

fn handler(reader: &mut TableReader<'_>, origin: &Origin) -> Option<HandlerSpec> {
    let name = reader.identifier("name");
    let word = reader.word("kind", &HANDLERS);
    let destination = match word? {
        HandlerWord::Webhook => remote(reader, origin, "webhook").map(Destination::Webhook),
        HandlerWord::Otlp => remote(reader, origin, "otlp").map(Destination::Otlp),
        HandlerWord::Jsonl => {
            refuse(reader, &["url", "headers"], "jsonl");
            require(reader, origin, "path", "jsonl");
            reader.path("path").map(Destination::Jsonl)
        }
        HandlerWord::Syslog => {
            refuse(reader, &["path", "headers"], "syslog");
            require(reader, origin, "url", "syslog");
            syslog(reader).map(Destination::Syslog)
        }
    };
    let events = events(reader);
    let max_lag = reader.count("max_lag", 1, DEFAULT_LAG);
    let timeout = reader.duration("timeout", DEFAULT_TIMEOUT);
    Some(HandlerSpec { name: name?, destination: destination?, events, max_lag, timeout })
}

fn require(reader: &mut TableReader<'_>, origin: &Origin, key: &str, kind: &str) {
    if !reader.has(key) {
        reader.log.error(origin, format!("a handler of the kind `{kind}` needs `{key}`"));
    }
}

fn refuse(reader: &mut TableReader<'_>, keys: &[&str], kind: &str) {
    for key in keys.iter().filter(|key| reader.has(key)).collect::<Vec<_>>() {
        let origin = reader.origin(key);
        reader.log.error(&origin, format!("a handler of the kind `{kind}` has no `{key}`"));
    }
}

/// The path of a webhook is often a credential: only the host is displayed.
fn remote(reader: &mut TableReader<'_>, origin: &Origin, kind: &str) -> Option<Remote> {
    refuse(reader, &["path"], kind);
    require(reader, origin, "url", kind);
    let url = reader.web_address("url");
    if let Some(url) = &url {
        let redacted = match url.redacted.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}/{HIDDEN}", host(rest)),
            None => HIDDEN.to_owned(),
        };
        reader.show("url", json!(redacted));
    }
    let headers = reader.secrets("headers");
    Some(Remote { url: url?.value, headers })
}

fn syslog(reader: &mut TableReader<'_>) -> Option<SyslogAddress> {
    let url = reader.not_empty("url")?;
    let address = syslog_address(&url);
    match address {
        Some(_) => reader.show("url", json!(url.redacted)),
        None => {
            let origin = reader.origin("url");
            let message = format!("`{}` is not an address of a system's log", url.redacted);
            let hint = "write `udp://host:514`, `tcp://host:601` or `unix:///dev/log`".to_owned();
            reader.log.error_with_hint(&origin, message, hint);
        }
    }
    address
}

fn syslog_address(url: &Filled) -> Option<SyslogAddress> {
    let (scheme, rest) = url.value.split_once("://")?;
    if scheme == "unix" {
        return (rest.len() > 1 && rest.starts_with('/')).then(|| SyslogAddress::Unix(PathBuf::from(rest)));
    }
    let (host, port) = rest.rsplit_once(':')?;
    let is_host = match host.strip_prefix('[') {
        Some(inner) => {
            inner.strip_suffix(']').is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
        }
        None => !host.is_empty() && !host.contains([':', '/', '@', '?', '#', ' ']),
    };
    if !is_host || port.parse::<u16>().ok()? == 0 {
        return None;
    }
    match scheme {
        "udp" => Some(SyslogAddress::Udp(rest.to_owned())),
        "tcp" => Some(SyslogAddress::Tcp(rest.to_owned())),
        _ => None,
    }
}

/// What handlers get besides records.
const HANDLER_EVENTS: [&str; 2] = ["audit_checkpoint", "audit_dropped"];

fn events(reader: &mut TableReader<'_>) -> Vec<Glob> {
    let all = reader.all_located("events");
    for (filled, origin) in &all {
        let known = || Kind::WORDS.iter().map(|(word, _)| *word).chain(HANDLER_EVENTS);
        let pattern = Glob::new(&filled.value);
        if !known().any(|word| pattern.matches(word)) {
            let message = format!("`{}` matches no kind of event", filled.redacted);
            let hint = did_you_mean(&filled.redacted, known())
                .unwrap_or_else(|| "write it like `policy_decision` or `approval_*`".to_owned());
            reader.log.error_with_hint(origin, message, hint);
        }
    }
    reader.show("events", json!(all.iter().map(|(filled, _)| &filled.redacted).collect::<Vec<_>>()));
    all.iter().map(|(filled, _)| Glob::new(&filled.value)).collect()
}
