//! Using an approval: once, for exactly the approved call.

use bytes::Bytes;
use octroi_core::Secret;
use octroi_core::approval::{Approval, ApprovalState, ArgumentsState, Binding, Refusal};
use octroi_core::decision::{Decision, Denial, Permit, UnapprovedCall};
use octroi_mcp::Method;
use octroi_mcp::json::{self, Edit};
use octroi_mcp::params::Params;
use octroi_store::{Store, StoreError};

use super::{
    Approvals, CallToApprove, GrantedCall, PersonsWord, Settled, arguments_of, binding, refuse, refused,
    unusable,
};
use crate::audit_recorder::{Initiator, Violation};
use crate::denial;
use crate::governance::QuotaReservation;
use crate::request_state::{Grant, Position};

/// What authorizes an approved call.
pub(crate) enum CallAuthorization {
    /// The gates require approval, and a person approved.
    Asked(UnapprovedCall),
    /// The gates allow it by now.
    Given(Permit),
}

impl CallAuthorization {
    fn permit(self, claimed: &Approval, binding: &Binding) -> Result<Permit, Refusal> {
        match self {
            Self::Asked(question) => question.granted(claimed, binding),
            Self::Given(permit) => Ok(permit),
        }
    }
}

impl Approvals {
    /// A resumed call that the gates allow by now. The person's decision still applies: the call uses their
    /// edited arguments, if any, and is made once.
    pub(crate) async fn allowed(&self, permit: Permit, asking: &CallToApprove<'_>) -> Settled {
        let id = match (asking.grant, asking.position) {
            (Some(grant), _) => return self.resume(permit, asking, grant).await,
            (None, Some(Position::Approval(id))) => id,
            (None, _) => return self.grant_without_person(permit, asking),
        };
        let Some(persistence) = &self.persistence else {
            return refused("the approval is gone");
        };
        match self.use_allowed(persistence.store(), permit, asking, id).await {
            Ok(settled) => settled,
            Err(error) => Settled::Refused(denial::store_failed("the approval cannot be read", &error)),
        }
    }

    async fn use_allowed(
        &self,
        store: &Store,
        permit: Permit,
        asking: &CallToApprove<'_>,
        id: &str,
    ) -> Result<Settled, StoreError> {
        let Some(approval) = store.approval(id).await? else {
            return Ok(refused("the approval is gone; make the call again without requestState"));
        };
        match approval.state {
            // No decision was made, and none is needed any more.
            ApprovalState::Pending => Ok(self.grant_without_person(permit, asking)),
            ApprovalState::Approved => {
                let binding = binding(asking, permit.trace().revision);
                self.claim(store, CallAuthorization::Given(permit), asking, &binding, id).await
            }
            _ => Ok(refuse(
                asking,
                denial::not_approved(&approval, self.governance.denial_style(asking.caller)),
            )),
        }
    }

    /// Continues an approved call that is allowed by now: the person's edited arguments, if any, still
    /// apply.
    async fn resume(&self, permit: Permit, asking: &CallToApprove<'_>, grant: &Grant) -> Settled {
        let Some(persistence) = &self.persistence else {
            return refused("the approval is gone");
        };
        match self.go_on(persistence.store(), CallAuthorization::Given(permit), asking, grant).await {
            Ok(settled) => settled,
            Err(error) => Settled::Refused(denial::store_failed("the approval cannot be read", &error)),
        }
    }

    /// A call that needs no approval.
    pub(crate) fn grant_without_person(&self, permit: Permit, asking: &CallToApprove<'_>) -> Settled {
        match self.reserve(asking) {
            Ok(reservation) => Settled::Granted(GrantedCall {
                permit,
                approval: None,
                edited: None,
                word: None,
                reservation,
            }),
            Err(denial) => Settled::Denied(denial),
        }
    }

    /// Reserves the call's quotas, now that it is about to be made.
    fn reserve(&self, asking: &CallToApprove<'_>) -> Result<QuotaReservation, Denial> {
        let arguments = asking.params.arguments();
        // Every call passes here, and quotas do not need the time by which approvals expire.
        let call = asking.to_decide(arguments.as_deref(), self.context.clock.now_ms());
        self.governance.reserve(call, asking.context)
    }

    /// The denial of a call whose agent is paused.
    fn paused(&self, asking: &CallToApprove<'_>) -> Option<Denial> {
        let agent = asking.caller.principal.agent_id()?;
        self.governance.paused(agent)?;
        let arguments = asking.params.arguments();
        let call = asking.to_decide(arguments.as_deref(), self.now_ms());
        match self.governance.decide_with(call, asking.context, &[]) {
            Decision::Deny(denial) => Some(denial),
            // Resumed in this moment.
            Decision::Allow(_) | Decision::Ask(_) => None,
        }
    }

    /// Uses up a grant and creates its permit. Quotas come first: a grant whose call exceeds a quota stays
    /// valid.
    pub(super) async fn claim(
        &self,
        store: &Store,
        authorization: CallAuthorization,
        asking: &CallToApprove<'_>,
        binding: &Binding,
        id: &str,
    ) -> Result<Settled, StoreError> {
        if !self.governance.identity().is_valid(&asking.caller.principal) {
            self.record_revoked(&Initiator::of_caller(asking.caller), asking.tool.descriptor.id.as_str());
            return Ok(refuse(asking, denial::revoked()));
        }
        // Somebody may have paused the agent while the call waited. The approval stays for later.
        if let Some(denial) = self.paused(asking) {
            return Ok(Settled::Denied(denial));
        }
        let reservation = match self.reserve(asking) {
            Ok(reservation) => reservation,
            Err(denial) => return Ok(Settled::Denied(denial)),
        };
        let claimed = match store.claim_approval(id, binding, self.now_ms()).await? {
            Ok(claimed) => claimed,
            Err(refusal) => return Ok(unusable(id, &refusal)),
        };
        let granted = match edited(asking, &claimed) {
            Err(UnusableArguments) => Err(unusable_arguments()),
            Ok(None) => match authorization.permit(&claimed, binding) {
                Ok(permit) => Ok((permit, None)),
                Err(refusal) => Err(unusable(id, &refusal)),
            },
            Ok(Some(params)) => {
                let permit = self.decide_edited(asking, &params, &claimed).await;
                permit.map(|permit| (permit, Some(params)))
            }
        };
        let settled = match granted {
            Ok((permit, edited)) => {
                let word = PersonsWord::of(&claimed);
                let approval = Some(claimed.id);
                Settled::Granted(GrantedCall { permit, approval, edited, word, reservation })
            }
            Err(refused) => {
                self.finish(&claimed.id, "denied").await;
                refused
            }
        };
        self.announce(binding.agent.as_deref());
        Ok(settled)
    }

    /// Records that an approved call is not made, because the token of its caller is no longer valid.
    pub(crate) fn record_revoked(&self, initiator: &Initiator, tool: &str) {
        self.recorder.violation(&Violation {
            initiator,
            server: None,
            tool: Some(tool),
            method: Method::ToolsCall.as_str(),
            gate: "token",
            reason: "the token of the caller is no longer valid",
        });
    }

    /// The same under policies that changed while the caller waited: if they deny now, the call is denied; if
    /// they ask or allow, the approval applies.
    pub(super) async fn claim_anew(
        &self,
        store: &Store,
        asking: &CallToApprove<'_>,
        id: &str,
    ) -> Result<Settled, StoreError> {
        let arguments = asking.params.arguments();
        let call = asking.to_decide(arguments.as_deref(), self.now_ms());
        let (authorization, revision) = match self.governance.decide(call, asking.context).await {
            Decision::Deny(denied) => return Ok(Settled::Denied(denied)),
            Decision::Ask(question) => {
                let revision = question.trace().revision;
                (CallAuthorization::Asked(question), revision)
            }
            Decision::Allow(permit) => {
                let revision = permit.trace().revision;
                (CallAuthorization::Given(permit), revision)
            }
        };
        self.claim(store, authorization, asking, &binding(asking, revision), id).await
    }

    /// Edited arguments are decided again: a person may approve where gates ask, but not override those that
    /// deny.
    async fn decide_edited(
        &self,
        asking: &CallToApprove<'_>,
        params: &Params,
        claimed: &Approval,
    ) -> Result<Permit, Settled> {
        let arguments = arguments_of(params);
        let call = asking.to_decide(Some(&arguments), self.now_ms());
        match self.governance.decide(call, asking.context).await {
            Decision::Allow(permit) => Ok(permit),
            Decision::Ask(question) => {
                let binding = claimed.binding.clone();
                question.granted(claimed, &binding).map_err(|refusal| unusable(&claimed.id, &refusal))
            }
            Decision::Deny(denied) => Err(Settled::Denied(denied)),
        }
    }

    /// The next round of a call that was approved and begun: the server asked a question.
    pub(super) async fn go_on(
        &self,
        store: &Store,
        authorization: CallAuthorization,
        asking: &CallToApprove<'_>,
        grant: &Grant,
    ) -> Result<Settled, StoreError> {
        let over = || Ok(refused("the approved call was made already, or cut off by a restart"));
        let Some(claimed) = store.approval(&grant.approval).await? else {
            return over();
        };
        let edited = match edited(asking, &claimed) {
            Ok(edited) => edited,
            Err(UnusableArguments) => return Ok(unusable_arguments()),
        };
        // Before the round is used up: one that meets a full quota can be repeated.
        let reservation = match self.reserve(asking) {
            Ok(reservation) => reservation,
            Err(denial) => return Ok(Settled::Denied(denial)),
        };
        if !self.waiting.take_round(grant) {
            return over();
        }
        let binding = claimed.binding.clone();
        Ok(match authorization.permit(&claimed, &binding) {
            Ok(permit) => {
                let word = PersonsWord::of(&claimed);
                let approval = Some(claimed.id);
                Settled::Granted(GrantedCall { permit, approval, edited, word, reservation })
            }
            Err(refusal) => unusable(&claimed.id, &refusal),
        })
    }

    /// Stores how an approved call went.
    pub(crate) async fn finish(&self, id: &str, outcome: &str) {
        self.waiting.finish(id);
        let Some(persistence) = &self.persistence else {
            return;
        };
        match persistence.store().finish_approval(id, outcome, self.now_ms()).await {
            Ok(Ok(done)) => self.announce(done.binding.agent.as_deref()),
            Ok(Err(refusal)) => tracing::warn!(approval = id, %refusal, "an approved call ended twice"),
            Err(error) => {
                tracing::warn!(approval = id, %error, "outcome of an approved call could not be stored")
            }
        }
    }
}

/// The edited arguments cannot be used. Then the caller's must not be used either.
struct UnusableArguments;

fn unusable_arguments() -> Settled {
    refused("the edited arguments cannot be put into the call")
}

/// The call with the arguments that a person edited, if they did.
fn edited(asking: &CallToApprove<'_>, claimed: &Approval) -> Result<Option<Box<Params>>, UnusableArguments> {
    match &claimed.edited_arguments {
        None => Ok(None),
        Some(_) if claimed.arguments_state != ArgumentsState::Whole => Err(UnusableArguments),
        Some(arguments) => with_arguments(asking.params, arguments)
            .map(|params| Some(Box::new(params)))
            .ok_or(UnusableArguments),
    }
}

/// The same call with other arguments.
fn with_arguments(params: &Params, arguments: &Secret) -> Option<Params> {
    let edits = [Edit::Set("arguments", arguments.expose().as_bytes())];
    Params::read(Bytes::from(json::rewrite(params.json(), &edits))).ok()
}
