//! The configuration: one model, whatever the format and the shape it is written in.
//!
//! A text becomes a tree of located values ([`parse`]), and the tree, with what was found in directories, becomes a
//! [`Config`] ([`build`]). Nothing here reads a file or a variable: texts and lookups come in as arguments.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::decision::AgentContext;
use crate::principal::{TokenHash, Tokens, hash_token};
use crate::server::{ServerSpec, Trust};
use crate::substitute::{Lookup, ReferenceKind};
use crate::tool::infer::InferenceRule;

mod address;
mod approvals;
mod audit;
mod entry;
mod fields;
mod format;
mod forms;
mod gates;
pub mod keys;
mod listed;
mod node;
mod overrides;
mod policy;
mod problem;
mod quotas;
mod reader;
pub mod reference;
mod root;
pub mod schema;
mod sections;
mod settings;
mod show;
mod tokens;

pub use approvals::{ApprovalsSection, PinsSection};
pub use audit::{AuditSection, Destination, Durability, HandlerSpec, KeptResults, SyslogAddress};
pub use fields::Layer;
pub use format::{Format, SyntaxError, parse};
pub use gates::GateSpec;
pub use node::{Map, Member, Node, Origin, Value};
pub use policy::{AgentSpec, DenialStyle, PolicySection};
pub use problem::{Problem, Severity, Unknown};
pub use quotas::QuotaSpec;
pub use settings::{DEFAULT_LISTEN, McpSection, ServerSection};
pub use show::{Origins, Shown, ShownConfig, problem as problem_as_json};
pub use tokens::TokenSettings;

/// What a configuration is made of.
pub struct Sources<'a> {
    /// The file, if there is one.
    pub file: Option<&'a Node>,
    /// What relative paths in the file are relative to.
    pub base: Arc<Path>,
    /// Servers found in directories.
    pub discovered: Vec<Discovered>,
    /// Where to listen, if the file does not decide.
    pub listen: Option<(SocketAddr, Origin)>,
    /// What becomes of unknown keys, if the file does not decide.
    pub unknown: Option<Unknown>,
    /// Finds what `${…}` names.
    pub lookup: Lookup<'a>,
}

/// What is assumed of a server that nobody wrote down: a program, where it runs, and how far it is trusted.
pub fn assumed_layer(command: &[&str], cwd: Option<&Path>, trust: Option<Trust>, origin: &Origin) -> Layer {
    let text = |text: &str| Node::new(Value::Text(text.to_owned()), origin.clone());
    let mut map = Map::default();
    let mut add = |key: &str, node| map.insert(Member { key: key.to_owned(), origin: origin.clone(), node });
    // A dollar sign in a path is one.
    let words = command.iter().map(|word| text(&word.replace('$', "$$"))).collect();
    add("command", Node::new(Value::List(words), origin.clone()));
    if let Some(cwd) = cwd {
        add("cwd", text(&cwd.to_string_lossy().replace('$', "$$")));
    }
    if let Some(trust) = trust {
        add("trust", text(trust.as_str()));
    }
    Layer { map, base: cwd.unwrap_or(Path::new("")).into() }
}

/// A server found in a directory.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The name of the directory.
    pub name: String,
    /// The directory.
    pub origin: Origin,
    /// What is assumed of it, then what its own file says.
    pub layers: Vec<Layer>,
}

/// Everything that is configured, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// How Octroi itself is reached.
    pub server: ServerSection,
    /// What holds for all servers.
    pub mcp: McpSection,
    /// All servers that can be used, also those that are switched off.
    pub servers: Vec<ServerSpec>,
    /// Who may come in.
    pub tokens: Tokens,
    /// What holds for each of the tokens, by its hash.
    pub token_settings: HashMap<TokenHash, TokenSettings>,
    /// What is allowed, asked and denied.
    pub policy: PolicySection,
    /// What is known about agents.
    pub agents: Vec<AgentSpec>,
    /// How people are asked.
    pub approvals: ApprovalsSection,
    /// What becomes of tools that are new or have changed.
    pub pins: PinsSection,
    /// What is recorded.
    pub audit: AuditSection,
    /// How much may be called.
    pub quotas: Vec<QuotaSpec>,
    /// Programs that are asked about calls.
    pub gates: Vec<GateSpec>,
    /// What a person knows about tools; the first that fits counts.
    pub inference: Vec<InferenceRule>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How it shows.
    pub shown: ShownConfig,
}

impl Config {
    /// The servers that are switched on.
    pub fn enabled_servers(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers.iter().filter(|server| self.mcp.enabled && server.enabled)
    }

    /// What holds for whoever comes with this token, if it opens the door.
    pub fn token_settings(&self, token: &str) -> Option<&TokenSettings> {
        self.token_settings.get(&hash_token(token))
    }

    /// The state of an agent that the gates ask about, also of one that nobody wrote down.
    pub fn agent_context(&self, id: &str) -> AgentContext {
        let profile = self.policy.profile;
        match self.agents.iter().find(|agent| &*agent.id == id) {
            Some(agent) => agent.context(profile),
            None => AgentContext { profile, ..AgentContext::default() },
        }
    }

    /// Why Octroi must not listen where it is told to: from elsewhere it is reached only with a token that somebody
    /// gave out on purpose.
    pub fn listen_problem(&self) -> Option<Problem> {
        let ServerSection { listen, listen_origin, .. } = &self.server;
        if listen.ip().is_loopback() || !self.tokens.is_empty() {
            return None;
        }
        Some(Problem {
            severity: Severity::Fatal,
            origin: listen_origin.clone(),
            subject: None,
            message: format!("listening at {listen} lets other machines in, and no token is configured"),
            hint: Some("add one to [[tokens]], or listen at 127.0.0.1".to_owned()),
        })
    }

    /// Whoever has a token for the door would have the admin token with it.
    fn admin_token_problem(&self) -> Option<Problem> {
        self.server.admin_token.filter(|token| token.is_among(&self.tokens))?;
        let shown = self.shown.server.iter().find(|shown| shown.name.starts_with("admin_token"))?;
        Some(Problem {
            severity: Severity::Fatal,
            origin: shown.origin.clone(),
            subject: None,
            message: "the admin token is also one of [[tokens]]".to_owned(),
            hint: Some("give it a value of its own".to_owned()),
        })
    }
}

/// Makes a configuration. What cannot be used is left out and told in [`Config::problems`].
pub fn build(sources: Sources<'_>) -> Config {
    let written = sources.file.and_then(root::strictness);
    let unknown = match (sources.unknown, written) {
        (Some(unknown), _) => unknown,
        (None, Some(false)) => Unknown::IsIgnored,
        (None, Some(true) | None) => Unknown::IsAnError,
    };
    let mut notes = problem::Notes::of_section(unknown);
    let root = sources.file.map(|file| root::read(file, &mut notes)).unwrap_or_default();

    let lookup = |kind: ReferenceKind, name: &str| match kind {
        ReferenceKind::Input => match root.inputs.get(name) {
            Some(default) => Ok(Some(default.clone())),
            None => Err("Octroi asks nobody for inputs; use a variable, as in `${NAME}`".to_owned()),
        },
        ReferenceKind::Env | ReferenceKind::Auth | ReferenceKind::Secret | ReferenceKind::File => {
            (sources.lookup)(kind, name)
        }
    };
    let context = settings::Context { lookup: &lookup, unknown, base: &sources.base };
    let mut config = context.sections(&root, sources.listen);
    config.problems.extend(notes.problems);
    add_tokens(&mut config, &root.tokens, &context);
    let health = config.shown.mcp.iter().find(|shown| shown.name == "health_check_interval");
    let health_origin = health.map_or(Origin::Default, |shown| shown.origin.clone());
    let context = entry::Context {
        lookup: &lookup,
        unknown,
        health_interval: (config.mcp.health_check_interval, &health_origin),
    };
    let candidates = candidates(root.entries, sources.discovered, &sources.base, &mut config.problems);
    for candidate in candidates {
        let outcome = entry::read(&candidate, &sources.base, context);
        config.problems.extend(outcome.problems);
        if let Some((spec, shown)) = outcome.spec {
            config.servers.push(spec);
            config.shown.servers.push(shown);
        }
    }
    config.problems.sort_by(|left, right| left.place().cmp(&right.place()));
    config
}

fn add_tokens(config: &mut Config, nodes: &[Node], context: &settings::Context<'_>) {
    let shown_errors = config.shown.policy.iter().find(|shown| shown.name == "errors").cloned();
    for (node, number) in nodes.iter().zip(1..) {
        let (token, shown, problems) =
            context.token(node, number, (config.policy.errors, shown_errors.as_ref()));
        config.problems.extend(problems);
        let Some(tokens::Token { hash, principal, settings }) = token else {
            continue;
        };
        if config.tokens.contains(&hash) {
            let subject = format!("token {number}");
            config.problems.push(left_out(&node.origin, subject, "it is the same as another one"));
            continue;
        }
        config.tokens.insert(hash, principal);
        config.token_settings.insert(hash, settings);
        config.shown.tokens.push(shown);
    }
    config.problems.extend(config.admin_token_problem());
}

/// Joins what the file says about a server with what was found in its directory. Servers of the file come first.
fn candidates(
    entries: Vec<root::Entry>,
    mut discovered: Vec<Discovered>,
    base: &Arc<Path>,
    problems: &mut Vec<Problem>,
) -> Vec<entry::Candidate> {
    let mut candidates = Vec::new();
    let mut names = HashSet::new();
    for root::Entry { name, origin, map } in entries {
        let known = name.clone().unwrap_or_default();
        if name.is_some() && !names.insert(known.clone()) {
            let message = "an entry before it has the same name";
            problems.push(left_out(&origin, format!("server `{known}`"), message));
            continue;
        }
        let found = discovered.iter().position(|found| name.as_ref() == Some(&found.name));
        let mut layers = found.map(|index| discovered.remove(index).layers).unwrap_or_default();
        layers.push(Layer { map, base: Arc::clone(base) });
        candidates.push(entry::Candidate { name, origin, layers });
    }
    candidates.extend(discovered.into_iter().map(|found| entry::Candidate {
        name: Some(found.name),
        origin: found.origin,
        layers: found.layers,
    }));
    candidates
}

fn left_out(origin: &Origin, subject: String, message: &str) -> Problem {
    Problem {
        severity: Severity::LeftOut,
        origin: origin.clone(),
        subject: Some(subject),
        message: message.to_owned(),
        hint: None,
    }
}
