//! Publishes resource URIs of many servers in one list, reversibly.
//!
//! `scheme://rest` of server `fs` becomes `scheme://fs/rest`: the scheme stays, because clients depend on it
//! (`file:`, `ui:`). A URI without `://` is wrapped as `octroi-uri://fs/WHOLE`.

use crate::name::ServerName;

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
    fn what_was_never_published_resolves_to_nothing() {
        for text in ["", "plain", "file:/x", "file://fs"] {
            assert_eq!(resolve(text), None, "{text}");
        }
    }
}
