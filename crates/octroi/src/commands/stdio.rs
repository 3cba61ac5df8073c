//! `octroi stdio`: the gateway for a client that starts a command.
//!
//! One gateway has the data directory, and with it the record of calls and the people to ask. If one runs,
//! this is a relay to it; if none does, this is the gateway, for its own client and for whoever comes after.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use octroi_api::ErrorCode;
use octroi_core::Principal;
use octroi_gateway::{Persistence, PersistenceError};
use octroi_server::serve_stdio;
use tokio_util::sync::CancellationToken;

use super::run::{OwnGateway, Pace, load, no_store, sources, wait_for_signal};
use crate::cli::Stdio;
use crate::config::Sources;
use crate::endpoint::Announced;
use crate::failure::Failure;
use crate::relay::{self, Link};
use crate::{clock, printer, token};

/// How long servers may take to leave by themselves. Clients send SIGTERM two seconds after they closed
/// standard input and SIGKILL two seconds later; by then the servers should have left by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// Whoever else has the directory may only just have begun, or be about to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const N_LOOKS: usize = 200;
/// Only processes of this machine come in this way.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(super) async fn run(options: Stdio) -> Result<(), Failure> {
    let sources = sources(&options.source, Some(LISTEN));
    match find(&sources.data).await? {
        Found::Free(persistence) => own(&options, sources, *persistence).await,
        Found::Gateway(place) => relay(&options, &sources, place).await,
    }
}

/// What became of the data directory.
enum Found {
    /// It is ours now.
    Free(Box<Persistence>),
    /// A gateway has it, and can be reached.
    Gateway(Announced),
}

/// Takes the directory, or finds who has it. The lock says whether a gateway runs; the file that says where
/// may be older than the gateway.
async fn find(data: &Path) -> Result<Found, Failure> {
    let mut holder = None;
    for _ in 0..N_LOOKS {
        match Persistence::open(data, clock::system()).await {
            Ok(persistence) => return Ok(Found::Free(Box::new(persistence))),
            Err(error) if error.is_in_use() => {
                let place = Announced::read(data).filter(|place| Some(place.process) == error.holder());
                if let Some(place) = place {
                    return Ok(Found::Gateway(place));
                }
                holder = Some(error);
            }
            Err(error) => return Err(no_store(&error)),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(unreachable(holder.as_ref()))
}

fn unreachable(holder: Option<&PersistenceError>) -> Failure {
    let told = holder.map_or_else(String::new, ToString::to_string);
    let failure =
        Failure::of(ErrorCode::GatewayGone, format!("{told}, and it does not say where it can be reached"));
    match holder.and_then(PersistenceError::holder) {
        Some(process) => {
            failure.hint(format!("stop it (kill {process}), or name another directory with --data DIR"))
        }
        None => failure.hint("name another directory with --data DIR"),
    }
}

/// The gateway of this client, and of others while this one is there.
async fn own(options: &Stdio, sources: Sources, persistence: Persistence) -> Result<(), Failure> {
    let config = load(&sources)?;
    let principal = match &options.token {
        None => Principal::local(),
        Some(token) => {
            let configured = config.settings.tokens.find(token).cloned();
            configured.or_else(|| token::holder(&sources.data, token)).ok_or_else(|| {
                Failure::of(ErrorCode::Unauthenticated, "the token is not known")
                    .hint("use one of [[tokens]] in octroi.toml, or none")
            })?
        }
    };
    let own = OwnGateway::open(sources, config, persistence, Pace::Within(GRACE)).await?;
    tracing::info!(address = %own.address, "the data directory was free; this is its gateway now");
    let operations = own.operations.clone();
    let shutdown = CancellationToken::new();
    let client =
        serve_stdio(operations, principal, tokio::io::stdin(), tokio::io::stdout(), shutdown.clone());
    let served = own.serve(until_signal(client, &shutdown)).await;
    served?.map_err(|error| Failure::from_error(&error))
}

/// A client of the gateway that runs already.
async fn relay(options: &Stdio, sources: &Sources, place: Announced) -> Result<(), Failure> {
    if options.source.config.is_some() || options.source.demo {
        printer::warn(&format!(
            "process {} has {} already, and its configuration counts",
            place.process,
            sources.data.display()
        ));
    }
    let token = match &options.token {
        Some(token) => token.clone(),
        None => token::read_local(&sources.data).map_err(|error| {
            Failure::of(ErrorCode::Unauthenticated, "no token for the gateway that runs")
                .cause(error)
                .hint("restart the gateway, which then makes one, or give --token")
        })?,
    };
    let link = Link::open(&sources.data, place, &token).await?;
    let shutdown = CancellationToken::new();
    let serving = relay::serve(link, tokio::io::stdin(), tokio::io::stdout(), shutdown.clone());
    until_signal(serving, &shutdown).await
}

/// Serves a client; a signal asks it to end.
async fn until_signal<T>(serving: impl Future<Output = T>, shutdown: &CancellationToken) -> T {
    let mut serving = pin!(serving);
    tokio::select! {
        biased;
        served = &mut serving => return served,
        () = wait_for_signal() => shutdown.cancel(),
    }
    serving.await
}
