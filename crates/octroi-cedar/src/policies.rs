//! Loaded policies, ready to judge.
//!
//! Cedar evaluates every policy of a set, one after the other. So each tool has its own small set of the
//! policies that can match it, built once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{Authorizer, Entities, Entity, EntityUid, PolicySet};

use crate::load::{self, Loaded};
use crate::needs::Needs;
use crate::problem::CedarProblem;
use crate::schema::{EVERY_CALL, EntityTypes, Schema, group_name, tool_name};
use crate::shape::Record;

/// A set of loaded policies.
#[derive(Debug)]
pub struct Policies {
    pub(crate) text: String,
    pub(crate) loaded: Vec<Loaded>,
    pub(crate) by_id: HashMap<String, usize>,
    /// By server and the tool's own name.
    pub(crate) tools: HashMap<String, HashMap<String, Prepared>>,
    pub(crate) types: EntityTypes,
    pub(crate) authorizer: Authorizer,
}

/// Everything that can be prepared before a call of a tool.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) action: EntityUid,
    pub(crate) tool: EntityUid,
    pub(crate) server: EntityUid,
    /// The action and its groups, the tool and its server, without attributes.
    pub(crate) entities: Entities,
    /// The action and its groups alone, for a tool whose attributes are added later.
    pub(crate) entities_without_tool: Entities,
    pub(crate) arguments: Record,
    /// `None` if no policy can match.
    pub(crate) slice: Option<Arc<Slice>>,
}

/// The policies that can match some tools.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) policies: PolicySet,
    pub(crate) needs: Needs,
}

impl Policies {
    /// Loads a text if every policy in it passes all checks. A text with one mistake is refused completely:
    /// without that policy the rest would have another meaning.
    pub fn load(text: &str, schema: &Schema) -> Result<Self, Vec<CedarProblem>> {
        let loaded = load::read(text, schema)?;
        let tools = prepare(&loaded, schema).map_err(|error| {
            vec![CedarProblem::at(text, 0, None, format!("Cedar cannot take these policies: {error}"))]
        })?;
        let by_id = loaded.iter().enumerate().map(|(index, loaded)| (loaded.id.clone(), index)).collect();
        Ok(Self {
            text: text.to_owned(),
            loaded,
            by_id,
            tools,
            types: schema.types.clone(),
            authorizer: Authorizer::new(),
        })
    }

    /// The text they were loaded from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there are no policies.
    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }
}

type Tools = HashMap<String, HashMap<String, Prepared>>;
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn prepare(loaded: &[Loaded], schema: &Schema) -> Result<Tools, Failure> {
    let mut policies_by_tool: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, loaded) in loaded.iter().enumerate() {
        for tool in &loaded.tools {
            policies_by_tool.entry(tool).or_default().push(index);
        }
    }
    let mut slices: HashMap<Vec<usize>, Arc<Slice>> = HashMap::new();
    let mut prepared = Tools::new();
    for (server, tools) in &schema.tools {
        let mut of_server = HashMap::new();
        for (tool, known) in tools {
            let slice = match policies_by_tool.get(tool_name(server, tool).as_str()) {
                None => None,
                Some(indices) => Some(match slices.get(indices) {
                    Some(slice) => Arc::clone(slice),
                    None => {
                        let slice = Arc::new(slice(indices.iter().filter_map(|index| loaded.get(*index)))?);
                        slices.insert(indices.clone(), Arc::clone(&slice));
                        slice
                    }
                }),
            };
            let record = known.arguments.record.clone();
            of_server.insert(tool.clone(), prepare_tool(server, tool, record, slice, &schema.types)?);
        }
        prepared.insert(server.clone(), of_server);
    }
    Ok(prepared)
}

fn slice<'a>(loaded: impl Iterator<Item = &'a Loaded>) -> Result<Slice, Failure> {
    let mut needs = Needs::default();
    let mut policies = PolicySet::new();
    for loaded in loaded {
        match loaded.policy.to_json() {
            Ok(json) => needs.add_policy(&json),
            Err(_) => needs.add_all(),
        }
        policies.add(loaded.policy.clone())?;
    }
    Ok(Slice { policies, needs })
}

fn prepare_tool(
    server: &str,
    tool: &str,
    arguments: Record,
    slice: Option<Arc<Slice>>,
    types: &EntityTypes,
) -> Result<Prepared, Failure> {
    let name = tool_name(server, tool);
    let groups = HashSet::from([types.action(&group_name(server)), types.action(EVERY_CALL)]);
    let action = types.action(&name);
    let entities_without_tool =
        Entities::from_entities([Entity::new_no_attrs(action.clone(), groups)], None)?;
    let (tool, server) = (types.tool(&name), types.server(server));
    let tool_entity = Entity::new_no_attrs(tool.clone(), HashSet::from([server.clone()]));
    let entities = entities_without_tool.clone().add_entities([tool_entity], None)?;
    Ok(Prepared { action, tool, server, entities, entities_without_tool, arguments, slice })
}
