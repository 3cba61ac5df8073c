//! The Cedar schema of all tools: one action for each, with its arguments as context.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::error::Error;
use std::str::FromStr as _;

use cedar_policy::{EntityId, EntityTypeName, EntityUid};
use octroi_core::tool::Risk;
use serde_json::Value;

use crate::shape::{self, Arguments};

mod text;

/// The group of all tools.
pub(crate) const EVERY_CALL: &str = "call";

/// The input of a schema: a tool as its server defines it.
#[derive(Clone, Copy, Debug)]
pub struct ToolShape<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The tool's own name.
    pub tool: &'a str,
    /// Its risk level; written as a comment in the schema.
    pub risk: Risk,
    /// Its side effects; written as a comment in the schema.
    pub side_effects: &'a [String],
    /// The JSON Schema of its arguments.
    pub input_schema: &'a Value,
}

/// The vocabulary of policies: every tool, and the types of all attributes.
#[derive(Clone, Debug)]
pub struct Schema {
    text: String,
    pub(crate) cedar: cedar_policy::Schema,
    pub(crate) types: EntityTypes,
    /// By server and the tool's own name.
    pub(crate) tools: Tools,
}

type Tools = BTreeMap<String, BTreeMap<String, KnownTool>>;

/// A tool in the schema.
#[derive(Clone, Debug)]
pub(crate) struct KnownTool {
    /// A comment for readers.
    note: String,
    pub(crate) arguments: Arguments,
}

/// Why the schema cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Cedar refuses it.
    #[error("Cedar refuses the schema made from the tools' definitions")]
    Refused {
        /// Cedar's error.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Some definition did not become exactly its own action.
    #[error("the schema made from the tools' definitions has other actions than there are tools")]
    Strange,
}

impl Schema {
    /// Builds the schema. Of two tools with one name the first is used. A tool named `*` and a server with a
    /// dot in its name are left out, because their actions would be ambiguous; as soon as there is any
    /// policy, calls without an action are denied.
    pub fn new(shapes: &[ToolShape<'_>]) -> Result<Self, SchemaError> {
        let mut tools = Tools::new();
        for shape in shapes.iter().filter(|shape| has_plain_action(shape)) {
            let of_server = tools.entry(shape.server.to_owned()).or_default();
            of_server.entry(shape.tool.to_owned()).or_insert_with(|| KnownTool {
                note: note(shape),
                arguments: shape::arguments(shape.input_schema),
            });
        }
        let text = text::write(&tools);
        let (cedar, _) = cedar_policy::Schema::from_cedarschema_str(&text).map_err(refused)?;
        let types = EntityTypes::new()?;
        let schema = Self { text, cedar, types, tools };
        if schema.has_exactly_its_actions() { Ok(schema) } else { Err(SchemaError::Strange) }
    }

    /// The schema in Cedar's own language, for people and editors.
    pub fn to_text(&self) -> &str {
        &self.text
    }

    /// The name of each tool in policies: `server.tool`.
    pub(crate) fn tool_names(&self) -> impl Iterator<Item = String> {
        let pairs =
            self.tools.iter().flat_map(|(server, tools)| tools.keys().map(move |tool| (server, tool)));
        pairs.map(|(server, tool)| tool_name(server, tool))
    }

    /// Names come from untrusted servers. Whatever they contain, each action must be a tool.
    fn has_exactly_its_actions(&self) -> bool {
        let groups = self.tools.keys().map(|server| group_name(server)).chain([EVERY_CALL.to_owned()]);
        let expected: HashSet<EntityUid> =
            self.tool_names().chain(groups).map(|name| self.types.action(&name)).collect();
        let actual: HashSet<EntityUid> = self.cedar.actions().cloned().collect();
        let groups: HashSet<EntityUid> = self.cedar.action_groups().cloned().collect();
        actual.union(&groups).cloned().collect::<HashSet<_>>() == expected
    }
}

/// The parsed entity types.
#[derive(Clone, Debug)]
pub(crate) struct EntityTypes {
    action: EntityTypeName,
    agent: EntityTypeName,
    server: EntityTypeName,
    tool: EntityTypeName,
}

impl EntityTypes {
    fn new() -> Result<Self, SchemaError> {
        let parse = |name| EntityTypeName::from_str(name).map_err(refused);
        Ok(Self {
            action: parse("Action")?,
            agent: parse("Agent")?,
            server: parse("Server")?,
            tool: parse("Tool")?,
        })
    }

    pub(crate) fn action(&self, name: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.action.clone(), EntityId::new(name))
    }

    pub(crate) fn agent(&self, id: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.agent.clone(), EntityId::new(id))
    }

    pub(crate) fn server(&self, name: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.server.clone(), EntityId::new(name))
    }

    pub(crate) fn tool(&self, name: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.tool.clone(), EntityId::new(name))
    }
}

/// The name of a tool in policies. Server names contain no dot, so the first dot ends the server's name.
pub(crate) fn tool_name(server: &str, tool: &str) -> String {
    format!("{server}.{tool}")
}

/// The name of all tools of a server in policies.
pub(crate) fn group_name(server: &str) -> String {
    format!("{server}.*")
}

pub(crate) const fn risk_name(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
        Risk::Critical => "critical",
    }
}

fn has_plain_action(shape: &ToolShape<'_>) -> bool {
    !shape.server.is_empty() && !shape.server.contains('.') && shape.tool != "*"
}

fn note(shape: &ToolShape<'_>) -> String {
    let mut note = format!("risk: {}", risk_name(shape.risk));
    if !shape.side_effects.is_empty() {
        let side_effects: BTreeSet<&str> = shape.side_effects.iter().map(String::as_str).collect();
        note.push_str("; side effects: ");
        note.push_str(&side_effects.into_iter().collect::<Vec<_>>().join(", "));
    }
    note
}

fn refused(source: impl Error + Send + Sync + 'static) -> SchemaError {
    SchemaError::Refused { source: Box::new(source) }
}

#[cfg(test)]
mod tests;
