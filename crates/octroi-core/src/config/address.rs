//! The address of a server: a command, or a URL in one of its forms.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::keys::{TRANSPORTS, TransportWord};
use super::reader::TableReader;
use super::{Found, ProgramPlaces};
use crate::name::ServerName;
use crate::secret::Secret;
use crate::server::{Program, Remote, Transport};
use crate::substitute::{Filled, ReferenceKind};
use crate::syntax::Origin;

const REMOTE_ONLY: [&str; 2] = ["headers", "oauth"];
const PROGRAM_ONLY: [&str; 9] =
    ["command", "args", "env", "inherit_env", "cwd", "env_type", "runtime", "package", "image"];

enum ServerAddress {
    Program(Vec<Filled>),
    Remote(TransportWord, Filled),
}

/// Reads the transport and reports problems.
pub(super) fn read(
    reader: &mut TableReader<'_>,
    base: &Path,
    origin: &Origin,
    place: (&ServerName, ProgramPlaces<'_>),
) -> Option<Transport> {
    match find(reader, origin)? {
        ServerAddress::Program(words) => program(reader, words, base, origin, place).map(Transport::Stdio),
        ServerAddress::Remote(word, url) => {
            let remote = remote(reader, word, url);
            Some(if word == TransportWord::Sse { Transport::Sse(remote) } else { Transport::Http(remote) })
        }
    }
}

fn find(reader: &mut TableReader<'_>, origin: &Origin) -> Option<ServerAddress> {
    let word = reader.written_word("transport", &TRANSPORTS).map(|(_, word, _)| word);
    if word.is_none() && reader.has("transport") {
        return None;
    }
    let words_of_url = match reader.fields.get("url").and_then(|field| field.node.as_text()) {
        Some(text) => text.strip_prefix("stdio://").map(str::to_owned),
        None => None,
    };
    match (word, reader.has("command"), reader.has("url")) {
        (None, true, true) => {
            reader.log.error(origin, "it has both `command` and `url`; say which by `transport`");
            None
        }
        (None, false, false) => {
            reader.log.error(origin, "it has neither `command` nor `url`");
            None
        }
        (None | Some(TransportWord::Stdio), false, true) if words_of_url.is_some() => {
            split(reader, &words_of_url.unwrap_or_default()).map(ServerAddress::Program)
        }
        (Some(TransportWord::Stdio), false, _) => {
            reader.log.error(origin, "`transport = \"stdio\"` needs a `command`");
            None
        }
        (None | Some(TransportWord::Stdio), true, _) => Some(ServerAddress::Program(command(reader))),
        (Some(TransportWord::Http | TransportWord::Sse), _, false) => {
            reader.log.error(origin, "a remote server needs a `url`");
            None
        }
        (None, false, true) => remote_place(reader, TransportWord::Http),
        (Some(word @ (TransportWord::Http | TransportWord::Sse)), _, true) => remote_place(reader, word),
    }
}

/// Splits a `stdio://` URL into words by shell rules, without a shell. References are resolved afterwards, so
/// a value with a space stays one word.
fn split(reader: &mut TableReader<'_>, text: &str) -> Option<Vec<Filled>> {
    let origin = reader.origin("url");
    match shlex::split(text) {
        Some(words) => words.iter().map(|word| reader.fill("command", word, &origin)).collect(),
        None => {
            reader.log.error(&origin, "quotes are not closed in the `stdio://` address");
            None
        }
    }
}

fn command(reader: &mut TableReader<'_>) -> Vec<Filled> {
    match reader.text_of("command") {
        Some(_) => reader.filled("command").into_iter().collect(),
        None => reader.all_filled("command"),
    }
}

/// Refuses a command line as the name of a program: `command = "npx -y a-server"` looks for a program whose name
/// has blanks in it. The message names only the first word, because later ones may be secrets.
fn refuse_command_line(
    reader: &mut TableReader<'_>,
    words: &[Filled],
    base: &Path,
    exists: &dyn Fn(&Path) -> Found,
) {
    let Some(program) = words.first().map(|word| word.value.as_str()) else {
        return;
    };
    let Some((first, _)) = program.split_once(char::is_whitespace) else {
        return;
    };
    let is_file = |path: &str| exists(&base.join(path)) == Found::File;
    // Directories may have blanks in their names, as in `/opt/My Tools/serve`, also one that is not there yet.
    if program.contains('/') && (is_file(program) || first.contains('/') && !is_file(first)) {
        return;
    }
    let origin = reader.origin("command");
    let spelled = if first.is_empty() { String::new() } else { format!(": `command = \"{first}\"`") };
    reader.log.error_with_hint(
        &origin,
        "`command` is the name of one program, and this has blanks in it",
        format!("write the program in `command` and the rest in `args`, word by word{spelled}"),
    );
}

/// A program that is not a server: only its command, run in the file's directory.
pub(super) fn plain_program(reader: &mut TableReader<'_>, base: &Path, origin: &Origin) -> Option<Program> {
    let words = command(reader);
    if reader.has("command") {
        refuse_command_line(reader, &words, base, &|_| Found::Nothing);
    }
    // It runs beside the file, so relative arguments need no change.
    let (command, args) = command_line(reader, words, base, origin, &|_| Found::Nothing)?;
    let env = reader.variables("env");
    let cwd = Some(base.to_path_buf()).filter(|cwd| !cwd.as_os_str().is_empty());
    Some(Program { command, args, env, inherit_env: Vec::new(), cwd })
}

fn program(
    reader: &mut TableReader<'_>,
    words: Vec<Filled>,
    base: &Path,
    origin: &Origin,
    (name, places): (&ServerName, ProgramPlaces<'_>),
) -> Option<Program> {
    warn_of(reader, &REMOTE_ONLY, "only a remote server has them");
    reader.show_from(&["transport", "command", "url"], json!("stdio"));
    let written_at = reader.base("command").or_else(|| reader.base("url"));
    let base = written_at.as_deref().unwrap_or(base);
    // With a directory of its own, arguments are as the program sees them from there.
    let nothing = |_: &Path| Found::Nothing;
    if reader.has("command") {
        refuse_command_line(reader, &words, base, places.exists);
    }
    let exists = if reader.has("cwd") { &nothing } else { places.exists };
    let (command, args) = command_line(reader, words, base, origin, exists)?;
    let env = reader.variables("env");
    let mut inherit_env = reader.texts("inherit_env");
    inherit_env.extend(reader.text("api_key_env"));
    if let Some(name) =
        inherit_env.iter().find(|name| name.ends_with("_MASTER_KEY") && name.starts_with("OCTROI_"))
    {
        let message = format!("no program gets `{name}`, the key of the stored secrets");
        reader.log.error(origin, message);
    }
    let own = places.own.map(|own| own.join(name.as_str()));
    let cwd = directory(reader, base, own.as_deref().unwrap_or(base));
    Some(Program {
        command,
        args,
        env,
        inherit_env,
        // No file sets it: it runs in the working directory of Octroi.
        cwd: Some(cwd).filter(|cwd| !cwd.as_os_str().is_empty()),
    })
}

/// The program and its arguments.
fn command_line(
    reader: &mut TableReader<'_>,
    mut words: Vec<Filled>,
    base: &Path,
    origin: &Origin,
    exists: &dyn Fn(&Path) -> Found,
) -> Option<(String, Vec<String>)> {
    words.extend(reader.all_filled("args"));
    let mut words = words.into_iter();
    let command = match words.next() {
        Some(command) if !command.value.is_empty() => command,
        _ => {
            if !reader.log.has_errors() {
                reader.log.error(origin, "its `command` is empty");
            }
            return None;
        }
    };
    let resolved = resolve(base, &command);
    reader.show_from(&["command", "url"], json!(resolved.redacted));
    let args: Vec<Filled> = words.map(|word| argument(base, word, exists)).collect();
    let redacted = json!(args.iter().map(|word| &word.redacted).collect::<Vec<_>>());
    reader.show_from(if args.is_empty() { &["args"] } else { &["args", "command", "url"] }, redacted);
    Some((resolved.value, args.into_iter().map(|word| word.value).collect()))
}

/// A program with a relative path is relative to the file that names it.
fn resolve(base: &Path, command: &Filled) -> Filled {
    if !command.value.contains('/') || Path::new(&command.value).is_absolute() {
        return command.clone();
    }
    Filled { value: join(base, &command.value), redacted: join(base, &command.redacted) }
}

/// An argument that names something beside the file, as an absolute path; any other as it is. A word without
/// a slash may mean anything, so it has to name a file.
fn argument(base: &Path, word: Filled, exists: &dyn Fn(&Path) -> Found) -> Filled {
    let (option, value) = match word.value.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (option, value),
        _ => ("", word.value.as_str()),
    };
    let is_path = match exists(&base.join(value)) {
        Found::File => true,
        Found::Directory => value.contains('/') || value == "." || value == "..",
        Found::Nothing => false,
    };
    if value.is_empty() || value.starts_with('-') || Path::new(value).is_absolute() || !is_path {
        return word;
    }
    let whole = |value: &str| {
        let path = join(base, value);
        if option.is_empty() { path } else { format!("{option}={path}") }
    };
    let redacted = match word.redacted.strip_prefix(option).map(|rest| rest.strip_prefix('=').unwrap_or(rest))
    {
        Some(value) if !option.is_empty() => whole(value),
        _ => whole(&word.redacted),
    };
    Filled { value: whole(value), redacted }
}

/// `cwd`, else `default`.
fn directory(reader: &mut TableReader<'_>, base: &Path, default: &Path) -> PathBuf {
    let written_at = reader.base("cwd");
    match reader.filled("cwd") {
        Some(cwd) => {
            let base = written_at.as_deref().unwrap_or(base);
            reader.show("cwd", json!(join(base, &cwd.redacted)));
            PathBuf::from(join(base, &cwd.value))
        }
        None => {
            reader.show("cwd", json!(default.to_string_lossy()));
            default.to_path_buf()
        }
    }
}

pub(super) fn join(base: &Path, path: &str) -> String {
    base.join(path.strip_prefix("./").unwrap_or(path)).to_string_lossy().into_owned()
}

/// Checks the scheme of a URL; `sse://` is Octroi's own scheme for the HTTP+SSE transport.
fn remote_place(reader: &mut TableReader<'_>, word: TransportWord) -> Option<ServerAddress> {
    let origin = reader.origin("url");
    let url = reader.filled("url")?;
    let (scheme, rest) = url.value.split_once("://").unwrap_or(("", &url.value));
    match scheme {
        "http" | "https" if rest.is_empty() => {
            reader.log.error(&origin, "the `url` names no host");
            None
        }
        "http" | "https" => Some(ServerAddress::Remote(word, url)),
        "sse" => {
            let scheme = if is_loopback(rest) { "http" } else { "https" };
            let redacted = url.redacted.replacen("sse", scheme, 1);
            Some(ServerAddress::Remote(
                TransportWord::Sse,
                Filled { value: format!("{scheme}://{rest}"), redacted },
            ))
        }
        "ws" | "wss" => {
            let hint = "MCP has no WebSocket transport; ask the server for its http:// or https:// address";
            reader.log.error_with_hint(&origin, format!("`{scheme}://` is not supported"), hint.to_owned());
            None
        }
        "stdio" => {
            reader.log.error(&origin, "a `stdio://` address is a program, but `transport` says otherwise");
            None
        }
        _ => {
            // A reference may have filled it with a secret, so what is written is not repeated.
            let hint = "write it like http://127.0.0.1:3000/mcp".to_owned();
            reader.log.error_with_hint(&origin, "the `url` is not an http:// or https:// address", hint);
            None
        }
    }
}

fn is_loopback(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.starts_with("[::1]") || host.starts_with("127.") || host.split(':').next() == Some("localhost")
}

fn remote(reader: &mut TableReader<'_>, word: TransportWord, url: Filled) -> Remote {
    warn_of(reader, &PROGRAM_ONLY, "only a program has it");
    reader.show_from(&["transport", "url"], json!(if word == TransportWord::Sse { "sse" } else { "http" }));
    reader.show("url", json!(without_user(&url.redacted)));
    let mut headers = reader.secrets("headers");
    let key_origin = reader.origin("api_key_env");
    if let Some(variable) = reader.text("api_key_env") {
        let is_set = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        match (reader.lookup)(ReferenceKind::Env, &variable) {
            _ if is_set => {}
            Ok(Some(key)) => {
                headers.insert("Authorization".to_owned(), Secret::new(format!("Bearer {key}")));
            }
            Ok(None) | Err(_) => {
                reader.log.error(&key_origin, format!("the variable `{variable}` is not set"));
            }
        }
    }
    Remote { url: url.value, headers }
}

/// A URL without the user name and password it may contain.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://***{}", &rest[at..]),
        None => url.to_owned(),
    }
}

fn warn_of(reader: &mut TableReader<'_>, names: &[&str], reason: &str) {
    for name in names {
        if let Some(field) = reader.fields.get(name) {
            let message = format!("`{}` has no effect: {reason}", field.spelled);
            reader.log.warn(&field.node.origin.clone(), message);
        }
    }
}
