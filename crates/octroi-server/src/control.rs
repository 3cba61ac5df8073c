//! What the gateway needs from the program that hosts it: reading its configuration again.

use std::pin::Pin;
use std::sync::Arc;

use octroi_api::operations::config::ConfigChanges;
use octroi_gateway::{Gateway, PlannedChange};
use serde_json::Value;

/// The program that hosts the gateway. It knows where the configuration comes from.
pub trait Control: Send + Sync {
    /// Reads the configuration again. Nothing changes until the plan is applied; files that cannot be used
    /// give an error instead of a plan.
    fn reload(self: Arc<Self>, gateway: Arc<Gateway>, agreed: Agreed) -> Reloading;

    /// The configuration in effect, each setting with where it comes from, without secrets.
    fn configuration(&self) -> Value;

    /// Puts the configuration that was accepted into effect with the secrets as they are stored now.
    fn secrets_changed(self: Arc<Self>, gateway: Arc<Gateway>) -> Applying;
}

/// What a person agreed to before the configuration is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// To all of the configuration with this digest. Another one is refused.
    ToDigest(String),
    /// To nothing: what needs a person waits for one.
    ToNothing,
}

/// A configuration that was read and can be put into effect.
pub type PlannedReload = PlannedChange<ConfigChanges, ReloadError>;

/// A future that reads the configuration.
pub type Reloading = Pin<Box<dyn Future<Output = Result<PlannedReload, ReloadError>> + Send>>;

/// A future that puts the configuration into effect.
pub type Applying = Pin<Box<dyn Future<Output = Result<ConfigChanges, ReloadError>> + Send>>;

/// What caused a reload that nobody requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadTrigger {
    /// A file that it comes from has changed.
    File,
    /// The process received SIGHUP.
    Signal,
}

impl ReloadTrigger {
    /// The name that audit records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Signal => "signal",
        }
    }
}

/// Why the old configuration stays in effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// The files cannot be used.
    #[error("{message}")]
    Unusable {
        /// The problem and its causes, for people.
        message: String,
        /// What to do about it, if that is known.
        hint: Option<String>,
    },
    /// The files have changed since a person looked at them.
    #[error("the configuration on disk has changed since you looked at it, so nothing was accepted")]
    OtherDigest,
}
