//! The resources of Octroi itself: where each is read, by whom, and what changes it.

mod change;
mod table;
mod uri;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::access::{Access, AgentSetting, Face};

pub use change::{Change, Topic};
pub use table::{PastApprovals, RESOURCES, ServersResource};
pub use uri::ResourceUri;

/// Which resource. [`RESOURCES`] has one entry for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the table says it")]
pub enum ResourceKind {
    Servers,
    Server,
    Health,
    Tools,
    PendingApprovals,
    Approval,
    AgentPendingApprovals,
    AgentPastApprovals,
    AgentApproval,
    HeldPins,
    Agents,
    ActivePolicy,
    ActivePolicyAlias,
    AgentPolicyState,
    AgentPolicySource,
    AgentProposals,
    Proposal,
    RecentAudit,
}

/// In what form a resource is read.
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

/// A resource, or a family of them.
#[derive(Debug)]
pub struct ResourceEntry {
    /// Which one.
    pub kind: ResourceKind,
    /// Its URI, or the template of its URIs.
    pub uri: &'static str,
    /// Its name in lists.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// In what form it is read.
    pub content: Content,
    /// Who may read and watch it.
    pub access: Access,
    /// Without which agents do not have it.
    pub agent_setting: Option<AgentSetting>,
    /// What makes it change.
    pub changed_by: &'static [Topic],
}

impl ResourceEntry {
    /// Whether its URI has places to fill.
    pub fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// Whether it is offered at a face.
    pub const fn has_face(&self, face: Face) -> bool {
        self.access.has_face(face)
    }

    /// The entry as `resources/list` or `resources/templates/list` has it.
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
