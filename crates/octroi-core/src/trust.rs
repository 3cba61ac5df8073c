//! Trust in servers.

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Unknown source, or dangerous operations.
    Low,
    /// Community servers, limited side effects.
    #[default]
    Medium,
    /// Official or verified sources.
    High,
}

impl Trust {
    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
