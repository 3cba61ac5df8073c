//! What a client sees: all servers under prefixed names, or one server under its own names.

use octroi_core::ServerKey;

/// The endpoint that a request came in by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// All servers in one list.
    Merged,
    /// One server alone, with its own names and URIs.
    Server(ServerKey),
}

impl View {
    /// Whether names are prefixed by their server's.
    pub fn is_merged(&self) -> bool {
        match self {
            Self::Merged => true,
            Self::Server(_) => false,
        }
    }

    /// Whether changes of this server concern the view.
    pub fn shows(&self, server: &ServerKey) -> bool {
        match self {
            Self::Merged => true,
            Self::Server(name) => name == server,
        }
    }
}
