//! Lists of tables: tokens, agents, quotas, and those of which every change waits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::fields::{FieldMerger, ask, table};
use super::sections::is_as_strict;
use super::{ConfigChange, Consequence};
use crate::agent::{AgentContext, Mode, Profile};
use crate::config::show::Setting;
use crate::config::{AgentSpec, Config, QuotaSpec};
use crate::principal::{TokenEntry, TokenHash, TokenHolder};

/// Entries that only one side has, each of which needs a person.
pub(super) fn differences(title: &str, before: &[Vec<Setting>], after: &[Vec<Setting>]) -> Vec<ConfigChange> {
    let (before, after): (Vec<_>, Vec<_>) =
        (before.iter().map(|one| table(one)).collect(), after.iter().map(|one| table(one)).collect());
    let gone = before.iter().filter(|one| !after.contains(one)).map(|one| (Some(one.clone()), None));
    let come = after.iter().filter(|one| !before.contains(one)).map(|one| (None, Some(one.clone())));
    let mut found: Vec<_> = gone.chain(come).collect();
    if found.is_empty() {
        // Their order differs, or what is never displayed.
        found.push((Some(before.join(", ")), Some(after.join(", "))));
    }
    let change = |(before, after)| ConfigChange {
        setting: title.to_owned(),
        before,
        after,
        consequence: Consequence::NeedsPerson,
    };
    found.into_iter().map(change).collect()
}

/// Merges the tokens: those that are gone are not accepted any more, new ones wait for a person.
pub(super) fn tokens(kept: &mut Config, new: &Config, changes: &mut Vec<ConfigChange>) {
    let mut change = |entry: &TokenEntry, hash: &TokenHash, before, after, consequence| {
        let setting = format!("token {} ({}…)", entry.label, hex::encode(&hash[..4]));
        changes.push(ConfigChange { setting, before, after, consequence });
    };
    let mut hashes: Vec<TokenHash> =
        kept.tokens.iter().chain(new.tokens.iter()).map(|(hash, _)| *hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    for hash in &hashes {
        let (before, after) = (kept.tokens.find(hash).cloned(), new.tokens.find(hash));
        match (before, after) {
            (Some(before), None) => {
                kept.tokens.remove(hash);
                kept.token_settings.remove(hash);
                change(&before, hash, Some(holder(&before)), None, Consequence::Immediate);
            }
            (None, Some(after)) => {
                change(after, hash, None, Some(holder(after)), Consequence::NeedsPerson);
            }
            (Some(before), Some(after)) => {
                let is_harmless = is_same_holder(&before, after);
                if before != *after {
                    let consequence = Consequence::immediate_if(is_harmless);
                    change(&before, hash, Some(holder(&before)), Some(holder(after)), consequence);
                }
                if is_harmless {
                    kept.tokens.insert(*hash, after.clone());
                    kept.token_settings.extend(new.token_settings.get(hash).map(|one| (*hash, one.clone())));
                }
            }
            (None, None) => {}
        }
    }
    if kept.token_settings.len() == new.token_settings.len() {
        kept.effective.tokens.clone_from(&new.effective.tokens);
    }
}

fn holder(entry: &TokenEntry) -> String {
    let role = entry.holder.kind().as_str();
    let whose = match &entry.holder {
        TokenHolder::Person { user, is_admin: true } => format!(", user {user}, admin"),
        TokenHolder::Person { user, is_admin: false } => format!(", user {user}"),
        TokenHolder::Agent(agent) => format!(", agent {agent}"),
        TokenHolder::Service => String::new(),
    };
    format!("role {role}{whose}, label {}", entry.label)
}

/// Whether a token stands for the same holder. Quotas are matched by labels, so a label that somebody wrote stays.
fn is_same_holder(before: &TokenEntry, after: &TokenEntry) -> bool {
    let is_default = |one: &TokenEntry| one.label == TokenEntry::default_label(&one.holder);
    before.holder == after.holder
        && (before.label == after.label || (is_default(before) && is_default(after)))
}

/// Merges the agents, field by field. An agent without an entry has the default settings.
pub(super) fn agents(
    kept: &mut Config,
    (new, new_profile): (&[AgentSpec], Profile),
    new_settings: &[Vec<Setting>],
    changes: &mut Vec<ConfigChange>,
) {
    let old_profile = kept.policy.profile;
    let mut ids: Vec<Arc<str>> = kept.agents.iter().chain(new).map(|agent| Arc::clone(&agent.id)).collect();
    ids.sort();
    ids.dedup();
    for id in ids {
        let title = format!("agent {id}");
        let place = kept.agents.iter().position(|agent| agent.id == id);
        let found = new.iter().position(|agent| agent.id == id);
        let mut spec = place.map_or_else(|| without_settings(&id), |place| kept.agents[place].clone());
        let mut shown = place.map_or_else(Vec::new, |place| kept.effective.agents[place].clone());
        let after = found.map_or_else(|| without_settings(&id), |place| new[place].clone());
        let after_shown: &[Setting] = found.map_or(&[], |place| &new_settings[place]);
        let mut fields = FieldMerger::new(&title, &mut shown, after_shown, changes);
        agent(&mut fields, &mut spec, &after, (old_profile, new_profile));
        let is_default = spec == without_settings(&id);
        match place {
            Some(place) if is_default => {
                kept.agents.remove(place);
                kept.effective.agents.remove(place);
            }
            Some(place) => {
                kept.agents[place] = spec;
                kept.effective.agents[place] = shown;
            }
            None if is_default => {}
            None => {
                kept.agents.push(spec);
                kept.effective.agents.push(shown);
            }
        }
    }
}

fn without_settings(id: &Arc<str>) -> AgentSpec {
    AgentSpec {
        id: Arc::clone(id),
        profile: None,
        mode: None,
        project: None,
        project_root: None,
        spec_hash: None,
        is_spec_frozen: false,
        blacklist: None,
        owner: None,
        policy: None,
    }
}

fn agent(
    fields: &mut FieldMerger<'_>,
    kept: &mut AgentSpec,
    new: &AgentSpec,
    (old_profile, new_profile): (Profile, Profile),
) {
    // The policy file is compared by its content.
    let AgentSpec {
        id: _,
        profile,
        mode,
        project,
        project_root,
        spec_hash,
        is_spec_frozen,
        blacklist,
        owner,
        policy: _,
    } = new;
    // The owner decides about its calls.
    fields.field(&["owner"], &mut kept.owner, owner, ask);
    fields.field(&["profile"], &mut kept.profile, profile, |before, after| {
        // Without one of its own, it has that of `[policy]`, which is `old_profile` as long as it waits.
        let in_effect = before.unwrap_or(old_profile);
        is_as_strict(in_effect, after.unwrap_or(new_profile))
            && is_as_strict(in_effect, after.unwrap_or(old_profile))
    });
    fields.field(&["mode"], &mut kept.mode, mode, |before, after| {
        after.unwrap_or_default() == before.unwrap_or_default() || *after == Some(Mode::Planning)
    });
    fields.field(&["project"], &mut kept.project, project, ask);
    fields.field(&["project_root"], &mut kept.project_root, project_root, ask);
    fields.field(&["spec_hash"], &mut kept.spec_hash, spec_hash, ask);
    // A frozen specification is what a gate asks for, so freezing it lets calls through.
    fields.field(&["spec_frozen"], &mut kept.is_spec_frozen, is_spec_frozen, ask);
    fields.field(&["blacklist"], &mut kept.blacklist, blacklist, |before, after| {
        let all = |one: &Option<BTreeSet<Arc<str>>>| {
            one.clone().unwrap_or_else(|| AgentContext::default().blacklist)
        };
        all(before).is_subset(&all(after))
    });
}

/// Merges the quotas: new and lower ones take effect, those that are gone or higher wait.
pub(super) fn quotas(
    kept: &mut Config,
    new: &[QuotaSpec],
    new_settings: &[Vec<Setting>],
    changes: &mut Vec<ConfigChange>,
) {
    let mut change =
        |name: &str, before: Option<&Vec<Setting>>, after: Option<&Vec<Setting>>, consequence| {
            let shown = |settings: Option<&Vec<Setting>>| settings.map(|settings| table(settings));
            let (before, after) = (shown(before), shown(after));
            changes.push(ConfigChange { setting: format!("quota {name}"), before, after, consequence });
        };
    for (quota, shown) in new.iter().zip(new_settings) {
        let Some(place) = kept.quotas.iter().position(|old| old.name == quota.name) else {
            change(&quota.name, None, Some(shown), Consequence::Immediate);
            kept.quotas.push(quota.clone());
            kept.effective.quotas.push(shown.clone());
            continue;
        };
        if kept.quotas[place] == *quota {
            continue;
        }
        let consequence = Consequence::immediate_if(is_lower(&kept.quotas[place], quota));
        change(&quota.name, kept.effective.quotas.get(place), Some(shown), consequence);
        if consequence == Consequence::Immediate {
            kept.quotas[place] = quota.clone();
            kept.effective.quotas[place].clone_from(shown);
        }
    }
    for (quota, shown) in kept.quotas.iter().zip(&kept.effective.quotas) {
        if !new.iter().any(|other| other.name == quota.name) {
            change(&quota.name, Some(shown), None, Consequence::NeedsPerson);
        }
    }
}

/// Whether a quota limits the same calls at least as much.
fn is_lower(before: &QuotaSpec, after: &QuotaSpec) -> bool {
    let QuotaSpec { calls_per_minute, max_in_flight, max_runtime, .. } = after;
    let is_same = QuotaSpec {
        calls_per_minute: *calls_per_minute,
        max_in_flight: *max_in_flight,
        max_runtime: *max_runtime,
        ..before.clone()
    } == *after;
    let count = |limit: Option<usize>| limit.unwrap_or(usize::MAX);
    let time = |limit: Option<Duration>| limit.unwrap_or(Duration::MAX);
    is_same
        && count(*calls_per_minute) <= count(before.calls_per_minute)
        && count(*max_in_flight) <= count(before.max_in_flight)
        && time(*max_runtime) <= time(before.max_runtime)
}
