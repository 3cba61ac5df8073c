//! Running a gateway that owns its data directory: what `octroi up` and `octroi stdio` have in common.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use octroi_api::Operation as _;
use octroi_api::operations::config::ConfigReload;
use octroi_api::operations::tokens::TokensCreate;
use octroi_core::audit::Kind;
use octroi_core::config::ClientLimits;
use octroi_core::principal::{BUILT_IN_ADMIN, DEFAULT_AGENT, LOCAL_AGENT};
use octroi_core::syntax::Origin;
use octroi_gateway::{
    BackgroundTasks, ChangeAuthor, Gateway, GatewayOptions, Heartbeat, Heartbeats, KeyOrigin, OperatorError,
    PageBase, Persistence, PersistenceError, PlannedChange, Processes, TokenSubject, raise_open_files,
    start_watchdog,
};
use octroi_server::{AgentTools, Control, HttpEndpoint, HttpSettings, Operations};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::certificate::GatewayCertificate;
use super::master_key;
use super::reload::{DecidedChanges, Reloader, differences};
use super::start::StartConfig;
use crate::cli::Source;
use crate::config::accepted::ReadConfig;
use crate::config::{self, FileSource, Sources, StoredSecrets};
use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::token::{self, KeptToken};
use crate::{clock, printer};

const STOP_LIMIT: Duration = Duration::from_secs(10);
/// What a stop may take besides draining calls and ending servers. Then the watchdog ends the process.
const STOP_MARGIN: Duration = Duration::from_secs(5);
/// How often the main runtime shows that it is not stuck.
const PULSE: Duration = Duration::from_millis(500);

/// How quickly the gateway has to shut down.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// As the configuration says.
    Configured,
    /// Within this time, because the parent process kills it soon after.
    Within(Duration),
}

/// A gateway that is ready to serve. The endpoint file in the data directory holds its address.
pub(super) struct OwnGateway {
    pub(super) gateway: Arc<Gateway>,
    pub(super) address: SocketAddr,
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    pub(super) operations: Arc<Operations>,
    pub(super) admin: KeptToken,
    /// The token of the agent `default`, for clients.
    pub(super) agent: KeptToken,
    listener: TcpListener,
    pub(super) http: Arc<HttpEndpoint>,
    reloader: Arc<Reloader>,
    endpoint: Endpoint,
}

impl OwnGateway {
    /// Applies a configuration and starts listening. The store locks the directory, so no other process
    /// creates its tokens at the same time.
    pub(super) async fn open(
        sources: Sources,
        start: StartConfig,
        persistence: Persistence,
        pace: Pace,
    ) -> Result<Self, Failure> {
        let data = sources.data.clone();
        let kept = |token: std::io::Result<KeptToken>| {
            token.map_err(|error| {
                Failure::new(format!("cannot keep a token in {}", data.display()))
                    .cause(error)
                    .hint("name a directory that can be written with --data DIR")
            })
        };
        let (admin, local) = (kept(token::admin(&data))?, kept(token::local(&data))?);
        let agent = kept(token::default_agent(&data))?;
        let settings = &start.accepted.complete.settings;
        let certificate = Arc::new(GatewayCertificate::open(&data, settings.server.tls.as_ref())?);
        let address = settings.server.listen;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Failure::new(format!("cannot listen at {address}"))
                .cause(error)
                .hint("another Octroi may be running; choose another port with --listen 127.0.0.1:0")
        })?;
        let address = listener.local_addr().map_err(|error| Failure::from_error(&error))?;

        let mut http_settings = HttpSettings {
            body_bytes: settings.server.body_bytes,
            session_idle: settings.server.session_idle,
            session_restore: settings.server.session_restore,
            limits: within_open_files(settings.server.limits),
            tls: certificate.tls(),
            ..HttpSettings::default()
        };
        let grace = match pace {
            Pace::Configured => None,
            Pace::Within(limit) => {
                http_settings.drain = limit;
                Some(limit)
            }
        };
        let scheme = certificate.scheme();
        let reloader = Reloader::new(sources, grace, certificate);
        let agent_tools = Arc::new(AgentTools::default());
        let gateway = start_gateway(&data, persistence, Arc::clone(&agent_tools)).await?;
        let control = Arc::clone(&reloader) as Arc<dyn Control>;
        let operations = Operations::new(Arc::clone(&gateway), control);
        agent_tools.connect(&operations);
        adopt(&gateway, &admin, TokenSubject::Person(BUILT_IN_ADMIN.to_owned()), BUILT_IN_ADMIN).await?;
        adopt(&gateway, &agent, TokenSubject::Agent(DEFAULT_AGENT.to_owned()), "agent:default").await?;
        adopt(&gateway, &local, TokenSubject::Agent(LOCAL_AGENT.to_owned()), LOCAL_AGENT).await?;
        let approvals_url = settings.approvals.url.clone();
        record_start(&gateway, &start).await?;
        let StartConfig { accepted, agreed, waiting, digest, watched, secret_uses, .. } = start;
        let decided = DecidedChanges { accepted, agreed, waiting, digest, watched, secret_uses };
        // Those that nothing refers to are redacted as well.
        let known = gateway.secrets().for_configuration().await;
        known.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
        reloader.apply(decided, &gateway).await?;
        let listening = || PageBase::Listening(format!("{scheme}://{address}"));
        gateway.approvals().set_page(approvals_url.map_or_else(listening, PageBase::Configured));
        let http = HttpEndpoint::new(Arc::clone(&operations), reloader.access(&gateway), http_settings);
        let endpoint = Endpoint::announce(&data, scheme, address);
        Ok(Self { gateway, address, scheme, operations, admin, agent, listener, http, reloader, endpoint })
    }

    /// Serves clients until `stopping` completes, then shuts everything down.
    pub(super) async fn serve<T>(self, stopping: impl Future<Output = T>) -> Result<T, Failure> {
        let shutdown = CancellationToken::new();
        let tasks = BackgroundTasks::new(Handle::current());
        let heartbeats = Heartbeats::default();
        let pulse = tasks.spawn("pulse", pulse(heartbeats.add("main")));
        let grace = self.http.drain() + STOP_LIMIT + STOP_MARGIN;
        start_watchdog(heartbeats.clone(), grace, clock::system())
            .map_err(|error| Failure::new("cannot start the watchdog").cause(error))?;
        let watcher = tasks.spawn(
            "watch-configuration",
            self.reloader.watch(Arc::clone(&self.operations), Arc::clone(&self.gateway)),
        );
        let until = async {
            let stopped = stopping.await;
            shutdown.cancel();
            Ok(stopped)
        };
        let served = tokio::try_join!(
            until,
            octroi_server::serve(self.http, self.listener, shutdown.clone(), &heartbeats)
        );
        watcher.abort();
        pulse.abort();
        drop(self.endpoint);
        self.gateway.stop(STOP_LIMIT).await;
        served.map(|(stopped, ())| stopped).map_err(|error| Failure::from_error(&error))
    }
}

/// Lets in whoever has a token of the data directory, unless it was revoked since. That is recorded: whoever can write
/// there, and deletes the file of a token, makes a new one.
async fn adopt(
    gateway: &Gateway,
    kept: &KeptToken,
    subject: TokenSubject,
    label: &str,
) -> Result<(), Failure> {
    let failed = |error: OperatorError| Failure::from_error(&error).hint(error.hint());
    let Some(mut change) = gateway.identity().adopt_token(&kept.token, subject, label).map_err(failed)?
    else {
        return Ok(());
    };
    change.subject["file"] = json!(kept.file.file_name().map(|name| name.to_string_lossy()));
    change.subject["is_new"] = json!(kept.is_new);
    let recorded =
        gateway.record_change(ChangeAuthor::Octroi, Kind::TokenChanged, TokensCreate::NAME, change).await;
    let recorded = recorded.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    match recorded.apply().await {
        Ok(()) => Ok(()),
        Err((error, record)) => {
            let reason = error.to_string();
            if let Err(unrecorded) = gateway.record_failed_change(&record, &reason).await {
                tracing::error!(error = %unrecorded, hint = unrecorded.hint(), "a failed change is not recorded");
            }
            Err(failed(error))
        }
    }
}

/// Records how the configuration differs from the one that was accepted before.
async fn record_start(gateway: &Gateway, start: &StartConfig) -> Result<(), Failure> {
    if start.changes.is_empty() && !start.is_lost {
        return Ok(());
    }
    let subject = json!({"change": "config_reloaded", "trigger": "start", "accepted": start.accepted_by});
    let applied: Vec<_> =
        start.changes.iter().filter(|change| !start.waiting.contains(change)).cloned().collect();
    let before = if start.is_lost { json!({"accepted": "lost"}) } else { json!({}) };
    let after = json!({"applied": differences(&applied), "waiting": differences(&start.waiting)});
    let change = PlannedChange::<(), std::convert::Infallible>::new(subject, before, after, async { Ok(()) });
    let recorded =
        gateway.record_change(ChangeAuthor::Octroi, Kind::ConfigReloaded, ConfigReload::NAME, change);
    let recorded = recorded.await.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    // The gateway was started with it: nothing is left to be done, and nothing can fail.
    recorded.apply().await.map_err(|(never, _)| match never {})
}

async fn pulse(heartbeat: Arc<Heartbeat>) {
    loop {
        heartbeat.beat();
        tokio::time::sleep(PULSE).await;
    }
}

/// Lowers the limit of connections to what the operating system allows: half of the open files, because
/// servers, the database and the audit log need some too.
fn within_open_files(limits: ClientLimits) -> ClientLimits {
    let n_files = usize::try_from(raise_open_files()).unwrap_or(usize::MAX);
    let connections = limits.connections.min(n_files / 2).max(2);
    if connections < limits.connections {
        tracing::warn!(
            max_connections = connections,
            open_files = n_files,
            "fewer connections than configured: the limit of open files is too low"
        );
    }
    ClientLimits { connections, reserved: limits.reserved.min(connections / 2), ..limits }
}

async fn start_gateway(
    data: &Path,
    persistence: Persistence,
    agent_tools: Arc<AgentTools>,
) -> Result<Arc<Gateway>, Failure> {
    let owner = data.canonicalize().unwrap_or_else(|_| data.to_path_buf());
    let processes = Processes {
        owner: format!("up:{}", owner.display()),
        reaper: Some(reaper()),
        // The store locks the directory.
        is_alone: true,
    };
    let options = GatewayOptions {
        servers: Vec::new(),
        processes,
        persistence: Some(persistence),
        builtin: Some(agent_tools),
        clock: clock::system(),
    };
    Gateway::start(options).await.map_err(|error| Failure::from_error(&error))
}

/// The program of the reaper: this one, also after an update replaced its file. Under a program that runs
/// this one, such as valgrind, a variable gives the path.
fn reaper() -> PathBuf {
    std::env::var_os("OCTROI_REAPER").map_or_else(|| PathBuf::from("/proc/self/exe"), PathBuf::from)
}

/// The failure when the data directory cannot be opened.
pub(super) fn no_store(error: &PersistenceError) -> Failure {
    Failure::from_error(error).hint(error.hint())
}

/// The sources of the configuration, from the command line.
pub(super) fn sources(source: &Source, listen: Option<SocketAddr>) -> Sources {
    Sources {
        config: source.config.clone(),
        data: source.data.clone().unwrap_or_else(config::data_directory),
        listen: listen.map(|address| (address, listen_origin(address))),
        lenient: source.lenient,
        demo: source.demo,
        secrets: StoredSecrets::NotRead,
    }
}

/// Whether the address comes from the variable or the option. Clap does not say; if both are equal, it makes
/// no difference.
fn listen_origin(address: SocketAddr) -> Origin {
    const VARIABLE: &str = "OCTROI_LISTEN";
    match std::env::var(VARIABLE) {
        Ok(text) if text.parse() == Ok(address) => Origin::Environment(VARIABLE),
        _ => Origin::Flag("--listen"),
    }
}

/// What is needed of the configuration before the store can be opened: that it can be used, and where the key is.
pub(super) fn key_origin(sources: &Sources) -> Result<KeyOrigin, Failure> {
    let config = config::load(sources)?;
    config::refuse_exposed(&config)?;
    if let Some(problem) = config.settings.listen_problem() {
        return Err(problem.into());
    }
    master_key::origin(config.settings.secrets.key_file)
}

/// The same sources with the secrets of an open store.
pub(super) async fn with_secrets(sources: Sources, persistence: &Persistence) -> Result<Sources, Failure> {
    let secrets = persistence.system_secrets().await;
    let secrets = secrets.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    Ok(Sources { secrets: StoredSecrets::Read(secrets), ..sources })
}

/// Reads the configuration and prints its problems.
pub(super) fn load(sources: &Sources) -> Result<ReadConfig, Failure> {
    let config = config::load(sources)?;
    config::refuse_exposed(&config)?;
    for problem in &config.settings.problems {
        printer::warn(&problem.to_string());
    }
    if let Some(problem) = config.settings.listen_problem() {
        return Err(problem.into());
    }
    ReadConfig::new(config, FileSource::Disk)
}

/// Catches Ctrl-C and SIGTERM from now on; the future ends with the first of them.
pub(super) fn stop_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut caught = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    async move {
        let [interrupt, terminate] = &mut caught;
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
        }
    }
}

/// A signal that cannot be caught ends the process as it always does.
async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
