//! The steps of each scenario. Names of tools are those of the suite's servers.

use serde_json::{Value, json};

use super::{Failure, Session, shown};

/// What a scenario wants of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// To connect and to list.
    List,
    /// To call one tool, with these arguments.
    Call(&'static str, &'static str),
    /// To make the calls that the suite's context names.
    CallAsTold,
    /// To call every tool there is; tools with wrong annotations are not there.
    CallAll(&'static str),
    /// To use tools, resources and prompts.
    UseEverything,
    /// To send a request of its own to a server that lists nothing.
    CallBlindly,
    /// To answer questions, and to do something else meanwhile.
    AnswerQuestions,
    /// To send a tool's schema back as it was listed.
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
        "http-custom-headers" => Steps::CallAsTold,
        "http-invalid-tool-headers" => Steps::CallAll(r#"{"region":"eu"}"#),
        "sep-2322-client-request-state" => Steps::AnswerQuestions,
        "json-schema-2020-12-preservation" => Steps::EchoSchema,
        _ => return None,
    })
}

/// Lists, as every client does first, and goes on as the scenario wants.
pub(crate) async fn run(steps: Steps, session: &Session, context: &Value) -> Result<(), Failure> {
    let tools = session.client.list_tools().await?;
    match steps {
        Steps::List => Ok(()),
        Steps::Call(tool, arguments) => {
            let arguments = serde_json::from_str(arguments).unwrap_or_default();
            session.call(tool, arguments).await.map(drop)
        }
        Steps::CallAsTold => call_as_told(session, context).await,
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
            // A tool that is not listed cannot be decided about; a prompt may be asked for by any name.
            session.alone.request("prompts/get", json!({"name": "any"})).await?;
            Ok(())
        }
        Steps::AnswerQuestions => answer_questions(session).await,
        Steps::EchoSchema => echo_schema(session, &tools).await,
    }
}

async fn call_as_told(session: &Session, context: &Value) -> Result<(), Failure> {
    let calls = context["toolCalls"].as_array();
    for call in calls.ok_or_else(|| Failure::Missing("`toolCalls` in its context".to_owned()))? {
        let name = call["name"].as_str().unwrap_or_default();
        session.call(name, call["arguments"].clone()).await?;
    }
    Ok(())
}

async fn use_everything(session: &Session, tools: &[Value]) -> Result<(), Failure> {
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

async fn answer_questions(session: &Session) -> Result<(), Failure> {
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

async fn echo_schema(session: &Session, tools: &[Value]) -> Result<(), Failure> {
    let wanted = shown("json_schema_2020_12_tool");
    let tool = tools.iter().find(|tool| tool["name"] == wanted.as_str());
    let tool = tool.ok_or_else(|| Failure::Missing(format!("tool `{wanted}`")))?;
    session.call("json_schema_echo", json!({ "schema": tool["inputSchema"] })).await.map(drop)
}
