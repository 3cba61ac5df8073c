//! The terminal that Octroi was started from, and its end.

use std::io::IsTerminal as _;

use tokio::signal::unix::{SignalKind, signal};

/// Whether one of the standard streams was a terminal at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    was_there: bool,
}

impl Terminal {
    /// The terminal as it is now.
    pub(crate) fn at_start() -> Self {
        Self { was_there: is_there() }
    }

    /// Whether there was a terminal, and it was closed. SIGHUP says so then, and does not ask for a reload.
    pub(crate) fn is_closed(self) -> bool {
        self.was_there && !is_there()
    }

    /// Waits until it is closed: for ever without one, as for a service.
    pub(crate) async fn closed(self) {
        let hangup = if self.was_there { signal(SignalKind::hangup()).ok() } else { None };
        let Some(mut hangup) = hangup else {
            return std::future::pending().await;
        };
        while hangup.recv().await.is_some() {
            if self.is_closed() {
                return;
            }
        }
    }
}

fn is_there() -> bool {
    std::io::stdin().is_terminal() || std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}
