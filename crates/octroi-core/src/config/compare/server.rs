//! Servers: which changes of an entry start or reach something else, or loosen what may be called.

use std::collections::BTreeMap;

use super::fields::{FieldMerger, ask, at_most, harmless, narrows, table, widens};
use super::{ConfigChange, Consequence};
use crate::arguments::Strictness;
use crate::config::Config;
use crate::config::show::Setting;
use crate::server::{Limits, ServerSpec, Sharing, Start, ToolAccess};
use crate::tool::{Risk, ToolOverride};
use crate::trust::Trust;

/// The keys of everything that says what is started or reached.
const TRANSPORT: [&str; 9] =
    ["transport", "command", "args", "env", "inherit_env", "cwd", "url", "headers", "api_key_env"];

/// Merges the servers: those that are gone are removed, new ones wait for a person.
pub(super) fn servers(
    kept: &mut Config,
    new: &[ServerSpec],
    new_settings: &[Vec<Setting>],
    changes: &mut Vec<ConfigChange>,
) {
    let specs = std::mem::take(&mut kept.servers);
    let settings = std::mem::take(&mut kept.effective.servers);
    for (mut spec, mut shown) in specs.into_iter().zip(settings) {
        let title = format!("server {}", spec.name());
        match new.iter().zip(new_settings).find(|(other, _)| other.key == spec.key) {
            Some((other, other_shown)) => {
                let mut fields = FieldMerger::new(&title, &mut shown, other_shown, changes);
                server(&mut fields, &mut spec, other);
                kept.servers.push(spec);
                kept.effective.servers.push(shown);
            }
            None => changes.push(ConfigChange {
                setting: title,
                before: Some(table(&shown)),
                after: None,
                consequence: Consequence::Immediate,
            }),
        }
    }
    let known: Vec<_> = changes.iter().map(|change| change.setting.clone()).collect();
    for (spec, shown) in new.iter().zip(new_settings) {
        let title = format!("server {}", spec.name());
        if kept.servers.iter().any(|other| other.key == spec.key) || known.contains(&title) {
            continue;
        }
        changes.push(ConfigChange {
            setting: title,
            before: None,
            after: Some(table(shown)),
            consequence: Consequence::NeedsPerson,
        });
    }
}

fn server(fields: &mut FieldMerger<'_>, kept: &mut ServerSpec, new: &ServerSpec) {
    let ServerSpec {
        key: _,
        title,
        description,
        switched_off,
        transport,
        era,
        start,
        sharing,
        reconnect,
        timeouts,
        limits,
        health_interval,
        idle_stop,
        trust,
        access,
        risk_overrides,
        strictness,
        tools_override,
        oauth,
        runtime,
        template_id,
        // Files are compared with files.
        provenance: _,
    } = new;
    fields.field(&["title"], &mut kept.title, title, harmless);
    fields.field(&["description"], &mut kept.description, description, harmless);
    fields.field(&["enabled"], &mut kept.switched_off, switched_off, |_, after| after.is_some());
    fields.field(&TRANSPORT, &mut kept.transport, transport, ask);
    fields.field(&["era"], &mut kept.era, era, harmless);
    fields
        .field(&["start"], &mut kept.start, start, |before, after| start_rank(*after) >= start_rank(*before));
    fields.field(&["sharing"], &mut kept.sharing, sharing, |before, after| {
        sharing_rank(*after) >= sharing_rank(*before)
    });
    fields.field(&["reconnect"], &mut kept.reconnect, reconnect, harmless);
    fields.field(
        &["timeout", "max_call_timeout", "connect_timeout", "list_timeout", "shutdown_grace"],
        &mut kept.timeouts,
        timeouts,
        harmless,
    );
    limits_of(fields, &mut kept.limits, limits);
    fields.field(&["health_interval"], &mut kept.health_interval, health_interval, harmless);
    fields.field(&["idle_stop"], &mut kept.idle_stop, idle_stop, harmless);
    fields
        .field(&["trust"], &mut kept.trust, trust, |before, after| trust_rank(*after) <= trust_rank(*before));
    access_of(fields, &mut kept.access, access);
    fields.field(&["risk_overrides"], &mut kept.risk_overrides, risk_overrides, raises_risks);
    fields.field(&["strict_arguments"], &mut kept.strictness, strictness, |_, after| {
        *after == Strictness::Strict
    });
    fields.field(&["tools_override"], &mut kept.tools_override, tools_override, switches_tools_off);
    fields.field(&["oauth"], &mut kept.oauth, oauth, ask);
    fields.field(&["env_type", "runtime", "package", "image"], &mut kept.runtime, runtime, ask);
    fields.field(&["template_id"], &mut kept.template_id, template_id, harmless);
}

fn limits_of(fields: &mut FieldMerger<'_>, kept: &mut Limits, new: &Limits) {
    let Limits { message_bytes, concurrency, queue, connections, list_bytes, list_items } = new;
    fields.field(&["max_message_bytes"], &mut kept.message_bytes, message_bytes, at_most);
    fields.field(&["max_concurrency"], &mut kept.concurrency, concurrency, at_most);
    fields.field(&["queue"], &mut kept.queue, queue, at_most);
    fields.field(&["max_connections"], &mut kept.connections, connections, at_most);
    fields.field(&["max_list_bytes"], &mut kept.list_bytes, list_bytes, at_most);
    fields.field(&["max_list_items"], &mut kept.list_items, list_items, at_most);
}

fn access_of(fields: &mut FieldMerger<'_>, kept: &mut ToolAccess, new: &ToolAccess) {
    let ToolAccess { allow_tools, deny_tools, deny_side_effect_tags } = new;
    fields.field(&["allow_tools"], &mut kept.allow_tools, allow_tools, |before, after| {
        // An empty list allows all tools.
        !after.is_empty() && (before.is_empty() || narrows(before, after))
    });
    fields.field(&["deny_tools"], &mut kept.deny_tools, deny_tools, |before, after| widens(before, after));
    fields.field(
        &["deny_side_effect_tags"],
        &mut kept.deny_side_effect_tags,
        deny_side_effect_tags,
        |before, after| widens(before, after),
    );
}

fn start_rank(start: Start) -> u8 {
    match start {
        Start::Eager => 0,
        Start::Lazy => 1,
        Start::Manual => 2,
    }
}

fn sharing_rank(sharing: Sharing) -> u8 {
    match sharing {
        Sharing::Shared => 0,
        Sharing::Auto => 1,
        Sharing::PerUser => 2,
        Sharing::PerSession => 3,
    }
}

fn trust_rank(trust: Trust) -> u8 {
    match trust {
        Trust::Low => 0,
        Trust::Medium => 1,
        Trust::High => 2,
    }
}

/// Whether no tool's risk can become lower. The first matching pattern applies, so a new one may hide
/// another; only the highest risk is never lower.
fn raises_risks(before: &BTreeMap<String, Risk>, after: &BTreeMap<String, Risk>) -> bool {
    before.keys().all(|pattern| after.contains_key(pattern))
        && after.iter().all(|(pattern, risk)| match before.get(pattern) {
            Some(old) => risk >= old,
            None => *risk == Risk::Critical,
        })
}

/// Whether the only effect is that tools are switched off.
fn switches_tools_off(
    before: &BTreeMap<String, ToolOverride>,
    after: &BTreeMap<String, ToolOverride>,
) -> bool {
    let none = ToolOverride::default();
    let names = before.keys().chain(after.keys());
    names.into_iter().all(|name| {
        let (old, new) = (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
        let rest = |one: &ToolOverride| ToolOverride { enabled: None, reason: None, ..one.clone() };
        rest(old) == rest(new) && (old.enabled == new.enabled || new.enabled == Some(false))
    })
}
