//! The necessary changes of a message between the two eras, and nothing else.

use bytes::Bytes;

use crate::code::{self, RpcError};
use crate::envelope::{Envelope, Id};
use crate::json::{self, Edit};
use crate::meta;
use crate::method::Method;
use crate::params::Params;
use crate::result::ResultView;
use crate::version::Era;

mod in_place;

/// The latest modern version as JSON text.
const MODERN_VERSION: &str = "\"2026-07-28\"";

/// The client on whose behalf a request is sent.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// The client's capabilities, as JSON text.
    pub capabilities: Option<Bytes>,
    /// The client's name and version, as JSON text.
    pub info: Option<Bytes>,
    /// The minimum level of log messages for the client.
    pub log_level: Option<String>,
}

/// The members that identify the target of a request, with the server's own names.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Replaces `name`.
    pub name: Option<String>,
    /// Replaces `uri`.
    pub uri: Option<String>,
    /// Replaces `taskId`.
    pub task_id: Option<String>,
    /// Replaces `ref`, as JSON text.
    pub reference: Option<Bytes>,
}

/// A retry of a call that a modern server interrupted with questions.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Replaces `inputResponses`, as JSON text.
    pub answers: Option<Bytes>,
    /// Replaces `requestState`.
    pub state: Option<String>,
}

/// A client's request in the form for a server of era `to`. `sender` is given if the request itself does not
/// identify its client in the server's era.
///
/// A legacy server gets no modern members in `_meta`, whoever sent them: a dual-era server would treat the request as
/// a modern one, and nobody is shown these members. The progress token becomes the request's own id, because tokens of different clients share one
/// connection. A tool call always has one: a server that reports is alive, whether or not the client wants to
/// know.
pub fn request(
    envelope: &Envelope,
    params: &Params,
    to: Era,
    id: &Id,
    subject: &Subject,
    sender: Option<&Sender>,
    round: &Round,
) -> Bytes {
    let log_level = sender.and_then(|sender| sender.log_level.as_deref()).map(json::quote);
    let mut in_meta = Vec::new();
    if params.progress_token().is_some() || *envelope.method() == Method::ToolsCall {
        in_meta.push(Edit::Set(meta::PROGRESS_TOKEN, id.as_json()));
    }
    let drop = |name| params.span_in_meta(name).is_some().then_some(Edit::Drop(name));
    // Only notifications of servers have it.
    in_meta.extend(drop(meta::SUBSCRIPTION_ID));
    match (to, sender) {
        (Era::Legacy, _) => {
            let modern =
                [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL];
            in_meta.extend(modern.into_iter().filter_map(drop));
        }
        (Era::Modern, None) => {
            if !params.log_level().is_some_and(|level| is_level(&level)) {
                in_meta.extend(drop(meta::LOG_LEVEL));
            }
        }
        (Era::Modern, Some(sender)) => {
            in_meta.push(Edit::Set(meta::PROTOCOL_VERSION, MODERN_VERSION.as_bytes()));
            let capabilities = sender.capabilities.as_deref().unwrap_or(b"{}");
            in_meta.push(Edit::Set(meta::CLIENT_CAPABILITIES, capabilities));
            // What the request itself says about its client counts for nothing beside what the session said.
            in_meta.extend(match &sender.info {
                Some(info) => Some(Edit::Set(meta::CLIENT_INFO, info)),
                None => drop(meta::CLIENT_INFO),
            });
            in_meta.extend(match &log_level {
                Some(level) => Some(Edit::Set(meta::LOG_LEVEL, level.as_bytes())),
                None => drop(meta::LOG_LEVEL),
            });
        }
    }
    let name = subject.name.as_deref().map(json::quote);
    let uri = subject.uri.as_deref().map(json::quote);
    let task_id = subject.task_id.as_deref().map(json::quote);
    let state = round.state.as_deref().map(json::quote);
    let mut edits = Vec::with_capacity(6);
    let replaced = [("name", &name), ("uri", &uri), ("taskId", &task_id)];
    edits.extend(replaced.iter().filter_map(|(key, value)| Some(Edit::Set(key, value.as_ref()?.as_bytes()))));
    if let Some(reference) = &subject.reference {
        edits.push(Edit::Set("ref", reference));
    }
    if envelope.method().may_ask() {
        let (answers, state) = match to {
            Era::Modern => (round.answers.as_deref(), state.as_deref().map(str::as_bytes)),
            Era::Legacy => (None, None),
        };
        for (key, value) in [("inputResponses", answers), ("requestState", state)] {
            match value {
                Some(value) => edits.push(Edit::Set(key, value)),
                None if params.span(key).is_some() => edits.push(Edit::Drop(key)),
                None => {}
            }
        }
    }
    if !in_meta.is_empty() {
        edits.push(Edit::Within("_meta", &in_meta));
    }
    in_place::request(envelope, params, id, &edits).unwrap_or_else(|| envelope.with(Some(id), &edits))
}

/// Whether results of this method state how long they may be cached.
fn is_cacheable(method: &Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::TemplatesList
            | Method::ResourcesRead
    )
}

/// A server's result in the form for a client of era `to`. If a task was created, `task_id` is the id under
/// which the client can query it.
pub fn result(
    view: &ResultView<'_>,
    from: Era,
    to: Era,
    method: &Method,
    server_info: Option<&Bytes>,
    task_id: Option<&str>,
) -> Bytes {
    let task_id = task_id.map(json::quote);
    let identity = server_info.map(|info| [Edit::Set(meta::SERVER_INFO, info)]);
    let mut edits = Vec::new();
    let task = task_id.as_ref().map(|id| [Edit::Set("taskId", id.as_bytes())]);
    match &task {
        Some([id]) if view.task_id().is_some() => edits.push(*id),
        // A legacy server describes the task in a member.
        Some(task) => edits.push(Edit::Within("task", task)),
        None => {}
    }
    match (from, to) {
        (Era::Legacy, Era::Legacy) => {}
        (Era::Modern, Era::Legacy) => {
            edits.extend([Edit::Drop("resultType"), Edit::Drop("ttlMs"), Edit::Drop("cacheScope")]);
        }
        (Era::Legacy | Era::Modern, Era::Modern) => {
            // A legacy server asks during the call, so its `input_required` has no meaning.
            let asks_in_vain = from == Era::Legacy && view.is_input_required();
            if asks_in_vain || view.result_type().is_none() {
                edits.push(Edit::Set("resultType", b"\"complete\""));
            }
            if is_cacheable(method) && !view.has_caching() && !view.is_input_required() {
                edits.push(Edit::Set("ttlMs", b"0"));
                edits.push(Edit::Set("cacheScope", b"\"private\""));
            }
            if let (Era::Legacy, Some(identity)) = (from, &identity) {
                edits.push(Edit::Within("_meta", identity));
            }
        }
    }
    if edits.is_empty() {
        return view.json().clone();
    }
    Bytes::from(json::rewrite(view.json(), &edits))
}

/// A server's error in the form for a client of era `to`: an unknown resource has a different code in each
/// era. `None` if the error needs no change.
pub fn error(error: &RpcError, to: Era, method: &Method) -> Option<RpcError> {
    let code = match (to, error.code) {
        (Era::Modern, code::RESOURCE_NOT_FOUND) => code::INVALID_PARAMS,
        (Era::Modern, code::URL_ELICITATION_REQUIRED) => code::INTERNAL_ERROR,
        (Era::Legacy, code::INVALID_PARAMS) if *method == Method::ResourcesRead => code::RESOURCE_NOT_FOUND,
        (Era::Legacy | Era::Modern, _) => return None,
    };
    Some(RpcError { code, ..error.clone() })
}

/// A notification about a request, with the token that its client knows.
pub fn progress(notification: &Envelope, token: &[u8]) -> Bytes {
    notification.with(None, &[Edit::Set("progressToken", token)])
}

/// The severity of a log level; higher is worse. Unknown levels count as the least severe.
pub fn severity(level: &str) -> u8 {
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    LEVELS.iter().position(|known| *known == level).map_or(0, |position| u8::try_from(position).unwrap_or(0))
}

/// Whether `level` is a log level of the protocol.
pub fn is_level(level: &str) -> bool {
    level == "debug" || severity(level) > 0
}

#[cfg(test)]
mod tests;
