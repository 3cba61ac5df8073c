//! Turns a decision into a rule, so that the same question is not asked again.
//!
//! A rule is as narrow as the person chooses: this very call, or this tool. It is part of the policy of the
//! agent that asked, and marked, so that it can be removed when it expires.

use std::fmt::Write as _;
use std::time::Duration;

use octroi_core::approval::Approval;
use octroi_core::arguments::Exactness;
use octroi_core::server::parse_duration;
use octroi_core::time::{parse_time, show_time};
use octroi_core::{Principal, arguments};
use octroi_store::{PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::decisions::Choice;
use super::{Approvals, milliseconds};
use crate::change::PlannedChange;
use crate::operator_error::{OperatorError, must_be_person};
use crate::policy_error::PolicyError;

/// Longer arguments would make an unreadable rule.
const ARGUMENTS_MAX: usize = 4096;
/// Begins the block of a remembered rule, which ends with an empty line.
const MARK: &str = "# Remembered with ";

/// Why a remembered rule was not removed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetRuleError {
    /// It cannot be removed like this.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The policy without it is refused.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// What is remembered of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remember {
    /// For which calls.
    pub scope: RememberScope,
    /// For how long.
    pub until: Until,
}

/// The calls that a remembered decision covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RememberScope {
    /// This tool with exactly these arguments and other params.
    Exact,
    /// This tool with any arguments.
    Tool,
}

impl RememberScope {
    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "exact" => Some(Self::Exact),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// How long a decision is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// For this duration.
    For(Duration),
    /// Until an operator removes it.
    Forever,
}

impl Default for Until {
    fn default() -> Self {
        Self::For(Duration::from_hours(8))
    }
}

impl Until {
    /// Parses `forever`, or a duration with its unit, as in `8h`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "forever" => Some(Self::Forever),
            text => parse_duration(text).filter(|time| !time.is_zero()).map(Self::For),
        }
    }
}

impl Approvals {
    /// The rule for a decision, as policy text.
    pub(super) fn rule_for(
        &self,
        approval: &Approval,
        choice: Choice,
        edited: Option<&str>,
        remember: Remember,
        by: &Principal,
    ) -> Result<String, OperatorError> {
        self.check_remembering(approval, choice, by)?;
        let exact = match remember.scope {
            RememberScope::Tool => None,
            RememberScope::Exact => Some(self.exact_call(approval, edited)?),
        };
        let until_ms = match remember.until {
            Until::Forever => None,
            Until::For(time) => Some(self.now_ms().saturating_add(milliseconds(time))),
        };
        rule(approval, choice, exact.as_ref(), until_ms, by.id()).map_err(OperatorError::Unrememberable)
    }

    /// A rule is part of the agent's policy, which is for its owner and administrators to change. Nothing there allows
    /// what a rule with approvers asks about.
    fn check_remembering(
        &self,
        approval: &Approval,
        choice: Choice,
        by: &Principal,
    ) -> Result<(), OperatorError> {
        let agent = approval.binding.agent.as_deref().unwrap_or_default();
        let because = |reason: &str| Err(OperatorError::Unrememberable(reason.to_owned()));
        if !by.is_admin() && self.governance.identity().owner_of(agent) != *by.user() {
            return because("the policy of the agent is for its owner and administrators to change");
        }
        if choice == Choice::Approve && !approval.approvers.is_empty() {
            return because("a rule says who may decide about such calls, so each of them is asked about");
        }
        Ok(())
    }

    /// The same, if it can take effect.
    pub(super) fn rule_to_remember(
        &self,
        approval: &Approval,
        choice: Choice,
        edited: Option<&str>,
        remember: Remember,
        by: &Principal,
    ) -> Result<String, OperatorError> {
        let rule = self.rule_for(approval, choice, edited, remember, by)?;
        match self.governance.policy_file(&level(approval)) {
            Some(file) => Err(OperatorError::PolicyInFile { file, rule }),
            None => Ok(rule),
        }
    }

    /// Puts a rule into effect.
    pub(super) async fn remember_rule(
        &self,
        approval: &Approval,
        rule: &str,
        by: &Principal,
    ) -> Result<(), OperatorError> {
        let mut added = self.add_rule(approval, rule, by).await;
        // The policy was changed meanwhile; the rule is appended to the new version.
        if let Err(PolicyError::Refused(PolicyRefusal::Changed { .. })) = added {
            added = self.add_rule(approval, rule, by).await;
        }
        added.map_err(|problem| OperatorError::Policy { problem, rule: rule.to_owned() })
    }

    /// Removes the rule that was saved with a decision from the policy that it is part of.
    pub async fn forget_rule(
        &self,
        id: &str,
        by: &Principal,
    ) -> Result<PlannedChange<PolicyRecord, PolicyError>, ForgetRuleError> {
        must_be_person(by)?;
        let approval = self.get(id).await?;
        let agent = approval.binding.agent.as_deref().unwrap_or_default();
        if !by.is_admin() && self.governance.identity().owner_of(agent) != *by.user() {
            // Who may decide about the call may still have no say about the policy.
            return Err(OperatorError::NoRule { id: id.to_owned() }.into());
        }
        let level = level(&approval);
        if let Some(file) = self.governance.policy_file(&level) {
            let rule = approval.remembered_rule.unwrap_or_default();
            return Err(OperatorError::PolicyInFile { file, rule }.into());
        }
        let active = self.governance.active_policy(&level).await?;
        let without = active.as_ref().and_then(|active| without_rule(&active.draft.source, id));
        let Some((source, active)) = without.zip(active) else {
            return Err(OperatorError::NoRule { id: id.to_owned() }.into());
        };
        Ok(self.governance.change_policy(by, level, &source, active.version).await?)
    }

    async fn add_rule(&self, approval: &Approval, rule: &str, by: &Principal) -> Result<(), PolicyError> {
        let level = level(approval);
        let current = self.governance.active_policy(&level).await?;
        let source = current.as_ref().map_or("", |record| &record.draft.source);
        let draft = PolicyDraft {
            level,
            language: "rules".to_owned(),
            source: with_rule(source, rule, self.now_ms()),
            author: by.id().to_string(),
            rationale: Some(format!("remembered with {}", approval.id)),
            check_result: None,
        };
        let version = current.as_ref().and_then(|record| record.version).unwrap_or_default();
        self.governance.set_policy(&draft, Some(version)).await.map(drop)
    }

    /// The arguments and other params in the rule: JSON in its shortest form.
    fn exact_call(&self, approval: &Approval, edited: Option<&str>) -> Result<ExactCall, OperatorError> {
        let because = |reason: &str| OperatorError::Unrememberable(reason.to_owned());
        let read = |json: &str| match arguments::read_exactly(json.as_bytes()) {
            Ok((_, Exactness::Rounded)) => {
                Err(because("a rule would round a number of the call, and match other calls too"))
            }
            Ok((value, Exactness::Exact)) => Ok(value.to_string()),
            Err(_) => Err(because("the arguments cannot be read")),
        };
        let exact = ExactCall {
            arguments: read(edited.unwrap_or(approval.arguments.expose()))?,
            params: match approval.other_params.as_ref().map(|others| sent_params(others.expose())) {
                None | Some(Ok(None)) => None,
                Some(Ok(Some(params))) => Some(read(params)?),
                Some(Err(_)) => return Err(because("what the call also sends cannot be read")),
            },
        };
        let texts = [Some(&exact.arguments), exact.params.as_ref()];
        if texts.iter().flatten().map(|text| text.len()).sum::<usize>() > ARGUMENTS_MAX {
            return Err(because("the arguments are too long for a rule"));
        }
        // Policies are stored, and shown to many.
        if texts.iter().flatten().any(|text| self.recorder.has_secret(text)) {
            return Err(because("the arguments contain a secret, which must not be part of a rule"));
        }
        Ok(exact)
    }
}

/// The call in a rule, as JSON texts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExactCall {
    arguments: String,
    /// Other members of `params`, if it sends any.
    params: Option<String>,
}

/// The other members of `params` among everything else that a call sends: `_meta` differs from call to call.
fn sent_params(others: &str) -> serde_json::Result<Option<&str>> {
    #[derive(Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        params: Option<&'a RawValue>,
    }
    Ok(serde_json::from_str::<Sent<'_>>(others)?.params.map(RawValue::get))
}

/// The level of the rule: the policy of the agent that asked.
fn level(approval: &Approval) -> PolicyLevel {
    match &approval.binding.agent {
        Some(agent) => PolicyLevel::Agent(agent.clone()),
        None => PolicyLevel::Global,
    }
}

fn rule(
    approval: &Approval,
    choice: Choice,
    exact: Option<&ExactCall>,
    until_ms: Option<i64>,
    by: &str,
) -> Result<String, String> {
    let id = &approval.id;
    let tool = &approval.binding.tool;
    let found = tool.strip_prefix("mcp:").and_then(|tool| tool.split_once(':'));
    let (server, name) = found.ok_or_else(|| format!("{tool} is not a tool of a server"))?;
    if name.contains('*') {
        return Err(format!("`*` in the name of {tool} would match any characters"));
    }
    let (list, verb) = match choice {
        Choice::Approve => ("allow", "allowed"),
        Choice::DenyContinue | Choice::DenyAbort => ("deny", "denied"),
    };
    let mut text = format!("{MARK}{id}\n[[{list}]]\nid = {}\n", quoted(id));
    let mut put = |key: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key} = {value}");
    };
    put("tool", &quoted(&format!("{server}.{name}")));
    // A caller that is not an agent has no policy of its own, and its rule must not affect agents.
    if approval.binding.agent.is_none() {
        put("agent", "\"\"");
    }
    if choice == Choice::DenyAbort {
        put("abort", "true");
    }
    if let Some(exact) = exact {
        put("exact_args", &quoted(&exact.arguments));
        if let Some(params) = &exact.params {
            put("exact_params", &quoted(params));
        }
    }
    if let Some(until_ms) = until_ms {
        put("until", &quoted(&show_time(until_ms)));
    }
    put("reason", &quoted(&format!("{by} {verb} it with {id}")));
    Ok(text)
}

/// A text in TOML; as a literal string if possible, because JSON in JSON is hard to read.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains(['\'', '\u{7f}']) && !text.chars().any(char::is_control);
    if is_plain && text.contains(['"', '\\']) {
        return format!("'{text}'");
    }
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A policy without the rule that was remembered with an approval; `None` if it has none.
fn without_rule(source: &str, id: &str) -> Option<String> {
    let mark = format!("{MARK}{id}");
    let mut lines = source.lines();
    let mut kept: Vec<&str> = lines.by_ref().take_while(|line| line.trim_end() != mark).collect();
    if kept.len() == source.lines().count() {
        return None;
    }
    // The block ends with an empty line.
    let mut rest = lines.skip_while(|line| !line.trim().is_empty());
    rest.next();
    kept.extend(rest);
    let kept = kept.join("\n");
    let kept = kept.trim_end();
    Some(if kept.is_empty() { String::new() } else { format!("{kept}\n") })
}

/// A policy with one more rule, and without remembered ones that expired.
fn with_rule(source: &str, rule: &str, now_ms: i64) -> String {
    let mut kept = String::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with(MARK) {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let mut block = format!("{line}\n");
        let mut until_ms = None;
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
            let written = line.strip_prefix("until = ").map(|value| value.trim_matches('"'));
            until_ms = until_ms.or_else(|| parse_time(written?));
            block.push_str(line);
            block.push('\n');
        }
        if until_ms.is_none_or(|until_ms| until_ms > now_ms) {
            kept.push_str(&block);
        }
    }
    let kept = kept.trim_end();
    if kept.is_empty() { rule.to_owned() } else { format!("{kept}\n\n{rule}") }
}

#[cfg(test)]
mod tests;
