//! Deciding about calls that wait.

use std::sync::Arc;

use octroi_core::approval::{Answer, Approval, ApprovalState, Event, Verdict};
use octroi_core::audit::Kind;
use octroi_core::pin::PinKind;
use octroi_core::{Principal, Secret, ServerName};
use octroi_store::ApprovalFilter;
use serde_json::Value;

use super::remember::Remember;
use super::{PeopleProblem, must_be_person};
use crate::catalogue::Tool;
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::govern::approvals::{milliseconds, resource};
use crate::time::now_ms;

/// What a person says to a call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It may be made, once.
    Approve,
    /// It may not; the agent goes on.
    DenyContinue,
    /// It may not, and the agent should stop.
    DenyAbort,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Approve, Self::DenyContinue, Self::DenyAbort];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::DenyContinue => "deny_continue",
            Self::DenyAbort => "deny_abort",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == word)
    }
}

impl Gateway {
    /// Approvals, the newest first.
    pub async fn approvals(
        &self,
        filter: &ApprovalFilter,
        n_max: u32,
    ) -> Result<Vec<Approval>, PeopleProblem> {
        Ok(self.store()?.approvals(filter, None, n_max).await?)
    }

    /// One approval.
    pub async fn approval(&self, id: &str) -> Result<Approval, PeopleProblem> {
        let found = self.store()?.approval(id).await?;
        found.ok_or_else(|| PeopleProblem::UnknownApproval(id.to_owned()))
    }

    /// Decides about a call that waits, and wakes whoever waits for it. With a rule to remember, that is
    /// in effect before the decision is.
    pub async fn decide_approval(
        &self,
        id: &str,
        choice: Choice,
        by: &Principal,
        reason: Option<String>,
        edited_arguments: Option<&Value>,
        remember: Option<Remember>,
    ) -> Result<Approval, PeopleProblem> {
        must_be_person(by)?;
        let approval = self.decidable(id).await?;
        let edited = self.edited(&approval, choice, edited_arguments)?;
        let rule = match remember {
            Some(remember) => Some(self.remember_choice(&approval, choice, edited, remember, by).await?),
            None => None,
        };
        let now_ms = now_ms();
        let agent = approval.binding.agent.as_deref();
        let verdict = match choice {
            Choice::Approve => Verdict::Approve {
                edited_arguments: edited.map(|arguments| Secret::new(arguments.to_string())),
                remembered_rule: rule,
                policy_revision: self.governor.policies.load().revision(agent.unwrap_or_default()),
                usable_until_ms: now_ms
                    .saturating_add(milliseconds(self.governor.settings().approvals.grant_expires)),
            },
            Choice::DenyContinue => Verdict::DenyContinue,
            Choice::DenyAbort => Verdict::DenyAbort,
        };
        let answer = Answer { verdict, by: by.id.to_string(), reason };
        let decided = self.store()?.decide_approval(id, answer, now_ms).await?;
        let decided = decided.map_err(|refusal| PeopleProblem::Refused { id: id.to_owned(), refusal })?;
        self.note_approval(&decided, Kind::ApprovalResolved);
        self.waiting.wake(id);
        self.approvals_changed(agent);
        self.hub.resource_updated(&OCTROI, &resource(&decided));
        Ok(decided)
    }

    /// Why a call will not be made though it was approved: its tool is not what was asked about any more.
    pub fn hindrance(&self, approval: &Approval) -> Option<&'static str> {
        if approval.state != ApprovalState::Approved {
            return None;
        }
        let gone = Some("the tool is kept back or gone; the call will be refused: see `octroi pins`");
        let catalogue = self.catalogue();
        let Some((server, name)) = server_and_name(&approval.binding.tool) else { return gone };
        let Some(offer) = catalogue.offer(&server).filter(|offer| offer.held(PinKind::Tool, name).is_none())
        else {
            return gone;
        };
        match offer.tools.get(name) {
            Some(tool) if tool.descriptor.definition_hash == approval.binding.definition_hash => None,
            Some(_) => Some(
                "the tool's definition has changed since; the call will be refused, and asked about anew",
            ),
            None => gone,
        }
    }

    /// The rule that would be remembered with a decision.
    pub async fn remembered_rule(
        &self,
        id: &str,
        choice: Choice,
        by: &Principal,
        edited_arguments: Option<&Value>,
        remember: Remember,
    ) -> Result<String, PeopleProblem> {
        must_be_person(by)?;
        let approval = self.decidable(id).await?;
        let edited = self.edited(&approval, choice, edited_arguments)?;
        self.rule_for(&approval, choice, edited, remember, by, now_ms())
    }

    /// One that can still be decided.
    async fn decidable(&self, id: &str) -> Result<Approval, PeopleProblem> {
        let approval = self.approval(id).await?;
        // Whichever the answer, it would be refused alike.
        let answer = Answer { verdict: Verdict::DenyContinue, by: String::new(), reason: None };
        match approval.next(&Event::Decide(answer), now_ms()) {
            Ok(_) => Ok(approval),
            Err(refusal) => Err(PeopleProblem::Refused { id: id.to_owned(), refusal }),
        }
    }

    /// The arguments that a person put in place of the caller's, if they can be used.
    fn edited<'a>(
        &self,
        approval: &Approval,
        choice: Choice,
        edited: Option<&'a Value>,
    ) -> Result<Option<&'a Value>, PeopleProblem> {
        let Some(arguments) = edited else {
            return Ok(None);
        };
        let wrong = |reason: String| Err(PeopleProblem::Arguments(reason));
        if choice != Choice::Approve {
            return wrong("a call that is denied has no use for them".to_owned());
        }
        if !arguments.is_object() {
            return wrong("they must be a JSON object".to_owned());
        }
        let Some(tool) = self.tool_of(&approval.binding.tool) else {
            return wrong(format!("the tool {} is gone", approval.binding.tool));
        };
        match tool.complaint(arguments) {
            Some(complaint) => wrong(complaint),
            None => Ok(Some(arguments)),
        }
    }

    fn tool_of(&self, id: &str) -> Option<Arc<Tool>> {
        let (server, name) = server_and_name(id)?;
        self.catalogue().offer(&server)?.tools.get(name).cloned()
    }
}

/// Whose tool this is, and what it is called there.
fn server_and_name(id: &str) -> Option<(ServerName, &str)> {
    let (server, name) = id.strip_prefix("mcp:")?.split_once(':')?;
    Some((ServerName::parse(server).ok()?, name))
}
