//! The tools that the suite calls by name, grouped by what they need to answer.

mod content;
mod forms;
mod live;
mod rounds;
mod tasks;

use std::sync::LazyLock;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::asking::{Asked, Manner, Round, RoundOutcome, Step};
use super::fixture::FixtureSession;
use super::resources::CACHE_TTL_MS;

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let mut tools = content::tools();
    tools.extend(live::tools());
    tools.extend(forms::TOOLS.iter().chain(rounds::TOOLS).map(AskingTool::tool));
    tools.extend(tasks::tools());
    tools
});

pub(super) fn list() -> ListToolsResult {
    ListToolsResult::with_all_items(TOOLS.clone())
        .with_ttl_ms(CACHE_TTL_MS)
        .with_cache_scope(CacheScope::Public)
}

pub(super) fn find(name: &str) -> Option<Tool> {
    TOOLS.iter().find(|tool| tool.name == name).cloned()
}

pub(super) async fn call(
    session: &FixtureSession,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.as_ref();
    let asking = [(Manner::Request, forms::TOOLS), (Manner::Result, rounds::TOOLS)];
    let find = |(manner, tools): (Manner, &'static [AskingTool])| {
        Some((manner, tools.iter().find(|tool| tool.name == name)?))
    };
    if let Some((manner, tool)) = asking.into_iter().find_map(find) {
        return match session.ask(asked(request, manner), context, tool.step).await? {
            RoundOutcome::Done(text) => Ok(text_result(text).into()),
            RoundOutcome::Ask(question) => Ok(question.into()),
        };
    }
    if let Some(result) = content::call(name, request.arguments.as_ref()) {
        return result.map(Into::into);
    }
    if let Some(result) = live::call(session, name, context).await {
        return result.map(Into::into);
    }
    if let Some(response) = tasks::call(session, request, context).await {
        return response;
    }
    Err(ErrorData::invalid_params(format!("no tool is named {name}"), None))
}

/// A tool that asks the client something before it returns a text.
struct AskingTool {
    name: &'static str,
    description: &'static str,
    /// The one argument it takes, if any.
    argument: Option<&'static str>,
    step: fn(&Round) -> Result<Step<String>, ErrorData>,
}

impl AskingTool {
    fn tool(&self) -> Tool {
        match self.argument {
            None => tool(self.name, self.description, no_arguments()),
            Some(argument) => tool(
                self.name,
                self.description,
                json!({
                    "type": "object",
                    "properties": { argument: { "type": "string" } },
                    "required": [argument],
                }),
            ),
        }
    }
}

fn asked(request: &CallToolRequestParams, manner: Manner) -> Asked<'_> {
    Asked {
        manner,
        name: &request.name,
        arguments: request.arguments.as_ref(),
        responses: request.input_responses.as_ref(),
        request_state: request.request_state.as_deref(),
    }
}

fn tool(name: &'static str, description: &'static str, input_schema: Value) -> Tool {
    let input_schema = match input_schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, description, input_schema)
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tool_has_its_own_name_and_an_object_schema() {
        let names = TOOLS.iter().map(|tool| tool.name.as_ref()).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), TOOLS.len());
        for tool in TOOLS.iter() {
            assert_eq!(tool.input_schema.get("type"), Some(&json!("object")), "{}", tool.name);
        }
    }
}
