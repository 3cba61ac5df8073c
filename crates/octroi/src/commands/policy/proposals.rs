//! Commands about policies that agents propose for themselves.

use octroi_api::operations::policies::PolicyVersion;
use octroi_api::operations::proposals::{
    AgentsApproveProposal, AgentsRejectProposal, ListProposalsRequest, PolicyProposal, PolicyProposals,
    ProposalRequest, RejectProposalRequest,
};
use octroi_core::time::show_time;

use super::change::undo;
use super::print;
use crate::cli::policy::{ListProposals, OneProposal, PolicyScope, RejectProposal};
use crate::client::Client;
use crate::commands::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(options: &ListProposals) -> Result<(), Failure> {
    match options.id {
        Some(id) => show(options, id).await,
        None => list(options).await,
    }
}

async fn list(options: &ListProposals) -> Result<(), Failure> {
    let request = ListProposalsRequest { agent_id: options.agent.clone(), status: None };
    let list = Client::find(&options.target)?.call::<PolicyProposals>(&request).await?;
    if options.target.json {
        printer::json(&list);
        return Ok(());
    }
    if list.proposals.is_empty() {
        printer::say("there are no proposals; agents may make them with `proposals = true` in [policy]");
    } else {
        printer::table(&table(&list.proposals));
    }
    Ok(())
}

async fn show(options: &ListProposals, id: i64) -> Result<(), Failure> {
    let proposal = Client::find(&options.target)?.call::<PolicyProposal>(&ProposalRequest { id }).await?;
    if options.target.json {
        printer::json(&proposal);
        return Ok(());
    }
    printer::say(&visible(&format!("# {}", line(&proposal))));
    for complaint in proposal.check.iter().flat_map(|check| &check.complaints) {
        printer::warn(&format!("line {}: {}", complaint.line, visible(&complaint.message)));
    }
    print(proposal.source.trim_end());
    Ok(())
}

/// One row for each proposal.
fn table(proposals: &[PolicyVersion]) -> Table {
    let mut table = Table::new(&[
        Column::number("id"),
        Column::text("status"),
        Column::text("created_at"),
        Column::text("check"),
        Column::text("agent"),
        Column::sentence("rationale"),
    ]);
    for proposal in proposals {
        table.row([
            proposal.id.to_string().into(),
            printer::word(&proposal.status).into(),
            show_time(proposal.created_at_ms).into(),
            check(proposal).into(),
            Cell::new(proposal.agent.as_deref().unwrap_or_default()),
            Cell::new(proposal.rationale.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn check(proposal: &PolicyVersion) -> &'static str {
    if proposal.check.as_ref().is_some_and(|check| check.ok) { "fine" } else { "faulty" }
}

fn line(proposal: &PolicyVersion) -> String {
    format!(
        "{:>4}  {:<10}  {}  {:<6}  {}: {}",
        proposal.id,
        printer::word(&proposal.status),
        show_time(proposal.created_at_ms),
        check(proposal),
        proposal.agent.as_deref().unwrap_or_default(),
        visible(proposal.rationale.as_deref().unwrap_or_default()),
    )
}

pub(super) async fn approve(proposal: &OneProposal) -> Result<(), Failure> {
    let OneProposal { id, target } = proposal;
    let policy = Client::find(target)?.call::<AgentsApproveProposal>(&ProposalRequest { id: *id }).await?;
    if target.json {
        printer::json(&policy);
        return Ok(());
    }
    let scope = PolicyScope { agent: policy.agent, ..PolicyScope::default() };
    let version = policy.version.unwrap_or_default();
    print(&format!("{} version {version} is active; {}", scope.name(), undo(&scope, version)));
    Ok(())
}

pub(super) async fn reject(options: &RejectProposal) -> Result<(), Failure> {
    let OneProposal { id, target } = &options.proposal;
    let request = RejectProposalRequest { id: *id, reason: options.reason.clone() };
    let policy = Client::find(target)?.call::<AgentsRejectProposal>(&request).await?;
    if target.json {
        printer::json(&policy);
    } else {
        print(&format!("proposal {id} is rejected"));
    }
    Ok(())
}
