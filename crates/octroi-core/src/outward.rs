//! Which addresses a server that a member adds may be reached at.
//!
//! A URL is text that somebody else chose. Without a filter, whoever may add a server could reach what only this machine
//! can: its own services, the network behind it, the metadata service of its cloud. Pure: names are resolved elsewhere,
//! and every address is judged here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::network::Network;

mod host;

pub use host::{HostProblem, address_of_host, host_of};

/// Exceptions for hosts and addresses that are not public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    entries: Vec<AllowedHost>,
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedHost {
    /// This host.
    Exact(String),
    /// Every host below this one; begins with a dot.
    Below(String),
    /// Every address of a network, however it was found.
    Network(Network),
}

/// Why a text is no exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither a host, `*.` and a host, nor a network: {reason}")]
pub struct NotAHost {
    text: String,
    reason: String,
}

impl FromStr for AllowedHost {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, NotAHost> {
        let refuse = |reason: &str| NotAHost { text: text.to_owned(), reason: reason.to_owned() };
        match text.parse::<Network>() {
            Ok(network) => return Ok(Self::Network(network)),
            Err(error) if text.contains('/') => return Err(refuse(&error.to_string())),
            Err(_) => {}
        }
        let is_name = |name: &str| {
            !name.is_empty()
                && name.split('.').all(|label| {
                    !label.is_empty()
                        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
                })
        };
        let name = text.to_ascii_lowercase();
        match name.strip_prefix("*.") {
            Some(below) if is_name(below) => Ok(Self::Below(format!(".{below}"))),
            None if is_name(&name) && address_of_host(&name).is_none() => Ok(Self::Exact(name)),
            None if is_name(&name) => Err(refuse("write the address as 127.0.0.1 is written")),
            Some(_) | None => Err(refuse("only letters, digits, `-`, `_` and dots are allowed")),
        }
    }
}

impl AllowedHosts {
    /// Reads the exceptions; the second part is why others cannot be used.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> (Self, Vec<NotAHost>) {
        let mut refused = Vec::new();
        let mut entries = Vec::new();
        for text in texts {
            match text.parse() {
                Ok(entry) => entries.push(entry),
                Err(error) => refused.push(error),
            }
        }
        (Self { entries }, refused)
    }

    /// Whether a connection to this address may be made, which a host was resolved to.
    pub fn permits(&self, host: &str, address: IpAddr) -> bool {
        is_public(address) || self.names(host) || self.has(address)
    }

    /// Whether a host may have any address.
    pub fn names(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.entries.iter().any(|entry| match entry {
            AllowedHost::Exact(name) => *name == host,
            AllowedHost::Below(end) => host.len() > end.len() && host.ends_with(end.as_str()),
            AllowedHost::Network(_) => false,
        })
    }

    fn has(&self, address: IpAddr) -> bool {
        self.entries.iter().any(|entry| match entry {
            AllowedHost::Network(network) => network.contains(address),
            AllowedHost::Exact(_) | AllowedHost::Below(_) => false,
        })
    }
}

/// Why the URL of a member's server is refused before it is tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUrl {
    /// It cannot be read, or not by everybody in the same way.
    #[error("`url` cannot be used: {0}")]
    Host(HostProblem),
    /// It names an address that is not public.
    #[error(
        "`{0}` is no public address, which the servers of members need unless `allow_hosts` under `[members]` names it"
    )]
    NotPublic(String),
}

/// Checks a URL that a member gives, as far as that is possible without resolving a name.
pub fn check_url(url: &str, allowed: &AllowedHosts) -> Result<(), RefusedUrl> {
    let host = host_of(url).map_err(RefusedUrl::Host)?;
    match address_of_host(&host) {
        Some(address) if !allowed.permits(&host, address) => Err(RefusedUrl::NotPublic(host)),
        Some(_) | None => Ok(()),
    }
}

/// Whether everybody on the internet reaches the same machine at an address.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Networks of IPv4 that are not the internet, or not one machine of it.
const NOT_PUBLIC_V4: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    // Carrier-grade NAT; one cloud has its metadata service there.
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Link-local, with the metadata service of most clouds.
    ([169, 254, 0, 0], 16),
    // The one public address that is a metadata service.
    ([168, 63, 129, 16], 32),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    // Relays from IPv6.
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    // Benchmarks.
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Multicast, what is reserved, and broadcast.
    ([224, 0, 0, 0], 3),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|(network, prefix)| {
        (address.to_bits() ^ u32::from_be_bytes(*network)) >> (32 - u32::from(*prefix)) == 0
    })
}

/// Networks within `2000::/3` that are not the internet.
const NOT_PUBLIC_V6: &[([u16; 3], u32)] = &[
    // Benchmarks.
    ([0x2001, 0x0002, 0], 48),
    // Cryptographic identifiers, which are not routed.
    ([0x2001, 0x0010, 0], 28),
    ([0x2001, 0x0020, 0], 28),
    // Documentation.
    ([0x2001, 0x0db8, 0], 32),
    ([0x3fff, 0, 0], 20),
];

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments @ [first, second, third, ..] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    // NAT64: what stands at its end is what is reached.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(v4(segments[6], segments[7]));
    }
    // Loopback, unique local, link-local, multicast, unspecified, IPv4-compatible and local NAT64 are all elsewhere.
    if first >> 13 != 0b001 {
        return false;
    }
    let bits = address.to_bits();
    let is_special = NOT_PUBLIC_V6.iter().any(|([a, b, c], prefix)| {
        let network = u128::from(*a) << 112 | u128::from(*b) << 96 | u128::from(*c) << 80;
        (bits ^ network) >> (128 - prefix) == 0
    });
    let embedded_is_public = match (first, second) {
        // 6to4.
        (0x2002, _) => is_public_v4(v4(second, third)),
        // Teredo: a server, and the client with all bits turned.
        (0x2001, 0) => is_public_v4(v4(third, segments[3])) && is_public_v4(v4(!segments[6], !segments[7])),
        // ISATAP, within any network.
        _ if segments[4] & !0x200 == 0 && segments[5] == 0x5efe => is_public_v4(v4(segments[6], segments[7])),
        _ => true,
    };
    !is_special && embedded_is_public
}

#[cfg(test)]
mod tests;
