//! The sections that are one table each.

use std::time::Duration;

use super::fields::{FieldMerger, ask, at_most, harmless, narrows};
use crate::agent::Profile;
use crate::config::{
    ApprovalsSection, AuditSection, AutoReload, CatalogueDirectory, ClientLimits, Durability, KeptResults,
    McpSection, MembersSection, NotifySection, PinsSection, PolicySection, RestSection, SecretsSection,
    ServerSection, WrongTokenLimits,
};
use crate::pin::{NewTools, PinPolicy};

pub(super) fn server(fields: &mut FieldMerger<'_>, kept: &mut ServerSection, new: &ServerSection) {
    let ServerSection {
        listen,
        listen_origin: _,
        allowed_hosts,
        tls,
        trusted_proxies,
        allowed_origins,
        body_bytes,
        session_idle,
        session_restore,
        admin_token,
        token_file,
        limits,
    } = new;
    fields.field(&["listen"], &mut kept.listen, listen, ask);
    fields.field(&["allowed_hosts"], &mut kept.allowed_hosts, allowed_hosts, |before, after| {
        narrows(before, after)
    });
    fields.field(&["tls_cert", "tls_key"], &mut kept.tls, tls, ask);
    fields.field(&["trusted_proxies"], &mut kept.trusted_proxies, trusted_proxies, |before, after| {
        after.iter().all(|proxy| before.contains(proxy))
    });
    fields.field(&["allowed_origins"], &mut kept.allowed_origins, allowed_origins, |before, after| {
        narrows(before, after)
    });
    fields.field(&["max_body_bytes"], &mut kept.body_bytes, body_bytes, at_most);
    fields.field(&["session_idle"], &mut kept.session_idle, session_idle, at_most);
    fields.field(&["session_restore"], &mut kept.session_restore, session_restore, at_most);
    fields.field(&["admin_token", "admin_token_sha256"], &mut kept.admin_token, admin_token, ask);
    // Its tokens are compared like those of the configuration.
    fields.field(&["token_file"], &mut kept.token_file, token_file, |_, after| after.is_none());
    client_limits(fields, &mut kept.limits, limits);
}

fn client_limits(fields: &mut FieldMerger<'_>, kept: &mut ClientLimits, new: &ClientLimits) {
    let ClientLimits {
        connections,
        reserved,
        per_token,
        per_address,
        unauthenticated,
        wrong_tokens,
        header_timeout,
        body_timeout,
        write_timeout,
        idle_timeout,
        sessions,
        held_bytes,
        client_info_bytes,
        subscriptions,
        subscriptions_per_minute,
    } = new;
    fields.field(&["max_connections"], &mut kept.connections, connections, at_most);
    fields.field(&["reserved_connections"], &mut kept.reserved, reserved, |before, after| after >= before);
    fields.field(&["max_connections_per_token"], &mut kept.per_token, per_token, at_most);
    fields.field(&["max_connections_per_address"], &mut kept.per_address, per_address, at_most);
    fields.field(&["max_new_connections"], &mut kept.unauthenticated, unauthenticated, at_most);
    let WrongTokenLimits { per_address, per_token, window } = wrong_tokens;
    let kept_wrong = &mut kept.wrong_tokens;
    fields.field(&["max_wrong_tokens_per_address"], &mut kept_wrong.per_address, per_address, at_most);
    fields.field(&["max_wrong_tokens_per_token"], &mut kept_wrong.per_token, per_token, at_most);
    fields.field(&["wrong_token_window"], &mut kept_wrong.window, window, |before, after| after >= before);
    fields.field(&["header_timeout"], &mut kept.header_timeout, header_timeout, at_most);
    fields.field(&["body_timeout"], &mut kept.body_timeout, body_timeout, at_most);
    fields.field(&["write_timeout"], &mut kept.write_timeout, write_timeout, at_most);
    fields.field(&["connection_idle"], &mut kept.idle_timeout, idle_timeout, at_most);
    fields.field(&["max_sessions"], &mut kept.sessions, sessions, at_most);
    fields.field(&["max_held_bytes"], &mut kept.held_bytes, held_bytes, at_most);
    fields.field(&["max_client_info_bytes"], &mut kept.client_info_bytes, client_info_bytes, at_most);
    fields.field(&["max_subscriptions"], &mut kept.subscriptions, subscriptions, at_most);
    let per_minute = &mut kept.subscriptions_per_minute;
    fields.field(&["max_subscriptions_per_minute"], per_minute, subscriptions_per_minute, at_most);
}

pub(super) fn mcp(fields: &mut FieldMerger<'_>, kept: &mut McpSection, new: &McpSection) {
    let McpSection {
        enabled,
        auto_reload,
        health_check_interval,
        health_retention,
        wire_name_max,
        list_wait,
        pool_idle,
        max_pools,
    } = new;
    fields.field(&["health_retention"], &mut kept.health_retention, health_retention, harmless);
    fields.field(&["list_wait"], &mut kept.list_wait, list_wait, harmless);
    fields.field(&["pool_idle"], &mut kept.pool_idle, pool_idle, harmless);
    fields.field(&["max_pools"], &mut kept.max_pools, max_pools, harmless);
    fields.field(&["wire_name_max"], &mut kept.wire_name_max, wire_name_max, harmless);
    fields.field(&["enabled"], &mut kept.enabled, enabled, |_, after| !after);
    fields.field(&["auto_reload"], &mut kept.auto_reload, auto_reload, |before, after| {
        reload_rank(*after) <= reload_rank(*before)
    });
    fields.field(
        &["health_check_interval"],
        &mut kept.health_check_interval,
        health_check_interval,
        harmless,
    );
}

/// How much a changed file does by itself.
fn reload_rank(reload: AutoReload) -> u8 {
    match reload {
        AutoReload::Never => 0,
        AutoReload::Ask => 1,
        AutoReload::Always => 2,
    }
}

pub(super) fn policy(fields: &mut FieldMerger<'_>, kept: &mut PolicySection, new: &PolicySection) {
    // The files are compared by their content.
    let PolicySection { profile, floor: _, global: _, errors, proposals } = new;
    fields.field(&["profile"], &mut kept.profile, profile, |before, after| is_as_strict(*before, *after));
    fields.field(&["errors"], &mut kept.errors, errors, harmless);
    fields.field(&["proposals"], &mut kept.proposals, proposals, |_, after| !after);
}

/// Whether `after` allows nothing that `before` does not.
pub(super) fn is_as_strict(before: Profile, after: Profile) -> bool {
    let rank = |profile: Profile| Profile::ALL.iter().position(|one| *one == profile);
    rank(after) <= rank(before)
}

pub(super) fn approvals(fields: &mut FieldMerger<'_>, kept: &mut ApprovalsSection, new: &ApprovalsSection) {
    let ApprovalsSection {
        wait,
        expires,
        grant_expires,
        form,
        url,
        keep_arguments,
        retention,
        argument_bytes,
        max_pending,
        max_pending_bytes,
    } = new;
    fields.field(&["wait"], &mut kept.wait, wait, harmless);
    fields.field(&["expires"], &mut kept.expires, expires, at_most);
    fields.field(&["grant_expires"], &mut kept.grant_expires, grant_expires, at_most);
    fields.field(&["form"], &mut kept.form, form, |_, after| !after);
    // People follow links that start like this.
    fields.field(&["url"], &mut kept.url, url, ask);
    fields.field(&["keep_arguments"], &mut kept.keep_arguments, keep_arguments, at_most);
    // What people see of the past must not become less unasked.
    fields.field(&["retention"], &mut kept.retention, retention, |before, after| after >= before);
    fields.field(&["max_argument_bytes"], &mut kept.argument_bytes, argument_bytes, at_most);
    fields.field(&["max_pending"], &mut kept.max_pending, max_pending, at_most);
    fields.field(&["max_pending_bytes"], &mut kept.max_pending_bytes, max_pending_bytes, at_most);
}

pub(super) fn pins(
    fields: &mut FieldMerger<'_>,
    kept: &mut PinsSection,
    new: &PinsSection,
    is_same_lock: bool,
) {
    let PinsSection { mode, new_tools, lock } = new;
    fields.field(&["mode"], &mut kept.mode, mode, |before, after| pin_rank(*after) >= pin_rank(*before));
    fields.field(&["new_tools"], &mut kept.new_tools, new_tools, |_, after| *after == Some(NewTools::Review));
    fields.field(&["lock"], &mut kept.lock, lock, |_, _| is_same_lock);
}

fn pin_rank(policy: PinPolicy) -> u8 {
    match policy {
        PinPolicy::TrustFirst => 0,
        PinPolicy::Ask => 1,
        PinPolicy::Strict => 2,
    }
}

pub(super) fn notify(fields: &mut FieldMerger<'_>, kept: &mut NotifySection, new: &NotifySection) {
    let NotifySection { about, command, webhook, desktop, every, timeout } = new;
    fields.field(&["about"], &mut kept.about, about, harmless);
    // Nobody may start a program or send what agents do elsewhere by writing a file.
    fields.field(&["command", "args", "env"], &mut kept.command, command, |_, after| after.is_none());
    fields.field(&["webhook", "headers"], &mut kept.webhook, webhook, |_, after| after.is_none());
    fields.field(&["desktop"], &mut kept.desktop, desktop, harmless);
    fields.field(&["every"], &mut kept.every, every, harmless);
    fields.field(&["timeout"], &mut kept.timeout, timeout, harmless);
}

pub(super) fn rest(fields: &mut FieldMerger<'_>, kept: &mut RestSection, new: RestSection) {
    let RestSection { is_enabled } = &new;
    fields.field(&["enabled"], &mut kept.is_enabled, is_enabled, |_, after| !*after);
}

pub(super) fn secrets(fields: &mut FieldMerger<'_>, kept: &mut SecretsSection, new: &SecretsSection) {
    let SecretsSection { key_file } = new;
    fields.field(&["key_file"], &mut kept.key_file, key_file, ask);
}

pub(super) fn members(fields: &mut FieldMerger<'_>, kept: &mut MembersSection, new: &MembersSection) {
    let MembersSection { allow_hosts, allow_host_commands } = new;
    fields
        .field(&["allow_hosts"], &mut kept.allow_hosts, allow_hosts, |before, after| narrows(before, after));
    fields.field(&["allow_host_commands"], &mut kept.allow_host_commands, allow_host_commands, |_, after| {
        !after
    });
}

/// What is offered there may start programs and set policies.
pub(super) fn directory(
    fields: &mut FieldMerger<'_>,
    kept: &mut CatalogueDirectory,
    new: &CatalogueDirectory,
) {
    fields.field(&["dir"], &mut kept.dir, &new.dir, ask);
}

pub(super) fn audit(fields: &mut FieldMerger<'_>, kept: &mut AuditSection, new: &AuditSection) {
    // Handlers are compared as a list.
    let AuditSection { durability, retention, max_bytes, argument_bytes, results, handlers: _ } = new;
    fields.field(&["durability"], &mut kept.durability, durability, |_, after| *after == Durability::Full);
    fields.field(&["retention"], &mut kept.retention, retention, |before, after| {
        let kept = |retention: &Option<Duration>| retention.unwrap_or(Duration::MAX);
        kept(after) >= kept(before)
    });
    fields.field(&["max_bytes"], &mut kept.max_bytes, max_bytes, |before, after| {
        let kept = |max_bytes: &Option<u64>| max_bytes.unwrap_or(u64::MAX);
        kept(after) >= kept(before)
    });
    fields.field(&["max_argument_bytes"], &mut kept.argument_bytes, argument_bytes, |before, after| {
        after >= before
    });
    fields.field(&["results"], &mut kept.results, results, |_, after| *after == KeptResults::Summary);
}
