//! Who sends a request that came through a proxy: only trusted proxies are believed, each about the one before it.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};
use octroi_core::network::Network;

const FOR: &str = "x-forwarded-for";
const PROTO: &str = "x-forwarded-proto";
const HOST: &str = "x-forwarded-host";

/// The client's address: the last one in the chain of proxies that is none of ours. Headers of others are ignored.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> IpAddr {
    if !is_trusted(peer, proxies) {
        return peer;
    }
    let chains =
        [chain(headers, FOR, "", address), chain(headers, header::FORWARDED.as_str(), "for", address)];
    match chains {
        [None, None] => peer,
        [Some(chain), None] | [None, Some(chain)] => last_untrusted(peer, chain, proxies),
        // A proxy that sets one of them may pass the other on as its client wrote it.
        [Some(one), Some(other)] => {
            let found = last_untrusted(peer, one, proxies);
            if found == last_untrusted(peer, other, proxies) { found } else { peer }
        }
    }
}

/// Where the client of a trusted proxy reaches Octroi, as in `https://gate.example`, if the proxy says that.
/// `is_allowed` checks the host: whoever sends a request must not choose where people are sent.
pub(crate) fn client_base(
    peer: IpAddr,
    headers: &HeaderMap,
    proxies: &[Network],
    is_allowed: impl Fn(&str) -> bool,
) -> Option<String> {
    if !is_trusted(peer, proxies) {
        return None;
    }
    let text = |value: &str| Some(value.to_ascii_lowercase());
    let last = |name: &str, parameter: &str| chain(headers, name, parameter, text)?.pop()?;
    let forwarded = header::FORWARDED;
    let scheme = last(PROTO, "").or_else(|| last(forwarded.as_str(), "proto"));
    let scheme = scheme.filter(|scheme| matches!(scheme.as_str(), "http" | "https"))?;
    let host = last(HOST, "").or_else(|| last(forwarded.as_str(), "host"));
    let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok().map(str::to_ascii_lowercase))?;
    is_allowed(&host).then(|| format!("{scheme}://{host}"))
}

fn is_trusted(address: IpAddr, proxies: &[Network]) -> bool {
    proxies.iter().any(|proxy| proxy.contains(address))
}

/// From the right: each proxy added the address that it was asked from.
fn last_untrusted(peer: IpAddr, chain: Vec<Option<IpAddr>>, proxies: &[Network]) -> IpAddr {
    let mut last = peer;
    for address in chain.into_iter().rev() {
        // What cannot be read says nothing, and nothing to its left can be believed.
        let Some(address) = address else {
            return last;
        };
        last = address;
        if !is_trusted(address, proxies) {
            return last;
        }
    }
    last
}

/// The entries of a list header, or of one parameter in it, over all its lines; `None` without the header.
fn chain<T>(
    headers: &HeaderMap,
    name: &str,
    parameter: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let mut entries = Vec::new();
    let mut lines = headers.get_all(name).iter().peekable();
    lines.peek()?;
    for line in lines {
        let Ok(line) = line.to_str() else {
            entries.push(None);
            continue;
        };
        for element in split(line, ',') {
            let value = if parameter.is_empty() { Some(element) } else { member(element, parameter) };
            entries.push(value.and_then(|value| read(unquoted(value))));
        }
    }
    Some(entries)
}

/// The value of a parameter in an element such as `for=192.0.2.1;proto=https`.
fn member<'a>(element: &'a str, parameter: &str) -> Option<&'a str> {
    split(element, ';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case(parameter).then_some(value.trim())
    })
}

/// Splits outside of quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |character| {
        is_quoted ^= character == '"';
        character == separator && !is_quoted
    })
    .map(str::trim)
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// An address, with or without a port: `192.0.2.1:80`, `[2001:db8::1]:80`, `2001:db8::1`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn proxies() -> Vec<Network> {
        vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()]
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_last_address_that_no_trusted_proxy_has_is_the_clients() {
        for (peer, lines, expected) in [
            // Nobody but a trusted proxy is believed.
            ("192.0.2.9", &[(FOR, "203.0.113.5")][..], "192.0.2.9"),
            ("192.0.2.9", &[("forwarded", "for=203.0.113.5")], "192.0.2.9"),
            (PROXY, &[], PROXY),
            (PROXY, &[(FOR, "203.0.113.5")], "203.0.113.5"),
            ("::1", &[(FOR, "203.0.113.5")], "203.0.113.5"),
            ("::ffff:10.0.0.1", &[(FOR, "203.0.113.5")], "203.0.113.5"),
            // What the client wrote itself stands to the left.
            (PROXY, &[(FOR, "127.0.0.1, 203.0.113.5")], "203.0.113.5"),
            (PROXY, &[(FOR, "127.0.0.1"), (FOR, "203.0.113.5")], "203.0.113.5"),
            (PROXY, &[(FOR, "1.2.3.4, 203.0.113.5, 10.0.0.7")], "203.0.113.5"),
            (PROXY, &[(FOR, "10.0.0.8, 10.0.0.7")], "10.0.0.8"),
            (PROXY, &[(FOR, "203.0.113.5, unknown, 10.0.0.7")], "10.0.0.7"),
            (PROXY, &[(FOR, "nonsense")], PROXY),
            (PROXY, &[(FOR, "")], PROXY),
            (PROXY, &[(FOR, "203.0.113.5:4711")], "203.0.113.5"),
            (PROXY, &[(FOR, "2001:db8::1")], "2001:db8::1"),
            (PROXY, &[(FOR, "[2001:db8::1]:4711")], "2001:db8::1"),
            (PROXY, &[("forwarded", "for=203.0.113.5;proto=https;by=10.0.0.1")], "203.0.113.5"),
            (PROXY, &[("forwarded", "For=\"[2001:db8::1]:47011\"")], "2001:db8::1"),
            (PROXY, &[("forwarded", "for=1.2.3.4, for=203.0.113.5")], "203.0.113.5"),
            (PROXY, &[("forwarded", "for=\"1.2.3.4, for=5.6.7.8\", for=203.0.113.5")], "203.0.113.5"),
            (PROXY, &[("forwarded", "for=_hidden")], PROXY),
            (PROXY, &[("forwarded", "proto=https")], PROXY),
            // One of both may be the client's own.
            (PROXY, &[(FOR, "203.0.113.5"), ("forwarded", "for=203.0.113.5")], "203.0.113.5"),
            (PROXY, &[(FOR, "203.0.113.5"), ("forwarded", "for=1.2.3.4")], PROXY),
            (PROXY, &[(FOR, "1.2.3.4"), ("forwarded", "for=203.0.113.5")], PROXY),
        ] {
            let found = client_address(peer.parse().unwrap(), &headers(lines), &proxies());
            assert_eq!(found.to_string(), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn a_trusted_proxy_says_where_its_client_reaches_octroi() {
        let https = (PROTO, "https");
        for (peer, lines, expected) in [
            (PROXY, &[https, (HOST, "gate.example")][..], Some("https://gate.example")),
            (PROXY, &[https, ("host", "gate.example")], Some("https://gate.example")),
            (PROXY, &[https, ("host", "gate.example:8443")], Some("https://gate.example:8443")),
            (PROXY, &[("forwarded", "proto=https;host=gate.example")], Some("https://gate.example")),
            (PROXY, &[(PROTO, "http"), ("host", "gate.example")], Some("http://gate.example")),
            ("192.0.2.9", &[https, ("host", "gate.example")], None),
            (PROXY, &[https, (HOST, "evil.example")], None),
            (PROXY, &[(PROTO, "javascript"), ("host", "gate.example")], None),
            (PROXY, &[("host", "gate.example")], None),
            (PROXY, &[https], None),
        ] {
            let is_allowed = |host: &str| host.split(':').next() == Some("gate.example");
            let base = client_base(peer.parse().unwrap(), &headers(lines), &proxies(), is_allowed);
            assert_eq!(base.as_deref(), expected, "{peer} {lines:?}");
        }
    }
}
