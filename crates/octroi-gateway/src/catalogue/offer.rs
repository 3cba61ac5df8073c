//! Everything that one server offers, with the attributes that gates need, and which of it is visible.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use octroi_core::arguments::{ArgumentSchema, Strictness};
use octroi_core::decision::is_allowed;
use octroi_core::pin::{DefinitionHash, PinKind};
use octroi_core::server::ServerSpec;
use octroi_core::tool::arguments::ToolArgument;
use octroi_core::tool::infer::{InferenceRule, ToolFacts, infer, override_with};
use octroi_core::tool::{Annotations, Risk, SideEffects, Source, ToolDescriptor, ToolOverride};
use octroi_core::trust::Trust;
use octroi_core::uri::URI_BYTES_MAX;
use octroi_core::uri::template::{Steps, TooManySteps};
use octroi_core::{CanonicalId, ServerKey, ServerName, suggest, visible};
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::param_header::ParamHeaders;
use serde_json::Value;
use tracing::warn;

use super::LISTS;
use super::fetch::{Item, ServerLists};
use super::published::{PlainNames, RenderedLists};
use super::readable::{Readability, Readable};

/// Compiling a schema in a definition of this size may take more than a millisecond.
const HEAVY_BYTES: usize = 8 * 1024;

/// No arguments are sent as headers.
static NO_HEADERS: LazyLock<Arc<ParamHeaders>> = LazyLock::new(Arc::default);

/// One server's lists.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The lists as the server sent them.
    pub(crate) raw: Arc<ServerLists>,
    /// The lists without hidden entries.
    pub(crate) visible: Arc<ServerLists>,
    /// All tools as the gates see them, including hidden ones.
    pub(crate) tools: HashMap<String, Arc<Tool>>,
    /// Names of hidden tools, whatever the reason.
    hidden: HashSet<String>,
    /// Quarantined entries, and the reason for each.
    pub(crate) held: HashMap<(PinKind, String), String>,
    /// Which resources can be read.
    readable: Readable,
    /// Warnings about settings for tools that the server does not have.
    pub(crate) strays: Vec<String>,
    /// The inference rules that were applied.
    rules: Arc<Vec<InferenceRule>>,
    /// The entry of the server that was applied.
    spec: ServerSpec,
    /// All tools, in the order of the list.
    pub(super) in_order: Box<[Arc<Tool>]>,
    /// The plain wire names of tools and prompts.
    pub(crate) names: PlainNames,
    /// Arguments that are also sent as headers, by the tool's own name; few have any.
    headers: HashMap<String, Arc<ParamHeaders>>,
    pub(super) rendered: RenderedLists,
    /// About how long each list is.
    pub(super) n_bytes: [usize; 4],
}

/// A tool as the gates see it.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) descriptor: ToolDescriptor,
    /// The settings for the tool in its server's entry.
    overrides: ToolOverride,
    strictness: Strictness,
    definition: Bytes,
    schema: OnceLock<Result<ArgumentSchema, String>>,
    /// Why nobody can call it, if its schema was found unusable when it was listed.
    pub(crate) unusable: Option<Arc<str>>,
}

/// Decides whether an entry must be quarantined.
pub(crate) trait Guard {
    /// The reason to quarantine the entry; `None` makes it visible.
    fn hold(&self, kind: PinKind, item: &Item, hash: &DefinitionHash) -> Option<String>;
    /// The same for the server's instructions.
    fn hold_instructions(&self, instructions: &str) -> Option<String>;
}

impl Offer {
    /// Evaluates everything that a server lists. Unchanged entries are not evaluated again.
    pub(crate) fn new(
        raw: Arc<ServerLists>,
        spec: &ServerSpec,
        rules: &Arc<Vec<InferenceRule>>,
        guard: &dyn Guard,
        old: Option<&Self>,
    ) -> Self {
        let comparable = old.filter(|old| old.rules == *rules);
        let mut visible = ServerLists::clone(&raw);
        let mut held = HashMap::new();
        let mut tools = HashMap::new();
        let version = version_of(&raw);
        for item in &raw.tools {
            let known = comparable.and_then(|old| old.tools.get(&item.name));
            let tool = match known.filter(|known| known.is_same(item, spec)) {
                Some(known) => Arc::clone(known),
                None => Arc::new(Tool::new(item, version.clone(), spec, rules)),
            };
            tools.insert(item.name.clone(), tool);
        }
        let mut hidden = HashSet::new();
        visible.tools.retain(|item| {
            let Some(tool) = tools.get(&item.name) else { return false };
            let hash = DefinitionHash::from_bytes(tool.descriptor.definition_hash);
            let is_approved = is_seen(guard.hold(PinKind::Tool, item, &hash), PinKind::Tool, item, &mut held);
            let is_visible = is_approved
                && tool.descriptor.enabled
                && tool.unusable.is_none()
                && is_allowed(&tool.descriptor, &spec.access);
            if !is_visible {
                hidden.insert(item.name.clone());
            }
            is_visible
        });
        for (kind, list) in [
            (PinKind::Prompt, &mut visible.prompts),
            (PinKind::Resource, &mut visible.resources),
            (PinKind::Template, &mut visible.templates),
        ] {
            list.retain(|item| {
                let hash = hash_of(kind, item);
                is_seen(guard.hold(kind, item, &hash), kind, item, &mut held)
            });
        }
        if let Some(instructions) = &raw.identity.instructions
            && let Some(reason) = guard.hold_instructions(instructions)
        {
            visible.identity.instructions = None;
            held.insert((PinKind::Server, String::new()), reason);
        }
        let strays = strays(&raw, spec);
        let readable = Readable::of(&visible, &held);
        let in_order = raw.tools.iter().filter_map(|item| tools.get(&item.name)).map(Arc::clone).collect();
        let with_headers = raw.tools.iter().filter(|item| !item.headers.is_empty());
        let headers = with_headers.map(|item| (item.name.clone(), Arc::clone(&item.headers))).collect();
        let n_bytes = |list: &Vec<Item>| list.iter().map(|item| item.definition.len() + 1).sum();
        Self {
            in_order,
            names: PlainNames::of(&spec.key, &raw),
            headers,
            rendered: RenderedLists::default(),
            n_bytes: LISTS.map(|list| n_bytes(visible.list(&list))),
            readable,
            raw,
            visible: Arc::new(visible),
            tools,
            hidden,
            held,
            strays,
            rules: Arc::clone(rules),
            spec: spec.clone(),
        }
    }

    /// The server's key.
    pub(crate) fn key(&self) -> &ServerKey {
        &self.spec.key
    }

    /// The tool at this place of the list.
    pub(crate) fn tool_at(&self, position: usize) -> Option<&Arc<Tool>> {
        self.in_order.get(position)
    }

    /// The arguments of a tool that are also sent as headers.
    pub(crate) fn headers_of(&self, tool: &str) -> Arc<ParamHeaders> {
        // Few servers have any, so most calls do not even look.
        let own = if self.headers.is_empty() { None } else { self.headers.get(tool) };
        Arc::clone(own.unwrap_or(&NO_HEADERS))
    }

    /// Whether it was made of the same as these lists, whose entries are known to be the same.
    pub(crate) fn is_made_of(
        &self,
        spec: &ServerSpec,
        lists: &ServerLists,
        rules: &Arc<Vec<InferenceRule>>,
    ) -> bool {
        let is_checked = |lists: &ServerLists| lists.tools.iter().all(|tool| tool.is_checked);
        self.raw.identity == lists.identity
            && is_checked(&self.raw) == is_checked(lists)
            && self.rules == *rules
            && self.spec == *spec
    }

    /// Whether the other one has the same tools, and hides the same of them.
    pub(crate) fn has_tools_of(&self, other: &Self) -> bool {
        let is_same = |(name, tool): (&String, &Arc<Tool>)| {
            other.tools.get(name).is_some_and(|other| Arc::ptr_eq(tool, other))
        };
        self.tools.len() == other.tools.len()
            && self.tools.iter().all(is_same)
            && self.hidden == other.hidden
            && self.held == other.held
    }

    /// Whether clients see this tool.
    pub(crate) fn shows_tool(&self, name: &str) -> bool {
        !self.hidden.contains(name)
    }

    /// Whether clients see this prompt.
    pub(crate) fn shows_prompt(&self, name: &str) -> bool {
        self.held(PinKind::Prompt, name).is_none()
    }

    /// Whether a resource with this URI is visible or could come from a visible template.
    pub(crate) fn has_resource(&self, uri: &str, steps: &mut Steps) -> Result<bool, TooManySteps> {
        self.readable.has_listed(uri, steps)
    }

    /// Why a resource cannot be read, if it may be a quarantined one under any spelling. While some are, only those
    /// can be read that are one of the others under every spelling.
    pub(crate) fn held_resource(&self, uri: &str) -> Option<Cow<'_, str>> {
        if uri.len() > URI_BYTES_MAX {
            return Some(Cow::Owned(format!("its URI is longer than {URI_BYTES_MAX} bytes")));
        }
        match self.readable.check(uri) {
            Readability::Readable => None,
            Readability::Held(kind, name) => self.held(kind, name).map(Cow::Borrowed),
            Readability::Unknown(reason) => Some(Cow::Borrowed(reason)),
        }
    }

    /// Whether a completion may name this prompt.
    pub(crate) fn lists_prompt(&self, name: &str) -> bool {
        self.raw.prompts.iter().any(|item| item.name == name)
    }

    /// Whether a completion may name this template or resource.
    pub(crate) fn lists_template(&self, uri: &str) -> bool {
        self.raw.templates.iter().chain(&self.raw.resources).any(|item| item.name == uri)
    }

    /// Why an entry is quarantined, if it is.
    pub(crate) fn held(&self, kind: PinKind, name: &str) -> Option<&str> {
        // Few are, so most calls do not even build the key.
        if self.held.is_empty() {
            return None;
        }
        self.held.get(&(kind, name.to_owned())).map(String::as_str)
    }
}

/// The version that a server gives itself.
fn version_of(lists: &ServerLists) -> Option<Arc<str>> {
    let info: Value = serde_json::from_slice(lists.identity.info.as_ref()?).ok()?;
    info["version"].as_str().map(Into::into)
}

/// A misspelt name has no effect, so the operator gets a warning.
fn strays(raw: &ServerLists, spec: &ServerSpec) -> Vec<String> {
    // A list that could not be read says nothing about names.
    if raw.tools.is_empty() {
        return Vec::new();
    }
    let has = |name: &str| raw.tools.iter().any(|tool| tool.name == name);
    let unknown = spec.tools_override.keys().filter(|name| !has(name));
    unknown
        .map(|name| {
            let hint = match suggest::nearest(name, raw.tools.iter().map(|tool| tool.name.as_str()), 1)[..] {
                [near, ..] => format!("; did you mean `{}`?", visible(near)),
                [] => String::new(),
            };
            format!("`tools_override` names `{name}`, which server `{}` does not have{hint}", spec.key)
        })
        .collect()
}

fn is_seen(
    reason: Option<String>,
    kind: PinKind,
    item: &Item,
    held: &mut HashMap<(PinKind, String), String>,
) -> bool {
    match reason {
        None => true,
        Some(reason) => {
            held.insert((kind, item.name.clone()), reason);
            false
        }
    }
}

/// A definition that cannot be made canonical (a duplicate member) is hashed as raw bytes.
pub(crate) fn hash_of(kind: PinKind, item: &Item) -> DefinitionHash {
    use sha2::Digest as _;
    // A resource that grows is still the same.
    let lasting = (kind == PinKind::Resource).then(|| {
        let changing = [Edit::Drop("lastModified")];
        json::rewrite(&item.definition, &[Edit::Drop("size"), Edit::Within("annotations", &changing)])
    });
    DefinitionHash::of(kind, lasting.as_deref().unwrap_or(&item.definition))
        .unwrap_or_else(|_| DefinitionHash::from_bytes(sha2::Sha256::digest(&item.definition).into()))
}

impl Tool {
    fn new(item: &Item, version: Option<Arc<str>>, spec: &ServerSpec, rules: &[InferenceRule]) -> Self {
        // What cannot be read is no hint that the tool reads.
        let annotations =
            member(&item.definition, "annotations").map(|read| read.unwrap_or(Value::Bool(false)));
        let description = member(&item.definition, "description").and_then(Result::ok).unwrap_or_default();
        let schema = member(&item.definition, "inputSchema").and_then(Result::ok).unwrap_or_default();
        let arguments = ToolArgument::of_schema(&schema);
        let known = ToolFacts {
            server: spec.name().as_str(),
            name: &item.name,
            description: description.as_str().unwrap_or_default(),
            arguments: &arguments,
            annotations: Annotations::of_json(annotations.as_ref()),
            trust: spec.trust,
        };
        let (mut risk, mut side_effects) = infer(known, rules);
        let overrides = spec.override_of(&item.name);
        override_with(overrides.risk, overrides.side_effects.as_deref(), &mut risk, &mut side_effects);
        let enabled = overrides.enabled.unwrap_or(true);
        let off_because = (!enabled).then(|| {
            let by_whom = format!("`tools_override` of server `{}` switches it off", spec.key);
            overrides.reason.clone().unwrap_or(by_whom).into()
        });
        Self {
            descriptor: ToolDescriptor {
                id: CanonicalId::mcp(&spec.key, &item.name),
                source: Source::Mcp,
                source_id: spec.key.to_string().into(),
                name: item.name.as_str().into(),
                risk,
                side_effects,
                requires_admin: overrides.requires_admin.unwrap_or(risk == Risk::Critical),
                enabled,
                off_because,
                trust: spec.trust,
                timeout: spec.timeouts.call,
                version,
                definition_hash: *hash_of(PinKind::Tool, item).as_bytes(),
            },
            overrides,
            strictness: spec.strictness,
            definition: item.definition.clone(),
            schema: match &item.unusable {
                Some(reason) => OnceLock::from(Err(reason.to_string())),
                None => OnceLock::new(),
            },
            unusable: item.unusable.clone(),
        }
    }

    /// One of Octroi's own tools: it reads and proposes, and a person decides about any effect.
    pub(super) fn builtin(name: &str, source: &ServerName, definition: Bytes) -> Self {
        let item = Item::new(name.to_owned(), definition.clone(), Arc::default());
        Self {
            descriptor: ToolDescriptor {
                id: CanonicalId::builtin(name),
                source: Source::Builtin,
                source_id: source.as_str().into(),
                name: name.into(),
                risk: Risk::Low,
                side_effects: SideEffects::default(),
                requires_admin: false,
                enabled: true,
                off_because: None,
                trust: Trust::High,
                timeout: Duration::from_secs(30),
                version: None,
                definition_hash: *hash_of(PinKind::Tool, &item).as_bytes(),
            },
            overrides: ToolOverride::default(),
            strictness: Strictness::Strict,
            definition,
            schema: OnceLock::new(),
            unusable: None,
        }
    }

    fn is_same(&self, item: &Item, spec: &ServerSpec) -> bool {
        let descriptor = &self.descriptor;
        self.definition == item.definition
            && self.unusable == item.unusable
            && descriptor.trust == spec.trust
            && descriptor.timeout == spec.timeouts.call
            && self.strictness == spec.strictness
            && self.overrides == spec.override_of(&item.name)
    }

    /// The definition as its server wrote it.
    pub(crate) fn definition(&self) -> &Bytes {
        &self.definition
    }

    /// What is wrong with arguments for this tool, if anything is.
    pub(crate) fn complaint(&self, arguments: &Value, n_bytes: u64) -> Option<String> {
        match self.schema() {
            Ok(schema) => schema.complaint(arguments, n_bytes, self.strictness),
            Err(reason) => Some(format!("the tool cannot be called: {reason}")),
        }
    }

    /// Whether using its schema may take long, so that it does not belong on a serving thread: it is large and was not
    /// compiled yet.
    pub(crate) fn is_heavy(&self) -> bool {
        self.definition.len() > HEAVY_BYTES && self.schema.get().is_none()
    }

    /// The schema of its arguments, compiled at the first use.
    pub(crate) fn schema(&self) -> &Result<ArgumentSchema, String> {
        self.schema.get_or_init(|| {
            let schema = compile(&self.definition).map_err(|reason| not_valid(&reason));
            if let Err(reason) = &schema {
                warn!(tool = %self.descriptor.id, reason, "tool with an invalid input schema, not callable");
            }
            schema
        })
    }

    /// The schema of its arguments as the server wrote it; an empty one if it cannot be read.
    pub(crate) fn input_schema(&self) -> Value {
        read_schema(&self.definition).unwrap_or_default()
    }
}

/// Why no arguments can be checked against the input schema of a tool, if that is so.
pub(crate) fn unusable_because(definition: &Bytes) -> Option<String> {
    compile(definition).err().map(|reason| not_valid(&reason))
}

fn not_valid(reason: &str) -> String {
    format!("its input schema is not valid: {}", visible(reason))
}

fn compile(definition: &Bytes) -> Result<ArgumentSchema, String> {
    read_schema(definition).and_then(|schema| ArgumentSchema::new(&schema))
}

fn read_schema(definition: &Bytes) -> Result<Value, String> {
    member(definition, "inputSchema").unwrap_or_else(|| Ok(serde_json::json!({})))
}

/// One member of a definition. The others need not be readable for it.
fn member(definition: &Bytes, name: &str) -> Option<Result<Value, String>> {
    let whole = Span { start: 0, end: definition.len() };
    let text = json::member(definition, whole, name)?.of(definition);
    Some(serde_json::from_slice(text).map_err(|error| error.to_string()))
}
