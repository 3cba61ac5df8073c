//! Hosts that a call would connect to.
//!
//! URL parsers differ in where the host ends, in the meaning of backslashes and in how many slashes are
//! required. Every interpretation of a common library is reported.

use super::INCOMPLETE;
use super::keys::Use;
use super::shell;

mod name;

pub(crate) use name::names;

/// Schemes that browsers accept without slashes after the colon.
pub(crate) const LENIENT: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];
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
    search.without_breaks(text, use_of_text);
    if use_of_text.is_host || use_of_text.is_address {
        let is_bare = !text.trim().contains(' ') && !text.contains("://");
        for value in text.split_whitespace().filter(|_| is_bare) {
            if use_of_text.is_host || value.contains('.') || value.starts_with("localhost") {
                search.authority(value);
            }
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
    /// Browsers and Python drop tabs and line breaks inside a URL: `https://a.example<TAB>.b.example` leads to
    /// `a.example.b.example`. Only a text that is a URL as a whole is read like that.
    fn without_breaks(&mut self, text: &str, use_of_text: Use) {
        let text = text.trim_matches(|character: char| character.is_control() || character == ' ');
        if !text.contains(['\t', '\n', '\r']) {
            return;
        }
        let is_url = text.split_once(':').is_some_and(|(scheme, _)| is_lenient(&scheme.replace(BREAKS, "")))
            || text.starts_with("//")
            || use_of_text.is_address
            || use_of_text.is_host;
        // A list of URLs, one in each line, is a list.
        let is_list = |line: &str| line.split_once("://").is_some_and(|(scheme, _)| is_lenient(scheme));
        if !is_url || text.split(BREAKS).filter(|line| !line.is_empty()).all(is_list) {
            return;
        }
        let joined = text.replace(BREAKS, "");
        // With a space in it, it is no host for anybody.
        let start = joined.find(':').map_or(0, |at| at + 1);
        let authority = joined[start..].trim_start_matches(['/', '\\']);
        let end = authority.find(['/', '\\', '?', '#']).unwrap_or(authority.len());
        if !authority[..end].contains(' ') {
            self.urls(&joined);
            self.authority(authority);
        }
    }

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
        if is_lenient(scheme) {
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

/// What browsers drop inside a URL.
const BREAKS: [char; 3] = ['\t', '\n', '\r'];

pub(crate) fn is_lenient(scheme: &str) -> bool {
    scheme.len() <= 5 && LENIENT.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

fn ends_authority(character: char) -> bool {
    character.is_whitespace() || "/?#\"'`<>()|^;".contains(character)
}

/// A host with an optional port.
fn host(text: &str, found: &mut dyn FnMut(&str)) {
    if text.contains(['$', '{', '*']) || !names(text, found) {
        found(INCOMPLETE);
    }
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
