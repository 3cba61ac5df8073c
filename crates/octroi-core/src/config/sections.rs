//! Everything but servers and tokens, section by section.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::audit::AuditSection;
use super::listed::Entries;
use super::node::Origin;
use super::problem::Problem;
use super::root::Root;
use super::settings::{Context, Read};
use super::show::{Shown, ShownConfig};
use super::{Config, Tokens};

impl Context<'_> {
    /// A configuration that has no servers and no tokens yet.
    pub(super) fn sections(&self, root: &Root, listen: Option<(SocketAddr, Origin)>) -> Config {
        let mut problems = Vec::new();
        let mut shown = ShownConfig::default();
        let server = one(self.server(&root.server, &root.own, listen), &mut shown.server, &mut problems);
        let mcp = one(self.mcp(&root.mcp), &mut shown.mcp, &mut problems);
        let policy = one(self.policy(&root.policy), &mut shown.policy, &mut problems);
        let agents = all(self.agents(&root.agents, &shown.policy), &mut shown.agents, &mut problems);
        let approvals = one(self.approvals(&root.approvals), &mut shown.approvals, &mut problems);
        let pins = one(self.pins(&root.pins), &mut shown.pins, &mut problems);
        let (audit, handlers) = self.audit(&root.audit);
        let audit = AuditSection {
            handlers: all(self.handlers(&handlers), &mut shown.handlers, &mut problems),
            ..one(audit, &mut shown.audit, &mut problems)
        };
        let quotas = all(self.quotas(&root.quotas), &mut shown.quotas, &mut problems);
        let gates = all(self.gates(&root.gates), &mut shown.gates, &mut problems);
        let inference = all(self.inference(&root.inference), &mut shown.inference, &mut problems);
        Config {
            server,
            mcp,
            servers: Vec::new(),
            tokens: Tokens::default(),
            token_settings: HashMap::new(),
            policy,
            agents,
            approvals,
            pins,
            audit,
            quotas,
            gates,
            inference,
            problems,
            shown,
        }
    }
}

fn one<T>((section, shown, more): Read<T>, place: &mut Vec<Shown>, problems: &mut Vec<Problem>) -> T {
    *place = shown;
    problems.extend(more);
    section
}

fn all<T>(entries: Entries<T>, place: &mut Vec<Vec<Shown>>, problems: &mut Vec<Problem>) -> Vec<T> {
    *place = entries.shown;
    problems.extend(entries.problems);
    entries.usable
}
