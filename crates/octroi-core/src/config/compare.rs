//! What a changed configuration would do, compared with the one that was last accepted.
//!
//! Whoever can write the file must not be able to start a program, get a token or loosen a policy by that
//! alone. So each difference is classified: what tightens or is harmless takes effect immediately, everything
//! else waits for a person. When in doubt, it waits.

mod fields;
mod lists;
mod policies;
mod sections;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Config, SecretUse};
use crate::pin::Lock;
use crate::plural::count;
use fields::FieldMerger;

/// A configuration together with the files that it names.
#[derive(Clone, Debug)]
pub struct CompleteConfig {
    /// The settings.
    pub settings: Config,
    /// The policies in files, by level: `floor`, `global`, or `agent` and its id, as in `agent coder`.
    pub policies: BTreeMap<String, PolicyText>,
    /// The content of the lock file.
    pub lock: Lock,
}

/// The policy in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub source: String,
}

/// What has to happen before a difference takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// It tightens something or is harmless: it takes effect immediately.
    Immediate,
    /// A person has to agree.
    NeedsPerson,
}

impl Consequence {
    fn immediate_if(is_harmless: bool) -> Self {
        if is_harmless { Self::Immediate } else { Self::NeedsPerson }
    }
}

/// One difference between two configurations, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// What differs, such as `server files: args`.
    pub setting: String,
    /// The accepted value; `None` if there is none.
    pub before: Option<String>,
    /// The new value; `None` if there is none.
    pub after: Option<String>,
    /// What has to happen before it takes effect.
    pub consequence: Consequence,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// All differences.
    pub changes: Vec<ConfigChange>,
    /// The accepted configuration with what takes effect immediately.
    pub effective: CompleteConfig,
}

impl Comparison {
    /// The differences that wait for a person.
    pub fn waiting(&self) -> impl Iterator<Item = &ConfigChange> {
        self.changes.iter().filter(|change| change.consequence == Consequence::NeedsPerson)
    }
}

/// Compares a new configuration with the accepted one.
pub fn compare(accepted: &CompleteConfig, new: &CompleteConfig) -> Comparison {
    let mut effective = accepted.clone();
    let mut changes = Vec::new();
    // Every part is named here, so that a new one does not compile until it is compared.
    let Config {
        server,
        rest,
        mcp,
        servers,
        tokens: _,
        token_settings: _,
        policy,
        agents,
        approvals,
        pins,
        notify,
        secrets,
        secret_uses,
        members,
        templates,
        presets,
        audit,
        quotas,
        gates,
        inference,
        problems,
        effective: shown,
    } = &new.settings;
    let kept = &mut effective.settings;
    let mut merge =
        |title: &str, before: &mut Vec<_>, after: &[_], parts: &mut dyn FnMut(&mut FieldMerger)| {
            parts(&mut FieldMerger::new(title, before, after, &mut changes));
        };
    let view = &mut kept.effective;
    // The secrets of what waits are shown as little as those in use.
    view.hide(shown.hidden.iter().cloned());
    merge("server", &mut view.server, &shown.server, &mut |fields| {
        sections::server(fields, &mut kept.server, server);
    });
    merge("rest", &mut view.rest, &shown.rest, &mut |fields| sections::rest(fields, &mut kept.rest, *rest));
    merge("mcp", &mut view.mcp, &shown.mcp, &mut |fields| sections::mcp(fields, &mut kept.mcp, mcp));
    merge("policy", &mut view.policy, &shown.policy, &mut |fields| {
        sections::policy(fields, &mut kept.policy, policy);
    });
    merge("approvals", &mut view.approvals, &shown.approvals, &mut |fields| {
        sections::approvals(fields, &mut kept.approvals, approvals);
    });
    merge("pins", &mut view.pins, &shown.pins, &mut |fields| {
        let is_same_lock = accepted.lock == new.lock;
        sections::pins(fields, &mut kept.pins, pins, is_same_lock);
    });
    merge("notify", &mut view.notify, &shown.notify, &mut |fields| {
        sections::notify(fields, &mut kept.notify, notify);
    });
    merge("secrets", &mut view.secrets, &shown.secrets, &mut |fields| {
        sections::secrets(fields, &mut kept.secrets, secrets);
    });
    merge("members", &mut view.members, &shown.members, &mut |fields| {
        sections::members(fields, &mut kept.members, members);
    });
    merge("templates", &mut view.templates, &shown.templates, &mut |fields| {
        sections::directory(fields, &mut kept.templates, templates);
    });
    merge("presets", &mut view.presets, &shown.presets, &mut |fields| {
        sections::directory(fields, &mut kept.presets, presets);
    });
    merge("audit", &mut view.audit, &shown.audit, &mut |fields| {
        sections::audit(fields, &mut kept.audit, audit);
    });
    let parts = [
        ("gates", kept.gates == *gates, &view.gates, &shown.gates),
        ("audit.handlers", kept.audit.handlers == audit.handlers, &view.handlers, &shown.handlers),
        ("inference", kept.inference == *inference, &view.inference, &shown.inference),
    ];
    for (title, is_same, before, after) in parts {
        if !is_same {
            changes.extend(lists::differences(title, before, after));
        }
    }
    server::servers(kept, servers, &shown.servers, &mut changes);
    lists::tokens(kept, &new.settings, &mut changes);
    lists::agents(kept, (agents, policy.profile), &shown.agents, &mut changes);
    lists::quotas(kept, quotas, &shown.quotas, &mut changes);
    kept.problems.clone_from(problems);
    kept.secret_uses = of_either(&kept.secret_uses, secret_uses);
    policies::policies(&mut effective.policies, &new.policies, &mut changes);
    changes.extend(lock_difference(&accepted.lock, &new.lock));
    Comparison { changes, effective }
}

/// What is in effect may be of either configuration.
fn of_either(accepted: &[SecretUse], new: &[SecretUse]) -> Vec<SecretUse> {
    let all: BTreeSet<&SecretUse> = accepted.iter().chain(new).collect();
    all.into_iter().cloned().collect()
}

fn lock_difference(accepted: &Lock, new: &Lock) -> Option<ConfigChange> {
    let size = |lock: &Lock| Some(count(lock.len(), "definition"));
    (accepted != new).then(|| ConfigChange {
        setting: "pins: content of the lock file".to_owned(),
        before: size(accepted),
        after: size(new),
        consequence: Consequence::NeedsPerson,
    })
}

#[cfg(test)]
mod tests;
