//! Reading a text of policies: every check, and every complaint at once.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use cedar_policy::ffi::DetailedError;
use cedar_policy::{
    ActionConstraint, EntityUid, Policy, PolicyId, PolicySet, ResourceConstraint, ValidationMode,
    ValidationWarning, Validator,
};

use crate::annotation;
use crate::describe::Effect;
use crate::problem::{Problem, did_you_mean, position};
use crate::schema::{EVERY_CALL, Schema, group_name, tool_name};

/// Attributes may be taken of the caller, the tool and the context, not of what hangs on them: nothing
/// else is there when a call is judged.
const DEREFERENCES_MAX: u32 = 1;

/// A policy that passed every check.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) policy: Policy,
    pub(crate) id: String,
    pub(crate) effect: Effect,
    pub(crate) reason: Option<String>,
    pub(crate) span: Range<usize>,
    pub(crate) line: usize,
    /// The tools it can apply to, as `server.tool`.
    pub(crate) tools: Vec<String>,
}

/// Reads and checks everything. Either all policies are good or none is given back.
pub(crate) fn read(text: &str, schema: &Schema) -> Result<Vec<Loaded>, Vec<Problem>> {
    let set: PolicySet = text.parse().map_err(|errors| unreadable(text, &DetailedError::from(&errors)))?;
    let mut problems = templates(text, &set);
    let mut all = Vec::new();
    for (policy, span) in in_order(text, &set) {
        let loaded = annotated(text, policy, span, &mut problems);
        all.push(Loaded { tools: applicable_tools(&loaded.policy, schema), ..loaded });
    }
    problems.extend(twins(text, &all));
    if problems.is_empty() {
        problems.extend(validate(text, &all, schema));
        problems.extend(all.iter().flat_map(|loaded| unknown_names(text, loaded, schema)));
        problems.extend(never_matching(text, &all, &problems));
    }
    if problems.is_empty() {
        return Ok(all);
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Err(problems)
}

fn unreadable(text: &str, error: &DetailedError) -> Vec<Problem> {
    let all = std::iter::once(error).chain(&error.related);
    all.map(|error| Problem::from_cedar(text, None, error)).collect()
}

fn templates(text: &str, set: &PolicySet) -> Vec<Problem> {
    let offset = |source: &str| text.find(source).unwrap_or_default();
    let message = "`?principal` and `?resource` are places in templates, which nobody fills here";
    set.templates()
        .map(|template| {
            Problem::at(text, offset(&template.to_cedar()), Some(template.id().as_ref()), message.to_owned())
        })
        .collect()
}

/// Cedar numbers policies in the order of the text but gives them back in any order.
fn in_order<'a>(text: &str, set: &'a PolicySet) -> Vec<(&'a Policy, Range<usize>)> {
    let number = |policy: &Policy| {
        policy.id().to_string().strip_prefix("policy").and_then(|digits| digits.parse::<usize>().ok())
    };
    let mut policies: Vec<&Policy> = set.policies().collect();
    policies.sort_by_key(|policy| number(policy));
    let mut end = 0;
    let spans = policies.into_iter().map(|policy| {
        let source = policy.to_cedar().unwrap_or_default();
        let rest = text.get(end..).unwrap_or_default();
        let start = end + rest.find(&source).unwrap_or_default();
        end = (start + source.len()).min(text.len());
        (policy, start..end)
    });
    spans.collect()
}

fn annotated(text: &str, policy: &Policy, span: Range<usize>, problems: &mut Vec<Problem>) -> Loaded {
    let (annotations, wrongs) = annotation::read(policy);
    let id = annotations.id.unwrap_or_else(|| policy.id().to_string());
    for wrong in wrongs {
        let offset = place(text, &span, &format!("@{}", wrong.name));
        problems.push(Problem::at(text, offset, Some(&id), wrong.message).with_help(wrong.help));
    }
    Loaded {
        policy: policy.new_id(PolicyId::new(&id)),
        effect: annotations.effect,
        reason: annotations.reason,
        line: position(text, span.start).0,
        span,
        tools: Vec::new(),
        id,
    }
}

fn twins(text: &str, all: &[Loaded]) -> Vec<Problem> {
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    let mut problems = Vec::new();
    for loaded in all {
        if let Some(line) = first_lines.insert(&loaded.id, loaded.line) {
            let message = format!("another policy has this id, in line {line}");
            problems.push(Problem::at(text, loaded.span.start, Some(&loaded.id), message));
        }
    }
    problems
}

fn validate(text: &str, all: &[Loaded], schema: &Schema) -> Vec<Problem> {
    let set = match PolicySet::from_policies(all.iter().map(|loaded| loaded.policy.clone())) {
        Ok(set) => set,
        Err(error) => return unreadable(text, &DetailedError::from(&error)),
    };
    let spans: BTreeMap<&str, &Range<usize>> =
        all.iter().map(|loaded| (loaded.id.as_str(), &loaded.span)).collect();
    let problem = |id: &PolicyId, error: DetailedError| {
        let id: &str = id.as_ref();
        Problem::from_cedar(text, spans.get(id).map(|span| (id, *span)), &error)
    };
    let validator = Validator::new(schema.cedar.clone());
    let result = validator.validate_with_level(&set, ValidationMode::Strict, DEREFERENCES_MAX);
    let mut problems: Vec<Problem> = result
        .validation_errors()
        .map(|error| problem(error.policy_id(), DetailedError::from(error)))
        .collect();
    for warning in result.validation_warnings() {
        match warning {
            // Paths and names in other alphabets than Latin are texts like any other.
            ValidationWarning::MixedScriptString(_) => {}
            ValidationWarning::ImpossiblePolicy(_) => {
                let mut problem = problem(warning.policy_id(), DetailedError::from(warning));
                NEVER.clone_into(&mut problem.message);
                problems.push(problem.with_help(Some("its conditions contradict each other".to_owned())));
            }
            _ => problems.push(problem(warning.policy_id(), DetailedError::from(warning))),
        }
    }
    // One misspelt tool is complained about once for each place that Cedar looks at.
    problems.dedup();
    problems
}

const NEVER: &str = "it can never match a call";

/// Cedar does not know which tools and servers there are, only that there are such.
fn unknown_names(text: &str, loaded: &Loaded, schema: &Schema) -> Vec<Problem> {
    let tools: Vec<String> = schema.tool_names().collect();
    let servers: Vec<&String> = schema.tools.keys().collect();
    let mut problems = Vec::new();
    for literal in loaded.policy.entity_literals() {
        let id: &str = literal.id().as_ref();
        let (what, is_known, guess) = if literal == schema.types.tool(id) {
            let is_known = tools.iter().any(|tool| tool == id);
            ("tool", is_known, did_you_mean(id, tools.iter().map(String::as_str)))
        } else if literal == schema.types.server(id) {
            let is_known = schema.tools.contains_key(id);
            ("server", is_known, did_you_mean(id, servers.iter().map(|server| server.as_str())))
        } else {
            continue;
        };
        if !is_known {
            let offset = place(text, &loaded.span, &literal.to_string());
            let message = format!("there is no {what} `{id}`");
            problems.push(Problem::at(text, offset, Some(&loaded.id), message).with_help(guess));
        }
    }
    problems.dedup();
    problems
}

/// A policy whose action and resource are different tools.
fn never_matching(text: &str, all: &[Loaded], known: &[Problem]) -> Vec<Problem> {
    let is_known = |loaded: &Loaded| known.iter().any(|problem| problem.policy.as_ref() == Some(&loaded.id));
    let nowhere = all.iter().filter(|loaded| loaded.tools.is_empty() && !is_known(loaded));
    nowhere
        .map(|loaded| {
            let help = "its action and its resource have no tool in common".to_owned();
            Problem::at(text, loaded.span.start, Some(&loaded.id), NEVER.to_owned()).with_help(Some(help))
        })
        .collect()
}

/// By the scope of the policy alone: what it says of action and resource outside of its conditions.
fn applicable_tools(policy: &Policy, schema: &Schema) -> Vec<String> {
    let types = &schema.types;
    let every_call = types.action(EVERY_CALL);
    let mut names = Vec::new();
    for (server, tools) in &schema.tools {
        let group = types.action(&group_name(server));
        let server_entity = types.server(server);
        for tool in tools.keys() {
            let name = tool_name(server, tool);
            let is_action = |uid: &EntityUid| *uid == types.action(&name);
            let is_tool = |uid: &EntityUid| *uid == types.tool(&name);
            let has_action = match policy.action_constraint() {
                ActionConstraint::Any => true,
                ActionConstraint::Eq(uid) => is_action(&uid),
                ActionConstraint::In(uids) => {
                    uids.iter().any(|uid| is_action(uid) || *uid == group || *uid == every_call)
                }
            };
            let has_resource = match policy.resource_constraint() {
                ResourceConstraint::Any | ResourceConstraint::Is(_) => true,
                ResourceConstraint::Eq(uid) => is_tool(&uid),
                ResourceConstraint::In(uid) | ResourceConstraint::IsIn(_, uid) => {
                    is_tool(&uid) || uid == server_entity
                }
            };
            if has_action && has_resource {
                names.push(name);
            }
        }
    }
    names
}

/// Where in a policy something is written.
fn place(text: &str, span: &Range<usize>, written: &str) -> usize {
    let source = text.get(span.clone()).unwrap_or_default();
    span.start + source.find(written).unwrap_or_default()
}

#[cfg(test)]
mod tests;
