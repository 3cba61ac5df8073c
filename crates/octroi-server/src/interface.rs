//! The files of the web interface, and the page that its screens begin with.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use bytes::Bytes;
use octroi_ui::{Asset, Encoding};

use crate::endpoint::HttpEndpoint;
use crate::reply::{self, Reply};

/// Nothing from elsewhere, no inline script or style, and no text that becomes code but through the one policy of the
/// interface, which makes the address of its worker.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     font-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types octroi",
);
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");

/// Whether this binary has the web interface.
pub const fn is_built() -> bool {
    octroi_ui::is_built()
}

/// A file under `/static/`.
pub(crate) async fn asset(State(endpoint): State<Arc<HttpEndpoint>>, request: Request) -> Reply {
    if let Err(refusal) = endpoint.access.check_host(request.headers()) {
        return reply::refusal(refusal);
    }
    match octroi_ui::asset(request.uri().path()) {
        Some(asset) => serve(asset, request.method(), request.headers(), IMMUTABLE),
        None => crate::http::not_found(),
    }
}

/// A path that nothing else answers: a screen, if a browser asks for a page.
pub(crate) async fn screen(State(endpoint): State<Arc<HttpEndpoint>>, request: Request) -> Reply {
    match page(&endpoint, &request) {
        Some(reply) => reply,
        None => crate::http::not_found(),
    }
}

/// The page of a screen, if the request is one of a browser that wants to show it.
pub(crate) fn page(endpoint: &HttpEndpoint, request: &Request) -> Option<Reply> {
    let is_asked_for = matches!(*request.method(), Method::GET | Method::HEAD)
        && octroi_ui::is_screen(request.uri().path())
        && accepts_pages(request.headers());
    if !is_asked_for {
        return None;
    }
    if let Err(refusal) = endpoint.access.check_host(request.headers()) {
        return Some(reply::refusal(refusal));
    }
    Some(serve(octroi_ui::index(), request.method(), request.headers(), REVALIDATED))
}

/// Browsers name HTML when they load a page. Programs that do not would only be confused by one.
fn accepts_pages(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

fn serve(asset: Asset, method: &Method, headers: &HeaderMap, caching: HeaderValue) -> Reply {
    let tag = asset.tag();
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    let (body, encoding) = asset.body(&accepted_encodings(headers));
    let mut reply = match (is_known, method) {
        (true, _) => reply::empty(StatusCode::NOT_MODIFIED),
        (false, &Method::HEAD) => reply::empty(StatusCode::OK),
        (false, _) => Response::new(Body::from(Bytes::from_static(body))),
    };
    let answered = reply.headers_mut();
    if let Some(encoding) = encoding {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.as_str()));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        answered.insert(header::ETAG, tag);
    }
    answered.insert(header::CACHE_CONTROL, caching);
    for (name, value) in [
        (header::CONTENT_TYPE, asset.media_type()),
        (header::VARY, "accept-encoding, accept"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    ] {
        answered.insert(name, HeaderValue::from_static(value));
    }
    answered.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    reply
}

/// The compressions that a browser accepts. One that it weighs with zero is refused.
fn accepted_encodings(headers: &HeaderMap) -> Vec<Encoding> {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok());
    let is_accepted = |encoding: &Encoding| {
        accepted.into_iter().flat_map(|accepted| accepted.split(',')).any(|one| {
            let (name, weight) = one.split_once(';').unwrap_or((one, ""));
            let is_refused = weight
                .trim()
                .strip_prefix("q=")
                .is_some_and(|weight| weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0));
            name.trim().eq_ignore_ascii_case(encoding.as_str()) && !is_refused
        })
    };
    [Encoding::Brotli, Encoding::Gzip].into_iter().filter(is_accepted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_read_with_their_weights() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", &[Encoding::Brotli, Encoding::Gzip][..]),
            ("GZIP;q=0.5", &[Encoding::Gzip]),
            ("br;q=0, gzip", &[Encoding::Gzip]),
            ("br; q=0.0", &[]),
            ("identity", &[]),
            ("", &[]),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
            assert_eq!(accepted_encodings(&headers), expected, "{accepted}");
        }
    }
}
