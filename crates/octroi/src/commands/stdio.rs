//! `octroi stdio`: the gateway for one client, over standard streams.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_server::serve_stdio;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::up::{load, sources, start, wait_for_signal};
use crate::cli::Stdio;
use crate::governance;

const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How long servers may take to leave by themselves. Clients send SIGTERM two seconds after they closed
/// standard input and SIGKILL two seconds later; by then the servers should have left by themselves.
const GRACE: Duration = Duration::from_millis(500);

pub(super) async fn run(options: Stdio) -> Result<(), Failure> {
    let sources = sources(&options.source, None);
    let settings = load(&sources)?.settings;
    let (governance, _) = governance::read(&settings)?;
    let secrets = governance::secrets(&settings);
    let principal = match &options.token {
        None => Principal::local(),
        Some(token) => settings.tokens.find(token).cloned().ok_or_else(|| Failure {
            exit_code: 3,
            ..Failure::new("the token is not known").hint("use one of [[tokens]] in octroi.toml, or none")
        })?,
    };
    let mut servers: Vec<_> = settings.enabled_servers().cloned().collect();
    for server in &mut servers {
        server.timeouts.shutdown = server.timeouts.shutdown.min(GRACE);
    }
    let gateway = start(Vec::new(), &sources.data, None, None).await?;
    let governed = gateway.govern(governance, settings.audit.clone(), &secrets).await;
    governed.map_err(|problem| Failure::from_error(&problem))?;
    gateway.apply(servers, true);
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(wait_for_signal(shutdown.clone()));
    let served =
        serve_stdio(Arc::clone(&gateway), principal, tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    signals.abort();
    gateway.stop(STOP_LIMIT).await;
    served.map_err(|error| Failure::from_error(&error))
}
