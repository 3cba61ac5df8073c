//! Serving a door until it is asked to close, then letting calls finish.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::door::Door;
use crate::front::Front;
use crate::workers::Workers;

const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// How long what goes on in the background may take at the end.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, then lets calls finish.
pub async fn serve(
    door: Arc<Door>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    door.tasks.spawn("sweep-sessions", sweep(Arc::clone(&door)));
    let n_workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut workers = Workers::start(n_workers, &Front::new(&door), &door.closing)?;
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        filled = workers.fill(listener) => filled?,
    }
    door.closing.cancel();
    let limit = async {
        tokio::time::sleep(door.settings.drain).await;
        door.closed.cancel();
        // Streams end now; a moment to say so.
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    tokio::select! {
        served = workers.served() => served?,
        () = limit => tracing::warn!("some calls did not finish in time"),
    }
    door.closed.cancel();
    let _ = tokio::time::timeout(LAST_MOMENT, door.tasks.wait()).await;
    let _ = tokio::time::timeout(LAST_MOMENT, door.operations.finished()).await;
    Ok(())
}

async fn sweep(door: Arc<Door>) {
    let every = SWEEP_EVERY.min(door.settings.session_idle);
    loop {
        tokio::select! {
            biased;
            () = door.closing.cancelled() => return,
            () = tokio::time::sleep(every) => {
                for session in door.sessions.sweep() {
                    door.gateway.servers().end_session(&session).await;
                }
            }
        }
    }
}
