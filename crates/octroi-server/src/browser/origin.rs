//! Whether a request comes from a page of this gateway.

use axum::http::{HeaderMap, header};

/// The origin of the page, if it is exactly the one under which the gateway was addressed: the same scheme, host and
/// port. `base` is that origin as a trusted proxy reports it.
pub(super) fn own(headers: &HeaderMap, is_tls: bool, base: Option<&str>) -> Option<String> {
    let text = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let origin = text(header::ORIGIN.as_str())?;
    let expected = match base {
        Some(base) => base.trim_end_matches('/').to_ascii_lowercase(),
        None => {
            let scheme = if is_tls { "https" } else { "http" };
            format!("{scheme}://{}", text(header::HOST.as_str())?.to_ascii_lowercase())
        }
    };
    // Browsers add it to every request. Where it is missing, the origin alone decides.
    let is_from_here =
        !headers.contains_key("sec-fetch-site") || text("sec-fetch-site") == Some("same-origin");
    (origin == expected && is_from_here).then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_origin_is_own() {
        let host = ("host", "127.0.0.1:7878");
        for (pairs, is_tls, base, expected) in [
            (&[host, ("origin", "http://127.0.0.1:7878")][..], false, None, true),
            (
                &[host, ("origin", "http://127.0.0.1:7878"), ("sec-fetch-site", "same-origin")],
                false,
                None,
                true,
            ),
            (
                &[host, ("origin", "http://127.0.0.1:7878"), ("sec-fetch-site", "same-site")],
                false,
                None,
                false,
            ),
            (&[host, ("origin", "http://127.0.0.1:7879")], false, None, false),
            (&[host, ("origin", "http://localhost:7878")], false, None, false),
            (&[host, ("origin", "https://127.0.0.1:7878")], false, None, false),
            (&[host, ("origin", "http://127.0.0.1:7878")], true, None, false),
            (&[host, ("origin", "https://127.0.0.1:7878")], true, None, true),
            (&[host, ("origin", "null")], false, None, false),
            (
                &[host, ("origin", "http://127.0.0.1:7878"), ("origin", "http://evil.example")],
                false,
                None,
                false,
            ),
            (&[host], false, None, false),
            (&[("origin", "http://127.0.0.1:7878")], false, None, false),
            (&[host, ("origin", "https://gate.example")], false, Some("https://gate.example"), true),
            (&[host, ("origin", "http://127.0.0.1:7878")], false, Some("https://gate.example"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(own(&headers, is_tls, base).is_some(), expected, "{pairs:?}");
        }
    }
}
