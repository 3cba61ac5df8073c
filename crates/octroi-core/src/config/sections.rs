//! All sections except servers and tokens.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::Config;
use super::audit::AuditSection;
use super::listed::Entries;
use super::problem::Problem;
use super::root::Root;
use super::settings::{Context, Read};
use super::show::{EffectiveConfig, Setting};
use crate::principal::TokenEntries;
use crate::syntax::Origin;

impl Context<'_> {
    /// A configuration without its servers and tokens.
    pub(super) fn sections(&self, root: &Root, listen: Option<(SocketAddr, Origin)>) -> Config {
        let mut problems = Vec::new();
        let mut effective = EffectiveConfig::default();
        let server = one(self.server(&root.server, &root.own, listen), &mut effective.server, &mut problems);
        let rest = one(self.rest(&root.rest), &mut effective.rest, &mut problems);
        let mcp = one(self.mcp(&root.mcp), &mut effective.mcp, &mut problems);
        let policy = one(self.policy(&root.policy), &mut effective.policy, &mut problems);
        let agents = all(self.agents(&root.agents, &effective.policy), &mut effective.agents, &mut problems);
        let approvals = one(self.approvals(&root.approvals), &mut effective.approvals, &mut problems);
        let pins = one(self.pins(&root.pins), &mut effective.pins, &mut problems);
        let notify = one(self.notify(&root.notify), &mut effective.notify, &mut problems);
        let secrets = one(self.secrets(&root.secrets), &mut effective.secrets, &mut problems);
        let members = one(self.members(&root.members), &mut effective.members, &mut problems);
        let templates = one(self.templates(&root.templates), &mut effective.templates, &mut problems);
        let presets = one(self.presets(&root.presets), &mut effective.presets, &mut problems);
        let (audit, handlers) = self.audit(&root.audit);
        let audit = AuditSection {
            handlers: all(self.handlers(&handlers), &mut effective.handlers, &mut problems),
            ..one(audit, &mut effective.audit, &mut problems)
        };
        let quotas = all(self.quotas(&root.quotas), &mut effective.quotas, &mut problems);
        let gates = all(self.gates(&root.gates), &mut effective.gates, &mut problems);
        let inference = all(self.inference(&root.inference), &mut effective.inference, &mut problems);
        Config {
            server,
            rest,
            mcp,
            servers: Vec::new(),
            tokens: TokenEntries::default(),
            token_settings: HashMap::new(),
            policy,
            agents,
            approvals,
            pins,
            notify,
            secrets,
            secret_uses: Vec::new(),
            members,
            templates,
            presets,
            audit,
            quotas,
            gates,
            inference,
            problems,
            effective,
        }
    }
}

fn one<T>((section, settings, more): Read<T>, place: &mut Vec<Setting>, problems: &mut Vec<Problem>) -> T {
    *place = settings;
    problems.extend(more);
    section
}

fn all<T>(entries: Entries<T>, place: &mut Vec<Vec<Setting>>, problems: &mut Vec<Problem>) -> Vec<T> {
    *place = entries.settings;
    problems.extend(entries.problems);
    entries.usable
}
