//! The approval page, to which a client sends its user.
//!
//! Without a token the page shows only a form that asks for one: agents know the address too. A person's
//! token shows the call, with a ticket in the form that is valid for one decision about this call and a few
//! minutes. There is no cookie: the browser would send it to every program that listens on this machine.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use octroi_api::operations::approvals::{
    AgentsDecideRequest, ApprovalDecision, ApprovalsReveal, DecideRequest, RevealRequest,
};
use octroi_api::{ApiError, Operation as _};
use octroi_core::Principal;
use octroi_core::approval::{Approval, ApprovalState, Refusal};
use octroi_core::principal::{TokenHash, hash_token};
use octroi_gateway::{OperatorError, ShownArguments};
use serde_json::json;

use crate::connection::Connection;
use crate::endpoint::HttpEndpoint;
use crate::error::OperationError;
use crate::interface;
use crate::operations::Requester;
use crate::reply::{self, Reply};
use crate::tickets::{self, Redeemed};

mod forms;
mod html;
pub(crate) mod invitation;

use forms::Form;

/// A token, a ticket and a reason are much shorter.
const FORM_BYTES_MAX: usize = 16 << 10;

/// The sign-in form, which every visitor sees first.
pub(crate) async fn show(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(id): Path<String>,
    request: Request,
) -> Reply {
    // Whoever cannot run the interface, or has none, gets the form.
    if octroi_ui::is_built()
        && request.uri().query() != Some("form")
        && let Some(page) = interface::page(&endpoint, &request)
    {
        return page;
    }
    if let Err(refusal) = endpoint.access.check_sender(request.headers()) {
        return reply::refusal(refusal);
    }
    if forms::is_approval_id(&id) {
        page(StatusCode::OK, &html::sign_in(&id, None))
    } else {
        page(StatusCode::NOT_FOUND, &html::unknown())
    }
}

/// A form that was sent: a token, or a decision.
pub(crate) async fn submit(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(id): Path<String>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = endpoint.access.check_host(&parts.headers) {
        return reply::refusal(refusal);
    }
    if !forms::is_same_origin(&parts.headers) {
        let problem = "This form was sent from another page, so nothing was done.";
        return page(StatusCode::FORBIDDEN, &html::problem("Wrong origin", problem));
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
        Some(Form::SignIn { token }) => {
            sign_in(&endpoint, (&connection, &parts.headers), &id, token.trim()).await
        }
        Some(Form::Decide { ticket, decision, reason }) => match redeem(&endpoint, &id, &ticket) {
            Ok((principal, _)) => decide(&endpoint, principal, id, decision, reason).await,
            Err(reply) => *reply,
        },
        Some(Form::Reveal { ticket, path }) => match redeem(&endpoint, &id, &ticket) {
            Ok((principal, person)) => reveal(&endpoint, principal, person, &id, path).await,
            Err(reply) => *reply,
        },
    }
}

/// Uses up a ticket: who it was issued to, if they still may.
fn redeem(endpoint: &HttpEndpoint, id: &str, ticket: &str) -> Result<(Principal, Redeemed), Box<Reply>> {
    let Some(redeemed) = endpoint.tickets.redeem(ticket, id, endpoint.gateway.clock().instant()) else {
        let complaint = "Your sign-in has expired or was already used. Please sign in again.";
        return Err(Box::new(page(StatusCode::FORBIDDEN, &html::sign_in(id, Some(complaint)))));
    };
    Ok((person(endpoint, id, &redeemed.token)?, redeemed))
}

/// Reveals a value through the operation, which records it, and shows the page again.
async fn reveal(
    endpoint: &HttpEndpoint,
    principal: Principal,
    mut person: Redeemed,
    id: &str,
    path: String,
) -> Reply {
    let request = RevealRequest { id: id.to_owned(), path: path.clone() };
    let requester = Requester::without_client(principal);
    match endpoint.operations.perform(requester, ApprovalsReveal::NAME, json!(request)).await {
        Ok(_) => {
            person.revealed.push(path);
            question(endpoint, id, person).await
        }
        Err(error) => failure(&error),
    }
}

/// Decides through the same operation as every other client of management.
async fn decide(
    endpoint: &HttpEndpoint,
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
        arguments_json: None,
        remember: None,
        until: None,
        preview: false,
    };
    let requester = Requester::without_client(principal);
    let decided = endpoint.operations.perform(requester, AgentsDecideRequest::NAME, json!(request)).await;
    match decided {
        Ok(_) => match endpoint.gateway.approvals().get(&id).await {
            Ok(approval) => {
                page(StatusCode::OK, &html::decided(&approval, &masked_arguments(endpoint, &approval)))
            }
            Err(error) => failure(&error.into()),
        },
        Err(OperationError::Operator(error)) => match *error {
            OperatorError::Refused { refusal, .. } => refused(endpoint, &id, &refusal).await,
            error => failure(&error.into()),
        },
        Err(error) => failure(&error),
    }
}

async fn sign_in(
    endpoint: &HttpEndpoint,
    (connection, headers): (&Connection, &HeaderMap),
    id: &str,
    written: &str,
) -> Reply {
    let token = hash_token(written);
    let holder = endpoint.access.find(&token);
    let rest = match &holder {
        Some(_) => endpoint.too_many(connection, headers, written),
        None => endpoint.wrong_token(connection, headers, written),
    };
    if let Some(rest) = rest {
        return endpoint.refuse_slowly(too_many(id, rest)).await;
    }
    let principal = match person(endpoint, id, &token) {
        Ok(principal) => principal,
        Err(reply) => return refuse_on_page(endpoint, (connection, headers), holder.is_some(), *reply).await,
    };
    // Whoever may not see the call learns no more of it than of one that does not exist.
    if let Err(error) = endpoint.operations.may_see_approval(&principal, id).await {
        return failure(&error);
    }
    question(endpoint, id, Redeemed { token, revealed: Vec::new() }).await
}

/// The call as far as it was revealed to this person, and the buttons if it can still be decided.
async fn question(endpoint: &HttpEndpoint, id: &str, person: Redeemed) -> Reply {
    let approval = match endpoint.gateway.approvals().get(id).await {
        Ok(approval) => approval,
        Err(error) => return failure(&error.into()),
    };
    let clock = endpoint.gateway.clock();
    let may_decide = match self::person(endpoint, id, &person.token) {
        Ok(principal) => endpoint.gateway.approvals().check_approver(&approval, &principal),
        Err(reply) => return *reply,
    };
    let shown = endpoint.gateway.approvals().visible_arguments(&approval, &person.revealed);
    match decidable(&approval, clock.now_ms()) {
        Decidable::Open if may_decide.is_err() => {
            page(StatusCode::OK, &html::for_others(&approval, &shown, clock.now_ms()))
        }
        Decidable::Open => match endpoint.tickets.issue(id, person, clock.instant()) {
            Some(ticket) => page(StatusCode::OK, &html::question(&approval, &shown, &ticket, clock.now_ms())),
            None => page(
                StatusCode::SERVICE_UNAVAILABLE,
                &html::problem("Sorry", "The system provides no random numbers."),
            ),
        },
        Decidable::Decided => page(StatusCode::OK, &html::decided(&approval, &shown)),
        Decidable::Gone => page(StatusCode::GONE, &html::gone(&approval, &shown)),
    }
}

/// The arguments with everything masked.
fn masked_arguments(endpoint: &HttpEndpoint, approval: &Approval) -> ShownArguments {
    endpoint.gateway.approvals().visible_arguments(approval, &[])
}

/// The answer to a client that sent too many wrong tokens.
fn too_many(id: &str, rest: Duration) -> Reply {
    let complaint = "Too many wrong tokens came from your address. Wait a moment, then try again.";
    let mut reply = page(StatusCode::TOO_MANY_REQUESTS, &html::sign_in(id, Some(complaint)));
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(rest.as_secs() + 1));
    reply
}

/// Refuses whoever presented the token of a program, which is recorded, or a wrong one.
async fn refuse_on_page(
    endpoint: &HttpEndpoint,
    (connection, headers): (&Connection, &HeaderMap),
    is_program: bool,
    reply: Reply,
) -> Reply {
    if is_program {
        let address = endpoint.access.client_address(connection.address, headers);
        endpoint.gateway.audit().record_refused("a program's token was used on the approval page", address);
    }
    endpoint.refuse_slowly(reply).await
}

/// The principal of a token, if that is a person.
fn person(endpoint: &HttpEndpoint, id: &str, token: &TokenHash) -> Result<Principal, Box<Reply>> {
    match endpoint.access.find(token) {
        Some(principal) if principal.is_person() => Ok(principal),
        Some(_) => {
            let complaint = "This is the token of a program. Only people decide.";
            Err(Box::new(page(StatusCode::FORBIDDEN, &html::sign_in(id, Some(complaint)))))
        }
        None => {
            let mut reply =
                page(StatusCode::UNAUTHORIZED, &html::sign_in(id, Some("This token is not known.")));
            let challenge = HeaderValue::from_static("Bearer realm=\"octroi\", error=\"invalid_token\"");
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            Err(Box::new(reply))
        }
    }
}

/// The answer to a decision that came too late: after another decision, or after expiry.
async fn refused(endpoint: &HttpEndpoint, id: &str, refusal: &Refusal) -> Reply {
    let approval = match endpoint.gateway.approvals().get(id).await {
        Ok(approval) => approval,
        Err(error) => return failure(&error.into()),
    };
    match refusal {
        Refusal::Decided { .. } | Refusal::Used { .. } => {
            page(StatusCode::CONFLICT, &html::too_late(&approval, &masked_arguments(endpoint, &approval)))
        }
        _ => page(StatusCode::GONE, &html::gone(&approval, &masked_arguments(endpoint, &approval))),
    }
}

fn failure(error: &OperationError) -> Reply {
    if let OperationError::Operator(error) = error
        && matches!(**error, OperatorError::UnknownApproval(_))
    {
        return page(StatusCode::NOT_FOUND, &html::unknown());
    }
    let error = ApiError::from(error);
    tracing::warn!(error = error.message, hint = error.hint(), "the approval page cannot be shown");
    page(StatusCode::INTERNAL_SERVER_ERROR, &html::problem("This did not work", &error.text()))
}

/// Whether an approval can still be decided.
enum Decidable {
    Open,
    Decided,
    Gone,
}

fn decidable(approval: &Approval, now_ms: i64) -> Decidable {
    match approval.state {
        ApprovalState::Pending if approval.is_due(now_ms) => Decidable::Gone,
        ApprovalState::Pending => Decidable::Open,
        ApprovalState::Approved
        | ApprovalState::DeniedContinue
        | ApprovalState::DeniedAbort
        | ApprovalState::Claimed
        | ApprovalState::Done => Decidable::Decided,
        ApprovalState::Expired | ApprovalState::Cancelled | ApprovalState::Orphaned => Decidable::Gone,
    }
}

/// A complete page. Its policy allows no scripts and no requests for other resources.
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
