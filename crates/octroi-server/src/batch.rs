//! Batches of JSON-RPC messages, which exist only up to protocol version 2025-03-26.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use octroi_core::Principal;
use octroi_gateway::error_message;
use octroi_mcp::{Envelope, Kind, Malformed, Method, RpcError, Version, code};

use crate::admit::read_params;
use crate::endpoint::HttpEndpoint;
use crate::frontend::Frontend;
use crate::held_bytes::HeldRequest;
use crate::legacy::{AnswerForm, PostStream, find, respond};
use crate::reply::{self, Reply};

/// A larger batch is refused: it would bypass limits on requests.
const MESSAGES_MAX: usize = 64;

pub(crate) async fn post(
    endpoint: Arc<HttpEndpoint>,
    frontend: Frontend,
    principal: Principal,
    headers: &HeaderMap,
    (messages, held): (Vec<Result<Envelope, Malformed>>, Option<HeldRequest>),
) -> Reply {
    let session = match find(&endpoint, &frontend, &principal, headers) {
        Ok(session) => session,
        Err(reply) => return *reply,
    };
    if session.session.version > Version::V2025_03_26 {
        return reply::invalid_request(format!(
            "batches are not part of protocol version {}",
            session.session.version
        ));
    }
    if messages.len() > MESSAGES_MAX {
        return reply::invalid_request(format!("a batch may hold at most {MESSAGES_MAX} messages"));
    }
    let mut requests = Vec::new();
    let mut errors = Vec::new();
    for message in messages {
        match message {
            Err(malformed) => errors.push(error_message(malformed.id.as_ref(), &malformed.to_error())),
            Ok(message) if message.kind() == Kind::Request && *message.method() == Method::Initialize => {
                let error = RpcError::new(code::INVALID_REQUEST, "`initialize` may not be part of a batch");
                errors.push(error_message(message.id().as_ref(), &error));
            }
            Ok(message) if message.kind() == Kind::Request => requests.push(message),
            Ok(message) => session.session.receive(&endpoint.frontends, &message),
        }
    }
    if requests.is_empty() && errors.is_empty() {
        return reply::empty(StatusCode::ACCEPTED);
    }
    let stream = PostStream::new(Arc::clone(&session), None, AnswerForm::Json);
    let (frontends, client) = (endpoint.frontends.clone(), Arc::clone(&stream));
    let is_admin = endpoint.access.is_admin(headers);
    let work = Box::pin(async move {
        let _held = held;
        let answers = requests.iter().map(|request| {
            let (session, frontends, client) = (&session, &frontends, Arc::clone(&client));
            async move {
                let id = request.id()?;
                let params = match read_params(request) {
                    Ok(params) => params,
                    Err(error) => return Some(error_message(Some(&id), &error)),
                };
                let session = &session.session;
                let caller = session.caller(client, is_admin);
                let answer = session.answer(frontends, request, &params, &caller).await?;
                Some(answer.to_message(&id))
            }
        });
        let answers = futures_util::future::join_all(answers).await;
        let messages: Vec<Bytes> = errors.into_iter().chain(answers.into_iter().flatten()).collect();
        Some(Bytes::from([b"[", messages.join(&b","[..]).as_slice(), b"]"].concat()))
    });
    respond(&endpoint, stream, work).await
}
