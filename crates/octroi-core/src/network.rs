//! Networks, as in `10.0.0.0/8`: which addresses a setting is about.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A network: an address, and how many of its first bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// A text that is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It does not start with an address.
    #[error("it is not an IP address")]
    NoAddress,
    /// What follows the slash is no number of bits of such an address.
    #[error("the number after `/` is too large, or not a number")]
    BadPrefix,
    /// Bits after the prefix are set, so that another network may be meant.
    #[error("it has bits after its prefix; write {0}")]
    HasRest(Network),
}

impl Network {
    /// Whether an address is in this network. An IPv4 address that is written as an IPv6 one is an IPv4 address.
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.address.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::NoAddress)?;
        let n_bits: u8 = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => n_bits,
            // `+8` is a number to the standard library.
            Some(digits) if !digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                return Err(NetworkError::BadPrefix);
            }
            Some(digits) => digits.parse().map_err(|_| NetworkError::BadPrefix)?,
        };
        if prefix > n_bits {
            return Err(NetworkError::BadPrefix);
        }
        let network = Self { address: masked(address, prefix), prefix };
        if network.address == address { Ok(network) } else { Err(NetworkError::HasRest(network)) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix)
    }
}

/// The part of an address that one customer of a network has: all of an IPv4 address, the first half of an IPv6 one.
/// Limits by address count by it, because one machine may use any of the rest.
pub fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => masked(IpAddr::V6(address), 64),
        address => address,
    }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        for (network, address, is_in) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "::1", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("192.0.2.6/31", "192.0.2.7", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db9::1", true),
            ("::1", "::1", true),
        ] {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), is_in, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused_with_a_reason() {
        for (text, error) in [
            ("", "it is not an IP address"),
            ("localhost", "it is not an IP address"),
            ("10.0.0/8", "it is not an IP address"),
            ("10.0.0.0/33", "the number after `/` is too large, or not a number"),
            ("10.0.0.0/+8", "the number after `/` is too large, or not a number"),
            ("10.0.0.0/", "the number after `/` is too large, or not a number"),
            ("::/129", "the number after `/` is too large, or not a number"),
            ("10.1.0.0/8", "it has bits after its prefix; write 10.0.0.0/8"),
        ] {
            assert_eq!(text.parse::<Network>().unwrap_err().to_string(), error, "{text}");
        }
    }

    #[test]
    fn limits_count_networks_that_one_machine_may_have() {
        for (address, counted) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::1"),
        ] {
            assert_eq!(counted_as(address.parse().unwrap()).to_string(), counted, "{address}");
        }
    }
}
