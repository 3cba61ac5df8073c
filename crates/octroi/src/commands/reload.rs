//! Reading the configuration again while the gateway runs.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use octroi_api::operations::config::{ConfigChanges, ConfigDifference};
use octroi_core::ServerKey;
use octroi_core::config::compare::ConfigChange;
use octroi_core::config::{AutoReload, Origins, SecretUse};
use octroi_gateway::{Changes, EntrySettings, Gateway, PlannedChange, WaitingChanges};
use octroi_server::{
    Access, AccessSettings, Agreed, Applying, Control, Operations, PlannedReload, ReloadError, ReloadTrigger,
    Reloading,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::certificate::GatewayCertificate;
use super::master_key::master_keys;
use super::start::secret_uses;
use crate::config::accepted::{Accepted, Agreement, ReadConfig, Review};
use crate::config::{self, FileSource, Sources, StoredSecrets, catalogues};
use crate::failure::Failure;
use crate::governance;
use crate::terminal::Terminal;

/// How often to check whether a file changed. Polling by name also notices when an editor replaced the file
/// or a link was changed, which a watch on the file itself would miss.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Applies the configuration files to the gateway.
pub(super) struct Reloader {
    sources: Sources,
    /// The longest shutdown timeout of any server.
    grace: Option<Duration>,
    access: OnceLock<Arc<Access>>,
    certificate: Arc<GatewayCertificate>,
    state: Mutex<WatchState>,
    reloading: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Default)]
struct WatchState {
    watched: Vec<PathBuf>,
    /// What waits for a person, and of which files.
    waiting: Vec<ConfigChange>,
    digest: String,
    secret_uses: Vec<SecretUse>,
    /// What is in effect; `None` until the first configuration was applied.
    accepted: Option<Accepted>,
}

/// A configuration to put into effect.
pub(super) struct DecidedChanges {
    pub(super) accepted: Accepted,
    /// The servers that a person has seen in it and accepted.
    pub(super) agreed: HashSet<ServerKey>,
    /// The differences that wait for a person.
    pub(super) waiting: Vec<ConfigChange>,
    /// Identifies the configuration on disk.
    pub(super) digest: String,
    /// What to look at for changes.
    pub(super) watched: Vec<PathBuf>,
    /// Who refers to which stored secret.
    pub(super) secret_uses: Vec<SecretUse>,
}

impl Reloader {
    pub(super) fn new(
        sources: Sources,
        grace: Option<Duration>,
        certificate: Arc<GatewayCertificate>,
    ) -> Arc<Self> {
        let (access, state, reloading) = (OnceLock::new(), Mutex::default(), Arc::default());
        Arc::new(Self { sources, grace, access, certificate, state, reloading })
    }

    /// Who may reach a gateway.
    pub(super) fn access(&self, gateway: &Gateway) -> Arc<Access> {
        let access = self.access.get_or_init(|| Arc::new(Access::new(Arc::clone(gateway.identity()))));
        Arc::clone(access)
    }

    /// Puts a configuration into effect.
    pub(super) async fn apply(
        &self,
        decided: DecidedChanges,
        gateway: &Arc<Gateway>,
    ) -> Result<Changes, Failure> {
        let DecidedChanges { accepted, agreed, waiting, digest, watched, secret_uses } = decided;
        let mut settings = accepted.complete.settings.clone();
        config::make_server_directories(&settings.servers, &self.sources.data)?;
        let governance = governance::settings(&accepted.complete);
        let mut secrets = settings.secrets();
        secrets.extend(gateway.secrets().redacted());
        secrets.extend(master_keys());
        let governed = gateway.govern(governance, settings.audit.clone(), &secrets).await;
        governed.map_err(|problem| {
            Failure::from_error(&problem).hint("check it with `octroi policy check FILE`")
        })?;
        let catalogues = catalogues::read(&settings, accepted.file());
        let rules = AccessSettings {
            hosts: settings.server.allowed_hosts,
            origins: settings.server.allowed_origins,
            admin_token: settings.server.admin_token,
            trusted_proxies: settings.server.trusted_proxies,
            is_rest_enabled: settings.rest.is_enabled,
        };
        self.access(gateway).replace(&rules);
        let may_members_run_commands = settings.members.allow_host_commands;
        gateway.offers().set_members(settings.members);
        gateway.offers().set_catalogues(catalogues.templates, catalogues.presets);
        let mut watched = watched;
        watched.extend(catalogues.watched);
        watched.sort();
        watched.dedup();
        gateway.identity().set_entries(settings.tokens);
        let mut problems: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
        if let Err(error) = accepted.keep(&self.sources.data) {
            tracing::error!(%error, "the accepted configuration could not be kept");
            problems.push(format!("the accepted configuration could not be kept: {error}"));
        }
        self.certificate.look(settings.server.tls.as_ref(), gateway);
        gateway.secrets().set_uses(secret_uses.clone());
        *self.state.lock() = WatchState {
            watched,
            waiting: waiting.clone(),
            digest: digest.clone(),
            secret_uses,
            accepted: Some(accepted),
        };
        if let Some(grace) = self.grace {
            for server in &mut settings.servers {
                server.timeouts.shutdown = server.timeouts.shutdown.min(grace);
            }
        }
        gateway.stored_servers().configure(EntrySettings {
            directory: Some(config::server_directories(&self.sources.data)),
            health_interval: settings.mcp.health_check_interval,
            may_members_run_commands,
            grace: self.grace,
        });
        let changes = gateway.servers().apply(settings.servers, settings.mcp.enabled, &agreed);
        // What people chose is stored by ids, also of servers in the file.
        gateway.choices().renew();
        gateway.set_problems(problems);
        let digest = (!waiting.is_empty()).then_some(digest);
        gateway.set_waiting_changes(WaitingChanges { changes: differences(&waiting), digest });
        Ok(changes)
    }

    /// The sources with the secrets as they are stored now.
    async fn current_sources(&self, gateway: &Gateway) -> Result<Sources, Failure> {
        let secrets = gateway.secrets().for_configuration().await;
        let secrets = secrets.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
        Ok(Sources { secrets: StoredSecrets::Read(secrets), ..self.sources.clone() })
    }

    /// Reads the files again. They are refused if others can write them.
    fn read(sources: &Sources) -> Result<ReadConfig, Failure> {
        let config = config::load(sources)?;
        config::refuse_exposed(&config)?;
        ReadConfig::new(config, FileSource::Disk)
    }

    /// Reads the files and plans to apply them; if they cannot be used, everything stays as it is.
    async fn plan(
        self: Arc<Self>,
        gateway: Arc<Gateway>,
        agreed: Agreed,
    ) -> Result<PlannedReload, ReloadError> {
        // Held until the change is applied: a configuration that was read earlier must not be applied later.
        let reloading = Arc::clone(&self.reloading).lock_owned().await;
        let sources = self.current_sources(&gateway).await.map_err(|failure| refused(failure, &gateway))?;
        let new = Self::read(&sources).map_err(|failure| refused(failure, &gateway))?;
        let digest = new.digest();
        let agreement = match agreed {
            Agreed::ToDigest(seen) if seen == digest => Agreement::Person,
            Agreed::ToDigest(_) => return Err(ReloadError::OtherDigest),
            Agreed::ToNothing => Agreement::Nobody,
        };
        let accepted = self.state.lock().accepted.clone().unwrap_or_else(|| Accepted::all_of(&new));
        let agreed = match agreement {
            Agreement::Person => new.changed_servers(Some(&accepted)),
            Agreement::Nobody => HashSet::new(),
        };
        let review = accepted.review(&new, agreement);
        let settings = &review.accepted.complete.settings;
        if let Some(problem) = new.complete.settings.listen_problem().or_else(|| settings.listen_problem()) {
            return Err(refused(Failure::from(problem), &gateway));
        }
        let names = gateway.servers().names();
        let before = json!({"servers": names, "problems": gateway.problems()});
        let names: Vec<String> = settings.servers.iter().map(|server| server.key.to_string()).collect();
        let problems: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
        let applied: Vec<ConfigChange> =
            review.changes.into_iter().filter(|change| !review.waiting.contains(change)).collect();
        let after = json!({
            "servers": names,
            "problems": problems,
            "applied": differences(&applied),
            "waiting": differences(&review.waiting),
            "digest": digest,
        });
        if !review.waiting.is_empty() {
            let n_waiting = review.waiting.len();
            tracing::warn!(n_waiting, "changes of the configuration wait for a person; see `octroi status`");
        }
        let Review { accepted, waiting, .. } = review;
        let secret_uses = secret_uses(&accepted, &new);
        let decided = DecidedChanges { accepted, agreed, waiting, digest, watched: new.watched, secret_uses };
        let subject = json!({"change": "config_reloaded"});
        Ok(PlannedChange::new(subject, before, after, async move {
            let _reloading = reloading;
            let applied = self.apply(decided, &gateway).await;
            let changes = applied.map_err(|failure| refused(failure, &gateway))?;
            tracing::info!(?changes, "configuration reloaded");
            Ok(describe(changes, &gateway))
        }))
    }

    /// Puts what was accepted into effect with the secrets as they are stored now. The files are looked at as after any
    /// change of them: what needs a person still waits.
    async fn use_secrets(self: Arc<Self>, gateway: Arc<Gateway>) -> Result<ConfigChanges, ReloadError> {
        let _reloading = Arc::clone(&self.reloading).lock_owned().await;
        let sources =
            self.current_sources(&gateway).await.map_err(|failure| stored_only(failure, &gateway))?;
        let WatchState { watched, waiting, digest, secret_uses: uses, accepted } = self.state.lock().clone();
        let Some(before) = accepted else {
            return Ok(ConfigChanges::default());
        };
        let accepted = before.with_secrets(&sources).map_err(|failure| stored_only(failure, &gateway))?;
        // Who wrote their entries was asked about them. What `auto_reload = true` brought in, nobody was.
        let agreed = match accepted.complete.settings.mcp.auto_reload {
            AutoReload::Ask | AutoReload::Never => accepted.new_servers(&before),
            AutoReload::Always => HashSet::new(),
        };
        let as_before = DecidedChanges { accepted, agreed, waiting, digest, watched, secret_uses: uses };
        let (decided, unusable) = if self.is_automatic() {
            match Self::read(&sources) {
                Ok(new) => (reviewed(as_before, &new), None),
                Err(failure) => (as_before, Some(failure)),
            }
        } else {
            (as_before, None)
        };
        let applied = self.apply(decided, &gateway).await;
        let changes = applied.map_err(|failure| stored_only(failure, &gateway))?;
        tracing::info!(?changes, "stored secrets changed");
        if let Some(failure) = unusable {
            refused(failure, &gateway);
        }
        Ok(describe(changes, &gateway))
    }

    /// Reloads when a file changes, also that of the certificate, or SIGHUP comes, until it is aborted.
    pub(super) async fn watch(self: Arc<Self>, operations: Arc<Operations>, gateway: Arc<Gateway>) {
        let Ok(mut hangup) = signal(SignalKind::hangup()) else {
            return;
        };
        let terminal = Terminal::at_start();
        let mut seen = self.fingerprint();
        loop {
            let signalled = tokio::select! {
                // The end of the terminal sends the same signal.
                _ = hangup.recv() => (!terminal.is_closed()).then_some(ReloadTrigger::Signal),
                () = tokio::time::sleep(LOOK_EVERY) => None,
            };
            // A renewed certificate is no change of the configuration.
            self.look_at_certificate(&gateway);
            let found = self.fingerprint();
            let is_automatic = found != seen && self.is_automatic();
            if let Some(trigger) = signalled.or(is_automatic.then_some(ReloadTrigger::File)) {
                operations.reload(trigger).await;
            }
            seen = found;
        }
    }

    /// Notices a new certificate.
    fn look_at_certificate(&self, gateway: &Gateway) {
        let files = {
            let state = self.state.lock();
            state.accepted.as_ref().and_then(|accepted| accepted.complete.settings.server.tls.clone())
        };
        self.certificate.look(files.as_ref(), gateway);
    }

    /// Whether a changed file does something by itself.
    fn is_automatic(&self) -> bool {
        let state = self.state.lock();
        let reload = state.accepted.as_ref().map(|accepted| accepted.complete.settings.mcp.auto_reload);
        match reload {
            Some(AutoReload::Always | AutoReload::Ask) => true,
            Some(AutoReload::Never) | None => false,
        }
    }

    /// Changes when a file, or the target of its name, changes.
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

/// What was accepted, compared with the files as they are now.
fn reviewed(as_before: DecidedChanges, new: &ReadConfig) -> DecidedChanges {
    let Review { accepted, waiting, .. } = as_before.accepted.review(new, Agreement::Nobody);
    if accepted.complete.settings.listen_problem().is_some() {
        return as_before;
    }
    let secret_uses = secret_uses(&accepted, new);
    let watched = new.watched.clone();
    DecidedChanges { accepted, waiting, digest: new.digest(), watched, secret_uses, ..as_before }
}

fn describe(changes: Changes, gateway: &Gateway) -> ConfigChanges {
    let Changes { added, changed, removed, unchanged } = changes;
    let unchanged = u64::try_from(unchanged).unwrap_or(u64::MAX);
    let (problems, waiting) = (gateway.problems(), gateway.waiting_changes());
    ConfigChanges {
        added,
        changed,
        removed,
        unchanged,
        problems,
        waiting: waiting.changes.clone(),
        waiting_digest: waiting.digest.clone(),
    }
}

impl Control for Reloader {
    fn reload(self: Arc<Self>, gateway: Arc<Gateway>, agreed: Agreed) -> Reloading {
        Box::pin(self.plan(gateway, agreed))
    }

    fn configuration(&self) -> Value {
        let state = self.state.lock();
        let settings = state.accepted.as_ref().map(|accepted| &accepted.complete.settings);
        settings
            .map_or(Value::Null, |settings| settings.effective.to_json(Origins::Included, &settings.problems))
    }

    fn secrets_changed(self: Arc<Self>, gateway: Arc<Gateway>) -> Applying {
        Box::pin(self.use_secrets(gateway))
    }
}

/// Differences as records and the status have them.
pub(super) fn differences(changes: &[ConfigChange]) -> Vec<ConfigDifference> {
    let difference = |change: &ConfigChange| ConfigDifference {
        setting: change.setting.clone(),
        before: change.before.clone(),
        after: change.after.clone(),
    };
    changes.iter().map(difference).collect()
}

/// The change of a secret is stored, and the configuration cannot be used with it.
fn stored_only(failure: Failure, gateway: &Gateway) -> ReloadError {
    match refused(failure, gateway) {
        ReloadError::Unusable { message, hint } => ReloadError::Unusable {
            message: format!("the change is stored, but not in effect: {message}"),
            hint,
        },
        other @ ReloadError::OtherDigest => other,
    }
}

/// Reports in the log and in the status why the old configuration stays in effect.
fn refused(failure: Failure, gateway: &Gateway) -> ReloadError {
    let Failure { message, causes, hint, .. } = failure;
    let message = std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": ");
    tracing::warn!(error = message, "configuration not usable, the old one stays in effect");
    let next = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    gateway
        .set_problems(vec![format!("not reloaded, the old configuration stays in effect: {message}{next}")]);
    ReloadError::Unusable { message, hint }
}
