//! Why a call needs approval or is denied, as one sentence for people: what the tool does, and what asks or denies.
//!
//! The verdicts in the trace keep the gates' own words.

use super::gate::Gate;
use super::trace::{Outcome, Verdict};
use crate::agent::{AgentContext, Profile};
use crate::call::Call;
use crate::tool::{Risk, ToolDescriptor, UNKNOWN};

/// What the tags of a tool mean, in words; the first that applies is named.
const MEANINGS: [(&str, &str); 19] = [
    ("payments", "moves money"),
    ("system.exec", "runs programs"),
    ("fs.delete", "deletes files"),
    ("database.delete", "deletes from a database"),
    ("cloud.resource_delete", "deletes cloud resources"),
    ("cloud.key_delete", "deletes keys"),
    ("fs.write", "writes files"),
    ("fs.chmod", "changes permissions of files"),
    ("database.write", "writes to a database"),
    ("cloud.resource_create", "creates cloud resources"),
    ("cloud.key_write", "writes keys"),
    ("data.write", "changes something"),
    ("network.socket", "opens network connections"),
    ("system.env", "uses environment variables"),
    ("cloud.key_read", "reads keys"),
    ("fs.read", "reads files"),
    ("database.read", "reads from a database"),
    ("network.http", "uses the network"),
    (UNKNOWN, "has an unknown effect"),
];

/// The sentence of a verdict that asks or denies. `is_abort` is whether it also stops the agent.
pub(super) fn of_verdict(verdict: &Verdict, call: &Call<'_>, is_abort: bool) -> String {
    let Call { tool, context, .. } = *call;
    let name = name_of(tool);
    let words = verdict.reason.as_deref().unwrap_or_default();
    let profile = context.profile.as_str();
    match verdict.gate {
        // The caller can correct them, so the details matter and nothing else.
        Gate::Arguments | Gate::Paused | Gate::Person | Gate::Profile => words.to_owned(),
        Gate::Scope | Gate::Quota => format!("{name} was not called: {words}"),
        Gate::Access => format!("{}; the configuration denies it: {words}", effect_of(tool)),
        Gate::Disabled => match &tool.off_because {
            Some(because) => format!("{name} is switched off in the configuration: {because}"),
            None => format!("{name} is switched off in the configuration"),
        },
        Gate::Mode => {
            let (effect, caller) = (effect_of(tool), caller_of(call));
            format!("{effect}; {caller} is in planning mode, which allows only tools without side effects")
        }
        Gate::SpecFrozen => {
            let (effect, caller, verb) = (risky(tool), caller_of(call), verb_of(verdict));
            format!(
                "{effect}; profile `{profile}` {verb} such calls until {caller} has a frozen specification"
            )
        }
        Gate::ProjectBinding => {
            let (effect, caller, verb) = (risky(tool), caller_of(call), verb_of(verdict));
            format!("{effect}; profile `{profile}` {verb} such calls until {caller} has a project")
        }
        Gate::Blacklist => blacklisted(call),
        Gate::AdminToken => {
            let needs = format!("{} and needs the admin token", effect_of(tool));
            match verdict.outcome {
                Outcome::Ask => format!("{needs}; without it, profile `{profile}` asks a person"),
                Outcome::Pass | Outcome::Deny => {
                    format!("{needs}; without it, profile `{profile}` denies the call")
                }
            }
        }
        Gate::Pinning => format!("{name} is quarantined: {words}"),
        Gate::Custom => {
            let gate = verdict.by.as_deref().unwrap_or_default();
            ruled(tool, &format!("gate `{gate}`"), verdict, is_abort)
        }
        Gate::Floor | Gate::Global | Gate::Agent => of_policy(verdict, call, is_abort),
        Gate::Trust => {
            let (effect, server) = (effect_of(tool), &tool.source_id);
            format!("{effect}; server `{server}` has low trust, so a person is asked before side effects")
        }
    }
}

/// Why a call that no rule matches needs approval.
pub(super) fn of_profile(profile: Profile, tool: &ToolDescriptor) -> String {
    let (effect, name) = (effect_of(tool), profile.as_str());
    if profile == Profile::Strict {
        return format!("{effect}; profile `{name}` asks before every call that no rule allows");
    }
    if tool.side_effects.changes_something() {
        return format!("{effect}; profile `{name}` asks before writes");
    }
    let is_unknown = tool.side_effects.contains(UNKNOWN);
    let effect = if is_unknown { effect } else { risky(tool) };
    format!("{effect}; profile `{name}` asks before such calls")
}

fn of_policy(verdict: &Verdict, call: &Call<'_>, is_abort: bool) -> String {
    let policy = match (verdict.gate, call.agent()) {
        (Gate::Agent, agent) if !agent.is_empty() => format!("the policy of agent `{agent}`"),
        (gate, _) => format!("the {} policy", gate.as_str()),
    };
    match &verdict.by {
        Some(rule) => ruled(call.tool, &format!("rule `{rule}` of {policy}"), verdict, is_abort),
        // It could not be evaluated.
        None => {
            let words = verdict.reason.as_deref().unwrap_or_default();
            format!("{} was not called: {words}", name_of(call.tool))
        }
    }
}

/// What a tool does, who objects, and the reason they give.
fn ruled(tool: &ToolDescriptor, who: &str, verdict: &Verdict, is_abort: bool) -> String {
    let does = match (verdict.outcome, is_abort) {
        (Outcome::Ask, _) => "asks before it",
        (Outcome::Pass | Outcome::Deny, false) => "denies it",
        (Outcome::Pass | Outcome::Deny, true) => "denies it and stops the agent",
    };
    let reason = verdict.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}; {who} {does}{reason}", effect_of(tool))
}

fn blacklisted(call: &Call<'_>) -> String {
    let Call { tool, context: AgentContext { blacklist, .. }, .. } = *call;
    let tag = tool.side_effects.iter().find(|tag| blacklist.contains(*tag)).unwrap_or_default();
    let (effect, caller) = (with_tag(tool, tag), caller_of(call));
    format!("{effect}; side effect `{tag}` is on the blacklist of {caller}")
}

/// A profile asks before calls, and denies them.
fn verb_of(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Ask => "asks before",
        Outcome::Pass | Outcome::Deny => "denies",
    }
}

fn caller_of(call: &Call<'_>) -> String {
    match call.agent() {
        "" => "the caller".to_owned(),
        agent => format!("agent `{agent}`"),
    }
}

fn name_of(tool: &ToolDescriptor) -> String {
    format!("`{}.{}`", tool.source_id, tool.name)
}

/// What a tool does: `demo.write_note` writes files.
fn effect_of(tool: &ToolDescriptor) -> String {
    let tags = &tool.side_effects;
    let known = MEANINGS.iter().map(|(tag, _)| *tag).find(|tag| *tag != UNKNOWN && tags.contains(tag));
    let other = || tags.iter().find(|tag| *tag != UNKNOWN);
    match known.or_else(other).or_else(|| tags.iter().next()) {
        Some(tag) => with_tag(tool, tag),
        None => format!("{} has no side effects", name_of(tool)),
    }
}

fn with_tag(tool: &ToolDescriptor, tag: &str) -> String {
    let name = name_of(tool);
    match MEANINGS.iter().find(|(known, _)| *known == tag) {
        Some((_, meaning)) => format!("{name} {meaning}"),
        None => format!("{name} has the side effect `{tag}`"),
    }
}

/// The same with the risk, for gates that look at it.
fn risky(tool: &ToolDescriptor) -> String {
    let risk: Risk = tool.risk;
    if tool.side_effects.is_empty() {
        return format!("{} is of {risk} risk", name_of(tool));
    }
    format!("{} and is of {risk} risk", effect_of(tool))
}
