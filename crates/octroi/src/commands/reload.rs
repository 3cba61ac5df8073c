//! Reading the configuration again while the gateway runs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::principal::TokenHash;
use octroi_core::{Principal, Role, Tokens};
use octroi_gateway::{Changes, Gateway};
use octroi_server::{Access, AccessSettings, Control, Reloading};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use crate::config::{self, Config, Sources};
use crate::governance;

/// How often to look whether a file changed. Looking at a name finds whatever is behind it, also after
/// an editor replaced the file or somebody turned a link, which a watch on the file itself would miss.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Brings what the files say into the gateway.
pub(super) struct Reloader {
    sources: Sources,
    own: OwnTokens,
    /// The most that any server may take to leave.
    grace: Option<Duration>,
    access: Arc<Access>,
    state: Mutex<State>,
    reloading: tokio::sync::Mutex<()>,
}

/// The tokens that no file names.
pub(super) struct OwnTokens {
    /// Of the person who runs Octroi.
    pub(super) admin: TokenHash,
    /// Of clients that start `octroi stdio`.
    pub(super) local: TokenHash,
}

#[derive(Default)]
struct State {
    watched: Vec<PathBuf>,
    is_automatic: bool,
}

impl Reloader {
    pub(super) fn new(sources: Sources, own: OwnTokens, grace: Option<Duration>) -> Arc<Self> {
        // Nobody comes in before the first configuration was applied.
        let access = Arc::new(Access::new(Tokens::default(), &AccessSettings::default()));
        Arc::new(Self {
            sources,
            own,
            grace,
            access,
            state: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access)
    }

    /// Puts a configuration into effect.
    pub(super) async fn apply(&self, config: Config, gateway: &Arc<Gateway>) -> Result<Changes, Failure> {
        let mut settings = config.settings;
        let (governance, files) = governance::read(&settings)?;
        let secrets = governance::secrets(&settings);
        let governed = gateway.govern(governance, settings.audit.clone(), &secrets).await;
        governed.map_err(|problem| {
            Failure::from_error(&problem).hint("check it with `octroi policy check FILE`")
        })?;
        let principal =
            Principal { id: "admin".into(), role: Role::Human, agent_id: None, token: "admin".into() };
        settings.tokens.insert(self.own.admin, principal);
        settings.tokens.insert(self.own.local, Principal::local());
        let rules = AccessSettings {
            hosts: settings.server.allowed_hosts,
            origins: settings.server.allowed_origins,
            admin_token: settings.server.admin_token,
        };
        self.access.replace(settings.tokens, &rules);
        let watched = config.watched.into_iter().chain(files).collect();
        *self.state.lock() = State { watched, is_automatic: settings.mcp.auto_reload };
        if let Some(grace) = self.grace {
            for server in &mut settings.servers {
                server.timeouts.shutdown = server.timeouts.shutdown.min(grace);
            }
        }
        let changes = gateway.apply(settings.servers, settings.mcp.enabled);
        gateway.set_problems(settings.problems.iter().map(ToString::to_string).collect());
        Ok(changes)
    }

    /// Reads the files and puts them into effect; if they cannot be used, everything stays as it is.
    async fn reload(&self, gateway: &Arc<Gateway>) -> Result<Changes, String> {
        // What was read first must not count last.
        let _reloading = self.reloading.lock().await;
        let loaded = config::load(&self.sources).map_err(Failure::from).and_then(|config| {
            match config.settings.listen_problem() {
                Some(problem) => Err(Failure::from(problem)),
                None => Ok(config),
            }
        });
        let applied = match loaded {
            Ok(config) => self.apply(config, gateway).await,
            Err(failure) => Err(failure),
        };
        match applied {
            Ok(changes) => {
                tracing::info!(?changes, "configuration read again");
                Ok(changes)
            }
            Err(failure) => {
                let told =
                    std::iter::once(failure.message).chain(failure.causes).collect::<Vec<_>>().join(": ");
                tracing::warn!(error = told, "configuration not usable, the old one stays");
                gateway.set_problems(vec![format!("not read again, the old configuration stays: {told}")]);
                Err(told)
            }
        }
    }

    /// Reloads when a file changes or SIGHUP comes, for ever.
    pub(super) async fn watch(self: Arc<Self>, gateway: Arc<Gateway>) {
        let Ok(mut hangup) = signal(SignalKind::hangup()) else {
            return;
        };
        let mut seen = self.fingerprint();
        loop {
            let is_asked = tokio::select! {
                _ = hangup.recv() => true,
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
            let found = self.fingerprint();
            if is_asked || (found != seen && self.state.lock().is_automatic) {
                // What is wrong is told where people look; there is nobody here to tell.
                let _ = self.reload(&gateway).await;
            }
            seen = found;
        }
    }

    /// Differs when a file, or what its name leads to, was changed.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in &self.state.lock().watched {
            path.hash(&mut hasher);
            if let Ok(found) = std::fs::metadata(path) {
                (found.ino(), found.size(), found.mtime(), found.mtime_nsec()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Control for Reloader {
    fn reload<'a>(&'a self, gateway: &'a Arc<Gateway>) -> Reloading<'a> {
        Box::pin(async move {
            let changes = Reloader::reload(self, gateway).await?;
            let mut told: Value = json!(changes);
            told["problems"] = json!(*gateway.problems());
            Ok(told)
        })
    }
}
