//! The servers of agents that have some only.

use std::sync::Arc;

use octroi_core::{Principal, ServerKey};
use octroi_store::AttachedServer;
use serde_json::{Value, json};

use super::{Choices, Planned};
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::OperatorError;

impl Choices {
    /// The servers that are attached to an agent, with whether they are pinned; `None` if it has all that its owner has.
    pub fn attached(&self, agent: &str) -> Option<Vec<(ServerKey, bool)>> {
        let records = self.records.load();
        let servers = records.agents.get(agent)?;
        let owner = self.identity.owner_of(agent);
        let named =
            servers.iter().filter_map(|one| Some((self.key_within(&owner, &one.server)?, one.is_pinned)));
        let mut named: Vec<_> = named.collect();
        named.sort();
        Some(named)
    }

    /// Attaches a server to an agent, which from then on has only what is attached to it.
    pub async fn attach(
        self: &Arc<Self>,
        agent: &str,
        server: &str,
        is_pinned: bool,
        by: &Principal,
    ) -> Planned<()> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let id = self.id_for(agent, server)?;
        let mut servers = self.records.load().agents.get(agent).cloned().unwrap_or_default();
        let attached =
            AttachedServer { server: id, is_pinned, at_ms: self.clock.now_ms(), by: by.id().to_string() };
        match servers.iter_mut().find(|one| one.server == attached.server) {
            Some(known) => *known = attached,
            None => servers.push(attached),
        }
        Ok(self.setting("server_attached", agent, Some(servers), changing))
    }

    /// Detaches a server from an agent. One that is pinned stays.
    pub async fn detach(self: &Arc<Self>, agent: &str, server: &str) -> Planned<()> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let id = self.id_for(agent, server)?;
        let not_attached =
            || OperatorError::NotAttached { agent: agent.to_owned(), server: server.to_owned() };
        let mut servers = self.records.load().agents.get(agent).cloned().ok_or_else(not_attached)?;
        let found = servers.iter().find(|one| one.server == id).ok_or_else(not_attached)?;
        if found.is_pinned {
            return Err(OperatorError::Pinned { agent: agent.to_owned(), server: server.to_owned() });
        }
        servers.retain(|one| one.server != id);
        Ok(self.setting("server_detached", agent, Some(servers), changing))
    }

    /// Replaces the servers of an agent; with `None` it has all that its owner has. What is pinned stays.
    pub async fn set_agent_servers(
        self: &Arc<Self>,
        agent: &str,
        servers: Option<&[String]>,
        by: &Principal,
    ) -> Planned<()> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let before = self.records.load().agents.get(agent).cloned().unwrap_or_default();
        let mut new: Vec<AttachedServer> = Vec::new();
        for server in servers.unwrap_or_default() {
            let id = self.id_for(agent, server)?;
            if new.iter().any(|one| one.server == id) {
                continue;
            }
            let known = before.iter().find(|one| one.server == id).cloned();
            new.push(known.unwrap_or_else(|| AttachedServer {
                server: id,
                is_pinned: false,
                at_ms: self.clock.now_ms(),
                by: by.id().to_string(),
            }));
        }
        let is_kept =
            |one: &AttachedServer| servers.is_none() || new.iter().any(|kept| kept.server == one.server);
        if let Some(pinned) = before.iter().find(|one| one.is_pinned && !is_kept(one)) {
            let name = self.stored.key_of(&pinned.server).map_or_else(String::new, |key| key.to_string());
            return Err(OperatorError::Pinned { agent: agent.to_owned(), server: name });
        }
        Ok(self.setting("agent_servers", agent, servers.map(|_| new), changing))
    }

    /// The id of a server that the owner of an agent has.
    fn id_for(&self, agent: &str, server: &str) -> Result<String, OperatorError> {
        let owner = self.identity.owner_of(agent);
        Ok(self.stored.id_of(&self.stored.find_own(&owner, server)?))
    }

    fn setting(
        self: &Arc<Self>,
        what: &'static str,
        agent: &str,
        servers: Option<Vec<AttachedServer>>,
        changing: tokio::sync::OwnedMutexGuard<()>,
    ) -> PlannedChange<(), OperatorError> {
        let subject = json!({"change": what, "agent": agent});
        let described = |servers: Option<&Vec<AttachedServer>>| match servers {
            None => json!({"servers": Value::Null}),
            Some(servers) => {
                let name = |one: &AttachedServer| {
                    let key = self.stored.key_of(&one.server).map(|key| key.to_string());
                    json!({"server": key, "pinned": one.is_pinned})
                };
                json!({"servers": servers.iter().map(name).collect::<Vec<_>>()})
            }
        };
        let before = described(self.records.load().agents.get(agent));
        let after = described(servers.as_ref());
        let filed_under = FiledUnder { agent: Some(agent.to_owned()), ..FiledUnder::default() };
        let (choices, agent) = (Arc::clone(self), agent.to_owned());
        let change = PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            choices.store()?.save_agent_servers(&agent, servers.as_deref()).await?;
            choices.put(|all| {
                match servers {
                    Some(servers) => all.agents.insert(agent.clone(), servers),
                    None => all.agents.remove(&agent),
                };
            });
            choices.announce_agent(&agent);
            Ok(())
        });
        change.filed_under(filed_under)
    }
}
