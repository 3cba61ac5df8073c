//! The gateway's identity, and the lists that it answers from the catalogue.

use std::sync::Arc;

use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::{Principal, ServerKey};
use octroi_mcp::{Era, Method, RpcError, Version, meta, task};
use octroi_upstream::{LARGE_ANSWER_BYTES, UpstreamError, leave_worker};
use serde_json::{Map, Value, json};

use super::Pipeline;
use crate::answer::{Answer, Failure};
use crate::api_error::{error_for_agent, rpc_error};
use crate::caller::Caller;
use crate::catalogue::{Offer, ViewProfile, empty_list, list_result};
use crate::membership::Sight;
use crate::pool::OwnEntries;
use crate::view::View;

const DISCOVER_TTL_MS: u64 = 60_000;

impl Pipeline {
    /// A list, from the catalogue.
    pub(super) async fn list(
        &self,
        view: &View,
        method: &Method,
        caller: &Caller,
        cursor: Option<&str>,
    ) -> Answer {
        // Octroi returns whole lists, so it never issues a cursor.
        if cursor.is_some() {
            return RpcError::invalid_params("unknown cursor").into();
        }
        self.servers.settled(view, &caller.principal).await;
        let n_bytes = match view {
            View::Merged => self.pools.of(&caller.principal).n_bytes(method),
            View::Server(key) => self.registry.load().offer(key).map_or(0, |offer| offer.n_bytes(method)),
        };
        if n_bytes > LARGE_ANSWER_BYTES {
            leave_worker().await;
        }
        match view {
            View::Merged => {
                let own = match (self.servers.may_propose(caller), self.servers.has_own_resources(caller)) {
                    (true, _) => OwnEntries::All,
                    (false, true) => OwnEntries::Resources,
                    (false, false) => OwnEntries::None,
                };
                Answer::Result(self.pools.of(&caller.principal).list(method, own, caller.era))
            }
            View::Server(key) => self.list_alone(key, method, caller),
        }
    }

    /// The list of one server alone.
    fn list_alone(&self, key: &ServerKey, method: &Method, caller: &Caller) -> Answer {
        let (view, principal) = (&View::Server(key.clone()), &caller.principal);
        if let Some(refusal) = self.not_shown(key, principal) {
            return refusal.into();
        }
        let catalogue = self.registry.catalogue();
        let Some(offer) = catalogue.offer(key) else {
            // What it has is announced once it is known.
            return if self.servers.is_starting(view, principal) {
                Answer::Result(empty_list(method, caller.era))
            } else {
                self.unavailable(key, method)
            };
        };
        let capability = match method {
            Method::PromptsList => "prompts",
            Method::ResourcesList | Method::TemplatesList => "resources",
            _ => "tools",
        };
        let declared = offer.visible.identity.capabilities.get(capability).is_some();
        if !declared && offer.visible.list(method).is_empty() {
            return RpcError::method_not_found(method.as_str()).into();
        }
        Answer::Result(list_result(method, caller.era, &[offer.own_entries(method)]))
    }

    /// Why a server alone is not shown to a principal: to it there is none, or a choice keeps it off.
    fn not_shown(&self, key: &ServerKey, principal: &Principal) -> Option<RpcError> {
        if !self.servers.is_there_for(principal, key) {
            return Some(error_for_agent(ErrorCode::NotFound, format!("unknown server `{key}`")));
        }
        let Sight::Off(switch) = self.pools.sight(principal, key) else { return None };
        let message = format!("server `{key}` is switched off: {}", switch.reason());
        let error = ApiError::new(ErrorCode::ToolDisabled, message).for_agent();
        let hint = format!("a person can go on with this: {}", switch.hint(&key.to_string()));
        Some(rpc_error(&error.with_detail("switch", switch.as_str()).with_hint(hint)))
    }

    /// The answer to `initialize`.
    pub(crate) async fn initialize(&self, view: &View, principal: &Principal, version: Version) -> Answer {
        let profile = match self.profile(view, principal, Era::Legacy).await {
            Ok(profile) => profile,
            Err(answer) => return answer,
        };
        let mut result = Map::new();
        result.insert("protocolVersion".to_owned(), json!(version.as_str()));
        result.insert("capabilities".to_owned(), profile.capabilities);
        result.insert("serverInfo".to_owned(), server_info(profile.info.as_ref()));
        if let Some(instructions) = profile.instructions {
            result.insert("instructions".to_owned(), json!(instructions));
        }
        Answer::Result(Bytes::from(Value::Object(result).to_string()))
    }

    /// The answer to `server/discover`.
    pub(super) async fn discover(&self, view: &View, principal: &Principal) -> Answer {
        let profile = match self.profile(view, principal, Era::Modern).await {
            Ok(profile) => profile,
            Err(answer) => return answer,
        };
        let versions: Vec<&str> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": versions,
            "capabilities": profile.capabilities,
            "ttlMs": DISCOVER_TTL_MS,
            "cacheScope": "private",
            "_meta": {meta::SERVER_INFO: server_info(profile.info.as_ref())},
        });
        if let Some(instructions) = profile.instructions {
            result["instructions"] = json!(instructions);
        }
        Answer::Result(Bytes::from(result.to_string()))
    }

    async fn profile(&self, view: &View, principal: &Principal, era: Era) -> Result<ViewProfile, Answer> {
        let mut profile = match view {
            // The merged capabilities do not depend on the servers, and a handshake should not wait for them.
            View::Merged => merged_profile(self.pools.of(principal).offers()),
            View::Server(key) => {
                if let Some(refusal) = self.not_shown(key, principal) {
                    return Err(refusal.into());
                }
                self.servers.settled(view, principal).await;
                match self.registry.catalogue().server(key) {
                    Some(lists) => ViewProfile::of(&lists.identity),
                    // Clients give up on a handshake that takes long, so it gets what Octroi can do for any server.
                    None if self.servers.is_starting(view, principal) => merged_profile(&[]),
                    None => return Err(self.unavailable(key, &Method::Initialize)),
                }
            }
        };
        // What its owner says comes before what servers say.
        if let Some(prompt) = principal.agent_id().and_then(|agent| self.governance.system_prompt(agent)) {
            profile.instructions = Some(match profile.instructions {
                Some(of_servers) => format!("{}\n\n{of_servers}", prompt.trim_end()),
                None => prompt,
            });
        }
        declare_changes(&mut profile.capabilities, era);
        // A server's list would show the tasks of all principals.
        if let Some(tasks) = profile.capabilities.get_mut("tasks").and_then(Value::as_object_mut) {
            tasks.shift_remove("list");
        }
        // A call that waits for approval can become a task, whether its server supports tasks or not.
        if era == Era::Modern && self.persistence.is_some() {
            declare_tasks(&mut profile.capabilities);
        }
        Ok(profile)
    }

    fn unavailable(&self, key: &ServerKey, method: &Method) -> Answer {
        let error = self
            .servers
            .upstream(key)
            .and_then(|upstream| upstream.last_error())
            .unwrap_or_else(|| UpstreamError::Protocol("it has not answered yet".to_owned()));
        Failure::Unavailable(error).to_answer(key, method)
    }
}

/// Name and version: the server's own where one server is shown, Octroi's otherwise.
fn server_info(own: Option<&Bytes>) -> Value {
    own.and_then(|json| serde_json::from_slice(json).ok())
        .unwrap_or_else(|| json!({"name": "octroi", "title": "Octroi", "version": env!("CARGO_PKG_VERSION")}))
}

fn merged_profile(offers: &[Arc<Offer>]) -> ViewProfile {
    let mut capabilities = json!({
        "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}, "logging": {},
    });
    let mut instructions = Vec::new();
    for offer in offers {
        let (name, identity) = (&offer.key().name, &offer.visible.identity);
        for open in ["extensions", "tasks"] {
            if let Some(members) = identity.capabilities.get(open).and_then(Value::as_object) {
                for (key, value) in members {
                    capabilities[open][key] = value.clone();
                }
            }
        }
        if let Some(text) = &identity.instructions {
            instructions.push(format!("## {name}\n\n{}", text.trim()));
        }
    }
    let instructions = (!instructions.is_empty()).then(|| {
        format!(
            "Tools are named `server_tool` after the server they come from.\n\n{}",
            instructions.join("\n\n")
        )
    });
    ViewProfile { capabilities, instructions, info: None }
}

/// Octroi notifies every client of changes, also where the server itself does not.
fn declare_changes(capabilities: &mut Value, era: Era) {
    let Some(members) = capabilities.as_object_mut() else {
        *capabilities = json!({});
        return;
    };
    for list in ["tools", "prompts", "resources"] {
        if let Some(list) = members.get_mut(list).and_then(Value::as_object_mut) {
            list.insert("listChanged".to_owned(), json!(true));
        }
    }
    if era == Era::Modern {
        // The tasks of the legacy era differ from the modern extension.
        members.shift_remove("tasks");
    }
}

fn declare_tasks(capabilities: &mut Value) {
    let Some(members) = capabilities.as_object_mut() else {
        return;
    };
    let extensions = members.entry("extensions").or_insert_with(|| json!({}));
    if !extensions.is_object() {
        *extensions = json!({});
    }
    extensions[task::EXTENSION] = json!({});
}
