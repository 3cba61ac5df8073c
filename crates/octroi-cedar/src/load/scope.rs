//! The tools that a policy can match, by its scope.

use cedar_policy::{ActionConstraint, EntityUid, Policy, ResourceConstraint};
use octroi_core::suggest::did_you_mean;

use super::{Loaded, place};
use crate::problem::CedarProblem;
use crate::schema::{EVERY_CALL, Schema, group_name, tool_name};

/// Everything that a scope can name.
pub(super) struct Scopes<'a> {
    schema: &'a Schema,
    every_call: EntityUid,
    tools: Vec<Names>,
}

struct Names {
    name: String,
    action: EntityUid,
    group: EntityUid,
    tool: EntityUid,
    server: EntityUid,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(schema: &'a Schema) -> Self {
        let types = &schema.types;
        let names = |server: &String, tool: &String| {
            let name = tool_name(server, tool);
            Names {
                action: types.action(&name),
                group: types.action(&group_name(server)),
                tool: types.tool(&name),
                server: types.server(server),
                name,
            }
        };
        let servers = schema.tools.iter();
        let tools = servers
            .flat_map(|(server, tools)| tools.keys().map(|tool| names(server, tool)).collect::<Vec<_>>());
        Self { schema, every_call: types.action(EVERY_CALL), tools: tools.collect() }
    }

    /// The tools that a policy can match.
    pub(super) fn tools_of(&self, policy: &Policy) -> Vec<String> {
        let (action, resource) = (policy.action_constraint(), policy.resource_constraint());
        let applies = |tool: &&Names| self.has_action(&action, tool) && has_resource(&resource, tool);
        self.tools.iter().filter(applies).map(|tool| tool.name.clone()).collect()
    }

    fn has_action(&self, constraint: &ActionConstraint, tool: &Names) -> bool {
        match constraint {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => *uid == tool.action,
            ActionConstraint::In(uids) => {
                uids.iter().any(|uid| *uid == tool.action || *uid == tool.group || *uid == self.every_call)
            }
        }
    }

    /// Reports unknown tools and servers. Cedar itself only checks actions.
    pub(super) fn unknown_names(&self, text: &str, loaded: &Loaded) -> Vec<CedarProblem> {
        let mut problems = Vec::new();
        for literal in loaded.policy.entity_literals() {
            let id: &str = literal.id().as_ref();
            let Some((what, known)) = self.known(&literal, id) else {
                continue;
            };
            let offset = place(text, &loaded.span, &literal.to_string());
            let message = format!("there is no {what} `{id}`");
            let guess = did_you_mean(id, known.iter().map(String::as_str));
            problems.push(CedarProblem::at(text, offset, Some(&loaded.id), message).with_help(guess));
        }
        problems
    }

    /// The kind of an unknown name, and all names that it could be instead.
    fn known(&self, literal: &EntityUid, id: &str) -> Option<(&'static str, Vec<String>)> {
        let types = &self.schema.types;
        let tools = || self.tools.iter().map(|tool| tool.name.clone());
        let servers = || self.schema.tools.keys();
        if literal.type_name().basename() == "Action" {
            let is_known = *literal == self.every_call
                || self.tools.iter().any(|tool| *literal == tool.action || *literal == tool.group);
            let groups = servers().map(|server| group_name(server)).chain([EVERY_CALL.to_owned()]);
            (!is_known).then(|| ("tool", tools().chain(groups).collect()))
        } else if *literal == types.tool(id) {
            let is_known = self.tools.iter().any(|tool| *literal == tool.tool);
            (!is_known).then(|| ("tool", tools().collect()))
        } else if *literal == types.server(id) {
            let is_known = self.schema.tools.contains_key(id);
            (!is_known).then(|| ("server", servers().cloned().collect()))
        } else {
            None
        }
    }
}

fn has_resource(constraint: &ResourceConstraint, tool: &Names) -> bool {
    match constraint {
        ResourceConstraint::Any | ResourceConstraint::Is(_) => true,
        ResourceConstraint::Eq(uid) => *uid == tool.tool,
        ResourceConstraint::In(uid) | ResourceConstraint::IsIn(_, uid) => {
            *uid == tool.tool || *uid == tool.server
        }
    }
}
