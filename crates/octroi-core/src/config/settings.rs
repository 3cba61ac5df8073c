//! What is not about a server: `[server]` and `[mcp]`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::fields::read as read_fields;
use super::keys::{DOORS, Key, MCP, OWN, OWN_HTTP, SERVER, TransportWord};
use super::node::{Map, Origin};
use super::problem::{Notes, Problem, Unknown};
use super::reader::Reader;
use super::show::Shown;
use super::tokens::admin_token;
use crate::principal::AdminToken;
use crate::substitute::{Filled, Lookup};

/// Where Octroi listens unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);
const DEFAULT_BODY_BYTES: usize = 4 << 20;
const DEFAULT_SESSION_IDLE: Duration = Duration::from_mins(30);
const DEFAULT_HEALTH_INTERVAL: Duration = Duration::from_mins(1);

/// `[server]`: how Octroi itself is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSection {
    /// Address and port.
    pub listen: SocketAddr,
    /// Who said so.
    pub listen_origin: Origin,
    /// Names besides localhost.
    pub allowed_hosts: Vec<String>,
    /// Web pages that may call.
    pub allowed_origins: Vec<String>,
    /// The largest request.
    pub body_bytes: usize,
    /// After how long a session ends.
    pub session_idle: Duration,
    /// The token that opens what agents must not do, if there is one.
    pub admin_token: Option<AdminToken>,
}

/// `[mcp]`: what holds for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSection {
    /// Whether any server may be used.
    pub enabled: bool,
    /// Whether a changed file counts at once.
    pub auto_reload: bool,
    /// How often servers are asked whether they are well.
    pub health_check_interval: Option<Duration>,
}

/// What a section is read with.
pub(super) struct Context<'a> {
    pub(super) lookup: Lookup<'a>,
    pub(super) unknown: Unknown,
    pub(super) base: &'a Arc<Path>,
}

/// A section, how it shows, and what is wrong with it.
pub(super) type Read<T> = (T, Vec<Shown>, Vec<Problem>);

impl Context<'_> {
    pub(super) fn reader<'b>(&'b self, map: &Map, keys: &'static [Key], mut notes: Notes) -> Reader<'b> {
        let fields = read_fields(map, keys, self.base, &mut notes);
        Reader::new(fields, notes, self.lookup)
    }

    pub(super) fn server(
        &self,
        map: &Map,
        own: &[Map],
        given: Option<(SocketAddr, Origin)>,
    ) -> Read<ServerSection> {
        let mut reader = self.reader(map, SERVER, Notes::of_section(self.unknown));
        let written = reader.filled("listen").and_then(|text| address(&mut reader, &text));
        let mut listen = written.map(|address| (address, reader.origin("listen")));
        for map in own {
            let (address, problems) = self.own(map);
            listen = listen.or(address);
            reader.notes.problems.extend(problems);
        }
        let (listen, listen_origin) = given.or(listen).unwrap_or((DEFAULT_LISTEN, Origin::Default));
        let value = json!(listen.to_string());
        reader.shown.push(Shown { name: "listen", value, origin: listen_origin.clone() });
        let section = ServerSection {
            listen,
            listen_origin,
            allowed_hosts: reader.texts("allowed_hosts"),
            allowed_origins: reader.texts("allowed_origins"),
            body_bytes: reader.count("max_body_bytes", 1, DEFAULT_BODY_BYTES),
            session_idle: reader.duration("session_idle", DEFAULT_SESSION_IDLE),
            admin_token: admin_token(&mut reader),
        };
        (section, reader.shown, reader.notes.problems)
    }

    /// Octroi itself in the shape of another program, which would listen only if its transport is `http`.
    fn own(&self, map: &Map) -> (Option<(SocketAddr, Origin)>, Vec<Problem>) {
        let mut reader = self.reader(map, OWN, Notes::of_section(self.unknown));
        let is_on = reader.flag("enabled", true);
        let transport = reader.word("transport", &DOORS);
        let mut notes = reader.notes.clone();
        if !is_on {
            notes.warn(&reader.origin("enabled"), "`enabled` has no effect here: `octroi up` always listens");
        }
        let http = reader.fields.get("http").and_then(|field| field.node.as_map());
        let Some(http) = http.filter(|_| transport != Some(TransportWord::Stdio)) else {
            return (None, notes.problems);
        };
        let origin = reader.origin("http");
        let mut reader = self.reader(http, OWN_HTTP, notes);
        let port = reader.optional_count("port", 1).unwrap_or(3000);
        let host = reader.text("host").unwrap_or_else(|| "127.0.0.1".to_owned());
        let host = if host == "localhost" { "127.0.0.1".to_owned() } else { host };
        let listen = host.parse::<IpAddr>().ok().zip(u16::try_from(port).ok());
        if listen.is_none() {
            reader.notes.error(&origin, "`http` needs an IP address as `host` and a `port` up to 65535");
        }
        (listen.map(|listen| (SocketAddr::from(listen), origin)), reader.notes.problems)
    }

    pub(super) fn mcp(&self, map: &Map) -> Read<McpSection> {
        let mut reader = self.reader(map, MCP, Notes::of_section(self.unknown));
        let section = McpSection {
            enabled: reader.flag("enabled", true),
            auto_reload: reader.flag("auto_reload", true),
            health_check_interval: reader
                .duration_or_off("health_check_interval", Some(DEFAULT_HEALTH_INTERVAL)),
        };
        reader.flag("strict", true);
        (section, reader.shown, reader.notes.problems)
    }
}

fn address(reader: &mut Reader<'_>, text: &Filled) -> Option<SocketAddr> {
    let address = text.value.parse().ok();
    if address.is_none() {
        let origin = reader.origin("listen");
        let hint = "write 127.0.0.1:7878 or [::1]:7878".to_owned();
        reader.notes.error_with_hint(
            &origin,
            format!("`{}` is not an address with a port", text.shown),
            hint,
        );
    }
    address
}
