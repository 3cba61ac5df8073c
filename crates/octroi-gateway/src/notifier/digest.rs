//! Alerts that were not told yet, and the notices that tell them.

use std::sync::Arc;

use octroi_core::config::NoticeTopic;
use octroi_core::time::show_time;
use octroi_core::visible;
use serde_json::{Value, json};

use crate::alerts::{QuarantinedDefinition, WaitingCall};

/// How many calls or definitions a notice lists; the rest is counted.
pub(super) const LISTED_MAX: usize = 20;

/// What is told at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notice {
    /// The topic.
    pub(crate) about: NoticeTopic,
    /// All of it in a sentence or two, with what to do.
    pub(crate) text: String,
    /// The same for programs.
    pub(crate) json: Value,
}

/// Alerts that were not told yet.
#[derive(Debug, Default)]
pub(super) struct Digest {
    calls: Vec<Arc<WaitingCall>>,
    n_more_calls: u64,
    definitions: Vec<Arc<QuarantinedDefinition>>,
    n_more_definitions: u64,
}

impl Digest {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.n_more_calls == 0 && self.definitions.is_empty()
    }

    pub(super) fn add_call(&mut self, call: Arc<WaitingCall>) {
        if self.calls.len() < LISTED_MAX {
            self.calls.push(call);
        } else {
            self.n_more_calls += 1;
        }
    }

    /// A call that was decided before anybody was told.
    pub(super) fn remove_call(&mut self, id: &str) {
        self.calls.retain(|call| call.id != id);
    }

    pub(super) fn add_definition(&mut self, definition: Arc<QuarantinedDefinition>) {
        if self.definitions.len() < LISTED_MAX {
            self.definitions.push(definition);
        } else {
            self.n_more_definitions += 1;
        }
    }

    /// Alerts that came faster than they were read. They are most likely calls.
    pub(super) fn miss(&mut self, n_missed: u64) {
        self.n_more_calls += n_missed;
    }

    /// The notices about everything so far; nothing is left.
    pub(super) fn take(&mut self) -> Vec<Notice> {
        let Self { calls, n_more_calls, definitions, n_more_definitions } = std::mem::take(self);
        let n_calls = calls.len() as u64 + n_more_calls;
        let mut notices = Vec::new();
        if n_calls > 0 {
            notices.push(of_calls(&calls, n_calls));
        }
        if !definitions.is_empty() {
            let n_definitions = definitions.len() as u64 + n_more_definitions;
            notices.push(of_definitions(&definitions, n_definitions));
        }
        notices
    }
}

fn of_calls(calls: &[Arc<WaitingCall>], n_calls: u64) -> Notice {
    let text = match calls {
        [call] if n_calls == 1 => {
            let page = call.page.as_deref().map(|page| format!("{page} or ")).unwrap_or_default();
            format!(
                "{} waits for your approval: {}. Decide: {page}octroi approve {}",
                call.caller,
                call.sentence(),
                call.id,
            )
        }
        _ => {
            let mut callers: Vec<&str> = calls.iter().map(|call| call.caller.as_str()).collect();
            callers.sort_unstable();
            callers.dedup();
            let who = if callers.is_empty() { String::new() } else { format!(" of {}", callers.join(", ")) };
            format!("{n_calls} calls{who} wait for your approval. See them: octroi approvals")
        }
    };
    let listed: Vec<Value> = calls.iter().map(|call| json_of_call(call)).collect();
    let json = json!({
        "about": NoticeTopic::Approvals.as_str(),
        "text": text,
        "count": n_calls,
        "command": "octroi approvals",
        "calls": listed,
    });
    Notice { about: NoticeTopic::Approvals, text, json }
}

fn json_of_call(call: &WaitingCall) -> Value {
    json!({
        "id": call.id,
        "agent": call.caller,
        "tool": call.tool,
        "risk": call.risk,
        "reason": call.sentence(),
        "arguments": call.arguments,
        "page": call.page,
        "command": format!("octroi approve {}", call.id),
        "requested_at": show_time(call.requested_at_ms),
        "expires_at": show_time(call.expires_at_ms),
    })
}

fn of_definitions(definitions: &[Arc<QuarantinedDefinition>], n_definitions: u64) -> Notice {
    let mut servers: Vec<&str> = definitions.iter().map(|one| one.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let text = match definitions {
        [one] if n_definitions == 1 => format!(
            "{} `{}` of server {} is quarantined: {}",
            one.kind,
            visible(&one.name),
            one.server,
            visible(&one.reason),
        ),
        _ => format!(
            "{n_definitions} definitions of {} are quarantined. See them: octroi pins",
            servers.join(", ")
        ),
    };
    let listed = definitions.iter().map(|one| {
        json!({
            "server": one.server, "kind": one.kind.as_str(), "name": visible(&one.name),
            "reason": visible(&one.reason),
        })
    });
    let json = json!({
        "about": NoticeTopic::Quarantine.as_str(),
        "text": text,
        "count": n_definitions,
        "command": "octroi pins",
        "definitions": listed.collect::<Vec<_>>(),
    });
    Notice { about: NoticeTopic::Quarantine, text, json }
}
