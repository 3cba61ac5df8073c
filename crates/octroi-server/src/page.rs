//! The page of an approval, where a client sends its user.
//!
//! Whoever knows the address sees a form for a person's token and nothing else: an agent knows it too. Who
//! has shown one sees the call, with a ticket in the form that is good for one decision about this one call
//! and a few minutes. There is no cookie: one would go to every program that listens on this machine.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use octroi_api::operations::approvals::{AgentsDecideRequest, ApprovalDecision, DecideRequest};
use octroi_api::{ApiError, Operation as _};
use octroi_core::approval::{Approval, ApprovalState, Refusal};
use octroi_core::principal::{TokenHash, hash_token};
use octroi_core::{Principal, Role};
use octroi_gateway::OperatorError;
use serde_json::json;

use crate::door::Door;
use crate::error::OperationError;
use crate::operations::Requester;
use crate::reply::{self, Reply};
use crate::tickets;

mod forms;
mod html;

use forms::Form;

/// A token, a ticket and a reason are much shorter.
const FORM_BYTES_MAX: usize = 16 << 10;

/// What every visitor sees.
pub(crate) async fn show(State(door): State<Arc<Door>>, Path(id): Path<String>, headers: HeaderMap) -> Reply {
    if let Err(refusal) = door.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    if forms::is_approval_id(&id) {
        page(StatusCode::OK, &html::sign_in(&id, None))
    } else {
        page(StatusCode::NOT_FOUND, &html::unknown())
    }
}

/// A form that was sent: a token, or a decision.
pub(crate) async fn submit(State(door): State<Arc<Door>>, Path(id): Path<String>, request: Request) -> Reply {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = door.access.check_host(&parts.headers) {
        return reply::refusal(refusal);
    }
    if !forms::is_same_origin(&parts.headers) {
        let problem = "This form was sent from another page, so nothing was done.";
        return page(StatusCode::FORBIDDEN, &html::problem("Not from here", problem));
    }
    if !forms::is_approval_id(&id) {
        return page(StatusCode::NOT_FOUND, &html::unknown());
    }
    let form = match Limited::new(body, FORM_BYTES_MAX).collect().await {
        Ok(body) => forms::read(&parts.headers, &body.to_bytes()),
        Err(_) => None,
    };
    match form {
        None => page(StatusCode::BAD_REQUEST, &html::sign_in(&id, Some("This form cannot be read."))),
        Some(Form::SignIn { token }) => sign_in(&door, &id, hash_token(token.trim())).await,
        Some(Form::Decide { ticket, decision, reason }) => {
            let Some(token) = door.tickets.take(&ticket, &id, door.gateway.clock().instant()) else {
                let complaint = "You have been here too long, or decided already. Please sign in again.";
                return page(StatusCode::FORBIDDEN, &html::sign_in(&id, Some(complaint)));
            };
            match person(&door, &id, &token) {
                Ok(principal) => decide(&door, principal, id, decision, reason).await,
                Err(reply) => *reply,
            }
        }
    }
}

/// Decides as every other client of the management does.
async fn decide(
    door: &Door,
    principal: Principal,
    id: String,
    decision: ApprovalDecision,
    reason: Option<String>,
) -> Reply {
    let request = DecideRequest {
        agent_id: None,
        call_id: id.clone(),
        decision,
        reason,
        arguments: None,
        remember: None,
        until: None,
        preview: false,
    };
    let requester = Requester::without_client(principal);
    let decided = door.operations.perform(requester, AgentsDecideRequest::NAME, json!(request)).await;
    match decided {
        Ok(_) => match door.gateway.approvals().get(&id).await {
            Ok(approval) => page(StatusCode::OK, &html::decided(&approval)),
            Err(error) => trouble(&error.into()),
        },
        Err(OperationError::Operator(error)) => match *error {
            OperatorError::Refused { refusal, .. } => refused(door, &id, &refusal).await,
            error => trouble(&error.into()),
        },
        Err(error) => trouble(&error),
    }
}

async fn sign_in(door: &Door, id: &str, token: TokenHash) -> Reply {
    if let Err(reply) = person(door, id, &token) {
        return *reply;
    }
    let approval = match door.gateway.approvals().get(id).await {
        Ok(approval) => approval,
        Err(error) => return trouble(&error.into()),
    };
    let clock = door.gateway.clock();
    match standing(&approval, clock.now_ms()) {
        Standing::Open => match door.tickets.issue(id, token, clock.instant()) {
            Some(ticket) => page(StatusCode::OK, &html::question(&approval, &ticket, clock.now_ms())),
            None => {
                page(StatusCode::SERVICE_UNAVAILABLE, &html::problem("Sorry", "There are no random numbers."))
            }
        },
        Standing::Decided => page(StatusCode::OK, &html::decided(&approval)),
        Standing::Gone => page(StatusCode::GONE, &html::gone(&approval)),
    }
}

/// Who a token belongs to, if that is a person.
fn person(door: &Door, id: &str, token: &TokenHash) -> Result<Principal, Box<Reply>> {
    match door.access.find(token) {
        Some(principal) if principal.role == Role::Human => Ok(principal),
        Some(_) => {
            door.gateway.audit().record_refused("an agent's token was shown on the page of an approval");
            let complaint = "This is the token of an agent. Only people decide.";
            Err(Box::new(page(StatusCode::FORBIDDEN, &html::sign_in(id, Some(complaint)))))
        }
        None => {
            door.gateway.audit().record_refused("the token is not known");
            let mut reply =
                page(StatusCode::UNAUTHORIZED, &html::sign_in(id, Some("This token is not known.")));
            let challenge = HeaderValue::from_static("Bearer realm=\"octroi\", error=\"invalid_token\"");
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            Err(Box::new(reply))
        }
    }
}

/// Somebody else was faster, or the time has passed.
async fn refused(door: &Door, id: &str, refusal: &Refusal) -> Reply {
    let approval = match door.gateway.approvals().get(id).await {
        Ok(approval) => approval,
        Err(error) => return trouble(&error.into()),
    };
    match refusal {
        Refusal::Decided { .. } | Refusal::Used { .. } => {
            page(StatusCode::CONFLICT, &html::too_late(&approval))
        }
        _ => page(StatusCode::GONE, &html::gone(&approval)),
    }
}

fn trouble(error: &OperationError) -> Reply {
    if let OperationError::Operator(error) = error
        && matches!(**error, OperatorError::UnknownApproval(_))
    {
        return page(StatusCode::NOT_FOUND, &html::unknown());
    }
    let error = ApiError::from(error);
    tracing::warn!(error = error.message, hint = error.hint(), "the page of an approval cannot be shown");
    page(StatusCode::INTERNAL_SERVER_ERROR, &html::problem("This did not work", &error.text()))
}

/// What can still be done about an approval.
enum Standing {
    Open,
    Decided,
    Gone,
}

fn standing(approval: &Approval, now_ms: i64) -> Standing {
    match approval.state {
        ApprovalState::Pending if approval.is_due(now_ms) => Standing::Gone,
        ApprovalState::Pending => Standing::Open,
        ApprovalState::Approved
        | ApprovalState::DeniedContinue
        | ApprovalState::DeniedAbort
        | ApprovalState::Claimed
        | ApprovalState::Done => Standing::Decided,
        ApprovalState::Expired | ApprovalState::Cancelled | ApprovalState::Orphaned => Standing::Gone,
    }
}

/// A whole page. Nothing in it runs, and nothing is fetched for it.
fn page(status: StatusCode, content: &html::Content) -> Reply {
    let Some(nonce) = tickets::random() else {
        return reply::empty(StatusCode::SERVICE_UNAVAILABLE);
    };
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    let mut reply = Response::new(Body::from(Bytes::from(html::document(content, &nonce))));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // Not `no-referrer`: a browser would then send the form with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}
