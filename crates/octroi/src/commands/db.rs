//! `octroi db`: makes a lost database again.

use octroi_core::audit::{Actor, ActorKind};
use octroi_gateway::{OnLoss, Rebuilt, rebuild_database};

use crate::cli::db::{DbCommand, RebuildDatabase};
use crate::config::data_directory;
use crate::failure::Failure;
use crate::{clock, printer};

pub(super) async fn run(command: DbCommand) -> Result<(), Failure> {
    match command {
        DbCommand::Rebuild(options) => rebuild(options).await,
    }
}

async fn rebuild(options: RebuildDatabase) -> Result<(), Failure> {
    let data = options.data.unwrap_or_else(data_directory);
    let actor = Actor::new(ActorKind::User, "local");
    let on_loss = if options.accept_loss { OnLoss::Accept } else { OnLoss::Refuse };
    let rebuilt = rebuild_database(&data, &clock::system(), actor, on_loss)
        .await
        .map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let Rebuilt { n_pins, n_kept_out, n_policies, n_agents, n_users, n_tokens, n_switches, lost } = rebuilt;
    for (label, count) in [
        ("accepted definitions", n_pins),
        ("rejected definitions", n_kept_out),
        ("policies", n_policies),
        ("settings of agents", n_agents),
        ("users", n_users),
        ("tokens", n_tokens),
        ("switched servers", n_switches),
    ] {
        printer::data(&format!("{label:<22} {count}"));
    }
    for lost in lost {
        printer::warn(&format!("lost: {lost}"));
    }
    printer::warn("lost: approvals that waited or were not used, proposals of agents, and invitations");
    printer::say("start with `octroi up`");
    Ok(())
}
