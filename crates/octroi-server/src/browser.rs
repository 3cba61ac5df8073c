//! Sign-in of browsers: `/ui/session` exchanges a token or a one-time code for a session, `/ui/token` exchanges a proof
//! for an access token.
//!
//! There is no cookie: a browser would send it to every program that listens on this machine. Both paths answer pages
//! of exactly this gateway's origin only; another port of this machine is another origin.

mod origin;
mod proof;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use octroi_api::{ApiError, ErrorCode};
use octroi_core::Principal;
use octroi_core::time::show_time;
use octroi_gateway::{BrowserProof, BrowserSignIn, OperatorError, ProofRefusal};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::endpoint::HttpEndpoint;
use crate::error::OperationError;
use crate::reply::{self, Reply};

/// Where a browser gets a session.
pub(crate) const SESSION_PATH: &str = "/ui/session";
/// Where a browser gets an access token.
pub(crate) const TOKEN_PATH: &str = "/ui/token";

/// A token, a code and a label are much shorter.
const BODY_BYTES_MAX: usize = 4 << 10;

/// What a page sends to sign in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// A person's token, or a one-time code.
    credential: String,
    /// The name of the browser in the list of tokens.
    label: String,
}

/// Signs a browser in.
pub(crate) async fn sign_in(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    let (parts, body) = request.into_parts();
    let proof = match proven(&endpoint, &connection, &parts.headers, SESSION_PATH) {
        Ok(proof) => proof,
        Err(reply) => return endpoint.refuse_slowly(*reply).await,
    };
    let read = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => serde_json::from_slice::<SignIn>(&body.to_bytes()).ok(),
        Err(_) => None,
    };
    let Some(SignIn { credential, label }) = read else {
        return endpoint
            .refuse_slowly(reply::invalid_request("a sign-in has `credential` and `label`"))
            .await;
    };
    let credential = credential.trim();
    if let Some(rest) = endpoint.too_many(&connection, &parts.headers, credential) {
        return endpoint.refuse_slowly(reply::wrong_tokens(rest)).await;
    }
    let browser = BrowserSignIn { key: proof.key, label };
    match endpoint.operations.sign_in_browser(credential, browser).await {
        Ok((session, person)) => answer(&json!({
            "session": session.id,
            "user": person.user(),
            "role": role(&person),
            "expires_at": session.expires_at_ms.map(show_time),
        })),
        Err(OperationError::Operator(error)) => match *error {
            OperatorError::UnknownCredential => {
                let refusal = match endpoint.wrong_token(&connection, &parts.headers, credential) {
                    Some(rest) => reply::wrong_tokens(rest),
                    None => failed(&OperationError::Operator(error)),
                };
                endpoint.refuse_slowly(refusal).await
            }
            OperatorError::NotAPerson => {
                let address = endpoint.access.client_address(connection.address, &parts.headers);
                endpoint
                    .gateway
                    .audit()
                    .record_refused("a program's token was used to sign a browser in", address);
                endpoint.refuse_slowly(failed(&OperationError::Operator(error))).await
            }
            _ => failed(&OperationError::Operator(error)),
        },
        Err(error) => failed(&error),
    }
}

/// Gives a browser an access token.
pub(crate) async fn access(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
) -> Reply {
    let proof = match proven(&endpoint, &connection, &headers, TOKEN_PATH) {
        Ok(proof) => proof,
        Err(reply) => return endpoint.refuse_slowly(*reply).await,
    };
    match endpoint.gateway.identity().browser_access(&proof) {
        Ok(access) => answer(&json!({
            "access_token": access.token.secret,
            "expires_in_s": access.valid_for.as_secs(),
            "session": access.principal.token().id,
            "user": access.principal.user(),
            "role": role(&access.principal),
            "session_ends_at": access.session_ends_at_ms.map(show_time),
        })),
        Err(refusal) => endpoint.refuse_slowly(refused(refusal)).await,
    }
}

/// The proof that a request carries, if it comes from a page of this gateway.
fn proven(
    endpoint: &HttpEndpoint,
    connection: &Connection,
    headers: &HeaderMap,
    path: &str,
) -> Result<BrowserProof, Box<Reply>> {
    if let Err(refusal) = endpoint.access.check_host(headers) {
        return Err(Box::new(reply::refusal(refusal)));
    }
    let base = endpoint.access.client_base(connection.address, headers);
    let Some(origin) = origin::own(headers, endpoint.settings.tls.is_some(), base.as_deref()) else {
        let message = "only pages of this gateway itself sign in; the Origin is another one";
        return Err(Box::new(reply::refuse(None, &ApiError::new(ErrorCode::Forbidden, message))));
    };
    let text = headers.get(proof::HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match proof::verify(text, "POST", &format!("{origin}{path}")) {
        Ok(proof) => {
            let proof::Verified { key, id, made_at_ms } = proof;
            Ok(BrowserProof { key, id, made_at_ms, origin })
        }
        Err(problem) => {
            let error =
                ApiError::new(ErrorCode::Unauthenticated, format!("the proof is not valid: {problem}"));
            Err(Box::new(reply::refuse(None, &error)))
        }
    }
}

/// Why a proof was refused. A page corrects its clock by `now_ms`.
fn refused(refusal: ProofRefusal) -> Reply {
    let sign_in = "run `octroi open`, or sign in with a token";
    let error = match refusal {
        ProofRefusal::NoSession => {
            ApiError::new(ErrorCode::Unauthenticated, "this browser is not signed in").with_hint(sign_in)
        }
        ProofRefusal::Untimely { now_ms } => {
            ApiError::new(ErrorCode::Unauthenticated, "the proof was not made just now")
                .with_hint("set the clock of this machine")
                .with_detail("now_ms", now_ms)
        }
        ProofRefusal::Replayed => {
            ApiError::new(ErrorCode::Unauthenticated, "the proof was used before").with_hint("make a new one")
        }
        ProofRefusal::TooMany => {
            ApiError::new(ErrorCode::LimitExceeded, "this browser asked for too many tokens")
                .with_hint("wait a minute")
        }
        ProofRefusal::NoRandom => {
            ApiError::new(ErrorCode::InternalError, "the system provides no random numbers")
        }
    };
    reply::refuse(None, &error)
}

fn failed(error: &OperationError) -> Reply {
    reply::refuse(None, &ApiError::from(error))
}

fn role(person: &Principal) -> &'static str {
    if person.is_admin() { "admin" } else { "member" }
}

/// An answer that nothing keeps.
fn answer(body: &Value) -> Reply {
    let mut reply = reply::json(StatusCode::OK, Bytes::from(body.to_string()));
    reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
