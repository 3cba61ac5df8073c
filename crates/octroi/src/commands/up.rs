//! `octroi up`: the gateway in the foreground.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use octroi_core::principal::hash_token;
use octroi_core::server::{Program, ServerSpec, Transport};
use octroi_core::{Principal, Role, ServerName};
use octroi_gateway::{Gateway, Memory, Processes};
use octroi_server::{Access, AccessSettings, Door, DoorSettings};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::cli::{Source, Up};
use crate::config::{self, Config};
use crate::{printer, token};

const DEFAULT_PORT: u16 = 7878;
const STOP_LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn run(options: Up) -> Result<(), Failure> {
    let mut config = load(&options.source)?;
    let data = data_directory(&options.source);
    let admin = token::admin(&data).map_err(|error| {
        Failure::new(format!("cannot keep the admin token in {}", data.display()))
            .cause(error)
            .hint("name a directory that can be written with --data DIR")
    })?;
    let principal = Principal { id: "admin".into(), role: Role::Human, agent_id: None };
    config.tokens.insert(hash_token(&admin.token), principal);

    let address = options
        .listen
        .or(config.listen)
        .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)));
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen at {address}"))
            .cause(error)
            .hint("another Octroi may be running; choose another port with --listen 127.0.0.1:0")
    })?;
    let address = listener.local_addr().map_err(|error| Failure::from_error(&error))?;

    let memory = Memory::open(&data).await.map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let gateway = start(std::mem::take(&mut config.servers), &data, Some(memory)).await?;
    let access_settings =
        AccessSettings { hosts: config.allowed_hosts.clone(), origins: config.allowed_origins.clone() };
    let defaults = DoorSettings::default();
    let settings = DoorSettings {
        body_bytes: config.body_bytes.unwrap_or(defaults.body_bytes),
        session_idle: config.session_idle.unwrap_or(defaults.session_idle),
        ..defaults
    };
    let access = Access::new(std::mem::take(&mut config.tokens), &access_settings);
    let door = Door::new(Arc::clone(&gateway), access, settings);

    announce(&config, address, &admin, &gateway);
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(wait_for_signal(shutdown.clone()));
    let served = octroi_server::serve(door, listener, shutdown).await;
    signals.abort();
    printer::say("  stopping");
    gateway.stop(STOP_LIMIT).await;
    served.map_err(|error| Failure::from_error(&error))
}

pub(super) fn data_directory(source: &Source) -> PathBuf {
    source.data.clone().unwrap_or_else(config::data_directory)
}

/// Reads the configuration and adds the demo server where it is wanted.
pub(super) fn load(source: &Source) -> Result<Config, Failure> {
    let mut config = config::load(source.config.as_deref()).map_err(|error| {
        Failure::from_error(&error).hint("see examples/octroi.toml for what can be written there")
    })?;
    if source.demo {
        config.servers.push(demo_server()?);
    }
    for problem in &config.problems {
        printer::warn(problem);
    }
    Ok(config)
}

pub(super) async fn start(
    servers: Vec<ServerSpec>,
    data: &Path,
    memory: Option<Memory>,
) -> Result<Arc<Gateway>, Failure> {
    let owner = data.canonicalize().unwrap_or_else(|_| data.to_path_buf());
    let processes = Processes {
        owner: owner.to_string_lossy().into_owned(),
        keeper: Some(PathBuf::from("/proc/self/exe")),
        // Who has the store has the directory to itself.
        is_alone: memory.is_some(),
    };
    Gateway::start(servers, processes, memory).await.map_err(|error| Failure::from_error(&error))
}

fn demo_server() -> Result<ServerSpec, Failure> {
    let program: PathBuf = std::env::current_exe().map_err(|error| Failure::from_error(&error))?;
    let name = ServerName::parse("demo").map_err(|error| Failure::from_error(&error))?;
    let program = Program {
        command: program.to_string_lossy().into_owned(),
        args: vec!["demo-server".to_owned()],
        env: BTreeMap::new(),
        inherit_env: Vec::new(),
        cwd: None,
    };
    Ok(ServerSpec::new(name, Transport::Stdio(program)))
}

fn announce(config: &Config, address: SocketAddr, admin: &token::AdminToken, gateway: &Gateway) {
    let n_servers = gateway.status().len();
    printer::say(&format!("octroi {}  {n_servers} servers", env!("CARGO_PKG_VERSION")));
    printer::fact("MCP", &format!("http://{address}/mcp"));
    if admin.is_new {
        printer::fact("Token", &format!("{}   (shown once, kept in {})", admin.token, admin.file.display()));
    } else {
        printer::fact("Token", &format!("in {}", admin.file.display()));
    }
    match &config.file {
        Some(file) => printer::fact("Config", &file.display().to_string()),
        None => printer::fact("Config", "none found; write octroi.toml, see examples/octroi.toml"),
    }
    let next = format!(
        "curl -s http://{address}/health -H \"Authorization: Bearer $(cat {})\"",
        admin.file.display()
    );
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
