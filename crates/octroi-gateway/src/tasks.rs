//! Calls that became tasks: while an approval is pending, the client continues and comes back for the
//! result.
//!
//! A task is named after its approval and belongs to the principal that asked. It is kept in memory; after a
//! restart, a client gets what the store knows of the approval.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_core::approval::Approval;
use octroi_core::time::show_time;
use octroi_mcp::Method;
use octroi_mcp::ask::Question;
use octroi_mcp::params::Params;
use octroi_mcp::task::{Standing, Task};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::approvals::milliseconds;
use crate::view::View;

#[cfg(test)]
mod tests;

/// Task ids of servers contain a colon, so none of them collides with this.
const PREFIX: &str = "octroi.ap_";
/// How long a client has to fetch the result.
pub(crate) const KEPT: Duration = Duration::from_mins(10);
/// The same for a task that continues at its server, counted from the last request for it.
const PASSED_KEPT: Duration = Duration::from_hours(24);
/// The polling interval for clients.
pub(crate) const POLL_MS: u64 = 2_000;
/// The maximum number of tasks; beyond it callers wait like clients without task support.
const TASKS_MAX: usize = 1_000;
/// The same for one principal, so that none can use up the total.
const TASKS_MAX_EACH: usize = 100;
/// The maximum total size of kept results.
pub(crate) const RESULT_BYTES_MAX: usize = 64 << 20;
/// The maximum total size of waiting calls.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// The approval of a request's task, if the task is one of Octroi's own.
pub(crate) fn own_id(method: &Method, params: &Params) -> Option<String> {
    if !matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel) {
        return None;
    }
    let id = params.task_id()?;
    id.starts_with(PREFIX).then(|| id["octroi.".len()..].to_owned())
}

/// The id of the task of an approval.
pub(crate) fn id_of(approval: &str) -> String {
    format!("octroi.{approval}")
}

/// All tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    /// Tasks by their approval.
    kept: Mutex<HashMap<String, KeptTask>>,
}

struct KeptTask {
    principal: Arc<str>,
    /// The agent that called, if it is one.
    agent: Option<Arc<str>>,
    created_at_ms: i64,
    updated_at_ms: i64,
    keep_until_ms: i64,
    /// The size of its call.
    request_bytes: usize,
    state: TaskState,
    signals: Signals,
}

/// Notifies the task's call of the client's cancellation and answers.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    pub(crate) cancelled: CancellationToken,
    pub(crate) answered: Arc<Notify>,
}

pub(crate) enum TaskState {
    /// The approval is pending; the instruction for the person.
    Waiting(String),
    /// The call is being made.
    Running,
    /// Its server asks questions.
    Asking(TaskQuestions),
    /// Its server made it a task of its own, with this id in this view.
    Passed { view: View, id: String },
    /// The call is over.
    Over(TaskEnd),
}

/// Questions of a server, under keys that no other round uses, and the answers so far.
pub(crate) struct TaskQuestions {
    pub(crate) questions: Vec<Question>,
    pub(crate) answers: Vec<(String, Bytes)>,
}

/// How a task ends.
pub(crate) enum TaskEnd {
    /// With the call's result.
    Completed(Bytes),
    /// With the call's error and its message.
    Failed { error: Bytes, message: String },
    /// The client cancelled it.
    Cancelled,
}

impl TaskEnd {
    fn n_bytes(&self) -> usize {
        match self {
            Self::Completed(result) => result.len(),
            Self::Failed { error, .. } => error.len(),
            Self::Cancelled => 0,
        }
    }
}

/// The result of creating a task.
pub(crate) enum TaskBegun {
    /// A new task; the receiver of the signals makes its call.
    New(Signals),
    /// An identical call is already this task.
    Known,
    /// The limit is reached.
    Full,
}

/// The request that a task is shown for.
pub(crate) enum TaskRequest {
    /// The original call, which gets the task in place of a result.
    Created,
    /// `tasks/get`.
    Asked,
}

/// Where a request about a task is answered.
pub(crate) enum TaskLocation {
    /// By Octroi.
    Here,
    /// By the server, in this view under this id.
    Server(View, String),
}

impl Tasks {
    /// Creates a task for a pending approval, unless an identical call has one.
    pub(crate) fn begin(
        &self,
        approval: &Approval,
        principal: &Principal,
        message: String,
        n_bytes: usize,
        now_ms: i64,
    ) -> TaskBegun {
        let mut kept = self.kept.lock();
        if kept.get(&approval.id).is_some_and(|kept| !matches!(kept.state, TaskState::Over(_))) {
            return TaskBegun::Known;
        }
        sweep(&mut kept, now_ms);
        if kept.len() >= TASKS_MAX {
            forget_oldest(&mut kept, KeptTask::is_settled);
        }
        let is_own = |kept: &&KeptTask| kept.principal == *principal.id() && !kept.is_settled();
        let n_own = kept.values().filter(is_own).count();
        let waiting = kept.values().filter(|kept| !kept.is_settled()).map(|kept| kept.request_bytes);
        let has_room = waiting.sum::<usize>().saturating_add(n_bytes) <= REQUEST_BYTES_MAX;
        if kept.len() >= TASKS_MAX || n_own >= TASKS_MAX_EACH || !has_room {
            return TaskBegun::Full;
        }
        let signals = Signals::default();
        let task = KeptTask {
            principal: Arc::clone(principal.id()),
            agent: principal.agent_id().cloned(),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            keep_until_ms: approval.expires_at_ms.saturating_add(milliseconds(KEPT)),
            request_bytes: n_bytes,
            state: TaskState::Waiting(message),
            signals: signals.clone(),
        };
        kept.insert(approval.id.clone(), task);
        TaskBegun::New(signals)
    }

    /// A task as its client sees it.
    pub(crate) fn show(&self, approval: &str, request: &TaskRequest, now_ms: i64) -> Option<Bytes> {
        self.kept.lock().get(approval).map(|kept| kept.show(approval, request, now_ms))
    }

    /// The location of this principal's task; `None` if there is no such task.
    pub(crate) fn location(
        &self,
        approval: &str,
        principal: &Principal,
        now_ms: i64,
    ) -> Option<TaskLocation> {
        let mut kept = self.kept.lock();
        let task = kept.get_mut(approval).filter(|task| task.principal == *principal.id())?;
        Some(match &task.state {
            TaskState::Passed { view, id } => {
                let keep_until_ms = now_ms.saturating_add(milliseconds(PASSED_KEPT));
                task.keep_until_ms = task.keep_until_ms.max(keep_until_ms);
                TaskLocation::Server(view.clone(), id.clone())
            }
            TaskState::Waiting(_) | TaskState::Running | TaskState::Asking(_) | TaskState::Over(_) => {
                TaskLocation::Here
            }
        })
    }

    /// Sets the state of a task. A task that is over or continues at its server does not change.
    pub(crate) fn set(&self, approval: &str, state: TaskState, now_ms: i64) {
        let mut kept = self.kept.lock();
        if let TaskState::Over(end) = &state {
            make_room(&mut kept, end.n_bytes());
        }
        if let Some(task) = kept.get_mut(approval).filter(|task| !task.is_settled()) {
            task.state = state;
            task.updated_at_ms = now_ms;
            let kept = if matches!(task.state, TaskState::Passed { .. }) { PASSED_KEPT } else { KEPT };
            task.keep_until_ms = task.keep_until_ms.max(now_ms.saturating_add(milliseconds(kept)));
        }
    }

    /// Cancels a task, and with it the call.
    pub(crate) fn cancel(&self, approval: &str, now_ms: i64) {
        self.set(approval, TaskState::Over(TaskEnd::Cancelled), now_ms);
        if let Some(task) = self.kept.lock().get(approval) {
            task.signals.cancelled.cancel();
        }
    }

    /// How many tasks of an agent are not settled.
    pub(crate) fn n_open_of(&self, agent: &str) -> usize {
        let kept = self.kept.lock();
        kept.values().filter(|task| task.agent.as_deref() == Some(agent) && !task.is_settled()).count()
    }

    /// Ends the tasks of an agent, and with them their calls.
    pub(crate) fn abort_of(&self, agent: &str, end: &dyn Fn() -> TaskEnd, now_ms: i64) {
        let kept = self.kept.lock();
        let is_open = |task: &KeptTask| task.agent.as_deref() == Some(agent) && !task.is_settled();
        let open = kept.iter().filter(|(_, task)| is_open(task)).map(|(id, _)| id.clone());
        let open: Vec<String> = open.collect();
        drop(kept);
        for approval in open {
            self.set(&approval, TaskState::Over(end()), now_ms);
            if let Some(task) = self.kept.lock().get(&approval) {
                task.signals.cancelled.cancel();
            }
        }
    }

    /// Accepts answers to open questions; others are ignored. The first answer to each question counts.
    pub(crate) fn answer(&self, approval: &str, answers: Vec<(String, Bytes)>) {
        let mut kept = self.kept.lock();
        let Some(KeptTask { state: TaskState::Asking(asked), signals, .. }) = kept.get_mut(approval) else {
            return;
        };
        for (key, answer) in answers {
            let is_open = asked.questions.iter().any(|question| question.key == key);
            if is_open && !asked.answers.iter().any(|(answered, _)| *answered == key) {
                asked.answers.push((key, answer));
            }
        }
        if asked.answers.len() == asked.questions.len() {
            signals.answered.notify_one();
        }
    }

    /// Takes the answers, once every question has one.
    pub(crate) fn take_answers(&self, approval: &str, now_ms: i64) -> Option<Vec<(String, Bytes)>> {
        let mut kept = self.kept.lock();
        let task = kept.get_mut(approval)?;
        let TaskState::Asking(asked) = &mut task.state else {
            return None;
        };
        if asked.answers.len() < asked.questions.len() {
            return None;
        }
        let answers = std::mem::take(&mut asked.answers);
        task.state = TaskState::Running;
        task.updated_at_ms = now_ms;
        Some(answers)
    }

    /// Removes tasks whose results were not fetched in time.
    pub(crate) fn sweep(&self, now_ms: i64) {
        sweep(&mut self.kept.lock(), now_ms);
    }
}

impl KeptTask {
    fn is_over(&self) -> bool {
        matches!(self.state, TaskState::Over(_))
    }

    /// Whether nothing more is done for it here.
    fn is_settled(&self) -> bool {
        matches!(self.state, TaskState::Over(_) | TaskState::Passed { .. })
    }

    fn show(&self, approval: &str, request: &TaskRequest, now_ms: i64) -> Bytes {
        let open: Vec<Question>;
        let (standing, message) = match &self.state {
            TaskState::Waiting(message) => (Standing::Working, Some(message.as_str())),
            TaskState::Running => {
                (Standing::Working, Some("a person has approved the call; it is being made"))
            }
            TaskState::Passed { .. } => (Standing::Working, Some("the server made a task of the call")),
            TaskState::Asking(asked) => {
                open = asked.open();
                (Standing::InputRequired(&open), Some("the server wants to know something"))
            }
            TaskState::Over(TaskEnd::Completed(result)) => (Standing::Completed(result), None),
            TaskState::Over(TaskEnd::Failed { error, message }) => {
                (Standing::Failed(error), Some(message.as_str()))
            }
            TaskState::Over(TaskEnd::Cancelled) => (Standing::Cancelled, Some("the client cancelled it")),
        };
        // A task that is not over is kept at least as long again.
        let keep_until_ms = match self.state {
            TaskState::Over(_) => self.keep_until_ms,
            _ => self.keep_until_ms.max(now_ms.saturating_add(milliseconds(KEPT))),
        };
        let id = id_of(approval);
        let (created_at, updated_at) = (show_time(self.created_at_ms), show_time(self.updated_at_ms));
        let task = Task {
            id: &id,
            standing,
            message,
            created_at: &created_at,
            updated_at: &updated_at,
            ttl_ms: u64::try_from(keep_until_ms.saturating_sub(self.created_at_ms)).unwrap_or_default(),
            poll_ms: POLL_MS,
        };
        match request {
            TaskRequest::Created => task.to_created(),
            TaskRequest::Asked => task.to_result(),
        }
    }
}

impl TaskQuestions {
    /// The questions without an answer.
    fn open(&self) -> Vec<Question> {
        let is_open = |question: &&Question| !self.answers.iter().any(|(key, _)| *key == question.key);
        self.questions.iter().filter(is_open).cloned().collect()
    }
}

/// Removes settled tasks whose time has passed.
fn sweep(kept: &mut HashMap<String, KeptTask>, now_ms: i64) {
    kept.retain(|_, task| !task.is_settled() || now_ms < task.keep_until_ms);
}

/// Removes the oldest task that matches; `false` if there is none.
fn forget_oldest(kept: &mut HashMap<String, KeptTask>, is_so: impl Fn(&KeptTask) -> bool) -> bool {
    let such = kept.iter().filter(|(_, task)| is_so(task));
    let oldest = such.min_by_key(|(_, task)| task.updated_at_ms).map(|(id, _)| id.clone());
    oldest.is_some_and(|id| kept.remove(&id).is_some())
}

/// Removes the oldest results until one more of this size fits.
fn make_room(kept: &mut HashMap<String, KeptTask>, n_bytes: usize) {
    let size = |task: &KeptTask| match &task.state {
        TaskState::Over(end) => end.n_bytes(),
        _ => 0,
    };
    while kept.values().map(size).sum::<usize>().saturating_add(n_bytes) > RESULT_BYTES_MAX {
        if !forget_oldest(kept, KeptTask::is_over) {
            return;
        }
    }
}
