//! Aborting what an agent does, and removing agents: what concerns calls, approvals and tasks at once.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, code, envelope};
use serde_json::{Value, json};

use super::Gateway;
use crate::api_error::described;
use crate::caller::{Caller, NoClient};
use crate::change::{FiledUnder, PlannedChange};
use crate::governance::AgentState;
use crate::operator_error::{OperatorError, must_be_person};
use crate::tasks::TaskEnd;
use crate::view::View;

/// How long a server has to end a task.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an agent has under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentWork {
    /// Calls that are being made.
    pub n_calls: usize,
    /// Calls that wait for approval, or were approved and not made yet.
    pub n_waiting: usize,
    /// Calls that became tasks.
    pub n_tasks: usize,
}

impl Gateway {
    /// How many of an agent's clients listen now.
    pub fn n_clients_of(&self, agent: &str) -> usize {
        self.subscriptions.n_clients_of(agent)
    }

    /// Aborts what an agent has under way: its calls are cancelled at their servers, its approvals and tasks here. It
    /// can make new calls, unless it is paused too.
    pub async fn abort_agent(
        self: &Arc<Self>,
        id: &str,
        reason: Option<&str>,
        by: &Principal,
    ) -> Result<PlannedChange<AgentWork, OperatorError>, OperatorError> {
        must_be_person(by)?;
        if !self.governance.knows_agent(id) {
            return Err(OperatorError::UnknownAgent(id.to_owned()));
        }
        let work = self.work_of(id).await?;
        let before = json!({"calls": work.n_calls, "waiting": work.n_waiting, "tasks": work.n_tasks});
        let after = json!({"aborted_by": by.id(), "reason": reason});
        let why = match reason {
            Some(reason) => format!("{by}: {reason}"),
            None => by.to_string(),
        };
        let (gateway, agent) = (Arc::clone(self), id.to_owned());
        let subject = json!({"change": "agent_aborted", "agent": id});
        let change = PlannedChange::new(subject, before, after, async move {
            gateway.end_work(&agent, &why).await?;
            Ok(work)
        });
        Ok(change.filed_under(filed_under(id)))
    }

    /// Removes an agent. Its id stays reserved for its owner, who can still read what is recorded of it.
    pub async fn remove_agent(
        self: &Arc<Self>,
        id: &str,
        by: &Principal,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let changing = self.identity.changing().await;
        let agent = self.governance.removable_agent(id).await?;
        let is_its = |token: &str| token == id;
        let tokens = self.identity.tokens().into_iter();
        let n_tokens =
            tokens.filter(|one| one.is_valid && one.record.agent.as_deref().is_some_and(is_its)).count();
        let before = json!({"title": agent.title, "owner": agent.owner, "tokens": n_tokens});
        let subject = json!({"change": "agent_removed", "agent": id});
        let (gateway, by) = (Arc::clone(self), by.id().to_string());
        let change = PlannedChange::new(subject, before, Value::Null, async move {
            let _changing = changing;
            gateway.governance.remove_agent(&agent, &by).await?;
            gateway.agents_removed(std::slice::from_ref(&agent.id), &by).await?;
            Ok(agent)
        });
        Ok(change.filed_under(filed_under(id)))
    }

    /// Ends what is left of agents of which the store has removed some.
    pub async fn agents_removed(&self, agents: &[String], by: &str) -> Result<(), OperatorError> {
        let removed = self.governance.forget_agents(agents).await?;
        for agent in &removed {
            self.end_work(agent, &format!("{by}, who removed agent `{agent}`")).await?;
            self.governance.activities.forget(agent);
        }
        Ok(())
    }

    async fn work_of(&self, agent: &str) -> Result<AgentWork, OperatorError> {
        let n_running = self.governance.agent_run(agent).n_running;
        let n_passed = self.pipeline.exchanges.server_tasks.of_agent(agent).len();
        Ok(AgentWork {
            n_calls: usize::try_from(n_running).unwrap_or_default()
                + self.pipeline.exchanges.n_pending_of(agent),
            n_waiting: self.approvals.n_open_of(agent).await?,
            n_tasks: self.pipeline.tasks.n_open_of(agent) + n_passed,
        })
    }

    async fn end_work(&self, agent: &str, why: &str) -> Result<(), OperatorError> {
        let message = format!("the call was aborted by {why}");
        let end = || {
            let error = described(&RpcError::new(code::INTERNAL_ERROR, message.as_str()));
            TaskEnd::Failed { error: error.to_json(), message: message.clone() }
        };
        // Tasks first: the waiters of their approvals would otherwise end them as not approved.
        self.pipeline.tasks.abort_of(agent, &end, self.context.clock.now_ms());
        self.governance.activities.abort(agent, why);
        self.pipeline.exchanges.abandon_of(agent);
        for (owner, server, task) in self.pipeline.exchanges.server_tasks.of_agent(agent) {
            let pipeline = Arc::clone(&self.pipeline);
            let cancelling = async move {
                let Some((caller, request, params)) = cancelling(owner, &task) else { return };
                let view = View::Server(server.clone());
                let answer = pipeline.call(&view, &caller, &request, &params);
                if tokio::time::timeout(PATIENCE, answer).await.is_err() {
                    tracing::warn!(server.name = %server, "server did not end an aborted task in time");
                }
            };
            self.context.tasks.spawn_on_main("abort-task", cancelling);
        }
        self.approvals.cancel_open_of(agent, &format!("aborted by {why}")).await?;
        Ok(())
    }
}

/// The request that ends a task at its server, as its owner would send it.
fn cancelling(owner: Principal, task: &str) -> Option<(Caller, Envelope, Params)> {
    let params = json!({"taskId": task}).to_string();
    let request = envelope::request(&Id::number(1), &Method::TasksCancel, params.as_bytes());
    let request = Envelope::parse(request).ok()?;
    let params = Params::read(request.params()).ok()?;
    let caller = Caller {
        owner: Arc::clone(owner.id()),
        principal: owner,
        on_behalf_of: None,
        era: Era::Legacy,
        capabilities: ClientCapabilities::default(),
        info: None,
        log_level: None,
        has_admin_token: false,
        base: None,
        session: None,
        client: Arc::new(NoClient),
    };
    Some((caller, request, params))
}

fn filed_under(agent: &str) -> FiledUnder {
    FiledUnder { agent: Some(agent.to_owned()), ..FiledUnder::default() }
}
