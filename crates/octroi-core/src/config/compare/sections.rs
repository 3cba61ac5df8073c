//! The sections that are one table each.

use std::time::Duration;

use super::fields::{FieldMerger, ask, at_most, harmless, narrows};
use crate::config::{
    ApprovalsSection, AuditSection, AutoReload, Durability, KeptResults, McpSection, PinsSection,
    PolicySection, ServerSection,
};
use crate::decision::Profile;
use crate::pin::PinPolicy;

pub(super) fn server(fields: &mut FieldMerger<'_>, kept: &mut ServerSection, new: &ServerSection) {
    let ServerSection {
        listen,
        listen_origin: _,
        allowed_hosts,
        allowed_origins,
        body_bytes,
        session_idle,
        admin_token,
    } = new;
    fields.field(&["listen"], &mut kept.listen, listen, ask);
    fields.field(&["allowed_hosts"], &mut kept.allowed_hosts, allowed_hosts, |before, after| {
        narrows(before, after)
    });
    fields.field(&["allowed_origins"], &mut kept.allowed_origins, allowed_origins, |before, after| {
        narrows(before, after)
    });
    fields.field(&["max_body_bytes"], &mut kept.body_bytes, body_bytes, at_most);
    fields.field(&["session_idle"], &mut kept.session_idle, session_idle, at_most);
    fields.field(&["admin_token", "admin_token_sha256"], &mut kept.admin_token, admin_token, ask);
}

pub(super) fn mcp(fields: &mut FieldMerger<'_>, kept: &mut McpSection, new: &McpSection) {
    let McpSection { enabled, auto_reload, health_check_interval } = new;
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
    let ApprovalsSection { wait, expires, grant_expires, form, url } = new;
    fields.field(&["wait"], &mut kept.wait, wait, harmless);
    fields.field(&["expires"], &mut kept.expires, expires, at_most);
    fields.field(&["grant_expires"], &mut kept.grant_expires, grant_expires, at_most);
    fields.field(&["form"], &mut kept.form, form, |_, after| !after);
    // People follow links that start like this.
    fields.field(&["url"], &mut kept.url, url, ask);
}

pub(super) fn pins(
    fields: &mut FieldMerger<'_>,
    kept: &mut PinsSection,
    new: &PinsSection,
    is_same_lock: bool,
) {
    let PinsSection { mode, lock } = new;
    fields.field(&["mode"], &mut kept.mode, mode, |before, after| pin_rank(*after) >= pin_rank(*before));
    fields.field(&["lock"], &mut kept.lock, lock, |_, _| is_same_lock);
}

fn pin_rank(policy: PinPolicy) -> u8 {
    match policy {
        PinPolicy::TrustFirst => 0,
        PinPolicy::Ask => 1,
        PinPolicy::Strict => 2,
    }
}

pub(super) fn audit(fields: &mut FieldMerger<'_>, kept: &mut AuditSection, new: &AuditSection) {
    // Handlers are compared as a list.
    let AuditSection { durability, retention, argument_bytes, results, handlers: _ } = new;
    fields.field(&["durability"], &mut kept.durability, durability, |_, after| *after == Durability::Full);
    fields.field(&["retention"], &mut kept.retention, retention, |before, after| {
        let kept = |retention: &Option<Duration>| retention.unwrap_or(Duration::MAX);
        kept(after) >= kept(before)
    });
    fields.field(&["max_argument_bytes"], &mut kept.argument_bytes, argument_bytes, |before, after| {
        after >= before
    });
    fields.field(&["results"], &mut kept.results, results, |_, after| *after == KeptResults::Summary);
}
