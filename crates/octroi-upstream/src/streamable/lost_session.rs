//! How servers say that they no longer know a session.
//!
//! The specification wants 404. Many servers answer 400, some 401 or 422, and a few answer a JSON-RPC error
//! with 200, alone or in a stream. What they have in common is the text.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use octroi_mcp::{Envelope, Id, Kind, Method, envelope};

use super::{LegacySession, Mirror, Streamable};
use crate::error::UpstreamError;
use crate::http::{collect, is_type, status_error};
use crate::wire::Body;

/// A refusal that is longer does not tell of a lost session.
const REFUSAL_MAX: usize = 64 << 10;

/// The response to a request, as far as it had to be read to know what it means.
pub(super) enum Delivered {
    /// Its head.
    Response(Response<Body>),
    /// A refusal that is not about the session.
    Refusal(WholeResponse),
    /// The server does not know the session, so it has not looked at the request.
    SessionLost,
}

/// A response whose body was read.
pub(super) struct WholeResponse {
    pub(super) status: StatusCode,
    pub(super) is_json: bool,
    pub(super) body: Bytes,
}

impl WholeResponse {
    /// The message in it, or the error that its status means.
    pub(super) fn answer(self) -> Result<Envelope, UpstreamError> {
        // Authentication is missing, whatever the body contains.
        if self.status == StatusCode::UNAUTHORIZED || !self.is_json && !self.status.is_success() {
            return Err(status_error(self.status));
        }
        match Envelope::parse(self.body) {
            Ok(message) if message.kind() == Kind::Response => Ok(message),
            Ok(_) | Err(_) if !self.status.is_success() => Err(status_error(self.status)),
            Ok(_) | Err(_) => {
                Err(UpstreamError::Protocol("the server's answer is not an MCP message".to_owned()))
            }
        }
    }
}

/// Reads a response as far as necessary to know whether the session is lost.
pub(super) async fn read(
    session: &LegacySession,
    response: Response<Body>,
) -> Result<Delivered, UpstreamError> {
    match (&session.id, response.status()) {
        (Some(_), StatusCode::NOT_FOUND | StatusCode::GONE) => Ok(Delivered::SessionLost),
        (
            Some(_),
            status @ (StatusCode::BAD_REQUEST
            | StatusCode::UNAUTHORIZED
            | StatusCode::CONFLICT
            | StatusCode::UNPROCESSABLE_ENTITY),
        ) => {
            let is_json = is_type(&response, "application/json");
            let body = match collect(response.into_body(), REFUSAL_MAX).await {
                Ok(body) => body,
                Err(UpstreamError::TooLarge { .. }) => Bytes::new(),
                Err(error) => return Err(error),
            };
            Ok(if names_session(&String::from_utf8_lossy(&body)) {
                Delivered::SessionLost
            } else {
                Delivered::Refusal(WholeResponse { status, is_json, body })
            })
        }
        (Some(_) | None, _) => Ok(Delivered::Response(response)),
    }
}

/// Whether an answer is the error of a server that does not know the session.
pub(super) fn is_session_error(session: &LegacySession, answer: &Envelope) -> bool {
    session.id.is_some()
        && answer.kind() == Kind::Response
        && answer.error().is_some_and(|error| {
            matches!(error.code, -32_002..=-32_000 | -32_600) && names_session(&error.message)
        })
}

impl Streamable {
    /// Whether the server has lost this session, found out with a list: tools do not see it, and unlike `ping` it
    /// is answered within a session only. An error means that nobody can tell.
    pub(super) async fn has_lost(&self, session: &Arc<LegacySession>) -> Result<bool, UpstreamError> {
        let cannot_tell =
            |error: UpstreamError| UpstreamError::Closed(format!("it may have lost the session: {error}"));
        let is_refused = Box::pin(self.refuses_list(session)).await.map_err(cannot_tell)?;
        // Another call may have opened a new one meanwhile, because the old one was lost.
        Ok(is_refused || !Arc::ptr_eq(session, &self.session.load_full()))
    }

    async fn refuses_list(&self, session: &LegacySession) -> Result<bool, UpstreamError> {
        let id = Id::number(self.next_id());
        let message = envelope::request(&id, &Method::ToolsList, b"{}");
        let response = self.post(&Method::ToolsList, &Mirror::default(), message).await?;
        match read(session, response).await? {
            Delivered::SessionLost => Ok(true),
            Delivered::Refusal(_) => Ok(false),
            Delivered::Response(response) => {
                Ok(is_session_error(session, &self.read_answer(response, &id).await?))
            }
        }
    }
}

/// Whether the text of a refusal says that a session is unknown, or that none was begun.
fn names_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_missing = [
        "not found",
        "no valid",
        "not valid",
        "invalid",
        "unknown",
        "expired",
        "not exist",
        "terminated",
        "missing",
        "no such",
        "required",
        "closed",
    ];
    text.contains("session") && names(&is_missing)
        || text.contains("initializ")
            && names(&["not init", "expect init", "expected init", "uninit", "must init"])
}

#[cfg(test)]
mod tests {
    use super::names_session;

    #[test]
    fn what_servers_say_of_a_lost_session() {
        for (text, expected) in [
            (r#"{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#, true),
            (r#"{"error":{"code":-32001,"message":"Session not found"}}"#, true),
            (r#"{"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#, true),
            ("Unauthorized: Session not found", true),
            ("Unexpected message, expect initialize request", true),
            ("Session ID missing", true),
            ("Bad Request: Invalid or expired session", true),
            ("invalid arguments", false),
            ("the session of the browser is busy", false),
            ("", false),
        ] {
            assert_eq!(names_session(text), expected, "{text}");
        }
    }
}
