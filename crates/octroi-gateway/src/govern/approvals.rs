//! Asking a person, and making exactly the call that they approved, once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::Secret;
use octroi_core::approval::{Approval, ApprovalState, Binding, ID_BYTES, Refusal, approval_id};
use octroi_core::audit::{CallId, Kind};
use octroi_core::decision::{Permit, Question};
use octroi_core::pin::canonical;
use octroi_mcp::ask;
use octroi_mcp::json::{Edit, rewrite};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Method, RpcError, code};
use octroi_store::{Store, StoreError};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer::Answer;
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::denial;
use crate::gateway::Gateway;
use crate::pipeline::Target;
use crate::seal::{Grant, Position};
use crate::time::now_ms;
use crate::view::View;

mod grants;
mod waiting;

use grants::Leave;
pub(crate) use waiting::Waiting;

/// A call about which a person is to be asked.
pub(crate) struct Asking<'a> {
    pub(crate) view: &'a View,
    pub(crate) caller: &'a Caller,
    pub(crate) envelope: &'a Envelope,
    pub(crate) target: &'a Target,
    pub(crate) tool: &'a Arc<Tool>,
    pub(crate) params: &'a Params,
    pub(crate) call: CallId,
    /// Where a call that was made before stands.
    pub(crate) position: Option<&'a Position>,
    pub(crate) grant: Option<&'a Grant>,
    /// Binds a state that the client carries to this call.
    pub(crate) digest: [u8; 32],
}

/// What came of asking.
pub(crate) enum Settled {
    /// The call may be made: by a person's leave, if there is an approval, and with these parameters in
    /// place of the caller's, if there are any.
    Granted { permit: Permit, approval: Option<String>, edited: Option<Box<Params>> },
    /// It may not, or not yet.
    Refused(Answer),
}

/// An approval in use. Dropped before the call is over, it says that nobody waited for it.
pub(crate) struct Granted {
    gateway: Arc<Gateway>,
    id: Option<String>,
}

impl Granted {
    pub(crate) fn new(gateway: &Arc<Gateway>, id: String) -> Self {
        Self { gateway: Arc::clone(gateway), id: Some(id) }
    }

    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// The call is over.
    pub(crate) async fn finish(mut self, outcome: &str) {
        if let Some(id) = self.id.take() {
            self.gateway.finish(&id, outcome).await;
        }
    }

    /// The call goes on when the client comes back.
    pub(crate) fn leave_open(mut self) {
        self.id = None;
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let gateway = Arc::clone(&self.gateway);
            self.gateway.context.runtime.spawn(async move { gateway.finish(&id, "cancelled").await });
        }
    }
}

impl Gateway {
    /// Asks a person about a call, or finds that one has answered.
    pub(crate) async fn ask_person(self: &Arc<Self>, question: Question, asking: &Asking<'_>) -> Settled {
        match self.try_ask(question, asking).await {
            Ok(settled) => settled,
            Err(error) => {
                let reason = format!("a person cannot be asked: {error} ({})", error.hint());
                Settled::Refused(denial::evaluator_error(&reason))
            }
        }
    }

    async fn try_ask(
        self: &Arc<Self>,
        question: Question,
        asking: &Asking<'_>,
    ) -> Result<Settled, StoreError> {
        let Some(memory) = &self.memory else {
            let reason = "a person would have to be asked, and this gateway keeps nothing; run `octroi up`";
            return Ok(Settled::Refused(denial::evaluator_error(reason)));
        };
        let store = memory.store();
        let binding = binding(asking, question.trace().revision);
        if let Some(grant) = asking.grant {
            return self.go_on(store, Leave::Asked(question), asking, grant).await;
        }
        if let Some(found) = store.find_grant(&binding.call_key(), now_ms()).await?
            && found.binding.differs(&binding).is_none()
        {
            return self.claim(store, Leave::Asked(question), asking, &binding, &found.id).await;
        }
        let approval = match asking.position {
            Some(Position::Approval(id)) => match store.approval(id).await? {
                Some(approval) => approval,
                None => return Ok(refused("the approval is gone; make the call again without requestState")),
            },
            _ => self.ask_for_approval(store, &question, asking, &binding).await?,
        };
        let settings = self.governor.settings().approvals.clone();
        let elicitation = self.elicitation(asking, &approval);
        let is_first_time = !matches!(asking.position, Some(Position::Approval(_)));
        if let (Era::Modern, Some(params), true) = (asking.caller.era, &elicitation, is_first_time) {
            return Ok(self.send_to_page(asking, &approval, params.clone()));
        }
        if let Some(task) = self.as_task(asking, &approval) {
            return Ok(Settled::Refused(task));
        }
        let wait = settings.wait.unwrap_or_default();
        let decided = self.wait_for(store, asking, &approval, wait, elicitation.clone()).await?;
        match decided.state {
            // The person had a rule remembered, or the policies were changed while they thought.
            ApprovalState::Approved if decided.binding.policy_revision != binding.policy_revision => {
                self.claim_anew(store, asking, &decided.id).await
            }
            ApprovalState::Approved => {
                self.claim(store, Leave::Asked(question), asking, &binding, &decided.id).await
            }
            ApprovalState::Pending => Ok(match (asking.caller.era, elicitation) {
                (Era::Modern, Some(params)) => self.send_to_page(asking, &decided, params),
                _ => refuse(asking, denial::pending(&decided)),
            }),
            _ => Ok(refuse(asking, denial::not_approved(&decided, self.style(asking.caller)))),
        }
    }

    /// Writes the question down, unless an identical call has asked it already.
    async fn ask_for_approval(
        &self,
        store: &Store,
        question: &Question,
        asking: &Asking<'_>,
        binding: &Binding,
    ) -> Result<Approval, StoreError> {
        let now_ms = now_ms();
        let expires = self.governor.settings().approvals.expires;
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
            arguments_preview: self.ledger.preview(&arguments),
            arguments: Secret::new(String::from_utf8_lossy(&arguments).into_owned()),
            edited_arguments: None,
            risk: descriptor.risk.as_str().to_owned(),
            side_effects: descriptor.side_effects.iter().map(str::to_owned).collect(),
            reasons: question.trace().asks().map(str::to_owned).collect(),
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
        let requested = store.request_approval(&approval).await?;
        for replaced in &requested.replaced {
            self.waiting.wake(&replaced.id);
            self.note_approval(replaced, Kind::ApprovalResolved);
        }
        if requested.is_new {
            self.note_approval(&requested.approval, Kind::ApprovalRequested);
        }
        if requested.is_new || !requested.replaced.is_empty() {
            self.approvals_changed(binding.agent.as_deref());
        }
        Ok(requested.approval)
    }

    /// The question for a client that can show a page, if it can.
    fn elicitation(&self, asking: &Asking<'_>, approval: &Approval) -> Option<Bytes> {
        let base = self.page.load();
        let base = base.as_deref()?;
        let tool = &approval.binding.tool;
        let mut params = json!({
            "mode": "url",
            "url": format!("{base}/approvals/{}", approval.id),
            "elicitationId": approval.id,
            "message": format!("A person has to approve this call of {tool}."),
        });
        if asking.caller.era == Era::Legacy {
            params["_meta"] = mark(approval);
        }
        let params = Bytes::from(params.to_string());
        asking.caller.capabilities.allow(&Method::ElicitationCreate, &params).ok()?;
        Some(params)
    }

    fn send_to_page(&self, asking: &Asking<'_>, approval: &Approval, params: Bytes) -> Settled {
        let position = Position::Approval(approval.id.clone());
        let principal = asking.caller.principal.id.to_string();
        let Some(state) = self.sealer.seal_position(position, principal, asking.digest, None) else {
            return refused("the call's state cannot be sealed");
        };
        let question = ask::Question {
            key: "approval".to_owned(),
            method: Method::ElicitationCreate,
            params: ask::to_modern(&params),
        };
        let result = ask::input_required(&[question], &state);
        let marked = rewrite(&result, &[Edit::Set("_meta", mark(approval).to_string().as_bytes())]);
        Settled::Refused(Answer::Result(Bytes::from(marked)))
    }
}

/// Tells Octroi's own question from those of servers, whose marks are taken away.
fn mark(approval: &Approval) -> Value {
    json!({"octroi/approval": {"id": approval.id, "tool": approval.binding.tool}})
}

fn binding(asking: &Asking<'_>, policy_revision: u64) -> Binding {
    let descriptor = &asking.tool.descriptor;
    let principal = &asking.caller.principal;
    let arguments = arguments_of(asking.params);
    // What cannot be made canonical was refused as invalid before.
    let arguments = canonical(&arguments).unwrap_or_else(|_| arguments.to_vec());
    Binding {
        principal: principal.id.to_string(),
        agent: principal.agent_id.as_deref().map(str::to_owned),
        tool: descriptor.id.to_string(),
        definition_hash: descriptor.definition_hash,
        arguments_hash: Sha256::digest(&arguments).into(),
        policy_revision,
    }
}

fn arguments_of(params: &Params) -> Bytes {
    params.arguments().unwrap_or_else(|| Bytes::from_static(b"{}"))
}

fn unusable(id: &str, refusal: &Refusal) -> Settled {
    refused(&format!("approval {id} cannot be used: {refusal}; make the call again to ask anew"))
}

/// An answer that was made here, in the client's era.
fn refuse(asking: &Asking<'_>, answer: Answer) -> Settled {
    Settled::Refused(answer.in_era(asking.caller.era, &Method::ToolsCall))
}

fn refused(message: &str) -> Settled {
    let error = RpcError::new(code::INVALID_PARAMS, message).with_data(json!({"code": "approval_unusable"}));
    Settled::Refused(error.into())
}

pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Under which one approval is shown.
pub fn resource(approval: &Approval) -> String {
    match &approval.binding.agent {
        Some(agent) => format!("resource://agents/{agent}/approvals/{}", approval.id),
        None => format!("resource://approvals/{}", approval.id),
    }
}

/// Under which the approvals of one agent, or of everybody, are shown.
pub(crate) fn resources(agent: Option<&str>) -> Vec<String> {
    let mut uris = vec!["resource://approvals/pending".to_owned()];
    if let Some(agent) = agent {
        uris.push(format!("resource://agents/{agent}/approvals/pending"));
        uris.push(format!("resource://agents/{agent}/approvals/history"));
    }
    uris
}
