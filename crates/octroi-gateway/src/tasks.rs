//! Calls that became tasks: while a person thinks their client goes on, and comes back for the result.
//!
//! A task is named after its approval and belongs to whoever asked. It is kept in memory; what the store
//! knows of the approval is what a client hears of a task that a restart has taken.

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

/// Tasks of servers are shown with a colon, so none of them looks like this.
const PREFIX: &str = "octroi.ap_";
/// How long a client has to fetch the end.
pub(crate) const KEPT: Duration = Duration::from_mins(10);
/// The same for a task that went on at its server, counted from when somebody last asked for it.
const PASSED_KEPT: Duration = Duration::from_hours(24);
/// How often a client is to look.
pub(crate) const POLL_MS: u64 = 2_000;
/// More tasks than this are not made; then callers wait as if they knew none.
const TASKS_MAX: usize = 1_000;
/// The same for one principal, so that nobody takes all the room.
const TASKS_MAX_EACH: usize = 100;
/// How much of results is kept in all.
pub(crate) const RESULT_BYTES_MAX: usize = 64 << 20;
/// How much of calls that wait.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// The approval of a request's task, if the task is one of Octroi's own.
pub(crate) fn own_id(method: &Method, params: &Params) -> Option<String> {
    if !matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel) {
        return None;
    }
    let shown = params.task_id()?;
    shown.starts_with(PREFIX).then(|| shown["octroi.".len()..].to_owned())
}

/// What a task is called.
pub(crate) fn id_of(approval: &str) -> String {
    format!("octroi.{approval}")
}

/// All tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    /// By their approval.
    kept: Mutex<HashMap<String, Kept>>,
}

struct Kept {
    principal: Arc<str>,
    created_at_ms: i64,
    updated_at_ms: i64,
    keep_until_ms: i64,
    /// How long its call is.
    request_bytes: usize,
    state: State,
    signals: Signals,
}

/// How whoever makes the call hears of what its client wants.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    pub(crate) cancelled: CancellationToken,
    pub(crate) answered: Arc<Notify>,
}

pub(crate) enum State {
    /// A person is asked; what they are to do.
    Waiting(String),
    /// The call is being made.
    Running,
    /// Its server wants to know something.
    Asking(TaskQuestions),
    /// Its server made a task of it, which goes by this name in this view.
    Passed { view: View, id: String },
    /// It is over.
    Over(End),
}

/// Questions of a server, under keys that no other round has, and the answers so far.
pub(crate) struct TaskQuestions {
    pub(crate) questions: Vec<Question>,
    pub(crate) answers: Vec<(String, Bytes)>,
}

/// How a task ends.
pub(crate) enum End {
    /// With the call's result.
    Completed(Bytes),
    /// With the call's error and its sentence.
    Failed { error: Bytes, message: String },
    /// Nobody wants it any more.
    Cancelled,
}

impl End {
    fn n_bytes(&self) -> usize {
        match self {
            Self::Completed(result) => result.len(),
            Self::Failed { error, .. } => error.len(),
            Self::Cancelled => 0,
        }
    }
}

/// What came of making a task.
pub(crate) enum Begun {
    /// Its call is to be made by whoever gets these.
    New(Signals),
    /// An identical call became this task already.
    Known,
    /// There is no room.
    Full,
}

/// What a task is shown for.
pub(crate) enum Shown {
    /// In place of a call's result.
    Created,
    /// As the answer to `tasks/get`.
    Asked,
}

/// Where a request about a task is to be answered.
pub(crate) enum TaskLocation {
    /// Here.
    Here,
    /// At the server, in this view under this name.
    Server(View, String),
}

impl Tasks {
    /// Makes a task of an approval that waits, unless an identical call has.
    pub(crate) fn begin(
        &self,
        approval: &Approval,
        principal: &Principal,
        message: String,
        n_bytes: usize,
        now_ms: i64,
    ) -> Begun {
        let mut kept = self.kept.lock();
        if kept.get(&approval.id).is_some_and(|kept| !matches!(kept.state, State::Over(_))) {
            return Begun::Known;
        }
        sweep(&mut kept, now_ms);
        if kept.len() >= TASKS_MAX {
            forget_oldest(&mut kept, Kept::is_settled);
        }
        let is_own = |kept: &&Kept| kept.principal == principal.id && !kept.is_settled();
        let n_own = kept.values().filter(is_own).count();
        let waiting = kept.values().filter(|kept| !kept.is_settled()).map(|kept| kept.request_bytes);
        let has_room = waiting.sum::<usize>().saturating_add(n_bytes) <= REQUEST_BYTES_MAX;
        if kept.len() >= TASKS_MAX || n_own >= TASKS_MAX_EACH || !has_room {
            return Begun::Full;
        }
        let signals = Signals::default();
        let task = Kept {
            principal: Arc::clone(&principal.id),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            keep_until_ms: approval.expires_at_ms.saturating_add(milliseconds(KEPT)),
            request_bytes: n_bytes,
            state: State::Waiting(message),
            signals: signals.clone(),
        };
        kept.insert(approval.id.clone(), task);
        Begun::New(signals)
    }

    /// A task as its client may see it.
    pub(crate) fn show(&self, approval: &str, shown: &Shown, now_ms: i64) -> Option<Bytes> {
        self.kept.lock().get(approval).map(|kept| kept.show(approval, shown, now_ms))
    }

    /// Where this principal's task is; `None` if they have none of this name.
    pub(crate) fn location(
        &self,
        approval: &str,
        principal: &Principal,
        now_ms: i64,
    ) -> Option<TaskLocation> {
        let mut kept = self.kept.lock();
        let task = kept.get_mut(approval).filter(|task| task.principal == principal.id)?;
        Some(match &task.state {
            State::Passed { view, id } => {
                let keep_until_ms = now_ms.saturating_add(milliseconds(PASSED_KEPT));
                task.keep_until_ms = task.keep_until_ms.max(keep_until_ms);
                TaskLocation::Server(view.clone(), id.clone())
            }
            State::Waiting(_) | State::Running | State::Asking(_) | State::Over(_) => TaskLocation::Here,
        })
    }

    /// Says how far a task is. What is over, or went on at its server, stays so.
    pub(crate) fn set(&self, approval: &str, state: State, now_ms: i64) {
        let mut kept = self.kept.lock();
        if let State::Over(end) = &state {
            make_room(&mut kept, end.n_bytes());
        }
        if let Some(task) = kept.get_mut(approval).filter(|task| !task.is_settled()) {
            task.state = state;
            task.updated_at_ms = now_ms;
            let kept = if matches!(task.state, State::Passed { .. }) { PASSED_KEPT } else { KEPT };
            task.keep_until_ms = task.keep_until_ms.max(now_ms.saturating_add(milliseconds(kept)));
        }
    }

    /// Ends a task for its client, and with it the call.
    pub(crate) fn cancel(&self, approval: &str, now_ms: i64) {
        self.set(approval, State::Over(End::Cancelled), now_ms);
        if let Some(task) = self.kept.lock().get(approval) {
            task.signals.cancelled.cancel();
        }
    }

    /// Takes answers to questions that are open; others are nobody's. The first answer to each counts.
    pub(crate) fn answer(&self, approval: &str, answers: Vec<(String, Bytes)>) {
        let mut kept = self.kept.lock();
        let Some(Kept { state: State::Asking(asked), signals, .. }) = kept.get_mut(approval) else {
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

    /// The answers, once there is one to each question.
    pub(crate) fn take_answers(&self, approval: &str, now_ms: i64) -> Option<Vec<(String, Bytes)>> {
        let mut kept = self.kept.lock();
        let task = kept.get_mut(approval)?;
        let State::Asking(asked) = &mut task.state else {
            return None;
        };
        if asked.answers.len() < asked.questions.len() {
            return None;
        }
        let answers = std::mem::take(&mut asked.answers);
        task.state = State::Running;
        task.updated_at_ms = now_ms;
        Some(answers)
    }

    /// Forgets what nobody has fetched in time.
    pub(crate) fn sweep(&self, now_ms: i64) {
        sweep(&mut self.kept.lock(), now_ms);
    }
}

impl Kept {
    fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Whether nothing is done for it here any more.
    fn is_settled(&self) -> bool {
        matches!(self.state, State::Over(_) | State::Passed { .. })
    }

    fn show(&self, approval: &str, shown: &Shown, now_ms: i64) -> Bytes {
        let open: Vec<Question>;
        let (standing, message) = match &self.state {
            State::Waiting(message) => (Standing::Working, Some(message.as_str())),
            State::Running => (Standing::Working, Some("a person has approved the call; it is being made")),
            State::Passed { .. } => (Standing::Working, Some("the server made a task of the call")),
            State::Asking(asked) => {
                open = asked.open();
                (Standing::InputRequired(&open), Some("the server wants to know something"))
            }
            State::Over(End::Completed(result)) => (Standing::Completed(result), None),
            State::Over(End::Failed { error, message }) => (Standing::Failed(error), Some(message.as_str())),
            State::Over(End::Cancelled) => (Standing::Cancelled, Some("the client cancelled it")),
        };
        // What is not over is kept at least as long again.
        let keep_until_ms = match self.state {
            State::Over(_) => self.keep_until_ms,
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
        match shown {
            Shown::Created => task.to_created(),
            Shown::Asked => task.to_result(),
        }
    }
}

impl TaskQuestions {
    /// Those without an answer.
    fn open(&self) -> Vec<Question> {
        let is_open = |question: &&Question| !self.answers.iter().any(|(key, _)| *key == question.key);
        self.questions.iter().filter(is_open).cloned().collect()
    }
}

/// Forgets what is settled and whose time has passed.
fn sweep(kept: &mut HashMap<String, Kept>, now_ms: i64) {
    kept.retain(|_, task| !task.is_settled() || now_ms < task.keep_until_ms);
}

/// Forgets what has been so the longest; `false` if nothing is.
fn forget_oldest(kept: &mut HashMap<String, Kept>, is_so: impl Fn(&Kept) -> bool) -> bool {
    let such = kept.iter().filter(|(_, task)| is_so(task));
    let oldest = such.min_by_key(|(_, task)| task.updated_at_ms).map(|(id, _)| id.clone());
    oldest.is_some_and(|id| kept.remove(&id).is_some())
}

/// Forgets the oldest results until one more of this length has room.
fn make_room(kept: &mut HashMap<String, Kept>, n_bytes: usize) {
    let size = |task: &Kept| match &task.state {
        State::Over(end) => end.n_bytes(),
        _ => 0,
    };
    while kept.values().map(size).sum::<usize>().saturating_add(n_bytes) > RESULT_BYTES_MAX {
        if !forget_oldest(kept, Kept::is_over) {
            return;
        }
    }
}
