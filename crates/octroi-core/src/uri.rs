//! Publishes resource URIs of many servers in one list, reversibly.
//!
//! `scheme://rest` of server `fs` becomes `scheme://fs/rest`: the scheme stays, because clients depend on it
//! (`file:`, `ui:`). A URI without `://` is wrapped as `octroi-uri://fs/WHOLE`.

pub mod template;

use crate::fold::fold;
use crate::name::ServerName;

/// Longer URIs are refused where clients name them.
pub const URI_BYTES_MAX: usize = 8 * 1024;

const WRAPPED: &str = "octroi-uri";

/// The published form of a server's URI or URI template.
pub fn publish(server: &ServerName, uri: &str) -> String {
    match uri.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) && scheme != WRAPPED => {
            format!("{scheme}://{server}/{rest}")
        }
        Some(_) | None => format!("{WRAPPED}://{server}/{uri}"),
    }
}

/// The server's name and its own URI, from a published one. The caller must check that the server exists.
pub fn resolve(published: &str) -> Option<(&str, String)> {
    let (scheme, rest) = published.split_once("://")?;
    let (server, rest) = rest.split_once('/')?;
    let uri = if scheme == WRAPPED { rest.to_owned() } else { format!("{scheme}://{rest}") };
    Some((server, uri))
}

/// How often percent-encoding is decoded. A URI that is still encoded then has no normal form.
const DECODED_MAX: usize = 4;

/// The URIs that a server may take this one for: as it is written, and without differences of case, dot segments,
/// percent-encoding and characters that parsers drop. `None` if it is encoded too often to tell.
pub fn spellings(uri: &str) -> Option<Vec<String>> {
    let mut spellings = vec![uri.to_owned()];
    let mut decoded = uri.to_owned();
    for _ in 0..DECODED_MAX {
        let spelling = normal(&decoded);
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
        let next = decode(&decoded);
        if next == decoded {
            return Some(spellings);
        }
        decoded = next;
    }
    None
}

/// The URIs that a server may take this one for if it is as lenient as any: each decoded as often as needed, without
/// differences of case, and without what follows a NUL, `#`, `?` or `;`. Different resources can have the same ones, so
/// they serve to refuse, not to allow. `None` as for [`spellings`].
pub fn coarse_spellings(uri: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut decoded = uri.to_owned();
    for _ in 0..DECODED_MAX {
        // Some cut at a NUL and some drop it; some take `?` for the begin of a query and some for a letter of a name.
        let without_controls: String = decoded.chars().filter(|letter| !letter.is_control()).collect();
        for text in [&decoded, &without_controls] {
            let folded = fold(text);
            for spelling in [coarse(&without_parameters(&folded)), coarse(&folded)] {
                if !found.contains(&spelling) {
                    found.push(spelling);
                }
            }
        }
        let next = decode(&decoded);
        if next == decoded {
            return Some(found);
        }
        decoded = next;
    }
    None
}

/// A URI or template without query, fragment and parameters. Variables of a template stay as they are.
fn without_parameters(uri: &str) -> String {
    let mut kept = String::with_capacity(uri.len());
    let (mut n_open, mut is_parameter) = (0_usize, false);
    for (index, letter) in uri.char_indices() {
        match letter {
            // `{?query}` and `{;parameter}` stand for what is cut.
            '{' if uri[index + 1..].starts_with(['?', '#', '&', ';']) => break,
            '{' => n_open += 1,
            '}' => n_open = n_open.saturating_sub(1),
            '#' | '?' if n_open == 0 => break,
            ';' if n_open == 0 => is_parameter = true,
            '/' | '\\' => is_parameter = false,
            _ => {}
        }
        if !is_parameter {
            kept.push(letter);
        }
    }
    kept
}

/// A folded URI or template as the most lenient server sees it.
fn coarse(uri: &str) -> String {
    // A stream of a file on Windows that is the file itself.
    let kept = uri.split("::$").next().unwrap_or_default();
    let normal = normal(kept);
    let (root, path) = match normal.split_once(':') {
        Some(("file", rest)) => {
            let path = rest.trim_start_matches('/');
            let local = ["localhost/", "127.0.0.1/"].into_iter().find_map(|host| path.strip_prefix(host));
            ("file:/", local.unwrap_or(path))
        }
        Some(_) | None => ("", &*normal),
    };
    // Windows drops dots and spaces at the end of each part.
    let parts: Vec<&str> = path.split('/').map(|part| part.trim_end_matches(['.', ' '])).collect();
    format!("{root}{}", parts.join("/").trim_end_matches('/'))
}

/// Scheme and host in small letters, no dot segments, no double slashes in the path.
fn normal(uri: &str) -> String {
    let dropped = |letter: &char| !letter.is_control();
    let uri: String =
        uri.trim().chars().filter(dropped).map(|letter| if letter == '\\' { '/' } else { letter }).collect();
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_lowercase(), rest),
        Some(_) | None => return without_dots(&uri),
    };
    let Some(rest) = rest.strip_prefix("//") else {
        return format!("{scheme}:{}", without_dots(rest));
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    format!("{scheme}://{}{}", authority.to_lowercase(), without_dots(path))
}

fn without_dots(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(usize::from(is_absolute)) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    // A double slash is one; the last, empty part of `a/` stays.
    let n_parts = parts.len();
    let kept = parts.iter().enumerate().filter(|(index, part)| !part.is_empty() || index + 1 == n_parts);
    let joined = kept.map(|(_, part)| *part).collect::<Vec<_>>().join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        let digits = bytes.get(position + 1..position + 3).filter(|_| *byte == b'%');
        let value = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match value.and_then(|value| u8::from_str_radix(value, 16).ok()) {
            Some(value) => {
                out.push(value);
                position += 3;
            }
            None => {
                out.push(*byte);
                position += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_uri_comes_back_as_it_was() {
        let server = ServerName::parse("fs").unwrap();
        for (uri, published) in [
            ("file:///a/b", "file://fs//a/b"),
            ("ui://weather/app.html", "ui://fs/weather/app.html"),
            ("test://template/{id}/data", "test://fs/template/{id}/data"),
            ("https://example.com/x?y=://z", "https://fs/example.com/x?y=://z"),
            ("urn:isbn:123", "octroi-uri://fs/urn:isbn:123"),
            ("plain", "octroi-uri://fs/plain"),
            ("", "octroi-uri://fs/"),
            ("octroi-uri://x/y", "octroi-uri://fs/octroi-uri://x/y"),
            ("1bad://x", "octroi-uri://fs/1bad://x"),
            ("a://", "a://fs/"),
        ] {
            assert_eq!(publish(&server, uri), published);
            assert_eq!(resolve(published), Some(("fs", uri.to_owned())), "{published}");
        }
    }

    #[test]
    fn every_spelling_has_the_same_normal_form() {
        for uri in [
            "db://users/rows",
            "DB://users/rows",
            "Db://USERS/rows",
            "db://users/%72ows",
            "db://users/%2572ows",
            "db://users/./rows",
            "db://users/x/../rows",
            "db://users/x/%2e%2e/rows",
            "db://users/x%2f..%2frows",
            "db://users//rows",
            "db://users/x\\..\\rows",
            "db://users/ro\tws",
            " db://users/rows",
            "db%3a//users/rows",
        ] {
            assert!(
                spellings(uri).unwrap().contains(&"db://users/rows".to_owned()),
                "{uri}: {:?}",
                spellings(uri)
            );
        }
        assert_eq!(spellings("db://users/rows").unwrap().len(), 1);
        assert_eq!(spellings("a:%25252525252541"), None);
        assert_eq!(spellings("urn:ISBN:1").unwrap(), ["urn:ISBN:1"]);
        assert_eq!(spellings("file:///a/"), Some(vec!["file:///a/".to_owned()]));
    }

    #[test]
    fn what_a_server_may_ignore_makes_no_other_resource() {
        for uri in [
            "file:///a/one.txt",
            "file:///a/ONE.txt",
            "FILE:///A/%4fne.TXT",
            "file:///a/one.txt#x",
            "file:///a/one.txt?x",
            "file:///a/one.txt%3fx",
            "file:///a/one.txt/",
            "file:///a/one.txt//",
            "file:///a/one.txt.",
            "file:///a/one.txt. .",
            "file:///a/one.txt%20",
            "file:///a/one.txt;x=1",
            "file:///a;x=1/one.txt",
            "file:///a./one.txt",
            "file:///a/one.txt%00.png",
            "file:///a/one.txt%2500.png",
            "file:///a/one.txt::$DATA",
            "file:///a/ｏne.txt",
            "file:///a/o\u{200b}ne.txt",
            "file://localhost/a/one.txt",
            "file:/a/one.txt",
            "file:///a\\one.txt",
            "file:///a/b/../one.txt",
            "file:///a/b?/../one.txt",
            "file:///a/o%00ne.txt",
        ] {
            let found = coarse_spellings(uri).unwrap();
            assert!(found.contains(&"file:/a/one.txt".to_owned()), "{uri}: {found:?}");
        }
        for uri in ["file:///a/two.txt", "file:///a/one.txt2", "file:///b/one.txt", "db:///a/one.txt"] {
            assert!(!coarse_spellings(uri).unwrap().contains(&"file:/a/one.txt".to_owned()), "{uri}");
        }
        for (template, expected) in [
            ("db://Users/{Name}{?page}", "db://users/{name}"),
            ("db://users/{a}/x/", "db://users/{a}/x"),
            ("db://users/{a;b}/x;y/z", "db://users/{a;b}/x/z"),
        ] {
            assert_eq!(coarse_spellings(template).unwrap()[0], expected);
        }
        assert_eq!(coarse_spellings("a:%25252525252541"), None);
    }

    #[test]
    fn what_was_never_published_resolves_to_nothing() {
        for text in ["", "plain", "file:/x", "file://fs"] {
            assert_eq!(resolve(text), None, "{text}");
        }
    }
}
