//! The annotations of a policy: its id, its decision, its reason, and who may decide.

use cedar_policy::Policy;
use octroi_core::approval::Approvers;
use octroi_core::suggest::did_you_mean;

use crate::effect::CedarEffect;

const KNOWN: [&str; 4] = ["id", "decision", "reason", "approvers"];
const DECISIONS: [(&str, CedarEffect); 3] =
    [("ask", CedarEffect::Ask), ("deny", CedarEffect::Deny), ("abort", CedarEffect::Abort)];

/// The annotations of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Annotations {
    pub(crate) id: Option<String>,
    pub(crate) effect: CedarEffect,
    pub(crate) reason: Option<String>,
    pub(crate) approvers: Approvers,
}

/// An invalid annotation, and what to write instead.
pub(crate) struct InvalidAnnotation {
    /// The annotation's own name, to find its position.
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// Parses them. After an invalid one the rest is still parsed, to report all problems together.
pub(crate) fn read(policy: &Policy) -> (Annotations, Vec<InvalidAnnotation>) {
    let is_permit = policy.effect() == cedar_policy::Effect::Permit;
    let effect = if is_permit { CedarEffect::Permit } else { CedarEffect::Deny };
    let mut annotations = Annotations { id: None, effect, reason: None, approvers: Approvers::default() };
    let mut wrongs = Vec::new();
    for (name, value) in policy.annotations() {
        let mut wrong = |message: String, help: Option<String>| {
            wrongs.push(InvalidAnnotation { name: name.to_owned(), message, help });
        };
        match (name, value) {
            ("decision", _) if is_permit => wrong(
                "`@decision` is on a `permit`, which can only allow".to_owned(),
                Some("write `forbid`, or leave `@decision` out".to_owned()),
            ),
            ("id" | "reason" | "decision" | "approvers", "") => wrong(format!("`@{name}` is empty"), None),
            ("id", id) => annotations.id = Some(id.to_owned()),
            ("reason", reason) => annotations.reason = Some(reason.to_owned()),
            ("decision", decision) => match DECISIONS.iter().find(|(word, _)| *word == decision) {
                Some((_, effect)) => annotations.effect = *effect,
                None => wrong(
                    format!("`{decision}` is no decision; there are `ask`, `deny` and `abort`"),
                    did_you_mean(decision, DECISIONS.iter().map(|(word, _)| *word)),
                ),
            },
            ("approvers", names) => match Approvers::parse(names.split(',').map(str::trim)) {
                Ok(approvers) => annotations.approvers = approvers,
                Err(error) => wrong(format!("`@approvers`: {error}"), None),
            },
            _ => wrong(
                format!(
                    "there is no annotation `@{name}`; there are `@id`, `@decision`, `@reason` and `@approvers`"
                ),
                did_you_mean(name, KNOWN.into_iter()),
            ),
        }
    }
    if !annotations.approvers.is_empty() && annotations.effect != CedarEffect::Ask {
        wrongs.push(InvalidAnnotation {
            name: "approvers".to_owned(),
            message: "`@approvers` is on a policy that does not ask".to_owned(),
            help: Some("write `@decision(\"ask\")` beside it, or leave it out".to_owned()),
        });
    }
    wrongs.sort_by(|left, right| left.name.cmp(&right.name));
    (annotations, wrongs)
}
