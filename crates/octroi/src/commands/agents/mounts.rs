//! Commands about the servers of an agent.

use octroi_api::Operation;
use octroi_api::operations::agents::{
    AgentMcpConfigRequest, AgentMounts, AgentRequest, AgentsAttachServer, AgentsDetachServer,
    AgentsGetMcpConfig, AgentsUpdateMcpConfig, AttachServerRequest, DetachServerRequest,
};

use crate::cli::Target;
use crate::cli::agents::{AgentServers, AttachServer, DetachServer};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn attach(options: &AttachServer) -> Result<(), Failure> {
    let AttachServer { id, server, pinned, target } = options;
    let request = AttachServerRequest { agent_id: id.clone(), server: server.clone(), pinned: *pinned };
    let undo = format!("octroi agents detach {id} {server}");
    let before = mounts(target, id).await?;
    let undo = if before.is_list { undo } else { format!("octroi agents servers {id} --every") };
    let what = format!("attached; undo with `{}`", visible(&undo));
    changed::<AgentsAttachServer>(target, &request, &format!("{} {what}", visible(server))).await
}

pub(super) async fn detach(options: &DetachServer) -> Result<(), Failure> {
    let DetachServer { id, server, target } = options;
    let request = DetachServerRequest { agent_id: id.clone(), server: server.clone() };
    let undo = format!("octroi agents attach {id} {server}");
    let done = format!("{} detached; undo with `{}`", visible(server), visible(&undo));
    changed::<AgentsDetachServer>(target, &request, &done).await
}

pub(super) async fn servers(options: &AgentServers) -> Result<(), Failure> {
    let AgentServers { id, set, every, target } = options;
    let before = mounts(target, id).await?;
    if set.is_none() && !every {
        show(target, &before);
        return Ok(());
    }
    let names: Vec<String> = before.mounts.iter().map(|mount| mount.server.clone()).collect();
    let undo = if before.is_list { format!("--set '{}'", names.join(",")) } else { "--every".to_owned() };
    let request = AgentMcpConfigRequest { agent_id: id.clone(), servers: set.clone() };
    let done = format!("{id} changed; undo with `octroi agents servers {id} {undo}`");
    changed::<AgentsUpdateMcpConfig>(target, &request, &visible(&done)).await
}

async fn changed<O>(target: &Target, request: &O::Request, done: &str) -> Result<(), Failure>
where
    O: Operation<Response = AgentMounts>,
{
    let mounts = Client::find(target)?.call::<O>(request).await?;
    if !target.json {
        printer::data(done);
    }
    show(target, &mounts);
    Ok(())
}

async fn mounts(target: &Target, agent: &str) -> Result<AgentMounts, Failure> {
    let request = AgentRequest { agent_id: agent.to_owned() };
    Client::find(target)?.call::<AgentsGetMcpConfig>(&request).await
}

fn show(target: &Target, mounts: &AgentMounts) {
    if target.json {
        printer::json(mounts);
        return;
    }
    let agent = visible(&mounts.agent_id);
    let whose = if mounts.is_list { "what is attached to it" } else { "all servers of its owner" };
    printer::say(&format!("{agent} has {whose}"));
    let mut table = Table::new(&[
        Column::text("server"),
        Column::text("state"),
        Column::text("tools"),
        Column::text("pinned"),
        Column::sentence("note"),
    ]);
    for mount in &mounts.mounts {
        let off = mount.switched_off.as_ref().map(|switch| format!("off: {switch}"));
        table.row([
            Cell::new(&mount.server),
            Cell::new(&mount.state),
            Cell::new(mount.tools.to_string()),
            Cell::new(if mount.pinned { "yes" } else { "" }),
            off.or_else(|| mount.error.clone()).unwrap_or_default().into(),
        ]);
    }
    if !mounts.mounts.is_empty() {
        printer::table(&table);
    }
}
