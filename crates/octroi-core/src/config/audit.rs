//! `[audit]` and `[[audit.handlers]]`: what is recorded, how safely, and where else it is sent.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::fields::Field;
use super::forms::host;
use super::keys::governance::{AUDIT, DURABILITIES, HANDLER, HANDLERS, HandlerWord, KEPT_RESULTS};
use super::listed::{Entries, Listed};
use super::node::{Map, Member, Node, Origin};
use super::problem::Notes;
use super::reader::Reader;
use super::root;
use super::settings::{Context, Read};
use super::show::HIDDEN;
use crate::audit::Kind;
use crate::glob::Glob;
use crate::server::Remote;
use crate::substitute::Filled;
use crate::suggest::did_you_mean;

const DEFAULT_ARGUMENT_BYTES: usize = 4096;
const DEFAULT_LAG: usize = 100_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const SHORTEST_RETENTION: Duration = Duration::from_hours(24);

/// `[audit]`: what is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSection {
    /// When a record is on disk.
    pub durability: Durability,
    /// How long records are kept; `None` is for ever.
    pub retention: Option<Duration>,
    /// How much of a call's arguments is kept.
    pub argument_bytes: usize,
    /// How much of a call's result is kept.
    pub results: KeptResults,
    /// Where else records are sent.
    pub handlers: Vec<HandlerSpec>,
}

impl Default for AuditSection {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            retention: None,
            argument_bytes: DEFAULT_ARGUMENT_BYTES,
            results: KeptResults::default(),
            handlers: Vec::new(),
        }
    }
}

/// When a record is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Before the call, if it changes something; a little later otherwise.
    #[default]
    Normal,
    /// Before every call.
    Full,
}

/// How much of a call's result is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeptResults {
    /// Nothing.
    None,
    /// Its size and whether it is an error.
    #[default]
    Summary,
}

/// One of `[[audit.handlers]]`: where records are sent as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerSpec {
    /// Its name.
    pub name: String,
    /// Where to.
    pub destination: Destination,
    /// Only these kinds of events; empty is all.
    pub events: Vec<Glob>,
    /// How many events may wait; more drop the oldest.
    pub max_lag: usize,
    /// For sending once.
    pub timeout: Duration,
}

/// Where an audit handler sends to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Posted as JSON.
    Webhook(Remote),
    /// Appended to a file, one in a line.
    Jsonl(PathBuf),
    /// To the system's log, here or elsewhere.
    Syslog(SyslogAddress),
    /// Posted as OpenTelemetry logs.
    Otlp(Remote),
}

/// Where a system's log listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogAddress {
    /// Host and port, one datagram for each record.
    Udp(String),
    /// Host and port, all records in one stream.
    Tcp(String),
    /// A socket of this machine.
    Unix(PathBuf),
}

impl HandlerSpec {
    /// Whether it wants events of this kind.
    pub fn wants(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| pattern.matches(kind))
    }
}

impl Context<'_> {
    /// The section without its handlers, and these as they were written.
    pub(super) fn audit(&self, map: &Map) -> (Read<AuditSection>, Vec<Node>) {
        let mut reader = self.reader(map, AUDIT, Notes::of_restriction(None));
        let section = AuditSection {
            durability: reader.word_or("durability", &DURABILITIES, Durability::default()),
            retention: retention(&mut reader),
            argument_bytes: reader.count("max_argument_bytes", 0, DEFAULT_ARGUMENT_BYTES),
            results: reader.word_or("results", &KEPT_RESULTS, KeptResults::default()),
            handlers: Vec::new(),
        };
        let handlers = match reader.fields.get("handlers") {
            Some(Field { spelled, node, .. }) => {
                let key = format!("audit.{spelled}");
                let member = Member { key, origin: node.origin.clone(), node: node.clone() };
                root::list(&member, &mut reader.notes)
            }
            None => Vec::new(),
        };
        ((section, reader.shown, reader.notes.problems), handlers)
    }

    pub(super) fn handlers(&self, nodes: &[Node]) -> Entries<HandlerSpec> {
        let listed = Listed { what: "audit handler", name: Some("name"), keys: HANDLER };
        self.each(nodes, &listed, |reader, origin, _| handler(reader, origin))
    }
}

/// A bare number is milliseconds, and whoever writes `90` means days: too short a time is a mistake, not a wish.
fn retention(reader: &mut Reader<'_>) -> Option<Duration> {
    let retention = reader.duration_or_off("retention", None);
    if retention.is_some_and(|retention| retention < SHORTEST_RETENTION) {
        let origin = reader.origin("retention");
        let hint = "write a number of days, as in \"90d\"".to_owned();
        reader.notes.error_with_hint(&origin, "`retention` must be at least a day", hint);
    }
    retention
}

fn handler(reader: &mut Reader<'_>, origin: &Origin) -> Option<HandlerSpec> {
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

fn require(reader: &mut Reader<'_>, origin: &Origin, key: &str, kind: &str) {
    if !reader.has(key) {
        reader.notes.error(origin, format!("a handler of the kind `{kind}` needs `{key}`"));
    }
}

fn refuse(reader: &mut Reader<'_>, keys: &[&str], kind: &str) {
    for key in keys.iter().filter(|key| reader.has(key)).collect::<Vec<_>>() {
        let origin = reader.origin(key);
        reader.notes.error(&origin, format!("a handler of the kind `{kind}` has no `{key}`"));
    }
}

/// The path of a webhook often is its password: only the host shows.
fn remote(reader: &mut Reader<'_>, origin: &Origin, kind: &str) -> Option<Remote> {
    refuse(reader, &["path"], kind);
    require(reader, origin, "url", kind);
    let url = reader.web_address("url");
    if let Some(url) = &url {
        let shown = match url.shown.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{}/{HIDDEN}", host(rest)),
            None => HIDDEN.to_owned(),
        };
        reader.show("url", json!(shown));
    }
    let headers = reader.secrets("headers");
    Some(Remote { url: url?.value, headers })
}

fn syslog(reader: &mut Reader<'_>) -> Option<SyslogAddress> {
    let url = reader.not_empty("url")?;
    let address = syslog_address(&url);
    match address {
        Some(_) => reader.show("url", json!(url.shown)),
        None => {
            let origin = reader.origin("url");
            let message = format!("`{}` is not an address of a system's log", url.shown);
            let hint = "write `udp://host:514`, `tcp://host:601` or `unix:///dev/log`".to_owned();
            reader.notes.error_with_hint(&origin, message, hint);
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

fn events(reader: &mut Reader<'_>) -> Vec<Glob> {
    let all = reader.all_located("events");
    for (filled, origin) in &all {
        let known = || Kind::WORDS.iter().map(|(word, _)| *word);
        let pattern = Glob::new(&filled.value);
        if !known().any(|word| pattern.matches(word)) {
            let message = format!("`{}` fits no kind of event", filled.shown);
            let hint = did_you_mean(&filled.shown, known())
                .unwrap_or_else(|| "write it like `policy_decision` or `approval_*`".to_owned());
            reader.notes.error_with_hint(origin, message, hint);
        }
    }
    reader.show("events", json!(all.iter().map(|(filled, _)| &filled.shown).collect::<Vec<_>>()));
    all.iter().map(|(filled, _)| Glob::new(&filled.value)).collect()
}
