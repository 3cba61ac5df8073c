//! Refusals in the form and the language of the REST interface.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use octroi_api::rest::Subject;
use octroi_api::{ApiError, ErrorCode, Fault, Language, PROBLEM_TYPE, Problem};

use crate::reply::{Refused, Reply};

const REQUEST_ID: &str = "x-request-id";

/// One request and what its answer needs.
pub(super) struct Exchange {
    pub(super) id: String,
    pub(super) language: Language,
    pub(super) subject: Subject,
    /// Whether its refusal is one that floods are made of.
    pub(super) is_flood: bool,
}

impl Exchange {
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let accepted: Vec<&str> =
            headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok()).collect();
        Self {
            id: request_id(),
            language: Language::preferred(&accepted.join(",")),
            subject: Subject::Anything,
            is_flood: false,
        }
    }

    /// An answer with the id of its request.
    pub(super) fn marked(&self, mut reply: Reply) -> Reply {
        if let Ok(id) = HeaderValue::try_from(&self.id) {
            reply.headers_mut().insert(REQUEST_ID, id);
        }
        reply
    }

    /// A refusal as problem details. What its headers say stays: challenges, methods, when to try again.
    pub(super) fn problem(&mut self, mut refusal: Reply) -> Reply {
        let status = refusal.status();
        let error = match refusal.extensions_mut().remove::<Refused>() {
            Some(Refused(error)) => error,
            None => ApiError::new(ErrorCode::InvalidRequest, "the request could not be read"),
        };
        self.is_flood = error.code == ErrorCode::ParseError;
        let mut problem = Problem::of(&error, self.subject, self.language, &self.id);
        problem.status = status.as_u16();
        if error.code.spec().fault == Fault::Gateway {
            tracing::warn!(request.id = self.id, code = %error.code, error = error.message, "REST request failed");
        } else {
            tracing::debug!(request.id = self.id, code = %error.code, error = error.message, "REST request refused");
        }
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let headers = refusal.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(self.language.tag()));
        headers.append(header::VARY, HeaderValue::from_static("accept-language"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        *refusal.body_mut() = Body::from(body);
        self.marked(refusal)
    }
}

/// A refusal of a request that got no further, as problem details.
pub(crate) fn in_its_form(refusal: Reply, headers: &HeaderMap) -> Reply {
    Exchange::new(headers).problem(refusal)
}

/// A random id: two requests may come at the same time.
fn request_id() -> String {
    let mut bytes = [0_u8; 10];
    // Without random numbers the gateway does not start; an id of zeros would still be an id.
    let _ = getrandom::fill(&mut bytes);
    format!("req_{}", hex::encode(bytes))
}
