//! The prompts that the suite requests by name.

use rmcp::model::{
    CacheScope, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage, ResourceContents, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::asking::{Asked, Manner, Round, RoundOutcome, Step, ask_one, one_field_form};
use super::fixture::FixtureSession;
use super::resources::{CACHE_TTL_MS, PNG_BASE64};

const SIMPLE: &str = "test_simple_prompt";
const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const WITH_RESOURCE: &str = "test_prompt_with_embedded_resource";
const WITH_IMAGE: &str = "test_prompt_with_image";
const WITH_INPUT: &str = "test_input_required_result_prompt";

pub(super) fn list() -> ListPromptsResult {
    let prompts = vec![
        prompt(SIMPLE, "A prompt without arguments", &[]),
        prompt(WITH_ARGUMENTS, "A prompt that repeats its two arguments", &["arg1", "arg2"]),
        prompt(WITH_RESOURCE, "A prompt that embeds the resource it is given", &["resourceUri"]),
        prompt(WITH_IMAGE, "A prompt that shows a picture", &[]),
        prompt(WITH_INPUT, "A prompt that first asks the user for the context", &[]),
    ];
    ListPromptsResult::with_all_items(prompts).with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Public)
}

pub(super) async fn get(
    session: &FixtureSession,
    request: &GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let messages = match request.name.as_str() {
        SIMPLE => vec![user_text("This is a simple prompt for testing.")],
        WITH_ARGUMENTS => {
            let first = argument(request.arguments.as_ref(), "arg1")?;
            let second = argument(request.arguments.as_ref(), "arg2")?;
            vec![user_text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        WITH_RESOURCE => {
            let uri = argument(request.arguments.as_ref(), "resourceUri")?;
            let resource = ResourceContents::text("Embedded resource content for testing.", uri);
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(resource)),
                user_text("Please process the embedded resource above."),
            ]
        }
        WITH_IMAGE => vec![
            PromptMessage::new(Role::User, ContentBlock::image(PNG_BASE64, "image/png")),
            user_text("Please analyze the image above."),
        ],
        WITH_INPUT => {
            let asked = Asked {
                manner: Manner::Result,
                name: &request.name,
                arguments: request.arguments.as_ref(),
                responses: request.input_responses.as_ref(),
                request_state: request.request_state.as_deref(),
            };
            match session.ask(asked, context, context_from_user).await? {
                RoundOutcome::Done(messages) => messages,
                RoundOutcome::Ask(question) => return Ok(question.into()),
            }
        }
        name => return Err(ErrorData::invalid_params(format!("no prompt is named {name}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}

fn context_from_user(round: &Round) -> Result<Step<Vec<PromptMessage>>, ErrorData> {
    if round.answer("user_context").is_none() {
        let question = one_field_form("What context should the prompt use?", "context", "string")?;
        return Ok(ask_one("user_context", question));
    }
    let context = round.text_field("user_context", "context").unwrap_or("none");
    Ok(Step::Done(vec![user_text(format!("Use this context: {context}"))]))
}

fn prompt(name: &str, description: &str, arguments: &[&str]) -> Prompt {
    let arguments = arguments
        .iter()
        .map(|argument| PromptArgument::new(*argument).with_required(true))
        .collect::<Vec<_>>();
    Prompt::new(name, Some(description), Some(arguments).filter(|arguments| !arguments.is_empty()))
}

fn argument<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Result<&'a str, ErrorData> {
    arguments
        .and_then(|arguments| arguments.get(name))
        .and_then(Value::as_str)
        .ok_or_else(|| ErrorData::invalid_params(format!("the argument {name} is missing"), None))
}

fn user_text(text: impl Into<String>) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
