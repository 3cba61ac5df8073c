//! `octroi stdio`: the gateway for a client that starts a command.
//!
//! One gateway owns the data directory, and with it the audit log and the approvals. If one is running, this
//! process relays to it; otherwise this process is the gateway, for its own client and for later ones.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use octroi_api::ErrorCode;
use octroi_core::Principal;
use octroi_gateway::{KeyOrigin, OnLoss, Persistence, PersistenceError};
use octroi_server::serve_stdio;
use tokio_util::sync::CancellationToken;

use super::run::{OwnGateway, Pace, key_origin, load, no_store, sources, stop_signal, with_secrets};
use super::start::{Accepting, StartConfig};
use crate::cli::Stdio;
use crate::config::Sources;
use crate::config::accepted::mark_first_start;
use crate::endpoint::Announced;
use crate::failure::Failure;
use crate::relay::{self, GatewayLink};
use crate::{clock, printer, token};

/// How long servers may take to end by themselves. Clients send SIGTERM two seconds after they closed
/// standard input and SIGKILL two seconds later; the servers should have ended by then.
const GRACE: Duration = Duration::from_millis(500);
/// Another process that holds the directory may be just starting or ending, so it is worth looking again.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const N_LOOKS: usize = 200;
/// Only processes of this machine can connect.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(super) async fn run(options: Stdio) -> Result<(), Failure> {
    let sources = sources(&options.source, Some(LISTEN));
    let key = key_origin(&sources);
    // What is wrong with the configuration does not matter while another process is the gateway.
    match find(&sources.data, key.as_ref().unwrap_or(&KeyOrigin::IfThere)).await? {
        DirectoryOwner::ThisProcess(persistence) => {
            key?;
            own(&options, sources, *persistence).await
        }
        DirectoryOwner::Gateway(endpoint) => relay(&options, &sources, endpoint).await,
    }
}

/// Who owns the data directory.
enum DirectoryOwner {
    /// This process does now.
    ThisProcess(Box<Persistence>),
    /// A running gateway, which can be reached.
    Gateway(Announced),
}

/// Locks the directory, or finds the gateway that holds it. The lock shows whether a gateway runs; the
/// endpoint file may be left from an earlier one.
async fn find(data: &Path, key: &KeyOrigin) -> Result<DirectoryOwner, Failure> {
    mark_first_start(data);
    let mut holder = None;
    for _ in 0..N_LOOKS {
        match Persistence::open_with(data, clock::system(), OnLoss::Refuse, key).await {
            Ok(persistence) => return Ok(DirectoryOwner::ThisProcess(Box::new(persistence))),
            Err(error) if error.is_in_use() => {
                let endpoint =
                    Announced::read(data).filter(|endpoint| Some(endpoint.process) == error.holder());
                if let Some(endpoint) = endpoint {
                    return Ok(DirectoryOwner::Gateway(endpoint));
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
    let problem = holder.map_or_else(String::new, ToString::to_string);
    let failure = Failure::of(
        ErrorCode::GatewayGone,
        format!("{problem}, and it does not say where it can be reached"),
    );
    match holder.and_then(PersistenceError::holder) {
        Some(process) => {
            failure.hint(format!("stop it (kill {process}), or name another directory with --data DIR"))
        }
        None => failure.hint("name another directory with --data DIR"),
    }
}

/// Runs the gateway for this client, and for others while this one is connected.
async fn own(options: &Stdio, sources: Sources, persistence: Persistence) -> Result<(), Failure> {
    // Standard input belongs to the client, so nobody can be asked.
    let sources = with_secrets(sources, &persistence).await?;
    let start = StartConfig::decide(&sources, load(&sources)?, Accepting::AcceptedOnly)?;
    let own = OwnGateway::open(sources, start, persistence, Pace::Within(GRACE)).await?;
    let principal = match &options.token {
        None => Principal::local(),
        Some(token) => own.gateway.identity().authenticate(token).map_err(|_| {
            Failure::of(ErrorCode::Unauthenticated, "the token is not known")
                .hint("create one with `octroi token create --agent NAME`, or use none")
        })?,
    };
    tracing::info!(address = %own.address, "the data directory was unused; this process is its gateway now");
    let endpoint = own.http.clone();
    let shutdown = CancellationToken::new();
    let client = serve_stdio(endpoint, principal, tokio::io::stdin(), tokio::io::stdout(), shutdown.clone());
    let served = own.serve(until_signal(client, &shutdown)).await;
    served?.map_err(|error| Failure::from_error(&error))
}

/// Relays to the running gateway.
async fn relay(options: &Stdio, sources: &Sources, endpoint: Announced) -> Result<(), Failure> {
    if options.source.config.is_some() || options.source.demo {
        printer::warn(&format!(
            "process {} already uses {}, and its configuration is in effect",
            endpoint.process,
            sources.data.display()
        ));
    }
    let token = match &options.token {
        Some(token) => token.clone(),
        None => token::read_local(&sources.data).map_err(|error| {
            Failure::of(ErrorCode::Unauthenticated, "no token for the running gateway")
                .cause(error)
                .hint("restart the gateway, which then creates one, or give --token")
        })?,
    };
    let link = GatewayLink::open(&sources.data, endpoint, &token).await?;
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
        () = stop_signal() => shutdown.cancel(),
    }
    serving.await
}
