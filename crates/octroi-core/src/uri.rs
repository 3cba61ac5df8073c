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
    fn what_was_never_published_resolves_to_nothing() {
        for text in ["", "plain", "file:/x", "file://fs"] {
            assert_eq!(resolve(text), None, "{text}");
        }
    }
}
