//! Asking the client for input, written once for both eras.
//!
//! A tool or prompt that needs input is a function from a [`Round`] to a [`Step`]: it is done, or it asks. A
//! modern client gets the question as the result of the request, and sends the request again with the
//! answers. A legacy client gets each question as a request from the server, and the function is called again
//! with the answers.
//!
//! The SDK's examples are simpler: a tool asks in one way, whatever the era of its client. The fixture can do the same.

use std::collections::BTreeMap;

use clap::ValueEnum;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationCapability, InputRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject,
    ListRootsRequest, RootsCapabilities, SamplingCapability, SamplingMessage, SealOptions,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde_json::{Value, json};

use super::fixture::{FixtureSession, is_modern_request};

// More than any tool here needs; it ends a loop that a client could prolong with useless answers.
const MAX_LEGACY_ROUNDS: usize = 10;

/// The state of a tool or prompt in its first or a later round.
pub(super) struct Round<'a> {
    pub(super) arguments: &'a JsonObject,
    pub(super) state: Option<Value>,
    pub(super) capabilities: &'a ClientCapabilities,
    responses: &'a InputResponses,
}

impl Round<'_> {
    /// The answer to the question under `key`. An answer that is not an object is ignored, so that the
    /// question is repeated.
    pub(super) fn answer(&self, key: &str) -> Option<&JsonObject> {
        self.responses.get(key)?.as_object()
    }

    /// One text field of a form that the user filled in under `key`.
    pub(super) fn text_field(&self, key: &str, field: &str) -> Option<&str> {
        self.answer(key)?.get("content")?.get(field)?.as_str()
    }

    /// Whether the client has answered anything.
    pub(super) fn has_answers(&self) -> bool {
        !self.responses.is_empty()
    }
}

/// The result of a round.
pub(super) enum Step<T> {
    Done(T),
    Ask { requests: InputRequests, state: Option<Value> },
}

/// The result of a request.
pub(super) enum RoundOutcome<T> {
    Done(T),
    Ask(InputRequiredResult),
}

/// When the fixture asks in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Asks {
    /// As the era of the client requires.
    InEachEra,
    /// As the examples of the SDK do: each tool in its one way.
    AsExamples,
}

/// How a tool or prompt asks in the examples of the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// By a request of the server, which modern clients do not expect.
    Request,
    /// By its result, which legacy clients do not understand.
    Result,
}

/// The parts of a request that rounds use.
pub(super) struct Asked<'a> {
    pub(super) manner: Manner,
    pub(super) name: &'a str,
    pub(super) arguments: Option<&'a JsonObject>,
    pub(super) responses: Option<&'a InputResponses>,
    pub(super) request_state: Option<&'a str>,
}

impl FixtureSession {
    /// Runs `step` as often as the era of the client requires.
    pub(super) async fn ask<T>(
        &self,
        asked: Asked<'_>,
        context: &RequestContext<RoleServer>,
        step: impl Fn(&Round) -> Result<Step<T>, ErrorData>,
    ) -> Result<RoundOutcome<T>, ErrorData> {
        let no_arguments = JsonObject::new();
        let arguments = asked.arguments.unwrap_or(&no_arguments);
        let capabilities = context.client_capabilities().unwrap_or_default();
        let mut responses = asked.responses.cloned().unwrap_or_default();
        let mut state = match asked.request_state {
            Some(sealed) => Some(self.open_state(asked.name, sealed)?),
            None => None,
        };
        for _ in 0..MAX_LEGACY_ROUNDS {
            let round = Round { arguments, state, capabilities: &capabilities, responses: &responses };
            let (requests, next_state) = match step(&round)? {
                Step::Done(value) => return Ok(RoundOutcome::Done(value)),
                Step::Ask { requests, state } => (requests, state),
            };
            require_capabilities(&capabilities, &requests)?;
            let manner = match self.fixture.asks {
                Asks::AsExamples => asked.manner,
                Asks::InEachEra if is_modern_request(context) => Manner::Result,
                Asks::InEachEra => Manner::Request,
            };
            if manner == Manner::Result {
                let sealed = match next_state {
                    Some(state) => Some(self.seal_state(asked.name, &state)?),
                    None => None,
                };
                return Ok(RoundOutcome::Ask(InputRequiredResult::new(Some(requests), sealed)));
            }
            responses = ask_legacy_client(&context.peer, requests).await?;
            state = next_state;
        }
        Err(ErrorData::invalid_request("the client did not give the input that was asked for", None))
    }

    // The name of the tool or prompt is part of the state, so that no other one accepts it.
    fn seal_state(&self, name: &str, state: &Value) -> Result<String, ErrorData> {
        let options = SealOptions::new().associated_data(name.as_bytes());
        self.fixture
            .request_state
            .seal_json_with(state, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    fn open_state(&self, name: &str, sealed: &str) -> Result<Value, ErrorData> {
        self.fixture
            .request_state
            .open_json_with(sealed, name.as_bytes())
            .map_err(|_| ErrorData::invalid_params("requestState is not what this server gave out", None))
    }
}

/// A single question without state.
pub(super) fn ask_one<T>(key: &str, request: InputRequest) -> Step<T> {
    Step::Ask { requests: BTreeMap::from([(key.to_owned(), request)]), state: None }
}

/// A form for the user. Fails if elicitation does not allow `schema`.
pub(super) fn form(message: &str, schema: Value) -> Result<InputRequest, ErrorData> {
    let requested_schema =
        serde_json::from_value(schema).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    };
    Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
}

/// A form with one required field.
pub(super) fn one_field_form(
    message: &str,
    field: &str,
    field_type: &str,
) -> Result<InputRequest, ErrorData> {
    form(
        message,
        json!({ "type": "object", "properties": { field: { "type": field_type } }, "required": [field] }),
    )
}

/// A prompt for the client's model.
pub(super) fn sample(prompt: &str) -> InputRequest {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

/// The question for the client's roots.
pub(super) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn require_capabilities(declared: &ClientCapabilities, requests: &InputRequests) -> Result<(), ErrorData> {
    let mut missing = ClientCapabilities::default();
    for request in requests.values() {
        match request {
            InputRequest::CreateMessage(_) if declared.sampling.is_none() => {
                missing.sampling = Some(SamplingCapability::default());
            }
            InputRequest::Elicitation(_) if declared.elicitation.is_none() => {
                missing.elicitation = Some(ElicitationCapability::default());
            }
            InputRequest::ListRoots(_) if declared.roots.is_none() => {
                missing.roots = Some(RootsCapabilities::default());
            }
            _ => {}
        }
    }
    if missing == ClientCapabilities::default() {
        return Ok(());
    }
    Err(ErrorData::missing_required_client_capability(missing))
}

async fn ask_legacy_client(
    peer: &Peer<RoleServer>,
    requests: InputRequests,
) -> Result<InputResponses, ErrorData> {
    let mut responses = InputResponses::new();
    for (key, request) in requests {
        let response = match request {
            InputRequest::CreateMessage(request) => answer(peer.create_message(request.params).await),
            InputRequest::Elicitation(request) => answer(peer.create_elicitation(request.params).await),
            InputRequest::ListRoots(_) => answer(peer.list_roots().await),
            _ => Err(ErrorData::internal_error("a question of a kind this fixture does not ask", None)),
        }?;
        responses.insert(key, response);
    }
    Ok(responses)
}

fn answer<T: Serialize>(result: Result<T, ServiceError>) -> Result<Value, ErrorData> {
    let value = result.map_err(|error| match error {
        ServiceError::McpError(error) => error,
        error => ErrorData::internal_error(error.to_string(), None),
    })?;
    serde_json::to_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
