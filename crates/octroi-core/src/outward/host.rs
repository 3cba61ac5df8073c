//! The host of a URL that a member gives, before anything is resolved.
//!
//! Only URLs that every parser reads in the same way get through: what is checked must be what is connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a URL of a member is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostProblem {
    /// Another scheme, or none.
    #[error("it must begin with http:// or https://")]
    Scheme,
    /// `name:password@` before the host.
    #[error("it contains a name or a password before the host; use `headers`")]
    UserInfo,
    /// No host.
    #[error("it has no host")]
    NoHost,
    /// Characters that parsers read in different ways.
    #[error("its host has characters that programs read in different ways")]
    Unclear,
}

/// The host of a URL, in small letters, without port, brackets and final dot.
pub fn host_of(url: &str) -> Result<String, HostProblem> {
    let (scheme, rest) = url.split_once("://").ok_or(HostProblem::Scheme)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(HostProblem::Scheme);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(HostProblem::UserInfo);
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (address, port) = bracketed.split_once(']').ok_or(HostProblem::Unclear)?;
            // A zone, as in `fe80::1%eth0`, is no part of an address that others can name.
            address.parse::<Ipv6Addr>().map_err(|_| HostProblem::Unclear)?;
            (address, port)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() {
        return Err(HostProblem::NoHost);
    }
    let is_port = |port: &str| {
        port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok())
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if !host.bytes().all(is_host) || !is_port(port) {
        return Err(HostProblem::Unclear);
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() || host.ends_with('.') {
        return Err(HostProblem::Unclear);
    }
    Ok(host.to_ascii_lowercase())
}

/// The address that a host is, in any spelling that a resolver takes: `127.1`, `0x7f000001`, `2130706433`, `0177.0.0.1`.
pub fn address_of_host(host: &str) -> Option<IpAddr> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let bare = host.strip_prefix('[').and_then(|bracketed| bracketed.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Some(IpAddr::V6(address));
    }
    let parts: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let n_bits = 32 - 8 * first.len();
    if *last >= 1 << n_bits {
        return None;
    }
    let high = first.iter().fold(0_u64, |address, part| address << 8 | part);
    let bits = u32::try_from(high << n_bits | last).ok()?;
    Some(IpAddr::V4(Ipv4Addr::from_bits(bits)))
}

/// A part of an address: decimal, octal with a leading zero, or hexadecimal.
fn number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if lower.len() > 1 && lower.starts_with('0') => (&lower[1..], 8),
        None => (lower.as_str(), 10),
    };
    let is_digits = digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    u64::from_str_radix(digits, radix).ok().filter(|_| is_digits)
}
