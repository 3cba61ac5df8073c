//! The names that readers may take the text of one host for: the one normaliser of hosts, for facts and for rules.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::facts::percent;
use crate::fold::fold;

/// Longer texts are no hosts: names have at most 253 letters. Encoded they may be longer.
pub(crate) const HOST_BYTES_MAX: usize = 2_048;

/// Reports every name of a host with an optional port. In small letters, without port and final dot; addresses also as
/// everybody writes them. `false` if the text is too long to be read.
pub(crate) fn names(text: &str, found: &mut dyn FnMut(&str)) -> bool {
    if text.len() > HOST_BYTES_MAX {
        return false;
    }
    let name = without_port(text);
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        one_name(&name.to_ascii_lowercase(), found);
        return true;
    }
    // Some end the name at the first strange character, some drop such characters, some decode them.
    let dotted = name.replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".");
    one_name(&begin(dotted.trim_start_matches('.')).to_lowercase(), found);
    let mut current = text.to_owned();
    for _ in 0..3 {
        // A NUL ends a text for some and is dropped by others.
        for reading in [fold(&current), fold(&current.replace('\0', ""))] {
            let folded = reading.replace('\u{3002}', ".");
            let folded = begin(without_port(&folded).trim_start_matches('.'));
            one_name(folded, found);
            if let Some(ascii) = in_ascii(folded) {
                one_name(&ascii, found);
            }
        }
        match percent::decode(&current).filter(|decoded| *decoded != current) {
            Some(decoded) => current = decoded,
            None => break,
        }
    }
    true
}

/// Up to the first character that no name has.
fn begin(text: &str) -> &str {
    let is_name = |character: char| character.is_alphanumeric() || "-._:%~".contains(character);
    &text[..text.find(|character| !is_name(character)).unwrap_or(text.len())]
}

/// A host without its port. An IPv6 address may stand without brackets, as in values of `host`.
fn without_port(text: &str) -> &str {
    match text.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None if text.matches(':').count() > 1 && text.bytes().all(is_in_address) => text,
        None => text.split(':').next().unwrap_or(text),
    }
}

fn one_name(name: &str, found: &mut dyn FnMut(&str)) {
    let name = name.trim_matches('.');
    if name.is_empty() {
        return;
    }
    found(name);
    for address in addresses(name).into_iter().flatten().filter(|address| address != name) {
        found(&address);
    }
}

/// As browsers look it up: `bücher.example` is `xn--bcher-kva.example`.
fn in_ascii(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    idna::domain_to_ascii(name).ok().filter(|ascii| !ascii.is_empty())
}

/// An address as everybody writes it: `2130706433`, `0x7f.1` and `::ffff:127.0.0.1` are `127.0.0.1`. A leading zero means
/// an octal number to some and nothing to others.
fn addresses(name: &str) -> [Option<String>; 2] {
    if let Ok(address) = name.split('%').next().unwrap_or(name).parse::<Ipv6Addr>() {
        let [.., high, low] = address.segments();
        let is_v4 = address.segments()[..6] == [0; 6] && high != 0;
        let mapped = address
            .to_ipv4_mapped()
            .or_else(|| is_v4.then(|| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))));
        return [Some(mapped.map_or_else(|| address.to_string(), |mapped| mapped.to_string())), None];
    }
    if !name.starts_with(|first: char| first.is_ascii_digit()) {
        return [None, None];
    }
    let has_octal = name.split('.').any(|part| part.len() > 1 && part.starts_with('0'));
    [ipv4(name, 8), if has_octal { ipv4(name, 10) } else { None }]
}

fn ipv4(name: &str, radix_of_zero: u32) -> Option<String> {
    let mut numbers = Vec::new();
    for part in name.split('.') {
        let number = match part.as_bytes() {
            [b'0', b'x' | b'X'] => 0,
            [b'0', b'x' | b'X', ..] => u32::from_str_radix(&part[2..], 16).ok()?,
            [b'0', _, ..] => u32::from_str_radix(part, radix_of_zero).ok()?,
            _ => part.parse().ok()?,
        };
        numbers.push(number);
    }
    // The last part stands for all bytes that are left.
    let (last, first) = numbers.split_last().filter(|(_, first)| first.len() < 4)?;
    let n_left = 4 - u32::try_from(first.len()).ok()?;
    let is_small = n_left == 4 || *last < 1 << (8 * n_left);
    if !is_small || first.iter().any(|number| *number > 255) {
        return None;
    }
    let high = first.iter().fold(0_u32, |bits, number| bits << 8 | number);
    let high = if n_left == 4 { 0 } else { high << (8 * n_left) };
    Some(Ipv4Addr::from(high | last).to_string())
}

fn is_in_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || b":.%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_a_reader_may_see() {
        for (text, expected) in [
            ("github.com", "github.com"),
            ("GitHub.com.", "github.com"),
            ("github.com:443", "github.com"),
            ("github.com:", "github.com"),
            ("[::1]:80", "::1"),
            ("127.1", "127.0.0.1"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("[::ffff:7f00:1]", "127.0.0.1"),
            ("[::7f00:1]", "127.0.0.1"),
            ("0127.0.0.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("１２７.0.0.1", "127.0.0.1"),
            ("①②⑦.0.0.1", "127.0.0.1"),
            ("github.com\t.evil.example", "github.com.evil.example"),
            ("github.com\u{ad}.evil.example", "github.com.evil.example"),
            ("github.com\u{200b}.evil.example", "github.com.evil.example"),
            ("github.com\u{ad}.evil.example", "github.com"),
            ("github.com%00.evil.example", "github.com.evil.example"),
            ("github.com%2eevil.example", "github.com.evil.example"),
            ("github.com%252eevil.example", "github.com.evil.example"),
            ("github\u{3002}com", "github.com"),
            ("githu\u{ff42}.com", "github.com"),
            ("githuｂ．com：443", "github.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example"),
        ] {
            let mut found = Vec::new();
            assert!(names(text, &mut |name| found.push(name.to_owned())));
            assert!(found.iter().any(|name| name == expected), "{text:?}: {found:?}");
        }
        assert!(!names(&"a".repeat(HOST_BYTES_MAX + 1), &mut |_| ()), "too long");
    }

    #[test]
    fn addresses_are_the_same_in_every_spelling() {
        for (name, expected) in [
            ("127.0.0.1", Some("127.0.0.1")),
            ("127.1", Some("127.0.0.1")),
            ("2130706433", Some("127.0.0.1")),
            ("0x7f000001", Some("127.0.0.1")),
            ("0x7f.1", Some("127.0.0.1")),
            ("0x7f.0x.0x.1", Some("127.0.0.1")),
            ("0177.0.0.01", Some("127.0.0.1")),
            ("::ffff:127.0.0.1", Some("127.0.0.1")),
            ("0:0:0:0:0:0:0:1", Some("::1")),
            ("256.1.1.1", None),
            ("1.2.3.4.5", None),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(addresses(name)[0].as_deref(), expected, "{name}");
        }
    }
}
