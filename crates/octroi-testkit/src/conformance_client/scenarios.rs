//! The steps of each scenario. Tool names are those of the suite's servers.

use serde_json::{Value, json};

use super::{Failure, ScenarioSession, wire_name};

/// What a scenario requires of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Connect and list.
    List,
    /// Call one tool, with these arguments.
    Call(&'static str, &'static str),
    /// Make the calls in the suite's context.
    CallFromContext,
    /// Call all listed tools; tools with invalid annotations are not listed.
    CallAll(&'static str),
    /// Use tools, resources and prompts.
    UseEverything,
    /// Send its own request to a server that lists nothing.
    CallBlindly,
    /// Answer questions, and do something else in between.
    AnswerQuestions,
    /// Send a tool's schema back as it was listed.
    EchoSchema,
}

/// The steps for a scenario, by the suite's name for it.
pub(crate) fn find(scenario: &str) -> Option<Steps> {
    Some(match scenario {
        "initialize" | "json-schema-ref-no-deref" => Steps::List,
        "tools_call" => Steps::Call("add_numbers", r#"{"a":5,"b":3}"#),
        "elicitation-sep1034-client-defaults" => Steps::Call("test_client_elicitation_defaults", "{}"),
        "sse-retry" => Steps::Call("test_reconnection", "{}"),
        "request-metadata" => Steps::CallBlindly,
        "http-standard-headers" => Steps::UseEverything,
        "http-custom-headers" => Steps::CallFromContext,
        "http-invalid-tool-headers" => Steps::CallAll(r#"{"region":"eu"}"#),
        "sep-2322-client-request-state" => Steps::AnswerQuestions,
        "json-schema-2020-12-preservation" => Steps::EchoSchema,
        _ => return None,
    })
}

/// Lists, as every client does first, and continues as the scenario requires.
pub(crate) async fn run(steps: Steps, session: &ScenarioSession, context: &Value) -> Result<(), Failure> {
    let tools = session.client.list_tools().await?;
    match steps {
        Steps::List => Ok(()),
        Steps::Call(tool, arguments) => {
            let arguments = serde_json::from_str(arguments).unwrap_or_default();
            session.call(tool, arguments).await.map(drop)
        }
        Steps::CallFromContext => call_from_context(session, context).await,
        Steps::CallAll(arguments) => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            for tool in &tools {
                let name = tool["name"].as_str().unwrap_or_default();
                session.client.call(name, arguments.clone()).await?;
            }
            Ok(())
        }
        Steps::UseEverything => use_everything(session, &tools).await,
        Steps::CallBlindly => {
            // The gateway cannot decide about an unlisted tool; a prompt may be requested by any name.
            // The server lists no prompt, so the gateway does not forward this.
            session.alone.request("prompts/get", json!({"name": "any"})).await.ok();
            Ok(())
        }
        Steps::AnswerQuestions => answer_questions(session).await,
        Steps::EchoSchema => echo_schema(session, &tools).await,
    }
}

async fn call_from_context(session: &ScenarioSession, context: &Value) -> Result<(), Failure> {
    let calls = context["toolCalls"].as_array();
    for call in calls.ok_or_else(|| Failure::Missing("`toolCalls` in its context".to_owned()))? {
        let name = call["name"].as_str().unwrap_or_default();
        session.call(name, call["arguments"].clone()).await?;
    }
    Ok(())
}

async fn use_everything(session: &ScenarioSession, tools: &[Value]) -> Result<(), Failure> {
    let client = &session.client;
    for tool in tools {
        client.call(tool["name"].as_str().unwrap_or_default(), json!({})).await?;
    }
    for resource in client.list("resources/list", "resources").await? {
        client.request("resources/read", json!({ "uri": resource["uri"] })).await?;
    }
    for prompt in client.list("prompts/list", "prompts").await? {
        client.request("prompts/get", json!({ "name": prompt["name"] })).await?;
    }
    Ok(())
}

async fn answer_questions(session: &ScenarioSession) -> Result<(), Failure> {
    let thinking = session.user.thinking.write().await;
    let meanwhile = async {
        session.user.asked.notified().await;
        let unrelated = session.call("test_mrtr_unrelated", json!({})).await;
        drop(thinking);
        unrelated
    };
    let (with_state, unrelated) = tokio::join!(session.call("test_mrtr_echo_state", json!({})), meanwhile);
    with_state?;
    unrelated?;
    session.call("test_mrtr_no_state", json!({})).await?;
    session.call("test_mrtr_no_result_type", json!({})).await?;
    Ok(())
}

async fn echo_schema(session: &ScenarioSession, tools: &[Value]) -> Result<(), Failure> {
    let name = wire_name("json_schema_2020_12_tool");
    let tool = tools.iter().find(|tool| tool["name"] == name.as_str());
    let tool = tool.ok_or_else(|| Failure::Missing(format!("tool `{name}`")))?;
    session.call("json_schema_echo", json!({ "schema": tool["inputSchema"] })).await.map(drop)
}
