//! Why a delivery failed.

use std::io;

use octroi_upstream::UpstreamError;

/// A delivery that failed, or a handler that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The name is already used, or not valid as a file name.
    #[error(
        "`{name}` cannot name an audit handler: it is already used, or not made of letters, digits, `_` and `-`"
    )]
    Name {
        /// The invalid name.
        name: String,
    },
    /// The receiver cannot be reached.
    #[error("the receiver cannot be reached")]
    Remote(#[from] UpstreamError),
    /// The receiver refused the events.
    #[error("the receiver answered HTTP {0}")]
    Status(u16),
    /// The file or socket cannot be used.
    #[error("cannot be written")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("the receiver took too long")]
    Timeout,
    /// An error of the embedding program's handler.
    #[error("{0}")]
    Other(String),
}
