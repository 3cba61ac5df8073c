//! How a server is doing: what it is up to, and how well.

use std::time::Duration;

/// An answer that took longer is a bad sign.
const SLOW: Duration = Duration::from_secs(5);
/// So many failures in a row are no accident.
const FAILURES_MAX: u32 = 3;

/// What a server is up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Switched off.
    Disabled,
    /// Not running, and nothing wrong with that.
    #[default]
    Stopped,
    /// On its way.
    Starting,
    /// Connected.
    Running,
    /// Finishing its calls.
    Stopping,
    /// Cannot be started or reached.
    Failed,
    /// Reached, but wants credentials.
    NeedsAuth,
}

/// How well a server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Health {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// It answers, and soon.
    Healthy,
    /// It answers late, or not always.
    Degraded,
    /// It does not answer.
    Unhealthy,
}

impl Lifecycle {
    /// The word for it everywhere.
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
    /// The word for it everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Unknown, Self::Healthy, Self::Degraded, Self::Unhealthy]
            .into_iter()
            .find(|health| health.as_str() == word)
    }
}

/// What the checks of a server came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The verdict.
    pub health: Health,
    /// How long the last answer took.
    pub latency: Option<Duration>,
    /// How often in a row there was none.
    pub failures: u32,
}

impl Checks {
    /// Takes in a check: how long the answer took, or `None` if there was none.
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
