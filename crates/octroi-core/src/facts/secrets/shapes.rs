//! Secrets with a recognizable format.

use super::FoundSecret;

/// A token with a known prefix.
struct Shape {
    prefix: &'static str,
    kind: &'static str,
    /// The minimum number of characters after the prefix.
    length_min: usize,
    /// The characters allowed besides letters and digits.
    marks: &'static [u8],
}

const fn shape(prefix: &'static str, kind: &'static str, length_min: usize, marks: &'static [u8]) -> Shape {
    Shape { prefix, kind, length_min, marks }
}

const SHAPES: &[Shape] = &[
    shape("AKIA", "aws_key", 16, b""),
    shape("ASIA", "aws_key", 16, b""),
    shape("ghp_", "github_token", 30, b"_"),
    shape("gho_", "github_token", 30, b"_"),
    shape("ghu_", "github_token", 30, b"_"),
    shape("ghs_", "github_token", 30, b"_"),
    shape("ghr_", "github_token", 30, b"_"),
    shape("github_pat_", "github_token", 30, b"_"),
    shape("glpat-", "gitlab_token", 20, b"_-."),
    shape("xoxb-", "slack_token", 10, b"-"),
    shape("xoxp-", "slack_token", 10, b"-"),
    shape("xoxa-", "slack_token", 10, b"-"),
    shape("xoxr-", "slack_token", 10, b"-"),
    shape("xoxs-", "slack_token", 10, b"-"),
    shape("xoxe", "slack_token", 16, b"-."),
    shape("xapp-", "slack_token", 10, b"-"),
    shape("sk_live_", "stripe_key", 16, b""),
    shape("rk_live_", "stripe_key", 16, b""),
    shape("sk_test_", "stripe_key", 16, b""),
    shape("rk_test_", "stripe_key", 16, b""),
    shape("whsec_", "stripe_key", 24, b"+/="),
    shape("AIza", "google_key", 35, b"_-"),
    shape("ya29.", "google_key", 20, b"_-."),
    shape("GOCSPX-", "google_key", 20, b"_-"),
    shape("oct_", "octroi_token", 24, b"_"),
    shape("npm_", "npm_token", 36, b""),
    shape("pypi-", "pypi_token", 50, b"_-"),
    shape("hf_", "huggingface_token", 30, b""),
    shape("sk-ant-", "model_key", 20, b"_-"),
    shape("sk-proj-", "model_key", 20, b"_-"),
    shape("sk-", "model_key", 32, b"_"),
    shape("dop_v1_", "digitalocean_token", 40, b""),
    shape("SG.", "sendgrid_key", 40, b"_-."),
];

/// The first letters of all prefixes, which rule out most words.
const FIRST_LETTERS: [bool; 256] = {
    let mut letters = [false; 256];
    let mut index = 0;
    while index < SHAPES.len() {
        letters[SHAPES[index].prefix.as_bytes()[0] as usize] = true;
        index += 1;
    }
    letters
};

/// A token with a known prefix at this position.
pub(super) fn token(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let rest = &bytes[at..];
    if !FIRST_LETTERS[usize::from(*rest.first()?)] {
        return None;
    }
    let shape = SHAPES.iter().find(|shape| {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || shape.marks.contains(byte);
        rest.starts_with(shape.prefix.as_bytes())
            && rest[shape.prefix.len()..].iter().take(shape.length_min).take_while(is_part).count()
                == shape.length_min
    })?;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || shape.marks.contains(byte);
    let length = rest[shape.prefix.len()..].iter().take_while(is_part).count();
    // AWS key ids have an exact length of upper-case letters and digits.
    let is_exact = shape.kind != "aws_key"
        || length == shape.length_min && !rest[..20].iter().any(u8::is_ascii_lowercase);
    is_exact.then(|| FoundSecret { kind: shape.kind, range: at..at + shape.prefix.len() + length })
}

/// A JSON Web Token, or the position up to which there is none.
pub(super) fn jwt(bytes: &[u8], at: usize) -> Result<FoundSecret, usize> {
    let part = |from: usize| {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        from + bytes[from.min(bytes.len())..].iter().take_while(is_part).count()
    };
    let first = part(at);
    if bytes.get(first) != Some(&b'.') || first - at < 8 {
        return Err(first);
    }
    let second = part(first + 1);
    if second - first < 8 {
        return Err(first);
    }
    let end = if bytes.get(second) == Some(&b'.') { part(second + 1) } else { return Err(first) };
    Ok(FoundSecret { kind: "jwt", range: at..end })
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// A private key block; up to the end of the text if it is not closed.
pub(super) fn private_key(text: &str, at: usize) -> Option<FoundSecret> {
    let rest = text.get(at..).filter(|rest| rest.starts_with(BEGIN))?;
    let title = &rest[..rest.floor_char_boundary(80)];
    if !title.contains("PRIVATE KEY") {
        return None;
    }
    let end = rest.find(END).map_or(text.len(), |end| {
        let tail = &rest[end + END.len()..];
        let close = tail.find("-----").map_or(tail.len(), |close| close + 5);
        at + end + END.len() + close
    });
    Some(FoundSecret { kind: "private_key", range: at..end })
}

/// `://user:password@host`.
pub(super) fn url_password(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let authority = bytes[at..].strip_prefix(b"://")?;
    let authority = &authority[..authority.len().min(1_024)];
    let end = authority
        .iter()
        .position(|byte| *byte <= b' ' || b"/?#\"'`<>".contains(byte))
        .unwrap_or(authority.len());
    let user_end = authority[..end].iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..user_end].iter().position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..user_end];
    let is_reference = password.first().is_some_and(|first| b"$<{*[".contains(first));
    let start = at + 3 + colon + 1;
    (!password.is_empty() && !is_reference)
        .then(|| FoundSecret { kind: "url_password", range: start..start + password.len() })
}
