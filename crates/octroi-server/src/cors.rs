//! Web pages of other origins that the configuration allows: what their browsers ask before and need after a request.

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};

use crate::access::Access;
use crate::reply::{self, Reply};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
/// The headers of answers that a page may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, x-request-id, allow, content-language",
);
/// How long a browser may remember the answer, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// A longer list of headers is no client's.
const REQUESTED_MAX: usize = 4 << 10;

/// The origin of a page that may call.
#[derive(Clone)]
pub(crate) struct PageOrigin(HeaderValue);

impl PageOrigin {
    /// The origin of a request, if the configuration names it.
    pub(crate) fn of(access: &Access, headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(header::ORIGIN)?;
        access.names_origin(origin).then(|| Self(origin.clone()))
    }

    /// The answer to a browser that asks before it sends a request. It has no token yet.
    pub(crate) fn preflight<B>(&self, request: &Request<B>) -> Option<Reply> {
        let headers = request.headers();
        if request.method() != Method::OPTIONS || !headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        {
            return None;
        }
        let mut reply = reply::empty(StatusCode::NO_CONTENT);
        let answered = reply.headers_mut();
        answered.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        answered.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
        // Any may be sent: arguments of tools can be headers, and none of them gives rights.
        let requested = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
        if let Some(requested) = requested.filter(|requested| requested.len() <= REQUESTED_MAX) {
            answered.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
        }
        Some(self.mark(reply))
    }

    /// Lets the page read an answer.
    pub(crate) fn mark(&self, mut reply: Reply) -> Reply {
        let headers = reply.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.0.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        reply
    }
}
