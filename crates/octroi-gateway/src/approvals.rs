//! Approvals: asks a person, and makes exactly the approved call, once.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_core::Secret;
use octroi_core::agent::AgentContext;
use octroi_core::approval::{
    Approval, ApprovalState, ArgumentsState, Binding, ID_BYTES, Refusal, approval_id,
};
use octroi_core::arguments::canonical;
use octroi_core::audit::{CallId, Kind};
use octroi_core::decision::{Denial, Permit, UnapprovedCall};
use octroi_mcp::ask;
use octroi_mcp::json::{Edit, rewrite};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Method};
use octroi_store::{PendingLimits, Store, StoreError, TooManyPending};
use octroi_upstream::Context;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer::Answer;
use crate::api_error::error_for_agent;
use crate::audit_recorder::{AuditRecorder, Initiator, OtherParams};
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::denial;
use crate::governance::{CallToDecide, Counting, Governance, QuotaReservation};
use crate::persistence::Persistence;
use crate::registry::Registry;
use crate::request_state::{Grant, Position, Sealer};
use crate::servers::Target;
use crate::subscriptions::Subscriptions;
use crate::view::View;

mod decisions;
mod expiry;
mod grants;
mod pages;
mod remember;
mod showing;
mod steady_clock;
mod waiting;
mod word;

pub use decisions::Choice;
use grants::CallAuthorization;
pub use pages::PageBase;
pub use remember::{ForgetRuleError, Remember, RememberScope, Until};
pub use showing::ShownArguments;
use steady_clock::SteadyClock;
use waiting::Waiting;
pub(crate) use word::PersonsWord;

/// Calls that wait for approval, and the decisions about them.
pub struct Approvals {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    subscriptions: Arc<Subscriptions>,
    governance: Arc<Governance>,
    registry: Arc<Registry>,
    sealer: Arc<Sealer>,
    clock: SteadyClock,
    waiting: Waiting,
    /// The base URL of the pages for people, once Octroi listens.
    page: ArcSwapOption<PageBase>,
}

/// A call that needs approval.
pub(crate) struct CallToApprove<'a> {
    pub(crate) view: &'a View,
    pub(crate) caller: &'a Caller,
    pub(crate) envelope: &'a Envelope,
    pub(crate) target: &'a Target,
    pub(crate) tool: &'a Arc<Tool>,
    pub(crate) params: &'a Params,
    /// What else its parameters contain.
    pub(crate) others: &'a OtherParams,
    pub(crate) call: CallId,
    /// The context of the caller.
    pub(crate) context: &'a AgentContext,
    /// The position of a call that is being resumed.
    pub(crate) position: Option<&'a Position>,
    pub(crate) grant: Option<&'a Grant>,
    /// Binds the state that the client carries to this call.
    pub(crate) digest: [u8; 32],
}

impl CallToApprove<'_> {
    /// The call to decide, with these arguments.
    fn to_decide<'b>(&'b self, arguments: Option<&'b [u8]>, now_ms: i64) -> CallToDecide<'b> {
        CallToDecide {
            principal: &self.caller.principal,
            has_admin_token: self.caller.has_admin_token,
            server: self.target.provider.key(),
            switched_off: self.target.provider.switched_off(),
            access: self.target.provider.access(),
            tool: self.tool,
            held: self.target.held.as_deref(),
            arguments,
            other_params: self.others.params.as_deref(),
            counting: if self.grant.is_some() { Counting::Continuation } else { Counting::Call },
            now_ms,
        }
    }
}

/// Turns a pending approval into a task, where the client supports tasks and the limit allows it.
pub(crate) type BecomeTask<'a> = &'a (dyn Fn(&Approval) -> Option<Answer> + Send + Sync);

/// The result of asking for approval.
pub(crate) enum Settled {
    /// The call may be made.
    Granted(GrantedCall),
    /// The call is denied, and that is still to be recorded.
    Denied(Denial),
    /// The call is not made, or not yet; this is already recorded.
    Refused(Answer),
}

/// A call that may be made.
pub(crate) struct GrantedCall {
    pub(crate) permit: Permit,
    /// The approval, if a person was asked.
    pub(crate) approval: Option<String>,
    /// Parameters that replace the caller's, if a person edited them.
    pub(crate) edited: Option<Box<Params>>,
    /// What a person said about it, for its client.
    pub(crate) word: Option<Box<PersonsWord>>,
    /// Its reservation in the quotas.
    pub(crate) reservation: QuotaReservation,
}

/// An approval in use. Dropped before the call is over, it records that the caller gave up.
pub(crate) struct ApprovalInUse {
    approvals: Arc<Approvals>,
    id: Option<String>,
}

impl ApprovalInUse {
    pub(crate) fn new(approvals: &Arc<Approvals>, id: String) -> Self {
        Self { approvals: Arc::clone(approvals), id: Some(id) }
    }

    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// Records that the call is over.
    pub(crate) async fn finish(mut self, outcome: &str) {
        if let Some(id) = self.id.take() {
            self.approvals.finish(&id, outcome).await;
        }
    }

    /// Keeps the approval open: the call continues when the client comes back.
    pub(crate) fn leave_open(mut self) {
        self.id = None;
    }
}

impl Drop for ApprovalInUse {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let approvals = Arc::clone(&self.approvals);
            let context = &self.approvals.context;
            let finishing = async move { approvals.finish(&id, "cancelled").await };
            context.tasks.spawn_on_main("cancel-approval", finishing);
        }
    }
}

impl Approvals {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        recorder: &Arc<AuditRecorder>,
        subscriptions: &Arc<Subscriptions>,
        governance: &Arc<Governance>,
        registry: &Arc<Registry>,
        sealer: &Arc<Sealer>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            persistence,
            recorder: Arc::clone(recorder),
            subscriptions: Arc::clone(subscriptions),
            governance: Arc::clone(governance),
            registry: Arc::clone(registry),
            sealer: Arc::clone(sealer),
            clock: SteadyClock::new(context.clock.clone()),
            waiting: Waiting::default(),
            page: ArcSwapOption::empty(),
        }
    }

    /// The instruction for the person who has to approve.
    pub(crate) fn invitation(&self, caller: &Caller, approval: &Approval) -> String {
        let Approval { id, binding, reasons, .. } = approval;
        let page = self.page_for(caller, id).map(|page| format!(", or open {page}"));
        format!(
            "A person has to approve this call of {}: run `octroi approve {id}`{}. Asked because: {}.",
            binding.tool,
            page.unwrap_or_default(),
            reasons.join("; "),
        )
    }

    /// The next round of a call that was approved and begun.
    pub(crate) fn next_round(&self, approval: &str) -> u32 {
        self.waiting.next_round(approval)
    }

    /// Asks a person about a call, or uses the decision if there already is one.
    pub(crate) async fn ask(
        &self,
        question: UnapprovedCall,
        asking: &CallToApprove<'_>,
        become_task: BecomeTask<'_>,
    ) -> Settled {
        match self.try_ask(question, asking, become_task).await {
            Ok(settled) => settled,
            Err(error) => Settled::Refused(denial::store_failed("approval cannot be requested", &error)),
        }
    }

    async fn try_ask(
        &self,
        question: UnapprovedCall,
        asking: &CallToApprove<'_>,
        become_task: BecomeTask<'_>,
    ) -> Result<Settled, StoreError> {
        let Some(persistence) = &self.persistence else {
            let reason = "approval is required, but this gateway has no persistent storage; run `octroi up`";
            return Ok(Settled::Refused(denial::not_made(ErrorCode::StorageUnavailable, reason)));
        };
        let store = persistence.store();
        let binding = binding(asking, question.trace().revision);
        if let Some(grant) = asking.grant {
            return self.go_on(store, CallAuthorization::Asked(question), asking, grant).await;
        }
        // Nobody was asked when the call began, so a person would not see the answers that continue it.
        if let Some(Position::Server(_) | Position::Pending(..)) = asking.position {
            return Ok(refused("the call needs approval by now; make it again without requestState"));
        }
        if let Some(found) = store.find_grant(&binding.call_key(), self.now_ms()).await?
            && found.binding.differs(&binding).is_none()
            && found.approvers.include(question.approvers())
        {
            return self.claim(store, CallAuthorization::Asked(question), asking, &binding, &found.id).await;
        }
        let approval = match asking.position {
            Some(Position::Approval(id)) => match store.approval(id).await? {
                Some(approval) => approval,
                None => return Ok(refused("the approval is gone; make the call again without requestState")),
            },
            _ => {
                // A person must be able to see everything that they approve.
                let others = asking.others.to_approve();
                if let Some(reason) = self.cannot_be_shown(&arguments_of(asking.params), others.as_deref()) {
                    return Ok(Settled::Denied(question.not_askable(reason)));
                }
                match self.ask_for_approval(store, &question, asking, &binding).await? {
                    Ok(approval) => approval,
                    Err(denial) => return Ok(Settled::Denied(denial)),
                }
            }
        };
        let settings = self.governance.settings().approvals.clone();
        let elicitation = self.elicitation(asking, &approval);
        let is_first_time = !matches!(asking.position, Some(Position::Approval(_)));
        if let (Era::Modern, Some(params), true) = (asking.caller.era, &elicitation, is_first_time) {
            return Ok(self.send_to_page(asking, &approval, params.clone()));
        }
        if let Some(task) = become_task(&approval) {
            return Ok(Settled::Refused(task));
        }
        // Operators who try a call do not wait: they can approve it themselves.
        let wait = settings.wait.filter(|_| asking.caller.on_behalf_of.is_none()).unwrap_or_default();
        let decided = self.wait_for(store, asking, &approval, wait, elicitation.clone()).await?;
        if !self.governance.identity().is_valid(&asking.caller.principal) {
            self.record_revoked(&Initiator::of_caller(asking.caller), asking.tool.descriptor.id.as_str());
            return Ok(refuse(asking, denial::revoked()));
        }
        match decided.state {
            // The decision added a rule, or the policies changed while the approval was pending.
            ApprovalState::Approved if decided.binding.policy_revision != binding.policy_revision => {
                self.claim_anew(store, asking, &decided.id).await
            }
            ApprovalState::Approved => {
                self.claim(store, CallAuthorization::Asked(question), asking, &binding, &decided.id).await
            }
            // One whose time is up can no longer be decided, also before its expiry is stored.
            ApprovalState::Pending if !decided.is_due(self.now_ms()) => {
                let page = self.page_for(asking.caller, &decided.id);
                Ok(match (asking.caller.era, elicitation) {
                    (Era::Modern, Some(params)) => self.send_to_page(asking, &decided, params),
                    _ => refuse(asking, denial::pending(&decided, page.as_deref())),
                })
            }
            _ => Ok(refuse(
                asking,
                denial::not_approved(&decided, self.governance.denial_style(asking.caller)),
            )),
        }
    }

    /// Stores the approval, unless an identical call already has one; denies the call if too many of its
    /// agent wait already.
    async fn ask_for_approval(
        &self,
        store: &Store,
        question: &UnapprovedCall,
        asking: &CallToApprove<'_>,
        binding: &Binding,
    ) -> Result<Result<Approval, Denial>, StoreError> {
        let now_ms = self.now_ms();
        let settings = self.governance.settings();
        let (expires, limits) = (settings.approvals.expires, PendingLimits::of(&settings.approvals));
        let arguments = arguments_of(asking.params);
        let mut random = [0_u8; ID_BYTES];
        // Without random numbers the sealer has already refused to start.
        let _ = getrandom::fill(&mut random);
        let descriptor = &asking.tool.descriptor;
        let approval = Approval {
            id: approval_id(&random),
            call_id: asking.call.to_string(),
            binding: binding.clone(),
            state: ApprovalState::Pending,
            arguments_preview: self.recorder.preview(&arguments),
            other_params_preview: asking.others.preview(&self.recorder),
            other_params: asking.others.to_approve().map(Secret::new),
            arguments: Secret::new(String::from_utf8_lossy(&arguments).into_owned()),
            arguments_state: ArgumentsState::Whole,
            edited_arguments: None,
            risk: descriptor.risk.as_str().to_owned(),
            side_effects: descriptor.side_effects.iter().map(str::to_owned).collect(),
            reasons: question.trace().asks().to_vec(),
            approvers: question.approvers().clone(),
            requested_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(milliseconds(expires)),
            decided_at_ms: None,
            decided_by: None,
            decision_reason: None,
            claimed_at_ms: None,
            finished_at_ms: None,
            outcome: None,
            remembered_rule: None,
            node: None,
        };
        let requested = match store.request_approval_within(&approval, limits).await? {
            Ok(requested) => requested,
            Err(TooManyPending { n_pending, n_bytes }) => {
                let reason = format!(
                    "{n_pending} calls of this agent with {n_bytes} bytes of arguments already wait for a \
                     person; `max_pending` and `max_pending_bytes` under [approvals] limit them"
                );
                let call = asking.to_decide(Some(&arguments), now_ms);
                return Ok(Err(self.governance.beyond_quota(call, asking.context, &reason)));
            }
        };
        self.waiting.asked(&requested.approval.id, asking.caller.principal.token());
        for replaced in &requested.replaced {
            self.waiting.wake(&replaced.id);
            self.record(replaced, Kind::ApprovalResolved);
        }
        if requested.is_new {
            self.record(&requested.approval, Kind::ApprovalRequested);
        }
        if requested.is_new || !requested.replaced.is_empty() {
            self.announce(binding.agent.as_deref());
        }
        Ok(Ok(requested.approval))
    }

    /// The elicitation for a client that can show a page, if it can.
    fn elicitation(&self, asking: &CallToApprove<'_>, approval: &Approval) -> Option<Bytes> {
        let page = self.page_for(asking.caller, &approval.id)?;
        let tool = &approval.binding.tool;
        let mut params = json!({
            "mode": "url",
            "url": page,
            "elicitationId": approval.id,
            "message": format!("A person has to approve this call of {tool}: {}.", approval.reasons.join("; ")),
        });
        if asking.caller.era == Era::Legacy {
            params["_meta"] = own_metadata(approval);
        }
        let params = Bytes::from(params.to_string());
        asking.caller.capabilities.allow(&Method::ElicitationCreate, &params).ok()?;
        Some(params)
    }

    fn send_to_page(&self, asking: &CallToApprove<'_>, approval: &Approval, params: Bytes) -> Settled {
        let position = Position::Approval(approval.id.clone());
        let principal = asking.caller.principal.id().to_string();
        let Some(state) = self.sealer.seal_position(position, principal, asking.digest, None) else {
            return refused("the call's state cannot be sealed");
        };
        let question = ask::Question {
            key: "approval".to_owned(),
            method: Method::ElicitationCreate,
            params: ask::to_modern(&params),
        };
        let result = ask::input_required(&[question], &state);
        let marked = rewrite(&result, &[Edit::Set("_meta", own_metadata(approval).to_string().as_bytes())]);
        Settled::Refused(Answer::Result(Bytes::from(marked)))
    }
}

/// Distinguishes Octroi's own question from those of servers, which have such metadata removed.
fn own_metadata(approval: &Approval) -> Value {
    json!({"octroi/approval": {"id": approval.id, "tool": approval.binding.tool}})
}

fn binding(asking: &CallToApprove<'_>, policy_revision: u64) -> Binding {
    let descriptor = &asking.tool.descriptor;
    let principal = &asking.caller.principal;
    Binding {
        principal: principal.id().to_string(),
        agent: principal.agent_id().map(ToString::to_string),
        tool: descriptor.id.to_string(),
        definition_hash: descriptor.definition_hash,
        arguments_hash: hash_of(asking),
        policy_revision,
    }
}

/// The hash of everything in the parameters that an approval binds, besides the tool. Numbers count as they are
/// written.
fn hash_of(asking: &CallToApprove<'_>) -> [u8; 32] {
    // What cannot be made canonical was refused as invalid before.
    let text = |json: &[u8]| canonical(json).unwrap_or_else(|_| json.to_vec());
    let mut hash = Sha256::new_with_prefix(text(&arguments_of(asking.params)));
    if let Some(others) = &asking.others.params {
        // Canonical arguments contain no zero byte.
        hash.update([0]);
        hash.update(text(others));
    }
    hash.finalize().into()
}

fn arguments_of(params: &Params) -> Bytes {
    params.arguments().unwrap_or_else(|| Bytes::from_static(b"{}"))
}

fn unusable(id: &str, refusal: &Refusal) -> Settled {
    refused(&format!("approval {id} cannot be used: {refusal}; make the call again to ask anew"))
}

/// An answer generated by Octroi, in the client's era.
fn refuse(asking: &CallToApprove<'_>, answer: Answer) -> Settled {
    Settled::Refused(answer.in_era(asking.caller.era, &Method::ToolsCall))
}

fn refused(message: &str) -> Settled {
    Settled::Refused(error_for_agent(ErrorCode::ApprovalUnusable, message).into())
}

pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
