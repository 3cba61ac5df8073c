//! The same path in other spellings.
//!
//! A rule about `*/.ssh/*` means the directory, however a call spells it. Every reading that a server may give a text is
//! looked at: a rule that denies or asks matches if one of them does, a rule that allows only if all of them do.
//! Symbolic links cannot be seen in a text.

use std::borrow::Cow;

use crate::facts::paths::{HOMES, resolve};
use crate::facts::percent;
use crate::fold::{clean, without_case};
use crate::glob::UNKNOWN;

/// How often percent-encoding is decoded: servers behind a proxy decode twice.
const DECODED_MAX: usize = 2;
/// A text with more ways to read it is ambiguous.
const LAYERS_MAX: usize = 24;
/// So is one whose readings are longer than this together.
const LAYERS_BYTES_MAX: usize = 262_144;
const QUOTES: [char; 4] = ['\'', '"', '\\', '`'];
/// What may stand around a name: `<https://a.example>`, `@/file`, `[table]`.
const WRAPPERS: [char; 9] = ['<', '>', '(', ')', '[', ']', '@', ';', ','];
/// So many parts between NULs are looked at.
const PARTS_MAX: usize = 4;
/// Prefixes of paths that lead to the same place with another one, on some system.
const SAME: [(&str, &str); 10] = [
    ("/private/", "/"),
    ("//?/", ""),
    ("//./", ""),
    ("//localhost/c$/", "c:/"),
    ("//127.0.0.1/c$/", "c:/"),
    ("/mnt/", "/"),
    ("/proc/self/root/", "/"),
    ("/proc/1/root/", "/"),
    ("/root/", "~/"),
    ("/var/root/", "~/"),
];
/// So often such prefixes are replaced.
const SAME_MAX: usize = 3;
/// Where systems keep the home directories of users.
const USERS: [&str; 3] = ["/home/", "/users/", "c:/users/"];

/// The texts that servers may make of one before they use it: decoded, without what nobody sees, unquoted. The text
/// itself is the first; most texts have no other. `None` if there are too many.
pub(super) fn layers(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"%\\'\"`".contains(&byte);
    let mut layers = vec![Cow::Borrowed(text)];
    if text.bytes().all(is_plain) && text.trim_matches(WRAPPERS).len() == text.len() {
        return Some(layers);
    }
    let mut n_decoded = vec![0];
    let mut at = 0;
    while at < layers.len() {
        let (layer, n) = (layers[at].clone().into_owned(), n_decoded[at]);
        let mut add = |text: &str, n: usize| {
            if !layers.iter().any(|known| *known == text) {
                layers.push(Cow::Owned(text.to_owned()));
                n_decoded.push(n);
            }
        };
        add(&clean(&layer), n);
        if layer.contains('\0') {
            add(&clean(&layer.replace('\0', "")), n);
            layer.split('\0').take(PARTS_MAX).for_each(|part| add(&clean(part), n));
        }
        if layer.contains(QUOTES) {
            add(&layer.replace("$'", "'").replace("$\"", "\"").replace(QUOTES, ""), n);
        }
        if layer.contains(char::is_whitespace) {
            add(&layer.split_whitespace().collect::<Vec<_>>().join(" "), n);
        }
        add(layer.trim_matches(WRAPPERS), n);
        if let Some(decoded) = percent::decode(&layer).filter(|_| n < DECODED_MAX) {
            add(&decoded, n + 1);
            // A careless decoder accepts a dot and a slash in two bytes.
            let short = layer.to_ascii_lowercase().replace("%c0%ae", ".").replace("%c0%af", "/");
            add(&short, n + 1);
        }
        if layers.len() > LAYERS_MAX
            || layers.iter().map(|layer| layer.len()).sum::<usize>() > LAYERS_BYTES_MAX
        {
            return None;
        }
        at += 1;
    }
    Some(layers)
}

/// The paths that a text may mean, in small letters. [`UNKNOWN`] stands for what only a running system knows.
pub(super) fn paths(text: &str, root: Option<&str>) -> Vec<String> {
    let mut found = Vec::with_capacity(2);
    for path in written_paths(text) {
        add(&mut found, root, &path);
    }
    found
}

/// The paths as they are written in a text: itself, and what a `file:` URL names; with slashes for backslashes.
pub(super) fn written_paths(text: &str) -> Vec<Cow<'_, str>> {
    let mut found = vec![Cow::Borrowed(text)];
    for path in local_files(text) {
        found.push(Cow::Owned(path));
    }
    if text.contains('\\') {
        found.push(Cow::Owned(text.replace('\\', "/")));
    }
    found
}

fn add(found: &mut Vec<String>, root: Option<&str>, path: &str) {
    let resolved = without_case(&resolve(root, path));
    if let Some(home) = resolved.strip_prefix('~') {
        add_home(found, home);
    }
    if path.contains(['$', '%', '`']) {
        add_variables(found, root, path);
    }
    let trimmed = without_ends(&resolved);
    if trimmed != resolved {
        add_same(found, trimmed, SAME_MAX);
    }
    add_same(found, resolved, SAME_MAX);
}

/// Adds a resolved path, and others that lead to the same place on some system.
fn add_same(found: &mut Vec<String>, path: String, n_left: usize) {
    if n_left > 0 {
        for (prefix, replacement) in SAME {
            if let Some(rest) = path.strip_prefix(prefix) {
                add_same(found, format!("{replacement}{rest}"), n_left - 1);
            }
        }
        for users in USERS {
            let rest = path.strip_prefix(users).and_then(|rest| rest.split_once('/'));
            found.extend(rest.map(|(_, rest)| format!("~/{rest}")));
        }
        match path.as_bytes() {
            [letter, b':', b'/', ..] if letter.is_ascii_alphabetic() => found.push(path[2..].to_owned()),
            // As some programs on Windows write a drive.
            [b'/', letter, b'/', ..] if letter.is_ascii_alphabetic() => {
                add_same(found, format!("{}:{}", char::from(*letter), &path[2..]), n_left - 1);
            }
            _ => {}
        }
    }
    found.push(path);
}

/// A path below a home directory, given as what follows `~`.
fn add_home(found: &mut Vec<String>, home: &str) {
    let (user, rest) = home.split_at(home.find('/').unwrap_or(home.len()));
    if rest.starts_with("/..") {
        // Above it, it may be anywhere.
        found.push(format!("/{}", rest.trim_start_matches("/..").trim_start_matches('/')));
    }
    // The name of a directory, which nobody knows here.
    let user = if user.is_empty() { "*" } else { user };
    found.push(format!("~{rest}"));
    found.extend(USERS.iter().map(|users| resolve(None, &format!("{users}{user}{rest}"))));
    if matches!(user, "*" | "root") {
        found.push(resolve(None, &format!("/root{rest}")));
    }
}

/// A shell puts anything in the place of a variable, also nothing.
fn add_variables(found: &mut Vec<String>, root: Option<&str>, path: &str) {
    if HOMES.iter().any(|home| path.starts_with(home)) {
        return;
    }
    for value in ["", &UNKNOWN.to_string()] {
        if let Some(filled) = with_variables(path, value) {
            let is_open = filled.starts_with(UNKNOWN);
            let resolved = if is_open { resolve(None, &filled) } else { resolve(root, &filled) };
            found.push(without_case(&resolved));
        }
    }
}

/// The text with a value in the place of `$NAME`, `${…}`, `%NAME%` and commands; `None` if there is none of them.
pub(super) fn with_variables(text: &str, value: &str) -> Option<String> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '%', '`']) {
        filled.push_str(&rest[..at]);
        let (sign, after) = rest[at..].split_at(1);
        let length = match (sign, after.as_bytes().first()) {
            ("$", Some(b'{')) => after.find('}').map(|end| end + 1),
            ("$", Some(b'(')) => after.find(')').map(|end| end + 1),
            ("$", Some(first)) if first.is_ascii_alphabetic() || *first == b'_' => {
                Some(after.find(|character| !is_name(character)).unwrap_or(after.len()))
            }
            ("`", _) => after.find('`').map(|end| end + 1),
            ("%", Some(first)) if first.is_ascii_alphabetic() => {
                after.find('%').filter(|end| after[..*end].chars().all(is_name)).map(|end| end + 1)
            }
            _ => None,
        };
        filled.push_str(if length.is_some() { value } else { sign });
        rest = &after[length.unwrap_or(0)..];
    }
    filled.push_str(rest);
    (filled != text).then_some(filled)
}

/// Windows drops dots and spaces at the end of names, and what follows `::`.
fn without_ends(path: &str) -> String {
    let name = |name: &str| {
        let name = name.split("::").next().unwrap_or(name);
        let trimmed = name.trim_end_matches(['.', ' ']);
        if trimmed.is_empty() { name.to_owned() } else { trimmed.to_owned() }
    };
    path.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// The scheme of a URL, and what follows its colon.
pub(super) fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte));
    // One letter is a drive.
    (is_scheme && scheme.len() > 1).then_some((scheme, rest))
}

/// The paths of a `file:` URL in any of its forms, also inside of another one, as in `url:file:///a`.
fn local_files(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = text.trim();
    while let Some((name, rest)) = scheme(current) {
        if without_case(name).ends_with("file") {
            let end = rest.find(['?', '#']).unwrap_or(rest.len());
            for rest in [rest, &rest[..end]] {
                let slashed = rest.replace('\\', "/");
                let path = slashed.trim_start_matches('/');
                found.push(format!("/{path}"));
                found.push(path.to_owned());
                // `file://host/path`: the host is this one, or a share that is mounted.
                if let Some((_, path)) = path.split_once('/').filter(|_| slashed.starts_with("//")) {
                    found.push(format!("/{path}"));
                }
            }
        }
        current = rest;
        if found.len() > LAYERS_MAX {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests;
