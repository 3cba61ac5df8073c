//! The gateway's identity, and the lists that it answers from the catalogue.

use bytes::Bytes;
use octroi_mcp::{Era, Method, RpcError, Version, code, meta, task};
use octroi_upstream::{LARGE_ANSWER_BYTES, UpstreamError, leave_worker};
use serde_json::{Map, Value, json};

use super::Pipeline;
use crate::answer::{Answer, Failure};
use crate::caller::Caller;
use crate::catalogue::{Rendered, ViewProfile};
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
        self.servers.settled(view).await;
        if self.registry.catalogue().n_bytes(view, method) > LARGE_ANSWER_BYTES {
            leave_worker().await;
        }
        self.list_now(view, method, caller)
    }

    fn list_now(&self, view: &View, method: &Method, caller: &Caller) -> Answer {
        let era = caller.era;
        let catalogue = self.registry.catalogue();
        match view {
            View::Merged if self.servers.may_propose(caller) => {
                Answer::Result(catalogue.proposing().result(method, era))
            }
            View::Merged if self.servers.has_own_resources(caller) => {
                Answer::Result(catalogue.of_agents().result(method, era))
            }
            View::Merged => Answer::Result(catalogue.merged().result(method, era)),
            View::Server(name) => match (catalogue.single(name), catalogue.server(name)) {
                (Some(rendered), Some(lists)) => {
                    let capability = match method {
                        Method::PromptsList => "prompts",
                        Method::ResourcesList | Method::TemplatesList => "resources",
                        _ => "tools",
                    };
                    let declared = lists.identity.capabilities.get(capability).is_some();
                    if !declared && lists.list(method).is_empty() {
                        return RpcError::method_not_found(method.as_str()).into();
                    }
                    Answer::Result(rendered.result(method, era))
                }
                // What it has is announced once it is known.
                _ if self.servers.is_starting(view) => {
                    Answer::Result(Rendered::default().result(method, era))
                }
                _ => self.unavailable(view, method),
            },
        }
    }

    /// The answer to `initialize`.
    pub(crate) async fn initialize(&self, view: &View, version: Version) -> Answer {
        let profile = match self.profile(view, Era::Legacy).await {
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
    pub(super) async fn discover(&self, view: &View) -> Answer {
        let profile = match self.profile(view, Era::Modern).await {
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

    async fn profile(&self, view: &View, era: Era) -> Result<ViewProfile, Answer> {
        // The merged capabilities do not depend on the servers, and a handshake should not wait for them.
        if !view.is_merged() {
            self.servers.settled(view).await;
        }
        let catalogue = self.registry.catalogue();
        let mut profile = match view {
            View::Merged => merged_profile(
                catalogue.offers().iter().map(|(key, offer)| (key.name.as_str(), &offer.visible.identity)),
            ),
            View::Server(name) => match catalogue.server(name) {
                Some(lists) => ViewProfile::of(&lists.identity),
                // Clients give up on a handshake that takes long, so it gets what Octroi can do for any server.
                None if self.servers.is_starting(view) => merged_profile(std::iter::empty()),
                None => return Err(self.unavailable(view, &Method::Initialize)),
            },
        };
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

    fn unavailable(&self, view: &View, method: &Method) -> Answer {
        let View::Server(key) = view else {
            return RpcError::new(code::INTERNAL_ERROR, "no server is available").into();
        };
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

fn merged_profile<'a>(
    servers: impl Iterator<Item = (&'a str, &'a octroi_upstream::ServerIdentity)>,
) -> ViewProfile {
    let mut capabilities = json!({
        "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}, "logging": {},
    });
    let mut instructions = Vec::new();
    for (name, identity) in servers {
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
