//! The address of a gateway, as people write it.

use std::net::IpAddr;

use hyper::Uri;

use crate::failure::Failure;

/// The endpoint that was meant: `127.0.0.1:7878` is `http://127.0.0.1:7878/mcp`. For another machine the scheme is
/// not guessed, because a token sent without TLS can be read on the way.
pub(crate) fn endpoint(typed: &str) -> Result<String, Failure> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(Failure::usage("the address of the gateway is empty").hint(
            "write one after --url or into OCTROI_URL, or leave both out to use the gateway of the data directory",
        ));
    }
    let written = match typed.split_once("://") {
        Some(("http" | "https", _)) => typed.to_owned(),
        Some((scheme, rest)) => {
            return Err(Failure::usage(format!("`{scheme}://` is not the scheme of a gateway's address"))
                .hint(format!("write http://{rest}, or https://{rest} if the gateway has a certificate")));
        }
        None if is_loopback(&format!("http://{typed}")) => format!("http://{typed}"),
        None => {
            return Err(Failure::usage(format!("`{typed}` does not say whether it is http:// or https://"))
                .hint(format!(
                    "write https://{typed}, or http://{typed} if the gateway has no certificate"
                )));
        }
    };
    let uri: Uri = written.parse().map_err(|error| {
        Failure::usage(format!("`{typed}` is not an address"))
            .cause(error)
            .hint("write it like http://127.0.0.1:7878/mcp")
    })?;
    // People copy the address that the gateway listens at; the endpoint is below it.
    Ok(match uri.path() {
        "" | "/" if uri.query().is_none() => format!("{}/mcp", written.trim_end_matches('/')),
        _ => written,
    })
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_never_guessed_for_other_machines() {
        for (typed, expected) in [
            ("127.0.0.1:7878", Ok("http://127.0.0.1:7878/mcp")),
            ("localhost:7878/", Ok("http://localhost:7878/mcp")),
            ("[::1]:7878/mcp", Ok("http://[::1]:7878/mcp")),
            ("http://gateway:7878", Ok("http://gateway:7878/mcp")),
            ("https://gateway.example/", Ok("https://gateway.example/mcp")),
            ("https://gateway.example/team/mcp", Ok("https://gateway.example/team/mcp")),
            (" http://127.0.0.1:1/mcp ", Ok("http://127.0.0.1:1/mcp")),
            ("", Err("the address of the gateway is empty")),
            ("gateway:7878", Err("`gateway:7878` does not say whether it is http:// or https://")),
            (
                "localhost.evil.example:1",
                Err("`localhost.evil.example:1` does not say whether it is http:// or https://"),
            ),
            ("ftp://gateway", Err("`ftp://` is not the scheme of a gateway's address")),
            ("http://", Err("`http://` is not an address")),
            ("http://a b", Err("`http://a b` is not an address")),
            (":7878", Err("`:7878` does not say whether it is http:// or https://")),
        ] {
            let found = endpoint(typed);
            let found = found.as_ref().map(String::as_str).map_err(|failure| {
                assert_eq!(failure.exit.code(), 2);
                assert!(failure.hint.is_some(), "{typed}");
                failure.message.as_str()
            });
            assert_eq!(found, expected, "{typed}");
        }
    }
}
