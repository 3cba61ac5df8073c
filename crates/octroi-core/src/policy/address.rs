//! Addresses in rules: URLs and hosts as the readers of URLs see them.

use super::spelling::{layers, scheme, with_variables};
use crate::facts::hosts::{is_lenient, names};
use crate::facts::paths::resolve;
use crate::fold::{has_invisible, without_case};
use crate::glob::Glob;

/// So deep may a URL be inside of others, as in `view-source:https://…`.
const NESTED_MAX: usize = 4;

/// The parts of a pattern such as `https://*.example.com/*`. A star in one part never reaches into the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AddressPattern {
    scheme: Glob,
    authority: Glob,
    rest: Glob,
}

impl AddressPattern {
    /// Without `://` the scheme may be any.
    pub(super) fn new(text: &str) -> Self {
        let (scheme, after) = text.split_once("://").unwrap_or(("*", text));
        let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
        // `https://*` is every address, `https://example.com` one.
        let rest = match rest {
            "" if authority.ends_with('*') => "*",
            "" => "/",
            rest => rest,
        };
        let (scheme, authority) = (without_case(scheme), without_case(authority));
        let authority = in_ascii(&with_usual_port(&scheme, &authority));
        Self { scheme: Glob::new(&scheme), authority: Glob::new(&authority), rest: Glob::new(rest) }
    }

    /// Whether it may be about files.
    pub(super) fn is_of_file(&self) -> bool {
        self.scheme.matches("file")
    }

    /// The path of a `file:` URL.
    pub(super) fn local_path(&self) -> Option<&str> {
        (self.scheme.literal() == Some("file")).then_some(self.rest.as_str())
    }

    /// The pattern with its address in the usual form.
    pub(super) fn usual(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, self.rest)
    }

    /// Whether every reader sees an address in the text that matches. Only one that is written plainly can.
    pub(super) fn surely_matches(&self, text: &str) -> bool {
        if has_invisible(text) || text.contains([' ', '\\', '`', '"', '<', '>', '^', '{', '|', '}']) {
            return false;
        }
        let (scheme, after) = match text.split_once("://") {
            Some((name, after)) if scheme(text).is_some_and(|(scheme, _)| scheme == name) => (name, after),
            // Only a pattern that names no scheme takes an address without one.
            None if self.scheme.is_anything() => ("", text),
            Some(_) | None => return false,
        };
        let scheme = without_case(scheme);
        let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
        let authority = with_usual_port(&scheme, &without_case(authority));
        if !is_plain_authority(&authority) || rest.starts_with("//") {
            return false;
        }
        let is_rest = |rest: &str| {
            !has_invisible(rest)
                && !rest.contains('\\')
                && with_variables(rest, "").is_none()
                && self.rest.matches(&usual_rest(rest))
        };
        let authority = authority.strip_suffix('.').unwrap_or(&authority);
        self.scheme.matches(&scheme)
            && self.authority.matches(authority)
            && layers(rest).is_some_and(|layers| layers.iter().all(|rest| is_rest(rest)))
    }
}

/// A pattern of hosts as they are looked up: `*.bücher.example` is `*.xn--bcher-kva.example`.
pub(super) fn in_ascii(pattern: &str) -> String {
    let label = |label: &str| match idna::domain_to_ascii(label) {
        Ok(ascii) if !label.is_ascii() => ascii,
        Ok(_) | Err(_) => label.to_owned(),
    };
    pattern.split('.').map(label).collect::<Vec<_>>().join(".")
}

/// Whether a pattern may be one of hosts, with an optional port.
pub(super) fn is_host_pattern(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, ""));
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    text.parse::<std::net::Ipv6Addr>().is_ok()
        || host.bytes().all(is_host) && port.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*')
}

/// Whether a host is written as everybody writes it, so that it means one thing.
pub(super) fn is_plain_host(text: &str) -> bool {
    !text.is_empty() && is_plain_authority(text)
}

fn is_plain_authority(text: &str) -> bool {
    let is_host =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return true;
    }
    let (host, port) = match text.strip_prefix('[').and_then(|address| address.split_once(']')) {
        Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => ("", rest),
        Some(_) => return false,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    is_host(host) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is an address that everybody reads in the same way.
pub(super) fn is_usual(text: &str) -> bool {
    let Some((scheme, after)) = text.split_once("://") else { return false };
    let Some(end) = after.find('/') else { return false };
    let (host, rest) = after.split_at(end);
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let top = host.rsplit('.').next().unwrap_or_default();
    is_lenient(scheme)
        && host.bytes().all(is_plain)
        && top.starts_with(|first: char| first.is_ascii_lowercase())
        && host.starts_with(|first: char| first.is_ascii_alphanumeric())
        && rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"%\\'\"`,;:@<>".contains(&byte))
        && !rest.contains("//")
        && !rest.contains("/.")
}

/// Every address that a text may mean, in small letters and in the usual form, and every host of them.
pub(super) fn readings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = text.trim();
    for _ in 0..NESTED_MAX {
        let Some((name, rest)) = scheme(current) else { break };
        let name = without_case(name);
        for name in [name.as_str(), name.rsplit('+').next().unwrap_or_default()] {
            if is_lenient(name) {
                add(&mut found, name, rest.trim_start_matches(['/', '\\']));
            } else if let Some(rest) = rest.replace('\\', "/").strip_prefix("//") {
                add(&mut found, name, rest);
            }
        }
        current = rest;
    }
    // Without a scheme, readers add one.
    let bare = text.trim().trim_start_matches(['/', '\\']);
    if !bare.contains(char::is_whitespace) && (bare.len() == text.trim().len() || bare.contains('.')) {
        add(&mut found, "https", bare);
        add(&mut found, "http", bare);
    }
    found
}

/// Adds what may be meant by an address after its scheme and slashes.
fn add(found: &mut Vec<String>, scheme: &str, text: &str) {
    // A backslash ends the host for some, and not for others; to old readers only a slash does.
    for ends in [&['/', '?', '#'][..], &['/', '?', '#', '\\'], &['/']] {
        let (authority, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'));
        let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        let port = port.and_then(|port| usual_port(scheme, port)).unwrap_or_default();
        let rest = without_case(&usual_rest(&rest.replace('\\', "/")));
        names(host, &mut |name| {
            let mut add = |reading: String| {
                if !found.contains(&reading) {
                    found.push(reading);
                }
            };
            let bracketed = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
            add(name.to_owned());
            add(format!("{bracketed}{port}"));
            add(format!("{scheme}://{bracketed}{port}{rest}"));
            if rest == "/" {
                add(format!("{scheme}://{bracketed}{port}"));
            }
        });
    }
}

/// A port as it is written after a host, `None` if the scheme has it anyway.
fn usual_port(scheme: &str, port: &str) -> Option<String> {
    let usual = match scheme {
        "http" | "ws" => "80",
        "https" | "wss" => "443",
        "ftp" => "21",
        _ => "",
    };
    let port = port.trim_start_matches('0');
    (!port.is_empty() && port != usual).then(|| format!(":{port}"))
}

fn with_usual_port(scheme: &str, authority: &str) -> String {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':') => {
            format!("{host}{}", usual_port(scheme, port).unwrap_or_default())
        }
        Some(_) | None => authority.to_owned(),
    }
}

/// What follows the host, with dot segments resolved.
fn usual_rest(rest: &str) -> String {
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let is_directory = path.len() > 1 && path.ends_with('/');
    let resolved = resolve(None, &format!("/{}", path.trim_start_matches('/')));
    let slash = if is_directory && !resolved.ends_with('/') { "/" } else { "" };
    format!("{resolved}{slash}{query}")
}
