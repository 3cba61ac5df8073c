//! `octroi up`: the gateway in the foreground.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use octroi_core::config::Origin;
use octroi_core::server::ServerSpec;
use octroi_gateway::{Desk, Gateway, Memory, Processes};
use octroi_server::{Control, Door, DoorSettings, Management};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::reload::Reloader;
use crate::cli::{Source, Up};
use crate::client::Endpoint;
use crate::config::{self, Config, Sources};
use crate::{printer, token};

const STOP_LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn run(options: Up) -> Result<(), Failure> {
    let sources = sources(&options.source, options.listen);
    let config = load(&sources)?;
    if let Some(problem) = config.settings.listen_problem() {
        return Err(problem.into());
    }
    let data = sources.data.clone();
    let admin = token::admin(&data).map_err(|error| {
        Failure::new(format!("cannot keep the admin token in {}", data.display()))
            .cause(error)
            .hint("name a directory that can be written with --data DIR")
    })?;
    let memory = Memory::open(&data).await.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let address = config.settings.server.listen;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen at {address}"))
            .cause(error)
            .hint("another Octroi may be running; choose another port with --listen 127.0.0.1:0")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::from_error(&error))?;

    let door_settings = DoorSettings {
        body_bytes: config.settings.server.body_bytes,
        session_idle: config.settings.server.session_idle,
        ..DoorSettings::default()
    };
    let reloader = Reloader::new(sources, &admin.token);
    let access = reloader.access();
    let desk = Arc::new(Management::new(Arc::clone(&reloader) as Arc<dyn Control>));
    let gateway = start(Vec::new(), &data, Some(memory), Some(desk)).await?;
    let file = config.file.clone();
    let page = config.settings.approvals.url.clone();
    reloader.apply(config, &gateway).await?;
    gateway.set_page(Some(page.unwrap_or_else(|| format!("http://{address}"))));
    let door = Door::new(Arc::clone(&gateway), access, door_settings);
    let endpoint = Endpoint::announce(&data, address);
    announce(file.as_deref(), address, &admin, &gateway);
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(wait_for_signal(shutdown.clone()));
    let watcher = tokio::spawn(reloader.watch(Arc::clone(&gateway)));
    let served = octroi_server::serve(door, listener, shutdown).await;
    signals.abort();
    watcher.abort();
    drop(endpoint);
    printer::say("  stopping");
    gateway.stop(STOP_LIMIT).await;
    served.map_err(|error| Failure::from_error(&error))
}

/// What was typed, as sources of the configuration.
pub(super) fn sources(source: &Source, listen: Option<SocketAddr>) -> Sources {
    Sources {
        config: source.config.clone(),
        data: source.data.clone().unwrap_or_else(config::data_directory),
        listen: listen.map(|address| (address, listen_origin(address))),
        lenient: source.lenient,
        demo: source.demo,
    }
}

/// Clap does not tell a variable from an option; they differ only if they say different things.
fn listen_origin(address: SocketAddr) -> Origin {
    const VARIABLE: &str = "OCTROI_LISTEN";
    match std::env::var(VARIABLE) {
        Ok(text) if text.parse() == Ok(address) => Origin::Environment(VARIABLE),
        _ => Origin::Flag("--listen"),
    }
}

/// Reads the configuration and tells what is left out.
pub(super) fn load(sources: &Sources) -> Result<Config, Failure> {
    let config = config::load(sources)?;
    for problem in &config.settings.problems {
        printer::warn(&problem.to_string());
    }
    Ok(config)
}

pub(super) async fn start(
    servers: Vec<ServerSpec>,
    data: &Path,
    memory: Option<Memory>,
    desk: Option<Arc<dyn Desk>>,
) -> Result<Arc<Gateway>, Failure> {
    let owner = data.canonicalize().unwrap_or_else(|_| data.to_path_buf());
    // A gateway of one client may run beside the one that has the directory, which must not take its
    // processes for something left over.
    let kind = if memory.is_some() { "up" } else { "stdio" };
    let processes = Processes {
        owner: format!("{kind}:{}", owner.display()),
        keeper: Some(keeper()),
        // Who has the store has the directory to itself.
        is_alone: memory.is_some(),
    };
    Gateway::start(servers, processes, memory, desk).await.map_err(|error| Failure::from_error(&error))
}

/// The program that stays with servers: this one, also after its file was replaced by an update. Where
/// another program runs this one, as valgrind does, a variable says where it is.
fn keeper() -> PathBuf {
    std::env::var_os("OCTROI_KEEPER").map_or_else(|| PathBuf::from("/proc/self/exe"), PathBuf::from)
}

fn announce(file: Option<&Path>, address: SocketAddr, admin: &token::AdminToken, gateway: &Gateway) {
    let n_servers = gateway.status().len();
    printer::say(&format!("octroi {}  {n_servers} servers", env!("CARGO_PKG_VERSION")));
    printer::fact("MCP", &format!("http://{address}/mcp"));
    if admin.is_new {
        printer::fact("Token", &format!("{}   (shown once, kept in {})", admin.token, admin.file.display()));
    } else {
        printer::fact("Token", &format!("in {}", admin.file.display()));
    }
    match file {
        Some(file) => printer::fact("Config", &file.display().to_string()),
        None => printer::fact("Config", "none found; write octroi.toml, see examples/octroi.toml"),
    }
    let data = admin.file.parent().unwrap_or(Path::new("."));
    // As it was called: it may not be on the PATH.
    let program = std::env::args().next().unwrap_or_else(|| "octroi".to_owned());
    let is_usual = data == config::data_directory();
    let place = if is_usual { String::new() } else { format!(" --data {}", data.display()) };
    let next = format!("{program} status{place}");
    printer::fact("Next", &next);
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn wait_for_signal(shutdown: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
    shutdown.cancel();
}
