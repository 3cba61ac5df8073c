//! Why a handler did not take something.

use std::io;

use octroi_upstream::UpstreamError;

/// A delivery that failed, or a handler that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The name is taken, or cannot name a file.
    #[error(
        "`{name}` cannot name an audit handler: it is taken, or not made of letters, digits, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The receiver cannot be reached.
    #[error("the receiver cannot be reached")]
    Remote(#[from] UpstreamError),
    /// The receiver does not want it.
    #[error("the receiver answered HTTP {0}")]
    Status(u16),
    /// The file or socket cannot be used.
    #[error("cannot be written")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("the receiver took too long")]
    Timeout,
    /// Whatever a program's own handler says.
    #[error("{0}")]
    Other(String),
}
