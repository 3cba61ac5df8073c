//! Management as an MCP server: what a person's token reaches, over every transport and in both eras.
//!
//! It lists what the tables declare for people, and passes calls and reads to the dispatcher. A request for a
//! server's tool with a person's token is answered with what to use instead.

use std::sync::Arc;

use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode, Face, RESOURCES, ResourceUri, operations};
use octroi_core::arguments::{Exactness, read_exactly};
use octroi_core::{OWN_NAME, Principal};
use octroi_gateway::{Answer, Caller, Listener, rpc_error};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Envelope, Era, Method, RpcError, Version, meta, translate};
use serde_json::{Value, json};

use crate::checksum::{self, with_checksum};
use crate::dispatcher::Operations;
use crate::operations::Requester;
use crate::rescue;

/// How long a client may cache what does not change while Octroi runs.
const TTL_MS: u64 = 60_000;

const INSTRUCTIONS: &str = "This token belongs to a person, so this is Octroi's management: its own tools and \
    resources, and no server's. A client that is to use the tools of servers needs an agent's token: the one \
    of the agent `default`, which `octroi up` shows and keeps in default.token of its data directory, or one \
    of [[tokens]] with role = \"agent\" in octroi.toml. To try a tool as an agent, call `tools_call` or run \
    `octroi call SERVER.TOOL --agent NAME`.";

const INSTEAD: &str = "a person's token reaches Octroi's management only; use an agent's token (of the agent \
    `default`, in default.token of the data directory, or one of [[tokens]] with role = \"agent\"), or try it \
    as an agent: `octroi call SERVER.TOOL --agent NAME`, or the tool `tools_call`";

/// Octroi's own tools and resources as a server that people connect to.
pub(crate) struct ManagementServer {
    operations: Arc<Operations>,
    lists: [ListResult; 4],
}

/// The result of one list request, for both eras.
struct ListResult {
    method: Method,
    /// The member that has the list.
    member: &'static str,
    whole: Value,
    legacy: Bytes,
    modern: Bytes,
}

impl ManagementServer {
    pub(crate) fn new(operations: Arc<Operations>) -> Self {
        let resources = |are_templates: bool| {
            let of_people = RESOURCES.iter().filter(|entry| entry.has_face(Face::Management));
            let matching = of_people.filter(|entry| entry.is_template() == are_templates);
            matching.map(octroi_api::ResourceEntry::definition).collect()
        };
        let tools = operations::all().filter(|entry| entry.is_tool_of(Face::Management));
        let tools = tools.map(octroi_api::OperationEntry::tool_definition).collect();
        let lists = [
            ListResult::new(Method::ToolsList, "tools", tools),
            ListResult::new(Method::ResourcesList, "resources", resources(false)),
            ListResult::new(Method::TemplatesList, "resourceTemplates", resources(true)),
            // There are none, but a client that asks for them should not fail.
            ListResult::new(Method::PromptsList, "prompts", Vec::new()),
        ];
        Self { operations, lists }
    }

    /// Answers `initialize`.
    pub(crate) fn initialize(version: Version) -> Answer {
        let result = json!({
            "protocolVersion": version.as_str(),
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        });
        Answer::Result(Bytes::from(result.to_string()))
    }

    fn discover() -> Answer {
        let versions: Vec<&str> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
        let result = json!({
            "resultType": "complete",
            "supportedVersions": versions,
            "capabilities": capabilities(),
            "instructions": INSTRUCTIONS,
            "ttlMs": TTL_MS,
            "cacheScope": "private",
            "_meta": {meta::SERVER_INFO: server_info()},
        });
        Answer::Result(Bytes::from(result.to_string()))
    }

    /// Answers any other request of a person.
    pub(crate) async fn request(&self, caller: &Caller, envelope: &Envelope, params: &Params) -> Answer {
        let method = envelope.method();
        if let Some(list) = self.lists.iter().find(|list| list.method == *method) {
            return list.answer(caller.era, params);
        }
        let served = match method {
            Method::Discover => return Self::discover(),
            Method::ToolsCall => self.call(caller, params).await,
            Method::ResourcesRead => self.read(caller, params).await,
            Method::PromptsGet => {
                let name = params.name().unwrap_or_default();
                Err(not_in_management(ErrorCode::PromptNotFound, format!("unknown prompt `{name}`")))
            }
            Method::Complete => {
                Err(not_in_management(ErrorCode::NotFound, "completion is not supported here".to_owned()))
            }
            _ => Err(self.operations.gateway().refuse_method(&caller.principal, None, method)),
        };
        match served {
            Ok(result) => Answer::Result(in_era(&result, caller.era, method)),
            Err(error) => error.into(),
        }
    }

    async fn call(&self, caller: &Caller, params: &Params) -> Result<Value, RpcError> {
        let name = params.name().ok_or_else(|| RpcError::invalid_params("tools/call needs `name`"))?;
        if octroi_api::find(Face::Management, &name).is_none() {
            return Err(not_in_management(ErrorCode::ToolNotFound, format!("unknown tool `{name}`")));
        }
        let json = params.arguments();
        if json.as_deref().is_some_and(|json| matches!(read_exactly(json), Ok((_, Exactness::Rounded)))) {
            let message = "a number in the arguments would be rounded; give the arguments of a call in `arguments_json`";
            return rescue::tool_result(Err(ApiError::new(ErrorCode::InvalidArguments, message)));
        }
        let arguments = json.and_then(|json| serde_json::from_slice(&json).ok());
        let performed =
            self.operations.perform(Requester::from(caller), &name, arguments.unwrap_or_default()).await;
        rescue::tool_result(performed.map_err(|error| ApiError::from(&error)))
    }

    async fn read(&self, caller: &Caller, params: &Params) -> Result<Value, RpcError> {
        let uri = params.uri().ok_or_else(|| RpcError::invalid_params("resources/read needs `uri`"))?;
        check_resource(&uri)?;
        let read = self.operations.read(Requester::from(caller), &uri).await;
        let read = read.map_err(|error| rpc_error(&ApiError::from(&error)))?;
        Ok(with_checksum(read, "contents", checksum::known(params).as_deref()))
    }

    /// Adds one of its resources to what a client watches. Who may not read it gets the answer of reading it.
    pub(crate) async fn watch(
        &self,
        principal: &Principal,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        check_resource(uri)?;
        let readable = self.operations.readable(principal, uri).await;
        readable.map_err(|error| rpc_error(&ApiError::from(&error)))?;
        listener.watch_own(uri);
        Ok(())
    }

    /// Removes one of its resources from what a client watches.
    pub(crate) fn unwatch(listener: &Listener, uri: &str) {
        listener.unwatch_own(uri);
    }
}

impl ListResult {
    fn new(method: Method, member: &'static str, items: Vec<Value>) -> Self {
        let whole = json!({ member: items });
        let [legacy, modern] =
            [Era::Legacy, Era::Modern].map(|era| Self::rendered(&whole, era, &method, member, None));
        Self { method, member, whole, legacy, modern }
    }

    fn rendered(whole: &Value, era: Era, method: &Method, member: &str, known: Option<&str>) -> Bytes {
        let mut result = with_checksum(whole.clone(), member, known);
        match era {
            Era::Legacy => Bytes::from(result.to_string()),
            Era::Modern => {
                result["ttlMs"] = json!(TTL_MS);
                result["cacheScope"] = json!("private");
                in_era(&result, Era::Modern, method)
            }
        }
    }

    fn answer(&self, era: Era, params: &Params) -> Answer {
        // Lists are not paginated, so no cursor was ever handed out.
        if params.cursor().is_some() {
            return RpcError::invalid_params("unknown cursor").into();
        }
        if let Some(known) = checksum::known(params) {
            let rendered = Self::rendered(&self.whole, era, &self.method, self.member, Some(&known));
            return Answer::Result(rendered);
        }
        Answer::Result(match era {
            Era::Legacy => self.legacy.clone(),
            Era::Modern => self.modern.clone(),
        })
    }
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {"subscribe": true}})
}

fn server_info() -> Value {
    json!({"name": OWN_NAME, "title": "Octroi management", "version": env!("CARGO_PKG_VERSION")})
}

/// Fails unless people have a resource of this URI.
fn check_resource(uri: &str) -> Result<(), RpcError> {
    match ResourceUri::parse(uri) {
        Some(known) if known.entry().has_face(Face::Management) => Ok(()),
        Some(_) | None => {
            let error = not_found(ErrorCode::ResourceNotFound, &format!("unknown resource `{uri}`"));
            Err(rpc_error(&error.with_detail("uri", uri)))
        }
    }
}

/// Something that a server may have, and management does not.
fn not_in_management(code: ErrorCode, what: String) -> RpcError {
    rpc_error(&not_found(code, &what))
}

fn not_found(code: ErrorCode, what: &str) -> ApiError {
    ApiError::new(code, format!("{what}: {INSTEAD}")).with_hint(INSTEAD)
}

/// A result made here has the shape of a legacy one; a modern client needs the modern frame.
fn in_era(result: &Value, era: Era, method: &Method) -> Bytes {
    let result = Bytes::from(result.to_string());
    translate::result(&ResultView::read(&result), Era::Legacy, era, method, None, None)
}
