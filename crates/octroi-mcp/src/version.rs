//! Protocol versions and the two eras they fall into.

use std::fmt;

/// How a peer identifies itself: once by a handshake, or with every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize` and a session; versions up to 2025-11-25.
    Legacy,
    /// Stateless requests that carry version and capabilities in `_meta`; 2026-07-28 and later.
    Modern,
}

impl Era {
    /// Its name in configuration, logs and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A protocol version that Octroi supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05: HTTP+SSE.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation.
    V2025_06_18,
    /// 2025-11-25: the last one with a handshake.
    V2025_11_25,
    /// 2026-07-28: stateless.
    V2026_07_28,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The version that Octroi proposes in a handshake, and its answer to an unknown version.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The version that Octroi sends to modern servers.
    pub const LATEST_MODERN: Self = Self::V2026_07_28;

    /// The version on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Parses a version from the wire; `None` if Octroi does not support it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The era this version belongs to.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// The version that a handshake settles on: the requested one if it is a supported legacy version,
    /// otherwise the newest legacy version, as the handshake rules require.
    pub fn negotiate(requested: &str) -> Self {
        match Self::parse(requested) {
            Some(version) if version.era() == Era::Legacy => version,
            Some(_) | None => Self::LATEST_LEGACY,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_settles_on_a_legacy_version() {
        for (requested, settled) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            assert_eq!(Version::negotiate(requested).as_str(), settled, "{requested}");
        }
    }
}
