//! `octroi.toml`.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use octroi_core::principal::{TokenHash, hash_token};
use octroi_core::server::{
    EraChoice, Limits, Program, Remote, ServerSpec, Start, Timeouts, Transport, parse_duration,
};
use octroi_core::substitute::substitute;
use octroi_core::{Principal, Role, Secret, ServerName, Tokens};
use serde::Deserialize;

/// Everything the file says, checked.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Where it was read from.
    pub(crate) file: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) body_bytes: Option<usize>,
    pub(crate) session_idle: Option<Duration>,
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) tokens: Tokens,
    /// Entries that cannot be used; the others go on without them.
    pub(crate) problems: Vec<String>,
}

/// Why a file cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not valid", path.display())]
    Parse { path: PathBuf, source: toml::de::Error },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    server: ServerSection,
    mcp: McpSection,
    tokens: Vec<TokenEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ServerSection {
    listen: Option<SocketAddr>,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    max_body_bytes: Option<usize>,
    session_idle: Option<Span>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct McpSection {
    servers: Vec<ServerEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerEntry {
    name: String,
    transport: Option<TransportWord>,
    command: Option<CommandLine>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    inherit_env: Vec<String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    era: EraWord,
    #[serde(default)]
    start: StartWord,
    enabled: Option<bool>,
    #[serde(alias = "call_timeout", alias = "timeout_ms")]
    timeout: Option<Span>,
    max_call_timeout: Option<Span>,
    connect_timeout: Option<Span>,
    list_timeout: Option<Span>,
    shutdown_grace: Option<Span>,
    max_message_bytes: Option<usize>,
    max_concurrency: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TransportWord {
    Stdio,
    #[serde(alias = "streamable_http", alias = "streamable-http", alias = "remote")]
    Http,
    Sse,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CommandLine {
    Program(String),
    Words(Vec<String>),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EraWord {
    #[default]
    Auto,
    Legacy,
    Modern,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StartWord {
    #[default]
    Eager,
    Lazy,
}

/// A bare number is milliseconds; a text has a unit.
#[derive(Clone, Copy, Debug)]
struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Milliseconds(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Milliseconds(number) => Ok(Self(Duration::from_millis(number))),
            Written::Text(text) => parse_duration(&text).map(Self).ok_or_else(|| {
                serde::de::Error::custom(format!(
                    "`{text}` is no duration; write 30s, 2m, 500ms or a number of milliseconds"
                ))
            }),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    token: Option<String>,
    sha256: Option<String>,
    role: RoleWord,
    agent_id: Option<String>,
}

impl std::fmt::Debug for TokenEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TokenEntry")
            .field("role", &self.role)
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleWord {
    Human,
    Agent,
}

/// Reads the file: the one named, else `./octroi.toml`, else the user's; none is an empty one.
pub(crate) fn load(named: Option<&Path>) -> Result<Config, ConfigError> {
    let Some(path) = named.map(Path::to_path_buf).or_else(find) else {
        return Ok(Config::default());
    };
    let text =
        std::fs::read_to_string(&path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
    parse(&text, |name| std::env::var(name).ok())
        .map(|config| Config { file: Some(path.clone()), ..config })
        .map_err(|source| ConfigError::Parse { path, source })
}

fn find() -> Option<PathBuf> {
    let user = config_directory().map(|directory| directory.join("octroi.toml"));
    [Some(PathBuf::from("octroi.toml")), user].into_iter().flatten().find(|path| path.is_file())
}

fn config_directory() -> Option<PathBuf> {
    directory("XDG_CONFIG_HOME", ".config")
}

/// Where Octroi keeps its data unless told otherwise.
pub(crate) fn data_directory() -> PathBuf {
    directory("XDG_DATA_HOME", ".local/share").unwrap_or_else(|| PathBuf::from(".octroi"))
}

fn directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = std::env::var_os("HOME")
        .filter(|value| !value.is_empty())
        .map(|home| PathBuf::from(home).join(below_home));
    named.or(home).map(|directory| directory.join("octroi"))
}

fn parse(text: &str, lookup: impl Fn(&str) -> Option<String> + Copy) -> Result<Config, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    let mut config = Config {
        listen: file.server.listen,
        allowed_hosts: file.server.allowed_hosts,
        allowed_origins: file.server.allowed_origins,
        body_bytes: file.server.max_body_bytes,
        session_idle: file.server.session_idle.map(|span| span.0),
        ..Config::default()
    };
    let mut names = HashSet::new();
    for entry in file.mcp.servers {
        let shown = entry.name.clone();
        if entry.enabled == Some(false) {
            continue;
        }
        match server(entry, lookup) {
            Ok(spec) if !names.insert(spec.name.clone()) => {
                config
                    .problems
                    .push(format!("server `{shown}` is defined twice; the first definition counts"));
            }
            Ok(spec) => config.servers.push(spec),
            Err(reason) => config.problems.push(format!("server `{shown}` is left out: {reason}")),
        }
    }
    for (index, entry) in file.tokens.into_iter().enumerate() {
        let outcome = token(entry, index + 1).map(|(hash, principal)| config.tokens.insert(hash, principal));
        match outcome {
            Ok(true) => {}
            Ok(false) => config.problems.push(format!("token {} is the same as another one", index + 1)),
            Err(reason) => config.problems.push(format!("token {} is left out: {reason}", index + 1)),
        }
    }
    Ok(config)
}

fn server(entry: ServerEntry, lookup: impl Fn(&str) -> Option<String> + Copy) -> Result<ServerSpec, String> {
    let name = ServerName::parse(&entry.name).map_err(|error| error.to_string())?;
    let fill = |text: &str| substitute(text, lookup).map_err(|error| error.to_string());
    let secrets = |values: &BTreeMap<String, String>| {
        values
            .iter()
            .map(|(key, value)| Ok((key.clone(), Secret::new(fill(value)?))))
            .collect::<Result<_, String>>()
    };
    let word = match (entry.transport, &entry.command, &entry.url) {
        (Some(word), _, _) => word,
        (None, Some(_), None) => TransportWord::Stdio,
        (None, None, Some(_)) => TransportWord::Http,
        (None, Some(_), Some(_)) => {
            return Err("it has both `command` and `url`; say which by `transport`".to_owned());
        }
        (None, None, None) => return Err("it has neither `command` nor `url`".to_owned()),
    };
    let transport = match word {
        TransportWord::Stdio => {
            let words: Vec<String> = match entry.command {
                Some(CommandLine::Program(program)) => std::iter::once(program).chain(entry.args).collect(),
                Some(CommandLine::Words(words)) if entry.args.is_empty() => words,
                Some(CommandLine::Words(words)) => words.into_iter().chain(entry.args).collect(),
                None => return Err("`transport = \"stdio\"` needs a `command`".to_owned()),
            };
            let mut words = words.iter().map(|word| fill(word)).collect::<Result<Vec<_>, _>>()?.into_iter();
            let command =
                words.next().filter(|command| !command.is_empty()).ok_or("its `command` is empty")?;
            Transport::Stdio(Program {
                command,
                args: words.collect(),
                env: secrets(&entry.env)?,
                inherit_env: entry.inherit_env,
                cwd: entry.cwd,
            })
        }
        TransportWord::Http | TransportWord::Sse => {
            let url = fill(&entry.url.ok_or("a remote server needs a `url`")?)?;
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(format!(
                    "`{}` is not an http:// or https:// address",
                    url.split("://").next().unwrap_or_default()
                ));
            }
            let remote = Remote { url, headers: secrets(&entry.headers)? };
            if word == TransportWord::Sse { Transport::Sse(remote) } else { Transport::Http(remote) }
        }
    };
    let defaults = Timeouts::default();
    let span = |written: Option<Span>, default| written.map_or(default, |span| span.0);
    let call = span(entry.timeout, defaults.call);
    let mut spec = ServerSpec::new(name, transport);
    spec.era = match entry.era {
        EraWord::Auto => EraChoice::Auto,
        EraWord::Legacy => EraChoice::Legacy,
        EraWord::Modern => EraChoice::Modern,
    };
    spec.start = match entry.start {
        StartWord::Eager => Start::Eager,
        StartWord::Lazy => Start::Lazy,
    };
    spec.timeouts = Timeouts {
        connect: span(entry.connect_timeout, defaults.connect),
        call,
        call_cap: span(entry.max_call_timeout, defaults.call_cap).max(call),
        list: span(entry.list_timeout, defaults.list),
        shutdown: span(entry.shutdown_grace, defaults.shutdown),
    };
    let limits = Limits::default();
    spec.limits = Limits {
        message_bytes: entry.max_message_bytes.unwrap_or(limits.message_bytes),
        concurrency: entry.max_concurrency.unwrap_or(limits.concurrency).max(1),
        ..limits
    };
    Ok(spec)
}

fn token(entry: TokenEntry, number: usize) -> Result<(TokenHash, Principal), String> {
    let hash = match (entry.token, entry.sha256) {
        (Some(token), None) if !token.trim().is_empty() => hash_token(token.trim()),
        (None, Some(hex)) => parse_hash(&hex).ok_or("`sha256` must be 64 hexadecimal digits")?,
        (Some(_), Some(_)) => return Err("give `token` or `sha256`, not both".to_owned()),
        (Some(_) | None, None) => return Err("it needs `token` or `sha256`".to_owned()),
    };
    let principal = match entry.role {
        RoleWord::Human => {
            Principal { id: format!("human-{number}").into(), role: Role::Human, agent_id: None }
        }
        RoleWord::Agent => {
            let agent = entry.agent_id.ok_or("an agent's token needs `agent_id`")?;
            Principal { id: format!("agent:{agent}").into(), role: Role::Agent, agent_id: Some(agent.into()) }
        }
    };
    Ok((hash, principal))
}

fn parse_hash(hex: &str) -> Option<TokenHash> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let mut hash = TokenHash::default();
    for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests;
