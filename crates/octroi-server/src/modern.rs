//! Requests of the modern era: each one complete in itself.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use bytes::Bytes;
use futures_util::{Stream, stream};
use octroi_core::Principal;
use octroi_gateway::{Answer, Asked, Client, Filter, Listener, Movable, NoClient, Notice};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::params::Params;
use octroi_mcp::{Era, Id, Kind, Method, RpcError, code, envelope, json, meta, sse};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::accept::prefers_stream;
use crate::admit::{check_declared, check_headers, modern_caller};
use crate::endpoint::{HttpEndpoint, Post};
use crate::frontend::{Frontend, Frontends, ListeningClient};
use crate::notice_queue::NoticeQueue;
use crate::reply::{self, KEEP_ALIVE_EVERY, Reply};
use crate::rescue;
use crate::revoked::{self, CallLease, GRACE, TokenEnded};
use crate::subscription_limits::is_limit;

/// Notifications about a request that may wait for its client. More are dropped.
const QUEUED: usize = 256;

pub(crate) async fn post(post: Box<Post>, headers: HeaderMap) -> Reply {
    let Post { endpoint, frontend, principal, envelope, params, .. } = &*post;
    let id = match (envelope.kind(), envelope.id()) {
        (Kind::Request, Some(id)) => id,
        // The era defines no notification over HTTP; one that comes anyway is ignored.
        (Kind::Notification, _) => {
            endpoint.frontends.note(frontend, principal, envelope);
            return reply::empty(StatusCode::ACCEPTED);
        }
        (Kind::Response | Kind::Request, _) => {
            return reply::invalid_request("responses are not accepted in this era");
        }
    };
    if let Err(error) = check_headers(&headers, envelope, params) {
        return reply::refuse_with(Some(&id), &error);
    }
    if let Err(error) = check_declared(params, endpoint.settings.limits.client_info_bytes) {
        return reply::refuse_with(Some(&id), &error);
    }
    if envelope.method().is_legacy_only() {
        return reply::refuse_with(
            Some(&id),
            &endpoint.frontends.refuse_method(frontend, principal, envelope.method()),
        );
    }
    if *envelope.method() == Method::Listen {
        if let Err(error) = endpoint.frontends.admit_subscription(principal) {
            return reply::limit(Some(&id), &error);
        }
        return reply::stream(Box::pin(listen(endpoint, frontend, principal, id, params)).await);
    }
    let is_admin = endpoint.access.is_admin(&headers);
    let prefers_stream = prefers_stream(&headers);
    let outbox = Arc::new(Outbox::new(headers));
    let mut caller = modern_caller(principal, is_admin, params, Arc::clone(&outbox) as _);
    caller.base.clone_from(&post.base);
    let (endpoint, principal) = (Arc::clone(endpoint), principal.clone());
    let mut work: ModernWork = Box::pin(async move {
        let Post { endpoint, frontend, envelope, params, .. } = &*post;
        endpoint.frontends.request(frontend, &caller, envelope, params).await
    });
    let mut first = VecDeque::new();
    let mut lease = None;
    tokio::select! {
        biased;
        message = outbox.next() => first.push_back(message),
        answer = &mut work => {
            // Notifications that came at the same moment are still sent first.
            first.extend(outbox.take());
            let status = answer.code().map_or(StatusCode::OK, reply::status_of);
            // A stream could not have another status.
            if first.is_empty() && !(prefers_stream && status == StatusCode::OK) {
                return reply::json(status, answer.to_message(&id));
            }
            first.push_back(answer.to_message(&id));
            return reply::stream(stream::iter(first.into_iter().map(|message| Ok(sse::write(&message, None)))));
        }
        slow = revoked::until_slow(&endpoint, &principal) => match slow {
            Ok(held) => lease = Some(held),
            Err(TokenEnded) => return match tokio::time::timeout(GRACE, &mut work).await {
                Ok(answer) => {
                    let status = answer.code().map_or(StatusCode::OK, reply::status_of);
                    reply::json(status, answer.to_message(&id))
                }
                Err(_) => reply::refuse_with(Some(&id), &rescue::token_ended()),
            },
        },
    }
    let lease = lease.unwrap_or_else(|| CallLease::new(&endpoint, &principal));
    let work = Movable::new(work, endpoint.heavy.as_ref(), || {
        RpcError::new(code::INTERNAL_ERROR, "the call failed in the gateway").into()
    });
    let running =
        StreamedCall { work: Some(work), outbox, ready: first, id, lease, closed: endpoint.closed.clone() };
    reply::stream(stream::unfold(
        running,
        |mut running| async move { Some((Ok(running.next().await?), running)) },
    ))
}

type ModernWork = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A call that is answered by a stream. Dropping it, as a closed connection does, cancels the call.
struct StreamedCall {
    work: Option<Movable<Answer>>,
    outbox: Arc<Outbox>,
    ready: VecDeque<Bytes>,
    id: Id,
    /// Ends with the token of the call.
    lease: CallLease,
    closed: CancellationToken,
}

impl StreamedCall {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(message) = self.ready.pop_front() {
            return Some(sse::write(&message, None));
        }
        let work = self.work.as_mut()?;
        tokio::select! {
            biased;
            message = self.outbox.next() => Some(sse::write(&message, None)),
            answer = &mut *work => {
                self.work = None;
                self.ready.extend(self.outbox.take());
                self.ready.push_back(answer.to_message(&self.id));
                self.ready.pop_front().map(|message| sse::write(&message, None))
            }
            () = self.closed.cancelled() => None,
            () = self.lease.ended() => {
                let answer = tokio::time::timeout(GRACE, work).await.unwrap_or_else(|_| rescue::token_ended().into());
                self.work = None;
                Some(sse::write(&answer.to_message(&self.id), None))
            }
            () = tokio::time::sleep(KEEP_ALIVE_EVERY) => Some(Bytes::from_static(sse::KEEP_ALIVE)),
        }
    }
}

/// The client during its request: the headers that it sent, and notifications for it. Those cost nothing while
/// there are none, which is the usual case.
struct Outbox {
    headers: HeaderMap,
    messages: Mutex<VecDeque<Bytes>>,
    added: Notify,
}

impl Outbox {
    fn new(headers: HeaderMap) -> Self {
        Self { headers, messages: Mutex::default(), added: Notify::new() }
    }

    async fn next(&self) -> Bytes {
        loop {
            if let Some(message) = self.messages.lock().pop_front() {
                return message;
            }
            self.added.notified().await;
        }
    }

    fn take(&self) -> VecDeque<Bytes> {
        std::mem::take(&mut *self.messages.lock())
    }
}

impl Client for Outbox {
    fn notify(&self, message: Bytes) {
        let mut messages = self.messages.lock();
        // A client that does not keep up misses notifications, as the trait says.
        if messages.len() < QUEUED {
            messages.push_back(message);
            self.added.notify_one();
        }
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        NoClient.ask(method, params)
    }

    fn check_mirrored(&self, declared: &ParamHeaders, arguments: Option<&Bytes>) -> Result<(), RpcError> {
        declared.check(arguments, |name| self.headers.get(name).map(HeaderValue::as_bytes))
    }
}

/// What a listen request subscribes to.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequestedNotifications {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

/// An open listen request: messages that are ready to be sent, and notices to come.
pub(crate) struct Listening {
    id: Id,
    ready: VecDeque<Bytes>,
    notices: Arc<NoticeQueue>,
    _listener: Arc<Listener>,
    closing: CancellationToken,
    is_over: bool,
}

impl Listening {
    /// Registers the subscriptions of a listen request and prepares the acknowledgment.
    pub(crate) async fn open(context: &ListenContext<'_>, id: Id, params: &Params) -> Self {
        let requested: RequestedNotifications =
            params.notifications().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        let filter = context.frontend.list_changes(Filter {
            tools: requested.tools_list_changed,
            prompts: requested.prompts_list_changed,
            resources: requested.resources_list_changed,
        });
        // Copied, so that the subscription does not keep the whole request in memory.
        let capabilities = params
            .client_capabilities()
            .map(|json| ClientCapabilities::read(Bytes::copy_from_slice(&json)))
            .unwrap_or_default();
        let notices = Arc::new(NoticeQueue::default());
        let queue = Arc::clone(&notices);
        let session = context.principal.id();
        let info = params.client_info();
        let client = ListeningClient {
            principal: context.principal,
            capabilities,
            era: Era::Modern,
            session,
            name: None,
            info: info.as_ref(),
        };
        let listener =
            context.frontends.listen(context.frontend, client, filter, move |notice| queue.push(notice));
        let mut watched = Vec::new();
        for uri in requested.resource_subscriptions {
            match context.frontends.watch(context.frontend, context.principal, &listener, &uri).await {
                Ok(()) => watched.push(uri),
                Err(error) => {
                    tracing::debug!(uri, error = error.message, "resource cannot be watched");
                    if is_limit(&error) {
                        break;
                    }
                }
            }
        }
        let mut honoured = Map::new();
        for (name, is_requested) in [
            ("toolsListChanged", filter.tools),
            ("promptsListChanged", filter.prompts),
            ("resourcesListChanged", filter.resources),
        ] {
            if is_requested {
                honoured.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !watched.is_empty() {
            honoured.insert("resourceSubscriptions".to_owned(), watched.into());
        }
        let member = format!(r#""notifications":{}"#, Value::Object(honoured));
        let acknowledgment = tagged(&Method::Acknowledged, &id, &member);
        Self {
            id,
            ready: VecDeque::from([acknowledgment]),
            notices,
            _listener: listener,
            closing: context.closing.clone(),
            is_over: false,
        }
    }

    /// The next message; `None` after the last. `Some(None)` if none came for a while: time for a keep-alive.
    pub(crate) async fn next(&mut self) -> Option<Option<Bytes>> {
        if let Some(message) = self.ready.pop_front() {
            return Some(Some(message));
        }
        if self.is_over {
            return None;
        }
        tokio::select! {
            biased;
            notice = self.notices.next() => Some(Some(match &*notice {
                Notice::ListChanged(method) => tagged(method, &self.id, ""),
                Notice::ResourceUpdated(uri) => {
                    tagged(&Method::ResourceUpdated, &self.id, &format!(r#""uri":{}"#, json::quote(uri)))
                }
            })),
            () = self.closing.cancelled() => {
                // A graceful end is the answer to the request that opened the stream.
                self.is_over = true;
                let result = format!(r#"{{"resultType":"complete","_meta":{{"{}":{}}}}}"#, meta::SUBSCRIPTION_ID, self.id);
                Some(Some(envelope::result(&self.id, result.as_bytes())))
            }
            () = tokio::time::sleep(KEEP_ALIVE_EVERY) => Some(None),
        }
    }
}

/// What a listen request needs, whatever its transport.
pub(crate) struct ListenContext<'a> {
    pub(crate) frontends: &'a Frontends,
    pub(crate) frontend: &'a Frontend,
    pub(crate) principal: &'a Principal,
    pub(crate) closing: &'a CancellationToken,
}

async fn listen(
    endpoint: &Arc<HttpEndpoint>,
    frontend: &Frontend,
    principal: &Principal,
    id: Id,
    params: &Params,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static + use<> {
    let closing = endpoint.access.lease(principal);
    let context = ListenContext { frontends: &endpoint.frontends, frontend, principal, closing: &closing };
    let listening = Listening::open(&context, id, params).await;
    stream::unfold(listening, |mut listening| async move {
        let event = match listening.next().await? {
            Some(message) => sse::write(&message, None),
            None => Bytes::from_static(sse::KEEP_ALIVE),
        };
        Some((Ok(event), listening))
    })
}

/// A notification with the id of the listen request it belongs to.
fn tagged(method: &Method, id: &Id, member: &str) -> Bytes {
    let separator = if member.is_empty() { "" } else { "," };
    let params = format!(r#"{{"_meta":{{"{}":{id}}}{separator}{member}}}"#, meta::SUBSCRIPTION_ID);
    envelope::notification(method, params.as_bytes())
}
