//! One server: its sources merged, then read into a definition.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::fields::{Fields, Layer, lay_over, read as read_fields, read_entry};
use super::keys::{ENTRY, ERAS, OAUTH, RISKS, RUNTIMES, SCOPES, SHARINGS, STARTS, TRUSTS};
use super::overrides::tools_override;
use super::problem::{Problem, ProblemLog, Unknown};
use super::reader::TableReader;
use super::show::Setting;
use super::{ProgramPlaces, address};
use crate::arguments::Strictness;
use crate::name::{OWN_NAME, ServerKey, ServerName};
use crate::server::{
    Limits, OauthChoice, OauthClient, Runtime, RuntimeKind, ServerSpec, Start, Timeouts, ToolAccess,
    Transport,
};
use crate::substitute::Lookup;
use crate::switched_off::SwitchedOff;
use crate::syntax::{Origin, Value};
use crate::trust::Trust;

/// What every entry is read with.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) unknown: Unknown,
    /// The default of an entry, and its origin.
    pub(super) health_interval: (Option<Duration>, &'a Origin),
    pub(super) programs: ProgramPlaces<'a>,
}

/// A server to be read.
pub(super) struct Candidate {
    pub(super) name: Option<String>,
    pub(super) origin: Origin,
    /// Its sources, weakest first.
    pub(super) layers: Vec<Layer>,
}

/// The result of reading a server.
pub(super) struct ReadServer {
    pub(super) spec: Option<(ServerSpec, Vec<Setting>)>,
    pub(super) problems: Vec<Problem>,
}

/// Reads one server.
pub(super) fn read(candidate: &Candidate, base: &Path, context: Context<'_>) -> ReadServer {
    let subject = match &candidate.name {
        Some(name) => format!("server `{name}`"),
        None => "a server".to_owned(),
    };
    let mut log = ProblemLog::of_entry(subject, context.unknown);
    let layers = candidate.layers.iter().map(|layer| read_entry(layer, ENTRY, &mut log));
    let fields = layers.collect::<Vec<_>>().into_iter().reduce(lay_over).unwrap_or_default();
    if is_only_a_switch(&fields) && candidate.name.is_some() {
        let message = "it has neither `command` nor `url`, and there is no such server to switch";
        match fields.get("enabled").map(|field| &field.node.value) {
            Some(Value::Bool(false)) => log.warn(&candidate.origin, message),
            // A misspelt key is reported already; the missing address follows from it.
            _ if log.has_errors() => {}
            _ => log.error(&candidate.origin, message),
        }
        return ReadServer { spec: None, problems: log.problems };
    }
    let is_off = fields.get("enabled").is_some_and(|field| field.node.value == Value::Bool(false));
    let mut reader = TableReader::new(fields, log, context.lookup);
    let spec = name(&mut reader, candidate)
        .and_then(|name| definition(&mut reader, name, base, &candidate.origin, context));
    let spec = spec.filter(|_| !reader.log.has_errors());
    if is_off {
        reader.log.soften();
    }
    ReadServer { spec: spec.map(|spec| (spec, reader.settings)), problems: reader.log.problems }
}

fn is_only_a_switch(fields: &Fields) -> bool {
    fields.keys().all(|key| matches!(*key, "name" | "enabled"))
}

fn name(reader: &mut TableReader<'_>, candidate: &Candidate) -> Option<ServerName> {
    let origin = &candidate.origin;
    let Some(text) = &candidate.name else {
        reader.log.error_with_hint(origin, "it has no name", "write `name`".to_owned());
        return None;
    };
    let written = reader.fields.get("name").map(|field| field.node.as_text() == Some(text));
    if written == Some(false) {
        reader.log.error(origin, "its `name` differs from the key of its table");
        return None;
    }
    match ServerName::parse(text) {
        Ok(name) if name.as_str() == OWN_NAME => {
            let problem = format!("`{name}` is the name of Octroi's own tools");
            reader.log.error_with_hint(origin, problem, "choose another name".to_owned());
            None
        }
        Ok(name) => {
            let written = reader.fields.get("name").map(|field| field.node.origin.clone());
            let origin = written.unwrap_or_else(|| origin.clone());
            reader.settings.push(Setting { name: "name", value: json!(text), origin });
            Some(name)
        }
        Err(error) => {
            match suggestion(text) {
                Some(better) => reader.log.error_with_hint(origin, error.to_string(), better),
                None => reader.log.error(origin, error.to_string()),
            }
            None
        }
    }
}

fn suggestion(text: &str) -> Option<String> {
    if text.contains("${") {
        return Some("references in names are not resolved".to_owned());
    }
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let better = words.join("-");
    ServerName::parse(&better).ok().map(|name| format!("write `{name}`"))
}

fn definition(
    reader: &mut TableReader<'_>,
    name: ServerName,
    base: &Path,
    origin: &Origin,
    context: Context<'_>,
) -> Option<ServerSpec> {
    let title = reader.text("title");
    let description = reader.text("description");
    let trust = reader.word("trust", &TRUSTS);
    // A server with explicitly low trust is off by default. One that has low trust by default waits for a first yes as
    // well, which is not a matter of the file.
    let has_switch = reader.fields.contains_key("enabled");
    let switched_off = if reader.flag("enabled", trust != Some(Trust::Low)) {
        None
    } else if has_switch {
        Some(SwitchedOff::Entry)
    } else {
        Some(SwitchedOff::Trust)
    };
    let transport = address::read(reader, base, origin, (&name, context.programs));
    let is_local = matches!(transport, Some(Transport::Stdio(_)));
    let oauth = oauth(reader, context);
    let runtime = runtime(reader, is_local);
    let timeouts = timeouts(reader);
    let limits = limits(reader);
    let trust = trust.unwrap_or_else(|| {
        let is_near = match &transport {
            Some(Transport::Stdio(_)) => true,
            Some(Transport::Http(remote) | Transport::Sse(remote)) => is_on_this_machine(&remote.url),
            None => false,
        };
        let (word, trust) = if is_near { ("medium", Trust::Medium) } else { ("low", Trust::Low) };
        reader.show("trust", json!(word));
        trust
    });
    reader.word_or("scope", &SCOPES, ());
    let spec = ServerSpec {
        title,
        description,
        switched_off,
        era: reader.word_or("era", &ERAS, ERAS[0].1),
        start: start(reader),
        sharing: reader.word_or("sharing", &SHARINGS, SHARINGS[0].1),
        reconnect: reader.flag("reconnect", true),
        timeouts,
        limits,
        health_interval: health_interval(reader, context),
        idle_stop: reader.duration_or_off("idle_stop", None),
        trust,
        access: ToolAccess {
            allow_tools: reader.texts("allow_tools"),
            deny_tools: reader.texts("deny_tools"),
            deny_side_effect_tags: reader.texts("deny_side_effect_tags"),
        },
        strictness: if reader.flag("strict_arguments", false) {
            Strictness::Strict
        } else {
            Strictness::Schema
        },
        risk_overrides: reader.word_map("risk_overrides", &RISKS),
        tools_override: tools_override(reader),
        oauth,
        runtime,
        template_id: reader.text("template_id"),
        ..ServerSpec::new(ServerKey::system(name), transport?)
    };
    let order = |setting: &Setting| ENTRY.iter().position(|key| key.name == setting.name);
    reader.settings.sort_by_key(order);
    Some(spec)
}

/// `start` is a word; its synonym is a boolean.
fn start(reader: &mut TableReader<'_>) -> Start {
    match reader.fields.get("start").map(|field| &field.node.value) {
        Some(Value::Bool(is_eager)) => {
            let (word, start) = if *is_eager { ("eager", Start::Eager) } else { ("lazy", Start::Lazy) };
            reader.show("start", json!(word));
            start
        }
        _ => reader.word_or("start", &STARTS, Start::Eager),
    }
}

fn health_interval(reader: &mut TableReader<'_>, context: Context<'_>) -> Option<Duration> {
    let (default, origin) = context.health_interval;
    let interval = reader.duration_or_off("health_interval", default);
    if let Some(setting) = reader.settings.last_mut().filter(|setting| setting.origin == Origin::Default) {
        setting.origin = origin.clone();
    }
    interval
}

fn timeouts(reader: &mut TableReader<'_>) -> Timeouts {
    let defaults = Timeouts::default();
    let call = reader.duration("timeout", defaults.call);
    let call_cap = reader.duration("max_call_timeout", defaults.call_cap.max(call));
    if call_cap < call {
        let origin = reader.origin("max_call_timeout");
        reader.log.error(&origin, "`max_call_timeout` is shorter than `timeout`");
    }
    Timeouts {
        call,
        call_cap,
        connect: reader.duration("connect_timeout", defaults.connect),
        list: reader.duration("list_timeout", defaults.list),
        shutdown: reader.duration("shutdown_grace", defaults.shutdown),
    }
}

fn limits(reader: &mut TableReader<'_>) -> Limits {
    let defaults = Limits::default();
    Limits {
        message_bytes: reader.count("max_message_bytes", 1, defaults.message_bytes),
        list_bytes: reader.count("max_list_bytes", 1, defaults.list_bytes),
        list_items: reader.count("max_list_items", 1, defaults.list_items),
        concurrency: reader.count("max_concurrency", 1, defaults.concurrency),
        queue: reader.count("queue", 0, defaults.queue),
        connections: reader.count("max_connections", 1, defaults.connections),
    }
}

fn oauth(reader: &mut TableReader<'_>, context: Context<'_>) -> OauthChoice {
    let Some(field) = reader.fields.get("oauth").cloned() else {
        return OauthChoice::Unset;
    };
    match &field.node.value {
        Value::Bool(false) => {
            reader.show("oauth", json!(false));
            OauthChoice::Off
        }
        Value::Map(map) => {
            let inner = read_fields(map, OAUTH, &field.base, &mut reader.log);
            let mut inner = TableReader::new(inner, reader.log.clone(), context.lookup);
            let client = OauthClient {
                client_id: inner.text("client_id"),
                client_secret: inner.secret("client_secret"),
                scope: inner.text("scope"),
            };
            reader.log = inner.log;
            let settings: serde_json::Map<_, _> =
                inner.settings.into_iter().map(|setting| (setting.name.to_owned(), setting.value)).collect();
            reader.show("oauth", json!(settings));
            OauthChoice::On(client)
        }
        Value::Bool(true)
        | Value::Null
        | Value::Integer(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Other(_) => reader.wrong("oauth", "a table or false", OauthChoice::Unset),
    }
}

/// Whether an address is on this machine.
pub(super) fn is_on_this_machine(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn runtime(reader: &mut TableReader<'_>, is_local: bool) -> Runtime {
    if !is_local {
        return Runtime::default();
    }
    let kind = reader.word_or("env_type", &RUNTIMES, RuntimeKind::Host);
    let origin = reader.origin("env_type");
    match kind {
        RuntimeKind::Host => {}
        // Without the image, the command would have all of the machine that the entry keeps it from.
        RuntimeKind::CustomImage => reader.log.error_with_hint(
            &origin,
            "`env_type = \"custom_image\"` is not possible: environments are not built yet",
            "remove `env_type` to run the command on this machine".to_owned(),
        ),
        RuntimeKind::DynamicInjected | RuntimeKind::Preinstalled => reader.log.warn(
            &origin,
            "environments are not built yet, so `env_type` is only kept: the command runs on this machine",
        ),
    }
    Runtime {
        kind,
        runtime: reader.text("runtime"),
        package: reader.text("package"),
        image: reader.text("image"),
    }
}
