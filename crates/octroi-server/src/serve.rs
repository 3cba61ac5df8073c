//! Serving HTTP until shutdown, then letting calls finish.

use std::sync::Arc;
use std::time::Duration;

use octroi_gateway::Heartbeats;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::endpoint::HttpEndpoint;
use crate::front::Front;
use crate::revoked;
use crate::workers::Workers;

const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// How long background work may take after the last call.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, then lets calls finish.
pub async fn serve(
    endpoint: Arc<HttpEndpoint>,
    listener: TcpListener,
    shutdown: CancellationToken,
    heartbeats: &Heartbeats,
) -> std::io::Result<()> {
    endpoint.tasks.spawn("sweep-sessions", sweep(Arc::clone(&endpoint)));
    endpoint.tasks.spawn("end-sessions", revoked::end_sessions(Arc::clone(&endpoint)));
    let connections = Arc::clone(&endpoint.connections);
    endpoint.tasks.spawn("watch-connections", Arc::clone(&connections).watch(endpoint.closed.clone()));
    let n_workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut workers =
        Workers::start(n_workers, &Front::new(&endpoint), &connections, heartbeats, &endpoint.closing)?;
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        accepted = workers.accept(listener) => accepted?,
    }
    endpoint.closing.cancel();
    let limit = async {
        tokio::time::sleep(endpoint.settings.drain).await;
        endpoint.closed.cancel();
        // Streams end now; this leaves time to send their last event.
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    tokio::select! {
        served = workers.served() => served?,
        () = limit => tracing::warn!("some calls did not finish in time"),
    }
    endpoint.closed.cancel();
    let _ = tokio::time::timeout(LAST_MOMENT, endpoint.tasks.wait()).await;
    let _ = tokio::time::timeout(LAST_MOMENT, endpoint.operations.finished()).await;
    Ok(())
}

async fn sweep(endpoint: Arc<HttpEndpoint>) {
    let every = SWEEP_EVERY.min(endpoint.settings.session_idle);
    loop {
        tokio::select! {
            biased;
            () = endpoint.closing.cancelled() => return,
            () = tokio::time::sleep(every) => {
                for session in endpoint.sessions.sweep() {
                    endpoint.gateway.servers().end_session(&session).await;
                }
            }
        }
    }
}
