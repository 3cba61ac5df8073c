//! Servers that were added at run time: the same entries as in a file, with the rules for who owns them.
//!
//! An entry of a user refers to stored secrets of that user and to nothing else: whoever could name a variable or a file
//! of the gateway would have it sent to a server of their own. A member sets no trust, no risk and no limit above the
//! defaults either, because these are what calls are decided with.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map as JsonMap, Value as Json};

use super::entry::{Candidate, Context, read};
use super::fields::Layer;
use super::keys::ENTRY;
use super::problem::{Problem, Unknown};
use super::{ProgramPlaces, Severity};
use crate::name::{Scope, ServerKey};
use crate::secret::Secret;
use crate::server::{Limits, OauthChoice, Provenance, ServerSpec, Start, Transport};
use crate::substitute::{Lookup, ReferenceKind};
use crate::syntax::{Map, Member, Node, Origin, Value};
use crate::trust::Trust;

mod edit;
#[cfg(test)]
mod tests;

pub use edit::{ExportedEntry, canonical, exported, masked, merged, referred_secrets};

/// How often a member's server may be checked at most.
const HEALTH_INTERVAL_MIN: Duration = Duration::from_secs(10);
/// What only administrators set.
const ADMINS_ONLY: [&str; 9] = [
    "trust",
    "risk_overrides",
    "env_type",
    "runtime",
    "package",
    "image",
    "template_id",
    "deny_side_effect_tags",
    "sharing",
];
/// What names variables of the gateway.
const VARIABLES: [&str; 2] = ["inherit_env", "api_key_env"];

/// Who writes an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryWriter {
    /// An administrator.
    Administrator,
    /// Any other user.
    Member {
        /// Whether members may have commands run on this machine.
        may_run_commands: bool,
    },
}

/// What an entry is read with.
#[derive(Clone, Copy)]
pub struct StoredContext<'a> {
    /// Who wrote it.
    pub writer: EntryWriter,
    /// Finds the variables of the gateway and the stored secrets of the owner.
    pub lookup: Lookup<'a>,
    /// The default interval of health checks.
    pub health_interval: Option<Duration>,
    /// The directory that its program runs in, if it names none.
    pub directory: Option<&'a Path>,
}

/// An entry that was read.
#[derive(Clone, Debug)]
pub struct StoredServer {
    /// The server; `None` if it cannot be used.
    pub spec: Option<ServerSpec>,
    /// Errors and warnings.
    pub problems: Vec<Problem>,
}

impl StoredServer {
    /// Why it cannot be used: the first error with its hint.
    pub fn error(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.severity > Severity::Warning)
    }
}

/// Reads an entry in its canonical form.
pub fn read_stored(key: &ServerKey, entry: &Json, context: StoredContext<'_>) -> StoredServer {
    let origin = Origin::Default;
    let map = match node(entry).value {
        Value::Map(map) => map,
        _ => Map::default(),
    };
    let lookup = |kind: ReferenceKind, name: &str| find(&key.scope, context.lookup, kind, name);
    let candidate = Candidate {
        name: Some(key.name.to_string()),
        origin: origin.clone(),
        layers: vec![Layer { map, base: Path::new("").into() }],
    };
    let programs = ProgramPlaces::BESIDE_FILE;
    let entry_context = Context {
        lookup: &lookup,
        unknown: Unknown::IsAnError,
        health_interval: (context.health_interval, &origin),
        programs,
    };
    let read = read(&candidate, Path::new(""), entry_context);
    let mut problems = read.problems;
    let members = entry.as_object();
    let has = |name: &str| members.is_some_and(|members| members.contains_key(name));
    let spec = read.spec.map(|(mut spec, _)| {
        spec.key = key.clone();
        if !has("start") {
            spec.start = Start::Lazy;
        }
        if let Transport::Stdio(program) = &mut spec.transport
            && !has("cwd")
        {
            program.cwd = context.directory.map(Path::to_path_buf);
        }
        spec
    });
    if matches!(key.scope, Scope::User(_)) {
        let refused = VARIABLES.into_iter().filter(|name| has(name)).map(|name| {
            let message = format!("`{name}` is not for a user's own server: it names variables of Octroi");
            refusal(key, message, "store the value with `octroi secret set NAME`, and write `${secret:NAME}`")
        });
        // First: whether such a variable is set is nothing that its writer could mend.
        problems.splice(0..0, refused);
    }
    if let EntryWriter::Member { may_run_commands } = context.writer {
        problems.extend(refused_of_member(key, members, spec.as_ref(), may_run_commands));
    }
    let is_usable = problems.iter().all(|problem| problem.severity == Severity::Warning);
    let spec = spec.filter(|_| is_usable).map(|spec| match context.writer {
        EntryWriter::Administrator => ServerSpec { provenance: Provenance::Stored, ..spec },
        EntryWriter::Member { .. } => {
            ServerSpec { provenance: Provenance::Member, trust: Trust::Low, ..spec }
        }
    });
    StoredServer { spec, problems }
}

/// Everything in a server's definition that must be redacted.
pub fn secrets_of(spec: &ServerSpec) -> Vec<Secret> {
    let oauth = match &spec.oauth {
        OauthChoice::On(client) => client.client_secret.clone(),
        OauthChoice::Unset | OauthChoice::Off => None,
    };
    let values: Vec<Secret> = match &spec.transport {
        Transport::Stdio(program) => program.env.values().cloned().collect(),
        Transport::Http(remote) | Transport::Sse(remote) => remote.headers.values().cloned().collect(),
    };
    values.into_iter().chain(oauth).filter(|secret| !secret.expose().trim().is_empty()).collect()
}

/// What a reference stands for in an entry of this owner.
fn find(
    scope: &Scope,
    lookup: Lookup<'_>,
    kind: ReferenceKind,
    name: &str,
) -> Result<Option<String>, String> {
    match (scope, kind) {
        (_, ReferenceKind::Secret) | (Scope::System, ReferenceKind::Env) => lookup(kind, name),
        (Scope::System, _) => {
            Err("a server that was added at run time can refer to variables and stored secrets only"
                .to_owned())
        }
        (Scope::User(_), _) => {
            Err("a user's own server can refer to the user's stored secrets only, as `${secret:NAME}`"
                .to_owned())
        }
    }
}

/// What an entry asks for that members do not get.
fn refused_of_member(
    key: &ServerKey,
    members: Option<&JsonMap<String, Json>>,
    spec: Option<&ServerSpec>,
    may_run_commands: bool,
) -> Vec<Problem> {
    let mut refused = Vec::new();
    let url = members.and_then(|members| members.get("url")?.as_str());
    let is_command = members.is_some_and(|members| members.contains_key("command"))
        || url.is_some_and(|url| url.starts_with("stdio://"));
    if is_command && !may_run_commands {
        refused.push(refusal(
            key,
            "only administrators add servers that run a command on this machine".to_owned(),
            "add one with an address (`url`), or ask an administrator; `allow_host_commands = true` under [members] lets members",
        ));
    }
    let is_there = |name: &&str| members.is_some_and(|members| members.contains_key(*name));
    refused.extend(ADMINS_ONLY.into_iter().filter(is_there).map(|name| {
        let message = format!("only administrators set `{name}`");
        refusal(key, message, "leave it out")
    }));
    let Some(spec) = spec else {
        return refused;
    };
    let is_judged = |one: &crate::tool::ToolOverride| {
        one.risk.is_some() || one.side_effects.is_some() || one.requires_admin.is_some()
    };
    if spec.tools_override.values().any(is_judged) {
        let message = "members only switch tools off in `tools_override`".to_owned();
        refused.push(refusal(key, message, "write { enabled = false }"));
    }
    let (limits, most) = (spec.limits, Limits::default());
    let is_more = limits.message_bytes > most.message_bytes
        || limits.list_bytes > most.list_bytes
        || limits.list_items > most.list_items
        || limits.concurrency > most.concurrency
        || limits.queue > most.queue
        || limits.connections > most.connections;
    if is_more {
        let message = "only administrators raise the limits of a server above the defaults".to_owned();
        refused.push(refusal(key, message, "leave them out"));
    }
    if spec.health_interval.is_some_and(|interval| interval < HEALTH_INTERVAL_MIN) {
        let message = "a member's server is checked every 10 seconds at most".to_owned();
        refused.push(refusal(key, message, "write a longer `health_interval`"));
    }
    refused
}

fn refusal(key: &ServerKey, message: String, hint: &str) -> Problem {
    Problem {
        severity: Severity::LeftOut,
        origin: Origin::Default,
        subject: Some(format!("server `{}`", key.name)),
        message,
        hint: Some(hint.to_owned()),
    }
}

/// A JSON value as the tree that entries are read from.
fn node(json: &Json) -> Node {
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Other(number.to_string()),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(node).collect()),
        Json::Object(members) => {
            let mut map = Map::default();
            for (key, value) in members {
                map.insert(Member { key: key.clone(), origin: Origin::Default, node: node(value) });
            }
            Value::Map(map)
        }
    };
    Node::new(value, Origin::Default)
}

/// The canonical name of a key of an entry.
fn canonical_name(spelled: &str) -> Option<&'static str> {
    ENTRY.iter().find(|key| key.is(spelled)).map(|key| key.name)
}
