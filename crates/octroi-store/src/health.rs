//! How a server was.

/// Samples kept of one server; older ones are dropped.
pub const SAMPLES_MAX: u32 = 1_000;

/// Letters kept of an error: a server writes it, and a thousand of them are kept.
pub const ERROR_LENGTH_MAX: usize = 1_000;

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nobody asked it yet.
    Unknown,
    /// It answers.
    Healthy,
    /// It answers, but late or not always.
    Degraded,
    /// It does not answer.
    Unhealthy,
}

impl Health {
    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Unknown, Self::Healthy, Self::Degraded, Self::Unhealthy]
            .into_iter()
            .find(|health| health.as_str() == word)
    }
}

/// How a server was at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSample {
    /// When it was asked.
    pub at_ms: i64,
    /// How it was.
    pub health: Health,
    /// How long it took to answer.
    pub latency_ms: Option<i64>,
    /// What it answered instead, or why it did not. Safe to show.
    pub error: Option<String>,
}
