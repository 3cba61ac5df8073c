//! Loads a text of policies: all checks, with all problems reported together.

use std::collections::HashMap;
use std::ops::Range;

use cedar_policy::ffi::DetailedError;
use cedar_policy::{Policy, PolicyId, PolicySet};
use octroi_core::approval::Approvers;

use crate::annotation;
use crate::effect::CedarEffect;
use crate::limits::{self, BeyondLimits};
use crate::problem::{CedarProblem, position};
use crate::schema::Schema;

mod scope;
mod validate;

/// The maximum number of problems at one position, for a mistake that affects every tool.
const SAME_PLACE_MAX: usize = 3;

/// So many pairs of a policy and a tool that it can match are checked.
const PAIRS_MAX: usize = 100_000;

/// At most this many names that do not exist are reported.
const UNKNOWN_MAX: usize = 200;

const NEVER: &str = "it can never match a call";

/// A policy that passed all checks.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) policy: Policy,
    pub(crate) id: String,
    pub(crate) effect: CedarEffect,
    pub(crate) reason: Option<String>,
    pub(crate) approvers: Approvers,
    pub(crate) span: Range<usize>,
    pub(crate) line: usize,
    /// The tools it can match, as `server.tool`.
    pub(crate) tools: Vec<String>,
}

/// Parses and checks everything. Returns either all policies or none.
pub(crate) fn read(text: &str, schema: &Schema) -> Result<Vec<Loaded>, Vec<CedarProblem>> {
    limits::check(text)
        .map_err(|BeyondLimits { offset, message }| vec![CedarProblem::at(text, offset, None, message)])?;
    let set: PolicySet = text.parse().map_err(|errors| unreadable(text, &DetailedError::from(&errors)))?;
    let mut problems = templates(text, &set);
    let mut all = Vec::new();
    for (policy, span) in in_order(text, &set) {
        all.push(annotated(text, policy, span, &mut problems));
    }
    problems.extend(twins(text, &all));
    // Cedar needs unique ids to report problems.
    if problems.is_empty() {
        let scopes = scope::Scopes::new(schema);
        let mut n_pairs = 0;
        for loaded in &mut all {
            loaded.tools = scopes.tools_of(&loaded.policy);
            n_pairs += loaded.tools.len();
            // Each policy is checked once for each tool.
            if n_pairs > PAIRS_MAX {
                let message = format!(
                    "the policies match tools more than {PAIRS_MAX} times altogether; name fewer tools in them"
                );
                return Err(vec![CedarProblem::at(text, loaded.span.start, Some(&loaded.id), message)]);
            }
        }
        problems.extend(all.iter().flat_map(|loaded| scopes.unknown_names(text, loaded)).take(UNKNOWN_MAX));
        problems.extend(validate::validate(text, &all, schema, &problems));
        problems.extend(never_matching(text, &all, &problems));
    }
    if problems.is_empty() { Ok(all) } else { Err(readable(problems)) }
}

fn unreadable(text: &str, error: &DetailedError) -> Vec<CedarProblem> {
    let all = std::iter::once(error).chain(&error.related);
    all.map(|error| CedarProblem::from_cedar(text, None, error)).collect()
}

fn templates(text: &str, set: &PolicySet) -> Vec<CedarProblem> {
    let offset = |source: &str| text.find(source).unwrap_or_default();
    let message = "`?principal` and `?resource` are template slots, which are not supported here";
    set.templates()
        .map(|template| {
            CedarProblem::at(
                text,
                offset(&template.to_cedar()),
                Some(template.id().as_ref()),
                message.to_owned(),
            )
        })
        .collect()
}

/// Cedar numbers policies in the order of the text but returns them in any order.
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

fn annotated(text: &str, policy: &Policy, span: Range<usize>, problems: &mut Vec<CedarProblem>) -> Loaded {
    let (annotations, wrongs) = annotation::read(policy);
    let id = annotations.id.unwrap_or_else(|| policy.id().to_string());
    for wrong in wrongs {
        let offset = place(text, &span, &format!("@{}", wrong.name));
        problems.push(CedarProblem::at(text, offset, Some(&id), wrong.message).with_help(wrong.help));
    }
    Loaded {
        policy: policy.new_id(PolicyId::new(&id)),
        effect: annotations.effect,
        reason: annotations.reason,
        approvers: annotations.approvers,
        line: position(text, span.start).0,
        span,
        tools: Vec::new(),
        id,
    }
}

fn twins(text: &str, all: &[Loaded]) -> Vec<CedarProblem> {
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    let mut problems = Vec::new();
    for loaded in all {
        if let Some(line) = first_lines.insert(&loaded.id, loaded.line) {
            let message = format!("another policy has this id, in line {line}");
            problems.push(CedarProblem::at(text, loaded.span.start, Some(&loaded.id), message));
        }
    }
    problems
}

/// A policy whose action and resource are different tools.
fn never_matching(text: &str, all: &[Loaded], known: &[CedarProblem]) -> Vec<CedarProblem> {
    let is_known = |loaded: &Loaded| known.iter().any(|problem| problem.policy.as_ref() == Some(&loaded.id));
    let nowhere = all.iter().filter(|loaded| loaded.tools.is_empty() && !is_known(loaded));
    nowhere
        .map(|loaded| {
            let help = "its action and its resource have no tool in common".to_owned();
            CedarProblem::at(text, loaded.span.start, Some(&loaded.id), NEVER.to_owned())
                .with_help(Some(help))
        })
        .collect()
}

/// In the order of the text, without duplicates, and not repeated for every tool.
fn readable(mut problems: Vec<CedarProblem>) -> Vec<CedarProblem> {
    problems.sort_by(|left, right| {
        (left.line, left.column, &left.message).cmp(&(right.line, right.column, &right.message))
    });
    problems.dedup();
    let place = |problem: &CedarProblem| (problem.policy.clone(), problem.line, problem.column);
    let mut reported = Vec::new();
    for same in problems.chunk_by(|left, right| place(left) == place(right)) {
        reported.extend(same.iter().take(SAME_PLACE_MAX).cloned());
        if let Some(next) = same.get(SAME_PLACE_MAX) {
            let message = format!("{} more problems at the same position", same.len() - SAME_PLACE_MAX);
            reported.push(CedarProblem { message, help: None, ..next.clone() });
        }
    }
    reported
}

/// The position of a piece of text in a policy.
fn place(text: &str, span: &Range<usize>, written: &str) -> usize {
    let source = text.get(span.clone()).unwrap_or_default();
    span.start + source.find(written).unwrap_or_default()
}

#[cfg(test)]
mod tests;
