//! What a client sees: everything under prefixed names, or one server under its own.

use octroi_core::ServerName;

/// The endpoint a request came in by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// All servers in one list.
    Merged,
    /// The same, and Octroi's own tools and resources.
    Managed,
    /// One server alone, with its own names and URIs.
    Server(ServerName),
}

impl View {
    /// Whether servers are told apart by their names here.
    pub fn is_merged(&self) -> bool {
        match self {
            Self::Merged | Self::Managed => true,
            Self::Server(_) => false,
        }
    }

    /// Whether news of this server concern the view.
    pub fn shows(&self, server: &ServerName) -> bool {
        match self {
            Self::Merged | Self::Managed => true,
            Self::Server(name) => name == server,
        }
    }
}
