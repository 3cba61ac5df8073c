//! Passwords in URLs and connection strings: `://user:password@host`.

use super::FoundSecret;

const LENGTH_MAX: usize = 1_024;
/// A user name of this length that looks random is a token.
const TOKEN_LENGTH_MIN: usize = 20;

/// The password, or the token in its place, of the URL whose `://` is here.
pub(super) fn password(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    if let Some(rest) = bytes[at..].strip_prefix(b":thin:") {
        return oracle(rest, at + 6);
    }
    let rest = bytes[at..].strip_prefix(b"://")?;
    let rest = &rest[..rest.len().min(LENGTH_MAX)];
    let is_path = |byte: &u8| b"/?#".contains(byte);
    let until = |is_end: &dyn Fn(&u8) -> bool| &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let host = until(&|byte| *byte <= b' ' || is_path(byte));
    let authority = &host[..end_of(host)];
    let start = at + 3;
    if let Some(user_end) = authority.iter().rposition(|byte| *byte == b'@') {
        let Some(colon) = authority[..user_end].iter().position(|byte| *byte == b':') else {
            return token(&authority[..user_end], start);
        };
        return found(&authority[colon + 1..user_end], start + colon + 1);
    }
    // A password may hold a `/` or a quote that nobody encoded; a port has digits only.
    let colon = authority.iter().position(|byte| *byte == b':')?;
    let is_port = authority[colon + 1..].iter().all(u8::is_ascii_digit);
    if is_port {
        return None;
    }
    let has_path = authority.len() == host.len() && rest.get(host.len()).is_some_and(is_path);
    let line = until(&|byte| *byte <= b' ' || has_path && is_mark(*byte));
    let user_end = line.iter().position(|byte| *byte == b'@')?;
    let has_userinfo = !line[colon + 1..user_end].windows(2).any(|pair| pair == b"//");
    if has_userinfo { found(&line[colon + 1..user_end], start + colon + 1) } else { None }
}

/// Where a URL ends: at a quote or an angle bracket, unless a letter or digit follows, as inside a password.
fn end_of(line: &[u8]) -> usize {
    let is_end = |at: &usize| is_mark(line[*at]) && !line.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    (0..line.len()).find(is_end).unwrap_or(line.len())
}

fn is_mark(byte: u8) -> bool {
    b"\"'`<>".contains(&byte)
}

fn found(password: &[u8], start: usize) -> Option<FoundSecret> {
    let is_reference = match password {
        [b'<', .., last] => *last == b'>',
        [first, ..] => b"${*[".contains(first),
        [] => false,
    };
    (!password.is_empty() && !is_reference)
        .then(|| FoundSecret { kind: "url_password", range: start..start + password.len() })
}

/// `https://TOKEN@host`.
fn token(user: &[u8], start: usize) -> Option<FoundSecret> {
    let is_token = user.len() >= TOKEN_LENGTH_MIN
        && user.iter().any(u8::is_ascii_digit)
        && user.iter().any(u8::is_ascii_alphabetic)
        && user.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    is_token.then(|| FoundSecret { kind: "url_password", range: start..start + user.len() })
}

/// `jdbc:oracle:thin:user/password@host`.
fn oracle(rest: &[u8], start: usize) -> Option<FoundSecret> {
    let rest = &rest[..rest.len().min(256)];
    let at = rest.iter().position(|byte| *byte == b'@')?;
    let slash = rest[..at].iter().position(|byte| *byte == b'/')?;
    let is_plain = rest[..at].iter().all(|byte| *byte > b' ') && end_of(&rest[..at]) == at;
    if is_plain { found(&rest[slash + 1..at], start + slash + 1) } else { None }
}
