//! The modern era (2026-07-28): everything about the client is in the request, and long-lived listening is a
//! request too.

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::call::{Interrupt, ServedCall};
use super::legacy::level_rank;
use super::options::MODERN_VERSION;
use super::request_state::StateIssuer;
use super::rpc::{self, INVALID_PARAMS, RpcError, UNSUPPORTED_VERSION};
use super::world::PeerChange;
use super::{contents, features};

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const METHODS: [&str; 10] = [
    "server/discover",
    "subscriptions/listen",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// The client and the earlier rounds, as one request describes them.
#[derive(Debug)]
pub(crate) struct ModernRequest {
    pub(crate) capabilities: Value,
    log_level: Option<usize>,
    request_state: Option<String>,
    input_responses: Option<Value>,
}

impl ModernRequest {
    /// Checks `_meta` and the method, in the order in which the errors matter to a client.
    pub(crate) fn read(method: &str, params: &Value) -> Result<Self, RpcError> {
        if method == "initialize" {
            // A legacy client cannot continue; its user should at least see why.
            let message = format!("Method not found: initialize; this server speaks only {MODERN_VERSION}");
            return Err(RpcError::new(rpc::METHOD_NOT_FOUND, message)
                .with_data(json!({ "supported": [MODERN_VERSION] })));
        }
        let meta = &params["_meta"];
        let Some(version) = meta[META_VERSION].as_str() else {
            return Err(RpcError::new(INVALID_PARAMS, format!("`_meta` must hold `{META_VERSION}`")));
        };
        if !meta[META_CAPABILITIES].is_object() {
            return Err(RpcError::new(INVALID_PARAMS, format!("`_meta` must hold `{META_CAPABILITIES}`")));
        }
        if version != MODERN_VERSION {
            let data = json!({ "supported": [MODERN_VERSION], "requested": version });
            return Err(RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version").with_data(data));
        }
        if !METHODS.contains(&method) {
            return Err(RpcError::method_not_found(method));
        }
        let log_level = match meta.get(META_LOG_LEVEL) {
            None => None,
            Some(level) => match level.as_str().and_then(level_rank) {
                None => return Err(RpcError::new(INVALID_PARAMS, "unknown log level")),
                known => known,
            },
        };
        Ok(Self {
            capabilities: meta[META_CAPABILITIES].clone(),
            log_level,
            request_state: params["requestState"].as_str().map(str::to_owned),
            input_responses: params.get("inputResponses").cloned(),
        })
    }

    pub(crate) fn wants_log(&self, level: &str) -> bool {
        self.log_level.is_some_and(|least| level_rank(level) >= Some(least))
    }

    /// Refuses a retry whose state is missing, altered, or of another call. A first round has neither state
    /// nor answers.
    pub(crate) fn check_state(
        &self,
        states: &StateIssuer,
        tool: &str,
        arguments: &Value,
    ) -> Result<(), RpcError> {
        match (&self.request_state, &self.input_responses) {
            (None, None) => Ok(()),
            (None, Some(_)) => {
                Err(RpcError::new(INVALID_PARAMS, "`inputResponses` came without the `requestState`"))
            }
            (Some(state), _) if states.accepts(state, tool, arguments) => Ok(()),
            (Some(_), _) => {
                Err(RpcError::new(INVALID_PARAMS, "`requestState` was not made by this server for this call"))
            }
        }
    }

    pub(crate) fn input_response(&self, key: &str) -> Option<&Value> {
        self.input_responses.as_ref()?.get(key)
    }
}

/// Answers a request whose `_meta` has been checked.
pub(crate) async fn answer(
    call: &ServedCall,
    id: &Value,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    let outcome = match method {
        "server/discover" => Ok(json!({
            "supportedVersions": [MODERN_VERSION],
            "capabilities": features::capabilities(&call.world, true),
            "instructions": features::instructions(&call.world),
        })),
        "subscriptions/listen" => Ok(listen(call, id, params).await),
        method => features::answer(call, method, params).await,
    };
    let (mut result, result_type) = match outcome {
        Ok(result) => (result, "complete"),
        Err(Interrupt::InputRequired(result)) => (result, "input_required"),
        Err(Interrupt::Error(error)) => return Err(error),
    };
    result["resultType"] = json!(result_type);
    if let (Some((ttl_ms, scope)), "complete") = (cache_hint(method), result_type) {
        result["ttlMs"] = json!(ttl_ms);
        result["cacheScope"] = json!(scope);
    }
    result["_meta"][META_SERVER_INFO] = features::server_info(&call.world.options.name);
    Ok(result)
}

/// Delivers changes until the server shuts down; the returned value is then the final result.
async fn listen(call: &ServedCall, id: &Value, params: &Value) -> Value {
    // Before the acknowledgment: no change after the client has seen it may be lost.
    let mut changes = call.world.changes.subscribe();
    let has_lists = call.world.options.lie().is_some();
    let filter = Filter::agreed(&params["notifications"], has_lists);
    let subscription = json!({ META_SUBSCRIPTION: id });
    let acknowledged = json!({ "_meta": subscription, "notifications": filter.to_value() });
    call.notify("notifications/subscriptions/acknowledged", acknowledged).await;
    loop {
        let change = tokio::select! {
            biased;
            () = call.world.shutdown.cancelled() => return json!({ "_meta": subscription }),
            change = changes.recv() => change,
        };
        match change {
            Ok(PeerChange::Tools) if filter.tools => {
                call.notify("notifications/tools/list_changed", json!({ "_meta": subscription })).await;
            }
            Ok(PeerChange::Prompts) if filter.prompts => {
                call.notify("notifications/prompts/list_changed", json!({ "_meta": subscription })).await;
            }
            Ok(PeerChange::Resources) if filter.resource_list => {
                call.notify("notifications/resources/list_changed", json!({ "_meta": subscription })).await;
            }
            Ok(PeerChange::Resource(uri)) if filter.resources.contains(&uri) => {
                let params = json!({ "_meta": subscription, "uri": uri });
                call.notify("notifications/resources/updated", params).await;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return json!({ "_meta": subscription }),
        }
    }
}

/// The part of a client's filter that this server supports: prompts and the list of resources change only
/// where the server lies.
struct Filter {
    tools: bool,
    prompts: bool,
    resource_list: bool,
    resources: Vec<String>,
}

impl Filter {
    fn agreed(wished: &Value, has_lists: bool) -> Self {
        let uris = wished["resourceSubscriptions"].as_array().into_iter().flatten();
        Self {
            tools: wished["toolsListChanged"] == true,
            prompts: has_lists && wished["promptsListChanged"] == true,
            resource_list: has_lists && wished["resourcesListChanged"] == true,
            resources: uris
                .filter_map(Value::as_str)
                .filter(|uri| contents::exists(uri))
                .map(str::to_owned)
                .collect(),
        }
    }

    fn to_value(&self) -> Value {
        let mut filter = json!({});
        let lists = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resource_list),
        ];
        for (name, _) in lists.into_iter().filter(|(_, is_agreed)| *is_agreed) {
            filter[name] = json!(true);
        }
        if !self.resources.is_empty() {
            filter["resourceSubscriptions"] = json!(self.resources);
        }
        filter
    }
}

/// How long, and by whom, the result of a method may be cached.
fn cache_hint(method: &str) -> Option<(u64, &'static str)> {
    match method {
        "server/discover" => Some((3_600_000, "public")),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            Some((60_000, "public"))
        }
        // The counter changes between reads.
        "resources/read" => Some((0, "private")),
        _ => None,
    }
}
