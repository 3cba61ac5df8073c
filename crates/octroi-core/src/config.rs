//! The configuration: one model, whatever the format and the shape it is written in.
//!
//! A text becomes a tree of values with their positions ([`parse`](crate::syntax::parse)), and the tree, together with discovered
//! directories, becomes a [`Config`] ([`build`]). Nothing here reads a file or a variable: texts and lookups
//! are passed in as arguments.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::agent::AgentContext;
use crate::principal::{TokenEntries, TokenHash, hash_token};
use crate::server::ServerSpec;
use crate::substitute::{Lookup, ReferenceKind};
use crate::syntax::{Map, Member, Node, Origin, Value};
use crate::tool::infer::InferenceRule;
use crate::trust::Trust;

mod address;
mod approvals;
mod audit;
mod client_limits;
pub mod compare;
mod entry;
mod fields;
mod forms;
mod gates;
pub mod keys;
mod listed;
mod members;
mod notify;
mod overrides;
mod policy;
mod problem;
mod quotas;
mod reader;
pub mod reference;
mod rest;
mod root;
pub mod schema;
mod secrets;
mod sections;
mod settings;
mod show;
pub mod stored_entry;
mod stored_secrets;
mod tls;
mod token_file;
mod tokens;
mod variables;

pub use approvals::{ApprovalsSection, PinsSection};
pub use audit::{AuditSection, Destination, Durability, HandlerSpec, KeptResults, SyslogAddress};
pub use client_limits::{ClientLimits, WrongTokenLimits};
pub use fields::Layer;
pub use gates::GateSpec;
pub use members::{CatalogueDirectory, MembersSection};
pub use notify::{NoticeTopic, NotifySection};
pub use policy::{AgentSpec, DenialStyle, PolicySection};
pub use problem::{Problem, Severity, Unknown};
pub use quotas::QuotaSpec;
pub use rest::RestSection;
pub use settings::{AutoReload, DEFAULT_LISTEN, McpSection, ServerSection};
pub use show::{EffectiveConfig, Origins, Setting, problem as problem_as_json};
pub use stored_secrets::{SECRET_NAME_MAX, SecretUse, SecretsSection, is_secret_name};
pub use tls::TlsFiles;
pub use token_file::TokenFile;
pub use tokens::TokenSettings;

/// The inputs of a configuration.
pub struct Sources<'a> {
    /// The parsed file, if there is one.
    pub file: Option<&'a Node>,
    /// The directory that relative paths in the file start from.
    pub base: Arc<Path>,
    /// Servers discovered in directories.
    pub discovered: Vec<Discovered>,
    /// The default listen address, if the file has none.
    pub listen: Option<(SocketAddr, Origin)>,
    /// How to treat unknown keys, if the file does not decide.
    pub unknown: Option<Unknown>,
    /// Resolves `${…}` references.
    pub lookup: Lookup<'a>,
    /// Where programs run that name no directory of their own.
    pub programs: ProgramPlaces<'a>,
}

/// Where the programs of servers run, and which of their arguments are files.
#[derive(Clone, Copy)]
pub struct ProgramPlaces<'a> {
    /// The directory with one directory for each server without `cwd`; `None` runs them beside the file.
    pub own: Option<&'a Path>,
    /// Whether a file or directory exists. A relative argument that names one is made absolute.
    pub exists: &'a dyn Fn(&Path) -> Found,
}

impl ProgramPlaces<'static> {
    /// Programs run beside the file, and no argument is a file.
    pub const BESIDE_FILE: Self = Self { own: None, exists: &|_| Found::Nothing };
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// The defaults of a discovered server without a file: its program, working directory and trust.
pub fn assumed_layer(command: &[&str], cwd: Option<&Path>, trust: Option<Trust>, origin: &Origin) -> Layer {
    let text = |text: &str| Node::new(Value::Text(text.to_owned()), origin.clone());
    let mut map = Map::default();
    let mut add = |key: &str, node| map.insert(Member { key: key.to_owned(), origin: origin.clone(), node });
    // A dollar sign in a path is literal.
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

/// A server discovered in a directory.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The name of the directory.
    pub name: String,
    /// The directory, as the origin of its values.
    pub origin: Origin,
    /// Its settings, weakest first: the defaults, then its own file.
    pub layers: Vec<Layer>,
}

/// The complete validated configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// `[server]`: how clients reach Octroi.
    pub server: ServerSection,
    /// `[rest]`: the REST interface.
    pub rest: RestSection,
    /// `[mcp]`: settings for all servers.
    pub mcp: McpSection,
    /// All usable servers, including disabled ones.
    pub servers: Vec<ServerSpec>,
    /// The accepted tokens.
    pub tokens: TokenEntries,
    /// Settings of each token, by its hash.
    pub token_settings: HashMap<TokenHash, TokenSettings>,
    /// `[policy]`: what is allowed, needs approval, or is denied.
    pub policy: PolicySection,
    /// `[[agents]]`: settings of single agents.
    pub agents: Vec<AgentSpec>,
    /// `[approvals]`: how people approve calls.
    pub approvals: ApprovalsSection,
    /// `[pins]`: how new or changed tools are treated.
    pub pins: PinsSection,
    /// `[notify]`: who is told that a person is needed.
    pub notify: NotifySection,
    /// `[secrets]`: how stored secrets are encrypted.
    pub secrets: SecretsSection,
    /// Who refers to which stored secret, also entries that are left out.
    pub secret_uses: Vec<SecretUse>,
    /// `[members]`: what users who are no administrators may do with servers.
    pub members: MembersSection,
    /// `[templates]`: where templates of one's own are.
    pub templates: CatalogueDirectory,
    /// `[presets]`: where presets of one's own are.
    pub presets: CatalogueDirectory,
    /// `[audit]`: what is recorded.
    pub audit: AuditSection,
    /// `[[quotas]]`: limits on calls.
    pub quotas: Vec<QuotaSpec>,
    /// `[[gates]]`: custom gates.
    pub gates: Vec<GateSpec>,
    /// `[[inference]]`: risk and side effects of tools; the first matching rule applies.
    pub inference: Vec<InferenceRule>,
    /// Errors and warnings.
    pub problems: Vec<Problem>,
    /// The effective settings for display, with secrets hidden.
    pub effective: EffectiveConfig,
}

impl Config {
    /// The settings of this token, if it is accepted.
    pub fn token_settings(&self, token: &str) -> Option<&TokenSettings> {
        self.token_settings.get(&hash_token(token))
    }

    /// The state of an agent that the gates check, including an agent that is not configured.
    pub fn agent_context(&self, id: &str) -> AgentContext {
        let profile = self.policy.profile;
        match self.agents.iter().find(|agent| &*agent.id == id) {
            Some(agent) => agent.context(profile),
            None => AgentContext { profile, ..AgentContext::default() },
        }
    }

    /// Why Octroi must not listen at its address: other machines may only reach it with a configured token.
    pub fn listen_problem(&self) -> Option<Problem> {
        let ServerSection { listen, listen_origin, .. } = &self.server;
        if listen.ip().is_loopback() || !self.tokens.is_empty() {
            return None;
        }
        Some(Problem {
            severity: Severity::Fatal,
            origin: listen_origin.clone(),
            subject: None,
            message: format!(
                "listening at {listen} allows other machines to connect, and no token is configured"
            ),
            hint: Some("add one to [[tokens]], or listen at 127.0.0.1".to_owned()),
        })
    }

    /// A client token that is also the admin token would give every client admin rights.
    fn admin_token_problem(&self) -> Option<Problem> {
        self.server.admin_token.filter(|token| token.is_among(&self.tokens))?;
        let setting = self.effective.server.iter().find(|setting| setting.name.starts_with("admin_token"))?;
        Some(Problem {
            severity: Severity::Fatal,
            origin: setting.origin.clone(),
            subject: None,
            message: "the admin token is also one of [[tokens]]".to_owned(),
            hint: Some("use a different value".to_owned()),
        })
    }
}

/// Builds a configuration. Unusable entries are left out and reported in [`Config::problems`].
pub fn build(sources: Sources<'_>) -> Config {
    let written = sources.file.and_then(root::strictness);
    let unknown = match (sources.unknown, written) {
        (Some(unknown), _) => unknown,
        (None, Some(false)) => Unknown::IsIgnored,
        (None, Some(true) | None) => Unknown::IsAnError,
    };
    let mut log = problem::ProblemLog::of_section(unknown);
    let root = sources.file.map(|file| root::read(file, &mut log)).unwrap_or_default();

    let resolved = secrets::ResolvedValues::new(sources.lookup);
    let lookup = |kind: ReferenceKind, name: &str| match kind {
        ReferenceKind::Input => match root.inputs.get(name) {
            Some(default) => Ok(Some(default.clone())),
            None => Err("Octroi does not prompt for inputs; use a variable, as in `${NAME}`".to_owned()),
        },
        ReferenceKind::Env | ReferenceKind::Auth | ReferenceKind::Secret | ReferenceKind::File => {
            resolved.find(kind, name)
        }
    };
    let context = settings::Context { lookup: &lookup, unknown, base: &sources.base };
    let mut config = context.sections(&root, sources.listen);
    config.problems.extend(log.problems);
    resolved.forget_unset();
    add_tokens(&mut config, &root.tokens, &context);
    config.problems.extend(stored_secrets::token_problem(&resolved.forget_unset()));
    config.effective.hide(context.written_tokens(&root));
    let health = config.effective.mcp.iter().find(|setting| setting.name == "health_check_interval");
    let health_origin = health.map_or(Origin::Default, |setting| setting.origin.clone());
    let context = entry::Context {
        lookup: &lookup,
        unknown,
        health_interval: (config.mcp.health_check_interval, &health_origin),
        programs: sources.programs,
    };
    let candidates = candidates(root.entries, sources.discovered, &sources.base, &mut config.problems);
    for candidate in candidates {
        resolved.enter(candidate.name.clone());
        let outcome = entry::read(&candidate, &sources.base, context);
        config.problems.extend(outcome.problems);
        if let Some((spec, settings)) = outcome.spec {
            config.servers.push(spec);
            config.effective.servers.push(settings);
        }
    }
    config.problems.sort_by(|left, right| left.place().cmp(&right.place()));
    config.secret_uses = resolved.uses();
    config.effective.hide(resolved.into_secrets());
    config
}

fn add_tokens(config: &mut Config, nodes: &[Node], context: &settings::Context<'_>) {
    let errors_setting = config.effective.policy.iter().find(|setting| setting.name == "errors").cloned();
    for (node, number) in nodes.iter().zip(1..) {
        let (token, displayed, problems) =
            context.token(node, number, (config.policy.errors, errors_setting.as_ref()));
        config.problems.extend(problems);
        let Some(tokens::Token { hash, entry, settings }) = token else {
            continue;
        };
        if config.tokens.contains(&hash) {
            let subject = format!("token {number}");
            config.problems.push(left_out(&node.origin, subject, "it is the same as another one"));
            continue;
        }
        config.tokens.insert(hash, entry);
        config.token_settings.insert(hash, settings);
        config.effective.tokens.push(displayed);
    }
    config.problems.extend(config.admin_token_problem());
}

/// Merges what the file says about a server with its discovered directory. Servers of the file come first.
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
            let message = "an earlier entry has the same name";
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
