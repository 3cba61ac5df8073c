//! Work that takes long and needs nothing of a request: it is done on the pool for blocking work.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::Governance;

impl Governance {
    /// Does work on the pool for blocking work.
    pub(super) async fn elsewhere<T: Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let governance = Arc::clone(self);
        match self.context.tasks.spawn_blocking(name, move || work(&governance)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The pool takes no more work while the process ends, and then nobody waits for the answer.
                Err(_) => std::future::pending().await,
            },
        }
    }
}
