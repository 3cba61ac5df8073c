//! Octroi's own resources: their URIs, access rules, and what changes them.

mod change;
mod table;
mod uri;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::access::{Access, Face};

pub use change::{ResourceChange, Topic};
pub use table::{PastApprovals, RESOURCES, ServersResource};
pub use uri::ResourceUri;

/// A kind of resource. [`RESOURCES`] has one entry for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table says it")]
pub enum ResourceKind {
    Servers,
    Server,
    Sessions,
    SessionMcpConfig,
    CompositorServers,
    CompositorState,
    Health,
    Templates,
    Tools,
    PendingApprovals,
    AgentPendingApprovals,
    AgentPastApprovals,
    AgentApproval,
    HeldPins,
    Agents,
    AgentInfo,
    AgentState,
    AgentSnapshot,
    AgentSession,
    AgentMounts,
    Presets,
    Users,
    Tokens,
    ActivePolicy,
    ActivePolicyAlias,
    AgentPolicyState,
    AgentPolicySource,
    AgentProposals,
    Proposal,
    RecentAudit,
    RecentCalls,
    Attention,
    Clients,
    ServerLogs,
    Gateway,
}

/// The form in which a resource is read.
#[derive(Clone, Copy)]
pub enum Content {
    /// JSON of this shape.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// JSON of this shape, one block for each item under the item's own URI.
    JsonItems(fn(&mut SchemaGenerator) -> Schema),
    /// A policy, as TOML.
    Toml,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.mime_type())
    }
}

impl Content {
    /// The media type.
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Json(_) | Self::JsonItems(_) => "application/json",
            Self::Toml => "application/toml",
        }
    }
}

/// A resource, or a template for several.
#[derive(Debug)]
pub struct ResourceEntry {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its URI or URI template.
    pub uri: &'static str,
    /// Its name in lists.
    pub name: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its description.
    pub description: &'static str,
    /// The form in which it is read.
    pub content: Content,
    /// Who may read and watch it.
    pub access: Access,
    /// The topics that change it.
    pub changed_by: &'static [Topic],
}

impl ResourceEntry {
    /// Whether its URI is a template.
    pub fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// Whether a face offers it.
    pub const fn has_face(&self, face: Face) -> bool {
        self.access.has_face(face)
    }

    /// The entry in `resources/list` or `resources/templates/list`.
    pub fn definition(&self) -> Value {
        let place = if self.is_template() { "uriTemplate" } else { "uri" };
        let mut definition = Map::from_iter([(place.to_owned(), json!(self.uri))]);
        for (name, value) in [
            ("name", self.name),
            ("title", self.title),
            ("description", self.description),
            ("mimeType", self.content.mime_type()),
        ] {
            definition.insert(name.to_owned(), json!(value));
        }
        Value::Object(definition)
    }
}
