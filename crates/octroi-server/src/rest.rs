//! The REST interface: requests at `/api`, each of which is an operation of the table.
//!
//! The table says which operation a method and a path are, and how the request becomes its arguments. Everything
//! else is as at `/mcp`: who may connect, limits, and the dispatcher that authorises and records.

mod problems;

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use bytes::Bytes;
use http_body::Body as _;
use octroi_api::rest::{self, DESCRIPTION_PATH, Found, FoundRoute, Given, Method, PREFIX, Place, Subject};
use octroi_api::{ApiError, ErrorCode, Face, RestAnswer};
use octroi_core::Principal;
use octroi_core::arguments::{Exactness, read_exactly};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::access::AccessRefusal;
use crate::connection::{Connection, Phase};
use crate::endpoint::HttpEndpoint;
use crate::held_bytes::HeldRequest;
use crate::http::{authenticate, read_json};
use crate::operations::Requester;
use crate::percent;
use crate::reply::{self, Reply};

use problems::Exchange;
pub(crate) use problems::in_its_form;

/// The description of the interface, which is the same for everybody.
static DESCRIPTION: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(rest::openapi().to_string()));

const SWITCHED_OFF: &str = "set `enabled = true` under [rest] in the configuration; MCP is at /mcp";

/// Answers a request below `/api`.
pub(crate) async fn answer(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    let mut exchange = Exchange::new(request.headers());
    let served = serve(&endpoint, &connection, request, &mut exchange).await;
    let reply = match served {
        Ok(reply) => exchange.marked(reply),
        Err(refused) => exchange.problem(*refused),
    };
    // Whoever sends nothing but what is refused is slowed down, as at `/mcp`.
    if exchange.is_flood { endpoint.refuse_slowly(reply).await } else { reply }
}

/// A refusal in any form.
type Refusal = Box<Reply>;

async fn serve(
    endpoint: &HttpEndpoint,
    connection: &Connection,
    request: Request,
    exchange: &mut Exchange,
) -> Result<Reply, Refusal> {
    let (parts, body) = request.into_parts();
    endpoint.access.check_sender(&parts.headers).map_err(|refusal| Box::new(reply::refusal(refusal)))?;
    let path = parts.uri.path();
    if path.starts_with(PREFIX) && !endpoint.access.is_rest_enabled() {
        let error = ApiError::new(ErrorCode::PathNotFound, "the REST interface is switched off");
        return Err(Box::new(refused(&error.with_hint(SWITCHED_OFF))));
    }
    let method = Method::parse(parts.method.as_str());
    if path == DESCRIPTION_PATH {
        return match method {
            Some(Method::Get) => Ok(reply::json(StatusCode::OK, DESCRIPTION.clone())),
            _ => Err(Box::new(other_methods(parts.method.as_str(), &[Method::Get]))),
        };
    }
    let found = match rest::find(method, path) {
        Found::Routes(found) => found,
        Found::OtherMethods(methods) => return Err(Box::new(other_methods(parts.method.as_str(), &methods))),
        Found::Nothing => return Err(Box::new(nothing(parts.method.as_str(), path))),
    };
    let principal = authenticate(endpoint, connection, &parts.headers).await?;
    exchange.subject = found.first().map_or(Subject::Anything, |one| one.route.subject);
    let route = of_principal(&found, &principal)?;
    let (given, held) = read(endpoint, connection, &principal, route, (&parts, body)).await?;
    let arguments = route.arguments(given).map_err(|error| Box::new(refused(&error)))?;
    let requester = Requester {
        has_admin_token: endpoint.access.is_admin(&parts.headers),
        ..Requester::without_client(principal.clone())
    };
    connection.enter(Phase::Busy);
    let performed = endpoint.operations.perform(requester, route.operation.name, arguments).await;
    drop(held);
    match performed {
        Ok(response) => answer_of(route, response),
        Err(error) => {
            let error = ApiError::from(&error);
            Err(Box::new(refused(&if principal.is_person() { error } else { error.for_agent() })))
        }
    }
}

/// The operation that a principal means with a route.
fn of_principal<'f>(
    found: &'f [FoundRoute<'f>],
    principal: &Principal,
) -> Result<&'f FoundRoute<'f>, Refusal> {
    let Some(face) = Face::of(principal.kind()) else {
        return Err(Box::new(reply::refusal(AccessRefusal::Service)));
    };
    FoundRoute::at(found, face).ok_or_else(|| {
        let message = "only a person's token may do this";
        Box::new(refused(&ApiError::new(ErrorCode::PeopleOnly, message).for_agent()))
    })
}

/// Reads what a request has besides its method.
async fn read(
    endpoint: &HttpEndpoint,
    connection: &Connection,
    principal: &Principal,
    route: &FoundRoute<'_>,
    (parts, body): (&Parts, axum::body::Body),
) -> Result<(Given, Option<HeldRequest>), Refusal> {
    let not_text = || {
        let message = "the path or the query is not percent-encoded UTF-8";
        Box::new(refused(&ApiError::new(ErrorCode::InvalidRequest, message)))
    };
    let query = percent::of_query(parts.uri.query().unwrap_or_default()).ok_or_else(not_text)?;
    let id = percent::of_path(route.id).ok_or_else(not_text)?;
    let is_empty = body.is_end_stream() || body.size_hint().upper() == Some(0);
    if route.route.place != Place::Body || is_empty {
        return Ok((Given { query, id, body: None }, None));
    }
    let (body, held) = read_json(endpoint, principal, connection, &parts.headers, body).await?;
    if body.is_empty() {
        return Ok((Given { query, id, body: None }, held));
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(&body) {
        let error = ApiError::new(ErrorCode::ParseError, format!("the body is not JSON: {error}"));
        return Err(Box::new(refused(&error.with_hint("send one JSON object in UTF-8"))));
    }
    match read_exactly(&body) {
        Ok((body, Exactness::Exact)) => Ok((Given { query, id, body: Some(body) }, held)),
        Ok((_, Exactness::Rounded)) => {
            let message = "a number in the body would be rounded; give it as text, or with fewer digits";
            Err(Box::new(refused(&ApiError::new(ErrorCode::InvalidArguments, message))))
        }
        Err(complaint) => {
            let message = complaint.replacen("arguments", "the body", 1);
            Err(Box::new(refused(&ApiError::new(ErrorCode::InvalidParams, message))))
        }
    }
}

/// The response of an operation, as its table says.
fn answer_of(route: &FoundRoute<'_>, response: Value) -> Result<Reply, Refusal> {
    let answer = route.operation.rest_outcome.map_or(RestAnswer::Done, |outcome| (outcome.read)(&response));
    let status = match answer {
        RestAnswer::Done => reply::status(route.route.status),
        RestAnswer::Waiting => StatusCode::ACCEPTED,
        RestAnswer::Failed(error) => return Err(Box::new(refused(&error))),
    };
    let mut reply = reply::json(status, Bytes::from(response.to_string()));
    reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

/// A path with nothing on it.
fn nothing(method: &str, path: &str) -> Reply {
    let error = ApiError::new(ErrorCode::PathNotFound, format!("there is nothing at {path}"));
    let hint = match rest::replacement(method, path) {
        Some(resource) if resource.starts_with("resource") => {
            format!("read the resource `{resource}` at /mcp; a subscription reports its changes")
        }
        Some(tool) => format!("call the tool `{tool}` at /mcp"),
        None => format!("{DESCRIPTION_PATH} lists all paths; MCP is at /mcp"),
    };
    refused(&error.with_hint(hint))
}

fn other_methods(method: &str, methods: &[Method]) -> Reply {
    let mut allowed: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
    if methods.contains(&Method::Get) {
        allowed.push("HEAD");
    }
    let allowed = allowed.join(", ");
    let error = ApiError::new(ErrorCode::MethodNotAllowed, format!("there is no {method} at this path"));
    let mut reply = refused(&error.with_hint(format!("use {allowed}")));
    if let Ok(allowed) = HeaderValue::try_from(allowed) {
        reply.headers_mut().insert(header::ALLOW, allowed);
    }
    reply
}

fn refused(error: &ApiError) -> Reply {
    reply::refuse(None, error)
}
