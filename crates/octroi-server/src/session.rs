//! A legacy client between its `initialize` and its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_core::audit::session_name;
use octroi_gateway::{Answer, Asked, Caller, Client, Filter, Listener, Notice};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::translate::is_level;
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, Version, code, envelope, json};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::admit::check_declared_size;
use crate::frontend::{Frontend, Frontends, ListeningClient, in_era};
use crate::rescue;

/// How long a client, and the person in front of it, may take to answer a question.
const QUESTION_TIMEOUT: Duration = Duration::from_mins(10);
/// The level until a client sets another.
const DEFAULT_LEVEL: &str = "info";

/// Sends a message to the client.
pub(crate) type SendMessage = Arc<dyn Fn(Bytes) + Send + Sync>;

/// A session of the legacy era, over HTTP or standard streams.
pub(crate) struct LegacySession {
    pub(crate) frontend: Frontend,
    pub(crate) principal: Principal,
    pub(crate) version: Version,
    capabilities: ClientCapabilities,
    info: Option<Bytes>,
    owner: Arc<str>,
    /// How audit records name it.
    name: Arc<str>,
    level: Mutex<Option<String>>,
    next_question: AtomicU64,
    questions: Mutex<HashMap<Id, oneshot::Sender<Result<Bytes, RpcError>>>>,
    /// Requests that can still be cancelled.
    running: Mutex<HashMap<Id, oneshot::Sender<Cancelled>>>,
    listener: OnceLock<Arc<Listener>>,
}

/// What a client declares in `initialize`.
pub(crate) struct InitializeParams {
    pub(crate) version: Version,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) info: Option<Bytes>,
}

impl InitializeParams {
    pub(crate) fn read(params: &Bytes) -> Result<Self, RpcError> {
        let mut version = None;
        let mut capabilities = ClientCapabilities::default();
        let mut info = None;
        for member in json::members(params, json::Span { start: 0, end: params.len() }) {
            let value = params.slice(member.value.range());
            match &*member.key(params) {
                b"protocolVersion" => version = json::text(&value).map(|text| Version::negotiate(&text)),
                b"capabilities" => capabilities = ClientCapabilities::read(value),
                b"clientInfo" => info = Some(Bytes::copy_from_slice(&value)),
                _ => {}
            }
        }
        let version =
            version.ok_or_else(|| RpcError::invalid_params("initialize needs `protocolVersion`"))?;
        Ok(Self { version, capabilities, info })
    }

    /// A client of which nothing is known but its version.
    pub(crate) fn unknown(version: Version) -> Self {
        Self { version, capabilities: ClientCapabilities::default(), info: None }
    }

    /// Fails if the client declares more about itself than a session may keep.
    pub(crate) fn check_size(&self, limit: usize) -> Result<(), RpcError> {
        check_declared_size(self.capabilities.json().len() + self.info.as_ref().map_or(0, Bytes::len), limit)
    }
}

impl LegacySession {
    /// A session under a name that is unique among those of its principal.
    pub(crate) fn new(
        name: &str,
        frontend: Frontend,
        principal: Principal,
        client: InitializeParams,
    ) -> Self {
        let owner: Arc<str> = format!("{}/{name}", principal.id()).into();
        // Copied, so that the session does not keep the whole request in memory.
        let capabilities = ClientCapabilities::read(Bytes::copy_from_slice(client.capabilities.json()));
        Self {
            frontend,
            principal,
            version: client.version,
            capabilities,
            info: client.info,
            name: session_name(&owner).into(),
            owner,
            level: Mutex::default(),
            next_question: AtomicU64::new(1),
            questions: Mutex::default(),
            running: Mutex::default(),
            listener: OnceLock::new(),
        }
    }

    /// Subscribes to changes; `deliver` gets complete messages.
    pub(crate) fn listen(&self, frontends: &Frontends, deliver: impl Fn(Bytes) + Send + Sync + 'static) {
        let client = ListeningClient {
            principal: &self.principal,
            capabilities: self.capabilities.clone(),
            era: Era::Legacy,
            session: &self.owner,
            name: Some(&self.name),
            info: self.info.as_ref(),
        };
        let deliver = move |notice: Notice| deliver(notification(&notice));
        let listener = frontends.listen(&self.frontend, client, Filter::ALL, deliver);
        // Called once per session; a second listener would double every message.
        let _ = self.listener.set(listener);
    }

    /// Numbers questions so that none has the id of one which an earlier run of the gateway asked: its answer
    /// may still come.
    pub(crate) fn number_questions_of_run(&self, run: u64) {
        // Exact in every language: below 2^53.
        let first = (run & u64::from(u32::MAX)) << 20 | 1;
        self.next_question.store(first, Ordering::Relaxed);
    }

    /// The size of what its client declared about itself.
    pub(crate) fn declared_bytes(&self) -> usize {
        self.capabilities.json().len() + self.info.as_ref().map_or(0, Bytes::len)
    }

    /// The name under which servers know the session, where they keep sessions apart.
    pub(crate) fn owner(&self) -> &Arc<str> {
        &self.owner
    }

    /// The sender of a request in this session.
    pub(crate) fn caller(&self, client: Arc<dyn Client>, has_admin_token: bool) -> Caller {
        let level = self.level.lock().clone();
        Caller {
            principal: self.principal.clone(),
            on_behalf_of: None,
            era: Era::Legacy,
            capabilities: self.capabilities.clone(),
            info: self.info.clone(),
            log_level: Some(level.unwrap_or_else(|| DEFAULT_LEVEL.to_owned())),
            has_admin_token,
            base: None,
            owner: Arc::clone(&self.owner),
            session: Some(Arc::clone(&self.name)),
            client,
        }
    }

    /// Answers a request: what concerns the session here, everything else by its front end. `None` when the
    /// client cancelled it.
    pub(crate) async fn answer(
        &self,
        frontends: &Frontends,
        request: &Envelope,
        params: &Params,
        caller: &Caller,
    ) -> Option<Answer> {
        let id = request.id()?;
        let (cancel, cancelled) = oneshot::channel();
        self.running.lock().insert(id.clone(), cancel);
        let _running = RunningRequest { session: self, id };
        tokio::select! {
            biased;
            // The sender is dropped when another request reuses the id; that is no cancellation.
            Ok(by) = cancelled => match by {
                Cancelled::ByClient => None,
                Cancelled::WithToken => Some(rescue::token_ended().into()),
            },
            answer = self.handle(frontends, request, params, caller) => Some(answer),
        }
    }

    /// Cancels the requests that are being answered, because the token has ended.
    pub(crate) fn cancel_running(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        for cancel in running.into_values() {
            // One that is over needs no cancellation.
            let _ = cancel.send(Cancelled::WithToken);
        }
    }

    async fn handle(
        &self,
        frontends: &Frontends,
        request: &Envelope,
        params: &Params,
        caller: &Caller,
    ) -> Answer {
        match request.method() {
            Method::Ping => Answer::Result(Bytes::from_static(b"{}")),
            Method::SetLevel => match params.level() {
                Some(level) if is_level(&level) => {
                    *self.level.lock() = Some(level.into_owned());
                    Answer::Result(Bytes::from_static(b"{}"))
                }
                Some(_) | None => RpcError::invalid_params("`level` is not one of the log levels").into(),
            },
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                Box::pin(self.watch(frontends, request, params)).await
            }
            Method::Discover | Method::Listen => {
                frontends.refuse_method(&self.frontend, &self.principal, request.method()).into()
            }
            _ => frontends.request(&self.frontend, caller, request, params).await,
        }
    }

    async fn watch(&self, frontends: &Frontends, request: &Envelope, params: &Params) -> Answer {
        let (Some(uri), Some(listener)) = (params.uri(), self.listener.get()) else {
            return RpcError::invalid_params(format!("{} needs `uri`", request.method())).into();
        };
        let outcome = if *request.method() == Method::ResourcesSubscribe {
            frontends.watch(&self.frontend, &self.principal, listener, &uri).await
        } else {
            frontends.unwatch(&self.frontend, listener, &uri)
        };
        match outcome {
            Ok(()) => Answer::Result(Bytes::from_static(b"{}")),
            Err(error) => in_era(error.into(), Era::Legacy),
        }
    }

    /// Handles what needs no answer: notifications, and answers to our questions.
    pub(crate) fn receive(&self, frontends: &Frontends, message: &Envelope) {
        match (message.method(), message.id()) {
            (Method::Cancelled, _) => {
                let params = Params::read(message.params()).ok();
                let id = params.and_then(|params| params.request_id()).map(Id::from_json);
                if let Some(cancel) = id.and_then(|id| self.running.lock().remove(&id)) {
                    // It may just have been answered.
                    let _ = cancel.send(Cancelled::ByClient);
                }
            }
            (Method::RootsChanged, _) => frontends.roots_changed(&self.frontend, &self.owner),
            (Method::Other(name), Some(id)) if name.is_empty() => {
                if let Some(waiting) = self.questions.lock().remove(&id) {
                    let answer = match (message.result(), message.error()) {
                        (Some(result), _) => Ok(result),
                        (None, Some(error)) => Err(error),
                        (None, None) => {
                            Err(RpcError::new(code::INTERNAL_ERROR, "the client's answer is empty"))
                        }
                    };
                    // The asker may have given up in the meantime.
                    let _ = waiting.send(answer);
                }
            }
            _ => frontends.note(&self.frontend, &self.principal, message),
        }
    }

    /// Asks the client over `send` and waits for the answer.
    pub(crate) fn ask(&self, method: &Method, params: &Bytes, send: SendMessage) -> Asked<'_> {
        let id = Id::number(self.next_question.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = oneshot::channel();
        self.questions.lock().insert(id.clone(), sender);
        send(envelope::request(&id, method, params));
        let asked = PendingQuestion { session: self, id: Some(id), send };
        Box::pin(async move {
            let mut asked = asked;
            let answer = tokio::time::timeout(QUESTION_TIMEOUT, answer).await;
            match answer {
                Ok(Ok(answer)) => {
                    asked.id = None;
                    answer
                }
                Ok(Err(_)) => Err(RpcError::new(code::INTERNAL_ERROR, "the client is gone")),
                Err(_) => Err(RpcError::new(code::INTERNAL_ERROR, "the client did not answer in time")),
            }
        })
    }
}

/// Why a request is cancelled.
enum Cancelled {
    /// Its client does not want the answer any more.
    ByClient,
    /// The token of its client has ended.
    WithToken,
}

/// A request that can be cancelled until this is dropped.
struct RunningRequest<'a> {
    session: &'a LegacySession,
    id: Id,
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        self.session.running.lock().remove(&self.id);
    }
}

/// A question to the client. Dropping it before the answer cancels the question.
struct PendingQuestion<'a> {
    session: &'a LegacySession,
    id: Option<Id>,
    send: SendMessage,
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take()
            && self.session.questions.lock().remove(&id).is_some()
        {
            let params = format!(r#"{{"requestId":{id},"reason":"the server no longer needs the answer"}}"#);
            (self.send)(envelope::notification(&Method::Cancelled, params.as_bytes()));
        }
    }
}

/// A change as a legacy notification.
fn notification(notice: &Notice) -> Bytes {
    match notice {
        Notice::ListChanged(method) => envelope::notification(method, b"{}"),
        Notice::ResourceUpdated(uri) => {
            let params = format!(r#"{{"uri":{}}}"#, json::quote(uri));
            envelope::notification(&Method::ResourceUpdated, params.as_bytes())
        }
    }
}
