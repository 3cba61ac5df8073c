//! Hosts that a call would connect to.
//!
//! URL parsers differ in where the host ends, in the meaning of backslashes and in how many slashes are
//! required. Every interpretation of a common library is reported.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::INCOMPLETE;
use super::keys::Use;
use super::percent;
use super::shell;

/// Schemes that browsers accept without slashes after the colon.
const LENIENT: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];
/// Programs that take a bare host as an argument.
const CALLERS: [&str; 20] = [
    "curl",
    "wget",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "ftp",
    "ping",
    "dig",
    "nslookup",
    "host",
    "socat",
    "http",
    "https",
    "traceroute",
    "nmap",
];

/// Reports every host in a text.
pub(super) fn find(text: &str, use_of_text: Use, found: &mut dyn FnMut(&str)) {
    let mut search = Search { found, bytes_left: 4 * text.len() + 16_384 };
    search.urls(text);
    if use_of_text.is_host || use_of_text.is_address {
        let value = text.trim();
        let is_bare = !value.contains(char::is_whitespace) && !value.contains("://");
        let is_host_like = use_of_text.is_host || value.contains('.') || value.starts_with("localhost");
        if is_bare && is_host_like {
            search.authority(value);
        }
    }
    search.with_user(text, use_of_text);
    if use_of_text.is_command && shell::words(text).any(|word| CALLERS.contains(&word)) {
        shell::words(text).filter(|word| looks_like_host(word)).for_each(|word| search.authority(word));
    }
}

struct Search<'a> {
    found: &'a mut dyn FnMut(&str),
    /// URLs may be nested in URLs, and each could be read to the end of the text: this limits the total.
    bytes_left: usize,
}

impl Search<'_> {
    fn urls(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut scheme_start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b':' => {
                    self.after_colon(&text[scheme_start..at], &text[at + 1..]);
                    scheme_start = at + 1;
                }
                // `//host/path` is a URL without a scheme. Without a dot it is more likely a comment.
                b'/' if scheme_start == at && bytes[at..].starts_with(b"//") => {
                    let authority = text[at + 2..].split(ends_authority).next().unwrap_or_default();
                    if authority.contains('.') && !text[..at].ends_with([':', '/']) {
                        self.authority(authority);
                    }
                    scheme_start = at + 1;
                }
                byte if byte.is_ascii_alphanumeric() || b"+-.".contains(byte) => {}
                _ => scheme_start = at + 1,
            }
        }
    }

    /// Handles the text after `scheme:`.
    fn after_colon(&mut self, scheme: &str, rest: &str) {
        let is_lenient = scheme.len() <= 5 && LENIENT.iter().any(|known| scheme.eq_ignore_ascii_case(known));
        if is_lenient {
            self.authority(rest.trim_start_matches(['/', '\\']));
        } else if let Some(rest) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            self.authority(rest);
        }
    }

    /// Reports the hosts of an authority at the start of a text.
    fn authority(&mut self, rest: &str) {
        if self.bytes_left == 0 {
            return (self.found)(INCOMPLETE);
        }
        let whole = &rest[..rest.find(ends_authority).unwrap_or(rest.len())];
        self.bytes_left = self.bytes_left.saturating_sub(whole.len());
        // Database URLs may have several hosts.
        for part in whole.split(',') {
            // `a\@b` is host `a` to a browser and host `b` to other parsers.
            for reading in [part.split('\\').next().unwrap_or(part), part] {
                host(reading.rsplit('@').next().unwrap_or(reading), self.found);
            }
        }
    }

    /// `git@host:path`, and in commands `user@host`.
    fn with_user(&mut self, text: &str, use_of_text: Use) {
        let is_part = |character: char| character.is_alphanumeric() || "-._[]:".contains(character);
        for (at, _) in text.match_indices('@') {
            let has_user = text[..at]
                .ends_with(|character: char| character.is_alphanumeric() || "-_.".contains(character));
            let rest = &text[at + 1..];
            let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
            let has_path = rest[..end].contains(':');
            if has_user && (has_path || use_of_text.is_of_command()) && end > 0 {
                host(&rest[..end], self.found);
            }
        }
    }
}

fn ends_authority(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "/?#\"'`<>()|^;".contains(character)
}

/// A host with an optional port.
fn host(text: &str, found: &mut dyn FnMut(&str)) {
    if text.contains(['$', '{', '*']) {
        return found(INCOMPLETE);
    }
    let name = match text.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        // An IPv6 address without brackets, as in values of `host`.
        None if text.matches(':').count() > 1 && text.bytes().all(is_in_address) => text,
        None => text.split(':').next().unwrap_or(text),
    };
    let dotted = name.replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".").to_lowercase();
    let name = dotted.trim_matches('.');
    let is_name = |character: char| character.is_alphanumeric() || "-._:%~".contains(character);
    let end = name.find(|character| !is_name(character)).unwrap_or(name.len());
    let name = name[..end].trim_end_matches('.');
    found(name);
    if let Some(decoded) = percent::decode(name) {
        found(&decoded.to_lowercase());
    }
    if let Some(address) = address(name).filter(|address| address != name) {
        found(&address);
    }
}

/// An address as everybody writes it: `2130706433`, `0x7f.1` and `::ffff:127.0.0.1` are `127.0.0.1`.
fn address(name: &str) -> Option<String> {
    if let Ok(address) = name.parse::<Ipv6Addr>() {
        return Some(match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => address.to_string(),
        });
    }
    let mut numbers = Vec::new();
    for part in name.split('.') {
        let number = match part.as_bytes() {
            [b'0', b'x' | b'X', ..] => u32::from_str_radix(&part[2..], 16).ok()?,
            [b'0', _, ..] => u32::from_str_radix(part, 8).ok()?,
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

/// Whether a word of a command may be a host: it has a dot and ends like a domain or an address.
fn looks_like_host(word: &str) -> bool {
    let end = word.find(['/', ':']).unwrap_or(word.len());
    let name = &word[..end];
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let is_localhost = name == "localhost";
    is_localhost
        || !name.starts_with('-') && name.contains('.') && name.trim_end_matches('.').split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_the_same_in_every_spelling() {
        for (name, expected) in [
            ("127.0.0.1", Some("127.0.0.1")),
            ("127.1", Some("127.0.0.1")),
            ("2130706433", Some("127.0.0.1")),
            ("0x7f000001", Some("127.0.0.1")),
            ("0x7f.1", Some("127.0.0.1")),
            ("0177.0.0.01", Some("127.0.0.1")),
            ("::ffff:127.0.0.1", Some("127.0.0.1")),
            ("0:0:0:0:0:0:0:1", Some("::1")),
            ("256.1.1.1", None),
            ("1.2.3.4.5", None),
            ("example.com", None),
            ("", None),
        ] {
            assert_eq!(address(name).as_deref(), expected, "{name}");
        }
    }
}
