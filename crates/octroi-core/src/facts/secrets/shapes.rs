//! Secrets with a recognizable format.

use std::ops::Range;

use super::FoundSecret;

/// A token with a known prefix.
struct SecretShape {
    prefix: &'static str,
    kind: &'static str,
    /// The minimum number of characters after the prefix.
    length_min: usize,
    /// The characters allowed besides letters and digits.
    marks: &'static [u8],
}

const fn shape(
    prefix: &'static str,
    kind: &'static str,
    length_min: usize,
    marks: &'static [u8],
) -> SecretShape {
    SecretShape { prefix, kind, length_min, marks }
}

/// Ordered by the first letter, so that a word is compared with few of them.
const SHAPES: &[SecretShape] = &[
    shape("AKIA", "aws_key", 16, b""),
    shape("ASIA", "aws_key", 16, b""),
    shape("AIza", "google_key", 35, b"_-"),
    shape("ATATT3", "atlassian_token", 30, b"_-="),
    shape("ATCTT3", "atlassian_token", 30, b"_-="),
    shape("AGE-SECRET-KEY-1", "age_key", 50, b""),
    shape("CFPAT-", "contentful_token", 40, b"_-"),
    shape("EAAA", "square_token", 40, b"_-"),
    shape("FlyV1", "fly_token", 30, b" _-+/=,"),
    shape("GOCSPX-", "google_key", 20, b"_-"),
    shape("NRAK-", "newrelic_key", 20, b""),
    shape("PMAK-", "postman_key", 40, b"-"),
    shape("SG.", "sendgrid_key", 40, b"_-."),
    shape("SK", "twilio_key", 32, b""),
    shape("dapi", "databricks_token", 32, b"-"),
    shape("dckr_pat_", "docker_token", 20, b"_-"),
    shape("discord.com/api/webhooks/", "webhook_url", 30, b"/_-"),
    shape("discordapp.com/api/webhooks/", "webhook_url", 30, b"/_-"),
    shape("doo_v1_", "digitalocean_token", 40, b""),
    shape("dop_v1_", "digitalocean_token", 40, b""),
    shape("dor_v1_", "digitalocean_token", 40, b""),
    shape("dp.pt.", "doppler_token", 30, b""),
    shape("dp.st.", "doppler_token", 30, b"._-"),
    shape("figd_", "figma_token", 30, b"_-"),
    shape("github_pat_", "github_token", 30, b"_"),
    shape("ghp_", "github_token", 30, b"_"),
    shape("gho_", "github_token", 30, b"_"),
    shape("ghu_", "github_token", 30, b"_"),
    shape("ghs_", "github_token", 30, b"_"),
    shape("ghr_", "github_token", 30, b"_"),
    shape("glc_", "grafana_token", 30, b"+/="),
    shape("gldt-", "gitlab_token", 20, b"_-."),
    shape("glft-", "gitlab_token", 20, b"_-."),
    shape("glpat-", "gitlab_token", 20, b"_-."),
    shape("glptt-", "gitlab_token", 20, b"_-."),
    shape("glrt-", "gitlab_token", 20, b"_-."),
    shape("glsa_", "grafana_token", 30, b"_"),
    shape("glsoat-", "gitlab_token", 20, b"_-."),
    shape("gsk_", "model_key", 40, b""),
    shape("hf_", "huggingface_token", 30, b""),
    shape("hooks.slack.com/services/", "webhook_url", 30, b"/"),
    shape("hvb.", "vault_token", 24, b"_-"),
    shape("hvs.", "vault_token", 24, b"_-"),
    shape("key-", "mailgun_key", 32, b""),
    shape("lin_api_", "linear_key", 30, b""),
    shape("lin_oauth_", "linear_key", 30, b""),
    shape("npm_", "npm_token", 36, b""),
    shape("ntn_", "notion_token", 40, b""),
    shape("oct_", "octroi_token", 24, b"_"),
    shape("ops_eyJ", "onepassword_token", 40, b"_-"),
    shape("phx_", "posthog_key", 40, b""),
    shape("pplx-", "model_key", 40, b""),
    shape("pscale_pw_", "planetscale_token", 30, b"_-."),
    shape("pscale_tkn_", "planetscale_token", 30, b"_-."),
    shape("pypi-", "pypi_token", 50, b"_-"),
    shape("r8_", "model_key", 37, b""),
    shape("rk_live_", "stripe_key", 16, b""),
    shape("rk_test_", "stripe_key", 16, b""),
    shape("rubygems_", "rubygems_key", 48, b""),
    shape("sbp_", "supabase_token", 40, b""),
    shape("secret_", "notion_token", 40, b""),
    shape("shpat_", "shopify_token", 32, b""),
    shape("shpca_", "shopify_token", 32, b""),
    shape("shppa_", "shopify_token", 32, b""),
    shape("shpss_", "shopify_token", 32, b""),
    shape("sk-ant-", "model_key", 20, b"_-"),
    shape("sk-or-v1-", "model_key", 40, b""),
    shape("sk-proj-", "model_key", 20, b"_-"),
    shape("sk-svcacct-", "model_key", 20, b"_-"),
    shape("sk-", "model_key", 32, b"_"),
    shape("sk_live_", "stripe_key", 16, b""),
    shape("sk_test_", "stripe_key", 16, b""),
    shape("sntryu_", "sentry_token", 40, b""),
    shape("sntrys_", "sentry_token", 40, b"+/=_"),
    shape("sq0atp-", "square_token", 22, b"_-"),
    shape("sq0csp-", "square_token", 40, b"_-"),
    shape("tskey-", "tailscale_key", 20, b"-"),
    shape("whsec_", "stripe_key", 24, b"+/="),
    shape("xai-", "model_key", 60, b""),
    shape("xapp-", "slack_token", 10, b"-"),
    shape("xkeysib-", "brevo_key", 60, b"-"),
    shape("xoxa-", "slack_token", 10, b"-"),
    shape("xoxb-", "slack_token", 10, b"-"),
    shape("xoxe", "slack_token", 16, b"-."),
    shape("xoxp-", "slack_token", 10, b"-"),
    shape("xoxr-", "slack_token", 10, b"-"),
    shape("xoxs-", "slack_token", 10, b"-"),
    shape("ya29.", "google_key", 20, b"_-."),
];

/// For each first letter, where its shapes begin and end.
const BY_LETTER: [(u8, u8); 256] = {
    let mut ranges = [(0, 0); 256];
    let mut index = 0;
    while index < SHAPES.len() {
        let letter = SHAPES[index].prefix.as_bytes()[0] as usize;
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 255 shapes")]
        let next = index as u8 + 1;
        if ranges[letter].1 == 0 {
            ranges[letter].0 = next - 1;
        }
        ranges[letter].1 = next;
        index += 1;
    }
    ranges
};

/// A token with a known prefix or form that begins with this word.
pub(super) fn token(bytes: &[u8], word: Range<usize>) -> Option<FoundSecret> {
    let rest = &bytes[word.start..];
    let (first, end) = BY_LETTER[usize::from(*rest.first()?)];
    let shapes = &SHAPES[usize::from(first)..usize::from(end)];
    shapes.iter().find_map(|shape| of_shape(rest, word.start, shape)).or_else(|| without_prefix(bytes, word))
}

fn of_shape(rest: &[u8], at: usize, shape: &SecretShape) -> Option<FoundSecret> {
    let tail = rest.strip_prefix(shape.prefix.as_bytes())?;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || shape.marks.contains(byte);
    if tail.iter().take(shape.length_min).take_while(is_part).count() < shape.length_min {
        return None;
    }
    let head = &tail[..tail.len().min(shape.length_min.max(64))];
    let head = &head[..head.iter().take_while(is_part).count()];
    let is_exact = head.len() == shape.length_min;
    let is_hexadecimal = || head.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    let is_it = match shape.kind {
        // AWS key ids have an exact length of upper-case letters and digits.
        "aws_key" => is_exact && !head.iter().any(u8::is_ascii_lowercase),
        "twilio_key" | "mailgun_key" => is_exact && is_hexadecimal(),
        // Names and words may begin like these, but have no digit.
        "notion_token" | "square_token" | "databricks_token" | "fly_token" => {
            head.iter().any(u8::is_ascii_digit)
        }
        _ => true,
    };
    let length = || shape.prefix.len() + tail.iter().take_while(is_part).count();
    is_it.then(|| FoundSecret { kind: shape.kind, range: at..at + length() })
}

/// Tokens that are known by the marks inside them: of Telegram and Discord bots, of Azure and Terraform.
fn without_prefix(bytes: &[u8], word: Range<usize>) -> Option<FoundSecret> {
    let at = word.start;
    let run = |from: usize, marks: &[u8]| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || marks.contains(byte)).count()
    };
    let found = |kind, end: usize| Some(FoundSecret { kind, range: at..end });
    match (bytes.get(word.end)?, word.len()) {
        (b':', 8..=10) if bytes[word.end..].starts_with(b":AA") => {
            let length = run(word.end + 1, b"_-");
            let is_number = bytes[word.clone()].iter().all(u8::is_ascii_digit);
            if is_number && length == 35 { found("telegram_token", word.end + 36) } else { None }
        }
        (b'.', 23..=28) if b"MNO".contains(&bytes[at]) && run(word.end + 1, b"_-") == 6 => {
            let second = word.end + 8;
            let length = run(second, b"_-");
            let is_dot = bytes.get(second - 1) == Some(&b'.');
            if is_dot && length >= 27 { found("discord_token", second + length) } else { None }
        }
        (b'.', 14) if bytes[word.end..].starts_with(b".atlasv1.") => {
            let length = run(word.end + 9, b"_-=");
            if length >= 40 { found("terraform_token", word.end + 9 + length) } else { None }
        }
        (b'~', 5) if bytes[at + 3..].starts_with(b"8Q~") => {
            let length = run(word.end + 1, b"_-.~");
            if length >= 31 { found("azure_secret", word.end + 1 + length) } else { None }
        }
        _ => None,
    }
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
