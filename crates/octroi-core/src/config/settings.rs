//! The sections `[server]` and `[mcp]`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::client_limits::{self, ClientLimits};
use super::fields::read as read_fields;
use super::keys::{ASK, GATEWAY_TRANSPORTS, Key, MCP, OWN, OWN_HTTP, SERVER, TransportWord};
use super::problem::{Problem, ProblemLog, Unknown};
use super::reader::TableReader;
use super::show::Setting;
use super::tls::{self, TlsFiles};
use super::tokens::admin_token;
use crate::network::Network;
use crate::principal::AdminToken;
use crate::substitute::{Filled, Lookup};
use crate::syntax::{Map, Origin, Value};
use crate::wire_name::WIRE_NAME_MAX;

/// The default listen address.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);
const DEFAULT_BODY_BYTES: usize = 4 << 20;
const DEFAULT_SESSION_IDLE: Duration = Duration::from_mins(30);
const DEFAULT_SESSION_RESTORE: Duration = Duration::from_hours(7 * 24);
const DEFAULT_LIST_WAIT: Duration = Duration::from_millis(1500);
const DEFAULT_POOL_IDLE: Duration = Duration::from_mins(10);
const DEFAULT_MAX_POOLS: usize = 1_000;
const DEFAULT_HEALTH_INTERVAL: Duration = Duration::from_mins(1);
const DEFAULT_HEALTH_RETENTION: Duration = Duration::from_hours(7 * 24);

/// `[server]`: how clients reach Octroi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSection {
    /// The listen address and port.
    pub listen: SocketAddr,
    /// The origin of the listen address.
    pub listen_origin: Origin,
    /// Accepted host names besides localhost.
    pub allowed_hosts: Vec<String>,
    /// The certificate of the listen address; without one Octroi speaks HTTP.
    pub tls: Option<TlsFiles>,
    /// Peers whose headers about the client are believed.
    pub trusted_proxies: Vec<Network>,
    /// Origins of web pages that may call.
    pub allowed_origins: Vec<String>,
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// A session ends after this time without a request.
    pub session_idle: Duration,
    /// How long after it began a session is restored after a restart; `None` for never.
    pub session_restore: Option<Duration>,
    /// The token for calls that agents must not make alone, if configured.
    pub admin_token: Option<AdminToken>,
    /// A file with more tokens, if configured.
    pub token_file: Option<PathBuf>,
    /// How much of Octroi clients may use.
    pub limits: ClientLimits,
}

/// `[mcp]`: settings for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSection {
    /// Whether servers may be used at all.
    pub enabled: bool,
    /// What a changed file does by itself.
    pub auto_reload: AutoReload,
    /// The default interval of health checks.
    pub health_check_interval: Option<Duration>,
    /// How long the results of health checks are kept; `None` for as long as there is space.
    pub health_retention: Option<Duration>,
    /// The longest name of a tool or prompt in lists.
    pub wire_name_max: usize,
    /// How long a list waits for servers that were never seen.
    pub list_wait: Duration,
    /// How long an unused table of names is kept.
    pub pool_idle: Duration,
    /// How many of them are kept.
    pub max_pools: usize,
}

/// What a changed file does by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoReload {
    /// Everything in it takes effect.
    Always,
    /// Nothing happens until a person or SIGHUP asks for it.
    Never,
    /// What tightens or is harmless takes effect; the rest waits for a person.
    #[default]
    Ask,
}

/// What a section is read with.
pub(super) struct Context<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) unknown: Unknown,
    pub(super) base: &'a Arc<Path>,
}

/// A section, its displayed settings, and its problems.
pub(super) type Read<T> = (T, Vec<Setting>, Vec<Problem>);

impl Context<'_> {
    pub(super) fn reader<'b>(
        &'b self,
        map: &Map,
        keys: &'static [Key],
        mut log: ProblemLog,
    ) -> TableReader<'b> {
        let fields = read_fields(map, keys, self.base, &mut log);
        TableReader::new(fields, log, self.lookup)
    }

    pub(super) fn server(
        &self,
        map: &Map,
        own: &[Map],
        given: Option<(SocketAddr, Origin)>,
    ) -> Read<ServerSection> {
        let mut reader = self.reader(map, SERVER, ProblemLog::of_section(self.unknown));
        let written = reader.filled("listen").and_then(|text| address(&mut reader, &text));
        let mut listen = written.map(|address| (address, reader.origin("listen")));
        for map in own {
            let (address, problems) = self.own(map);
            listen = listen.or(address);
            reader.log.problems.extend(problems);
        }
        let (listen, listen_origin) = given.or(listen).unwrap_or((DEFAULT_LISTEN, Origin::Default));
        let value = json!(listen.to_string());
        reader.settings.push(Setting { name: "listen", value, origin: listen_origin.clone() });
        let section = ServerSection {
            listen,
            listen_origin,
            allowed_hosts: reader.texts("allowed_hosts"),
            tls: tls::files(&mut reader),
            trusted_proxies: tls::trusted_proxies(&mut reader),
            allowed_origins: reader.texts("allowed_origins"),
            body_bytes: reader.count("max_body_bytes", 1, DEFAULT_BODY_BYTES),
            session_idle: reader.duration("session_idle", DEFAULT_SESSION_IDLE),
            session_restore: reader.duration_or_off("session_restore", Some(DEFAULT_SESSION_RESTORE)),
            admin_token: admin_token(&mut reader),
            token_file: reader.path("token_file"),
            limits: client_limits::read(&mut reader),
        };
        (section, reader.settings, reader.log.problems)
    }

    /// Octroi's own server in the shape of another program; the `stdio` transport has no listen address.
    fn own(&self, map: &Map) -> (Option<(SocketAddr, Origin)>, Vec<Problem>) {
        let mut reader = self.reader(map, OWN, ProblemLog::of_section(self.unknown));
        let is_on = reader.flag("enabled", true);
        let transport = reader.word("transport", &GATEWAY_TRANSPORTS);
        let mut log = reader.log.clone();
        if !is_on {
            log.warn(&reader.origin("enabled"), "`enabled` has no effect here: `octroi up` always listens");
        }
        let http = reader.fields.get("http").and_then(|field| field.node.as_map());
        let Some(http) = http.filter(|_| transport != Some(TransportWord::Stdio)) else {
            return (None, log.problems);
        };
        let origin = reader.origin("http");
        let mut reader = self.reader(http, OWN_HTTP, log);
        let port = reader.optional_count("port", 1).unwrap_or(3000);
        let host = reader.text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
        let host = if host == "localhost" { "127.0.0.1".to_owned() } else { host };
        let listen = host.parse::<IpAddr>().ok().zip(u16::try_from(port).ok());
        if listen.is_none() {
            reader.log.error(&origin, "`http` needs an IP address as `host` and a `port` up to 65535");
        }
        (listen.map(|listen| (SocketAddr::from(listen), origin)), reader.log.problems)
    }

    pub(super) fn mcp(&self, map: &Map) -> Read<McpSection> {
        let mut reader = self.reader(map, MCP, ProblemLog::of_section(self.unknown));
        let section = McpSection {
            enabled: reader.flag("enabled", true),
            auto_reload: auto_reload(&mut reader),
            health_check_interval: reader
                .duration_or_off("health_check_interval", Some(DEFAULT_HEALTH_INTERVAL)),
            health_retention: reader.duration_or_off("health_retention", Some(DEFAULT_HEALTH_RETENTION)),
            wire_name_max: reader.count("wire_name_max", 24, WIRE_NAME_MAX),
            list_wait: reader.duration("list_wait", DEFAULT_LIST_WAIT),
            pool_idle: reader.duration("pool_idle", DEFAULT_POOL_IDLE),
            max_pools: reader.count("max_pools", 1, DEFAULT_MAX_POOLS),
        };
        reader.flag("strict", true);
        (section, reader.settings, reader.log.problems)
    }
}

/// `true`, `false` or `"ask"`.
fn auto_reload(reader: &mut TableReader<'_>) -> AutoReload {
    const NAME: &str = "auto_reload";
    let reload = match reader.fields.get(NAME).map(|field| &field.node.value) {
        None => AutoReload::default(),
        Some(Value::Bool(true)) => AutoReload::Always,
        Some(Value::Bool(false)) => AutoReload::Never,
        Some(Value::Text(text)) if text == ASK => AutoReload::Ask,
        Some(_) => reader.wrong(NAME, "true, false or \"ask\"", AutoReload::Ask),
    };
    reader.show(
        NAME,
        match reload {
            AutoReload::Always => json!(true),
            AutoReload::Never => json!(false),
            AutoReload::Ask => json!(ASK),
        },
    );
    reload
}

fn address(reader: &mut TableReader<'_>, text: &Filled) -> Option<SocketAddr> {
    let address = text.value.parse().ok();
    if address.is_none() {
        let origin = reader.origin("listen");
        let hint = "write 127.0.0.1:7878 or [::1]:7878".to_owned();
        reader.log.error_with_hint(
            &origin,
            format!("`{}` is not an address with a port", text.redacted),
            hint,
        );
    }
    address
}
