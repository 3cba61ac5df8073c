//! The page of an invitation, where a person gets a token.
//!
//! The link shows a button only, whoever follows it: programs that preview links use nothing up, and learn nothing.
//! The button exchanges the code in the link for a token, once, and the answer shows it, once.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use octroi_core::principal::{hash_token, token_id};
use octroi_gateway::OperatorError;

use super::{failure, forms, html, page};
use crate::connection::Connection;
use crate::endpoint::HttpEndpoint;
use crate::error::OperationError;
use crate::reply::{self, Reply};

/// The button.
pub(crate) async fn show(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Reply {
    if let Err(refusal) = endpoint.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    match token_id(&code) {
        Some(_) => page(StatusCode::OK, &html::invitation()),
        None => page(StatusCode::NOT_FOUND, &html::no_invitation()),
    }
}

/// The button was pressed.
pub(crate) async fn accept(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(code): Path<String>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
) -> Reply {
    if let Err(refusal) = endpoint.access.check_host(&headers) {
        return reply::refusal(refusal);
    }
    if !forms::is_same_origin(&headers) {
        let problem = "This form was sent from another page, so nothing was done.";
        return page(StatusCode::FORBIDDEN, &html::problem("Wrong origin", problem));
    }
    // Before the code is looked at: it must not be guessed either.
    if let Some(rest) = endpoint.too_many(&connection, &headers, &code) {
        return endpoint.refuse_slowly(too_many(rest.as_secs())).await;
    }
    match endpoint.operations.accept_invitation(&hash_token(&code)).await {
        Ok(accepted) => {
            page(StatusCode::OK, &html::first_token(&accepted.record.user, &accepted.token.secret))
        }
        Err(OperationError::Operator(error)) if matches!(*error, OperatorError::UnknownInvite) => {
            let refusal = match endpoint.wrong_token(&connection, &headers, &code) {
                None => page(StatusCode::NOT_FOUND, &html::no_invitation()),
                Some(rest) => too_many(rest.as_secs()),
            };
            endpoint.refuse_slowly(refusal).await
        }
        Err(error) => failure(&error),
    }
}

fn too_many(rest_s: u64) -> Reply {
    let problem = "Too many wrong codes and tokens came from your address. Wait a moment, then try again.";
    let mut reply = page(StatusCode::TOO_MANY_REQUESTS, &html::problem("Too many attempts", problem));
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(rest_s + 1));
    reply
}
