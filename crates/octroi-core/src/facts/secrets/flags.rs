//! Secrets on command lines: `--password x`, `-u user:pw`, `mysql -pSecret`.
//!
//! The letter of a short option means something else to each program, so the program's name decides.

use super::super::keys;
use super::extent::OpenQuote;
use super::named::is_quote;
use super::value::{LOOKED_AT, Position, is_placeholder, is_secret};
use super::{FoundSecret, kind_of_name};

const NAME_LENGTH_MAX: usize = 64;
/// How far back the program's name is searched for.
const COMMAND_LENGTH_MAX: usize = 256;
const WORDS_MAX: usize = 12;

/// A short option that takes a password.
struct ShortOption {
    letter: u8,
    /// The programs for which it does; a program may be two words.
    programs: &'static [&'static str],
    /// Whether the password may follow without a space.
    is_attached: bool,
}

const SHORT_OPTIONS: &[ShortOption] = &[
    ShortOption {
        letter: b'p',
        programs: &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "sshpass"],
        is_attached: true,
    },
    ShortOption {
        letter: b'p',
        programs: &[
            "login",
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongoimport",
            "cqlsh",
            "7z",
            "evil-winrm",
            "smbmap",
        ],
        is_attached: false,
    },
    ShortOption { letter: b'P', programs: &["sqlcmd", "bcp", "zip", "unzip"], is_attached: true },
    ShortOption { letter: b'a', programs: &["redis-cli", "http", "https"], is_attached: false },
    ShortOption { letter: b'w', programs: &["ldapsearch", "ldapadd", "ldapmodify"], is_attached: false },
];

/// Programs whose `-u` and `--user` name a user and a group.
const NOT_PASSWORDS: &[&str] = &["docker", "podman", "chown", "install", "rsync", "su", "sudo"];

/// The value of the option that begins here, if it is a secret.
pub(super) fn option(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let is_start = at == 0
        || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'(' | b'[' | b',');
    if !is_start {
        return None;
    }
    let dashes = if bytes.get(at + 1) == Some(&b'-') { 2 } else { 1 };
    let name_start = at + dashes;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let rest = bytes.get(name_start..)?;
    let length = rest.iter().take(NAME_LENGTH_MAX).take_while(is_name).count();
    let name = std::str::from_utf8(&rest[..length]).ok()?;
    let name_end = name_start + length;
    if dashes == 1 && !name.is_empty() {
        // `-Dspring.password=x` sets a property.
        let property = name.strip_prefix('D').filter(|_| bytes.get(name_end) == Some(&b'='));
        return match property {
            Some(property) => long(bytes, property, name_end),
            None => short(bytes, at, name).or_else(|| long(bytes, name, name_end)),
        };
    }
    if length > 1 { long(bytes, name, name_end) } else { None }
}

fn long(bytes: &[u8], name: &str, name_end: usize) -> Option<FoundSecret> {
    if matches!(name, "u" | "U" | "user" | "proxy-user") {
        return user_and_password(bytes, name_end);
    }
    if name.len() < 3 || !keys::is_secret(name) {
        return None;
    }
    let value = value_after(bytes, name_end)?;
    let text = value.text(bytes)?;
    let kind = kind_of_name(name);
    (!text.starts_with('-') && is_secret(text, kind, Position::Assigned, value.quote.is_some()))
        .then(|| value.found(bytes, kind))
}

fn short(bytes: &[u8], at: usize, name: &str) -> Option<FoundSecret> {
    let letter = *name.as_bytes().first()?;
    let of_letter = || SHORT_OPTIONS.iter().filter(|option| option.letter == letter);
    of_letter().next()?;
    let command = command_before(bytes, at);
    let option = of_letter().find(|option| is_by(command, option.programs))?;
    let judged = |value: OptionValue| {
        let text = value.text(bytes)?;
        (text.len() >= 3 && !is_placeholder(text) && !text.starts_with('-'))
            .then(|| value.found(bytes, "password"))
    };
    if name.len() > 1 || !matches!(bytes.get(at + 2), None | Some(b' ' | b'\t' | b'=' | b'"' | b'\'')) {
        return if option.is_attached { judged(OptionValue { start: at + 2, quote: None }) } else { None };
    }
    let value = value_after(bytes, at + 2)?;
    // `mysql -p database` asks for the password; what follows is a name.
    let is_database = option.is_attached
        && command_is(command, "mysql")
        && bytes.get(at + 2) != Some(&b'=')
        && value.text(bytes)?.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_database { None } else { judged(value) }
}

/// `-u user:password`.
fn user_and_password(bytes: &[u8], name_end: usize) -> Option<FoundSecret> {
    let value = value_after(bytes, name_end)?;
    let text = value.text(bytes)?;
    let (user, password) = text.split_once(':')?;
    let is_group = password.bytes().all(|byte| byte.is_ascii_digit()) || user == password;
    let is_other = is_group || password.len() < 2 || password.starts_with("//") || is_placeholder(password);
    if is_other || is_by(command_before(bytes, name_end), NOT_PASSWORDS) {
        return None;
    }
    let found = value.found(bytes, "password");
    Some(FoundSecret { range: value.start + user.len() + 1..found.range.end, ..found })
}

/// The value of an option.
struct OptionValue {
    start: usize,
    quote: Option<OpenQuote>,
}

impl OptionValue {
    /// The value, as far as it is looked at.
    fn text<'a>(&self, bytes: &'a [u8]) -> Option<&'a str> {
        let rest = bytes.get(self.start..)?;
        let looked_at = &rest[..rest.len().min(LOOKED_AT)];
        let value = &looked_at[..value_length(looked_at, self.quote)];
        match std::str::from_utf8(value) {
            Ok(text) => Some(text),
            // Cut inside a character.
            Err(error) => std::str::from_utf8(&value[..error.valid_up_to()]).ok(),
        }
    }

    /// The whole value as a secret.
    fn found(&self, bytes: &[u8], kind: &'static str) -> FoundSecret {
        let rest = bytes.get(self.start..).unwrap_or_default();
        FoundSecret { kind, range: self.start..self.start + value_length(rest, self.quote) }
    }
}

/// The value behind an option: after `=`, after spaces, or in the next item of a list.
fn value_after(bytes: &[u8], name_end: usize) -> Option<OptionValue> {
    let mut start = name_end;
    let mut n_separators = 0;
    while let Some(byte) = bytes.get(start).copied() {
        match byte {
            b'=' if n_separators == 0 => n_separators += 1,
            b' ' | b'\t' | b',' | b'"' | b'\'' | b'\\' => n_separators += 1,
            _ => break,
        }
        start += 1;
        if n_separators > 12 {
            return None;
        }
    }
    if n_separators == 0 {
        return None;
    }
    let before = &bytes[name_end..start];
    // In a sentence a comma ends the mention of an option.
    if before.contains(&b',') && !before.iter().any(|byte| is_quote(*byte)) {
        return None;
    }
    let quote = OpenQuote::before(before).filter(|_| before.last() != Some(&b'\\'));
    Some(OptionValue { start, quote })
}

fn value_length(rest: &[u8], quote: Option<OpenQuote>) -> usize {
    let closed = quote.and_then(|quote| quote.closed_at(rest));
    let ends = |byte: &u8| *byte <= b' ' || b"\"'`|;&<>\\".contains(byte);
    closed.or_else(|| rest.iter().position(ends)).unwrap_or(rest.len())
}

/// The part of the command line before this position.
fn command_before(bytes: &[u8], at: usize) -> &[u8] {
    let before = &bytes[at.saturating_sub(COMMAND_LENGTH_MAX)..at];
    let start = before.iter().rposition(|byte| b"|;&\n".contains(byte)).map_or(0, |at| at + 1);
    &before[start..]
}

/// The last words before the option, the nearest first.
fn words(command: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_between = |byte: &u8| *byte <= b' ' || b"\"',[]()`\\=".contains(byte);
    let base = |word: &[u8]| word.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let words = command.rsplit(is_between).filter(|word| !word.is_empty()).take(WORDS_MAX);
    words.map(move |word| &word[base(word)..])
}

fn is_by(command: &[u8], programs: &[&str]) -> bool {
    words(command).any(|word| programs.iter().any(|program| program.as_bytes() == word))
}

fn command_is(command: &[u8], program: &str) -> bool {
    words(command).any(|word| word.starts_with(program.as_bytes()))
}
