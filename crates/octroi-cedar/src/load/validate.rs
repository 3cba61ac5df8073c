//! Runs Cedar's validator in its strictest mode. Its warnings are errors here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cedar_policy::ffi::DetailedError;
use cedar_policy::{
    PolicyId, PolicySet, ValidationError, ValidationMode, ValidationResult, ValidationWarning, Validator,
};

use super::{Loaded, NEVER, unreadable};
use crate::problem::CedarProblem;
use crate::schema::Schema;

/// Attributes can be read from the caller, the tool and the context, but not from entities they refer to:
/// those do not exist when a call is judged.
const DEREFERENCES_MAX: u32 = 1;

/// So many policies are validated together.
const CHUNK: usize = 50;

/// At most this many errors and warnings are reported: each is looked up in the text.
const PROBLEMS_MAX: usize = 200;

pub(super) fn validate(
    text: &str,
    all: &[Loaded],
    schema: &Schema,
    known: &[CedarProblem],
) -> Vec<CedarProblem> {
    let validator = Validator::new(schema.cedar.clone());
    let mut problems = Vec::new();
    // Policies with errors take longest, and nobody reads hundreds of errors.
    for some in all.chunks(CHUNK) {
        problems.extend(validate_some(text, some, &validator, known));
        if problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    problems
}

fn validate_some(
    text: &str,
    some: &[Loaded],
    validator: &Validator,
    known: &[CedarProblem],
) -> Vec<CedarProblem> {
    let set = match PolicySet::from_policies(some.iter().map(|loaded| loaded.policy.clone())) {
        Ok(set) => set,
        Err(error) => return unreadable(text, &DetailedError::from(&error)),
    };
    let spans = some.iter().map(|loaded| (loaded.id.as_str(), &loaded.span)).collect();
    let result = validator.validate_with_level(&set, ValidationMode::Strict, DEREFERENCES_MAX);
    let mut problems = errors(text, &spans, &result);
    problems.extend(warnings(text, &spans, &result));
    // A text that Cedar refuses is never loaded, even if all its errors were filtered out above.
    if !result.validation_passed() && problems.is_empty() && known.is_empty() {
        problems.push(CedarProblem::at(text, 0, None, result.to_string()));
    }
    problems
}

type Spans<'a> = BTreeMap<&'a str, &'a Range<usize>>;

fn errors(text: &str, spans: &Spans<'_>, result: &ValidationResult) -> Vec<CedarProblem> {
    // Unknown actions are reported by the name check, with a better suggestion.
    let is_reported = |error: &&ValidationError| matches!(error, ValidationError::UnrecognizedActionId(_));
    let errors = result.validation_errors().filter(|error| !is_reported(error));
    let problem =
        |error: &ValidationError| problem(text, spans, error.policy_id(), &DetailedError::from(error));
    errors.take(PROBLEMS_MAX).map(|error| problem(error).with_believable_help()).collect()
}

/// Warnings that follow from an error are not reported.
fn warnings(text: &str, spans: &Spans<'_>, result: &ValidationResult) -> Vec<CedarProblem> {
    let wrong: BTreeSet<&PolicyId> = result.validation_errors().map(ValidationError::policy_id).collect();
    let is_nowhere =
        |warning: &&ValidationWarning| matches!(warning, ValidationWarning::InvalidActionApplication(_));
    let nowhere: BTreeSet<&PolicyId> =
        result.validation_warnings().filter(is_nowhere).map(ValidationWarning::policy_id).collect();
    let mut problems = Vec::new();
    let others = result.validation_warnings().filter(|warning| !wrong.contains(warning.policy_id()));
    for warning in others.take(PROBLEMS_MAX) {
        let id = warning.policy_id();
        let problem = problem(text, spans, id, &DetailedError::from(warning));
        let never = |help: &str| CedarProblem {
            message: NEVER.to_owned(),
            help: Some(help.to_owned()),
            ..problem.clone()
        };
        problems.push(match warning {
            // Paths and names in non-Latin scripts are legitimate.
            ValidationWarning::MixedScriptString(_) | ValidationWarning::MixedScriptIdentifier(_) => continue,
            ValidationWarning::InvalidActionApplication(_) => never("no tool matches it"),
            ValidationWarning::ImpossiblePolicy(_) if nowhere.contains(id) => continue,
            ValidationWarning::ImpossiblePolicy(_) => never("its conditions contradict each other"),
            _ => problem,
        });
    }
    problems
}

fn problem(text: &str, spans: &Spans<'_>, id: &PolicyId, error: &DetailedError) -> CedarProblem {
    let id: &str = id.as_ref();
    CedarProblem::from_cedar(text, spans.get(id).map(|span| (id, *span)), error)
}
