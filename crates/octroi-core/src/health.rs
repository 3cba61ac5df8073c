//! The lifecycle and the health of a server.

use std::time::Duration;

/// A slower answer makes the server degraded.
const SLOW: Duration = Duration::from_secs(5);
/// This many failures in a row make the server unhealthy.
const FAILURES_MAX: u32 = 3;

/// The lifecycle state of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Switched off.
    Disabled,
    /// Not running, without an error.
    #[default]
    Stopped,
    /// Starting or connecting.
    Starting,
    /// Connected.
    Running,
    /// Finishing its calls before it stops.
    Stopping,
    /// It could not be started or reached.
    Failed,
    /// Reached, but it requires credentials.
    NeedsAuth,
}

/// The health of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Health {
    /// Not checked yet.
    #[default]
    Unknown,
    /// It answers in time.
    Healthy,
    /// It answers slowly, or not always.
    Degraded,
    /// It does not answer.
    Unhealthy,
}

impl Lifecycle {
    /// Its name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs_auth",
        }
    }
}

impl Health {
    /// Its name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Unknown, Self::Healthy, Self::Degraded, Self::Unhealthy]
            .into_iter()
            .find(|health| health.as_str() == word)
    }
}

/// The result of a server's health checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The resulting health.
    pub health: Health,
    /// The latency of the last answer.
    pub latency: Option<Duration>,
    /// The number of failures in a row.
    pub failures: u32,
}

impl Checks {
    /// Records a check: how long the answer took, or `None` if there was none.
    pub fn observe(&mut self, answered_in: Option<Duration>) {
        match answered_in {
            Some(latency) => {
                self.failures = 0;
                self.latency = Some(latency);
                self.health = if latency > SLOW { Health::Degraded } else { Health::Healthy };
            }
            None => {
                self.failures = self.failures.saturating_add(1);
                self.health =
                    if self.failures >= FAILURES_MAX { Health::Unhealthy } else { Health::Degraded };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Option<Duration> = Some(Duration::from_millis(20));
    const LATE: Option<Duration> = Some(Duration::from_millis(5_001));

    #[test]
    fn health_follows_the_checks() {
        for (checks, health, failures) in [
            (&[][..], Health::Unknown, 0),
            (&[FAST], Health::Healthy, 0),
            (&[Some(SLOW)], Health::Healthy, 0),
            (&[LATE], Health::Degraded, 0),
            (&[FAST, None], Health::Degraded, 1),
            (&[None, None], Health::Degraded, 2),
            (&[None, None, None], Health::Unhealthy, 3),
            (&[None, None, None, None], Health::Unhealthy, 4),
            (&[None, None, FAST, None], Health::Degraded, 1),
            (&[None, None, None, FAST], Health::Healthy, 0),
        ] {
            let mut found = Checks::default();
            for check in checks {
                found.observe(*check);
            }
            assert_eq!((found.health, found.failures), (health, failures), "{checks:?}");
        }
    }
}
