//! Tools that may run as tasks.
//!
//! The server decides: a tool becomes a task when the client has declared the tasks extension. For other
//! clients, a tool that can also answer immediately does so, and one that cannot refuses.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, JsonObject, Tool,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::asking::{Manner, Round, RoundOutcome, Step, ask_one, one_field_form};
use super::super::fixture::FixtureSession;
use super::{asked, no_arguments, text_result, tool};

const POLL_INTERVAL_MS: u64 = 100;
const LONGEST_SECONDS: f64 = 3600.0;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "greet",
            "Greets, and never as a task",
            json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
        ),
        tool(
            "slow_compute",
            "Takes as many seconds as it is told to",
            json!({
                "type": "object",
                "properties": { "seconds": { "type": "number" }, "label": { "type": "string" } },
            }),
        ),
        tool("failing_job", "A task that ends with the error of a tool", no_arguments()),
        tool("protocol_error_job", "A task that ends with the error of a protocol", no_arguments()),
        tool(
            "confirm_delete",
            "A task that asks the user to confirm",
            json!({ "type": "object", "properties": { "filename": { "type": "string" } } }),
        ),
        tool("multi_input", "A task that asks the user two things at once", no_arguments()),
        tool("test_tool_with_task", "Asks for a name first and then becomes a task", no_arguments()),
    ]
}

pub(super) async fn call(
    session: &FixtureSession,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let arguments = request.arguments.clone().unwrap_or_default();
    let response = match request.name.as_ref() {
        "greet" => {
            let name = text(&arguments, "name").unwrap_or("friend");
            Ok(text_result(format!("Hello, {name}!")).into())
        }
        "slow_compute" => Ok(slow_compute(session, context, &arguments).await),
        "failing_job" => failing_job(session, context),
        "protocol_error_job" => protocol_error_job(session, context).await,
        "confirm_delete" => confirm_delete(session, context, &arguments),
        "multi_input" => multi_input(session, context),
        "test_tool_with_task" => name_then_task(session, request, context).await,
        _ => return None,
    };
    Some(response)
}

async fn slow_compute(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> CallToolResponse {
    let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
    // A number that is not a valid duration would panic, and a very long one would never end.
    let duration = Duration::try_from_secs_f64(seconds.min(LONGEST_SECONDS)).unwrap_or_default();
    let label = text(arguments, "label").unwrap_or("nothing").to_owned();
    let result = text_result(format!("Computed {label} in {} s", duration.as_secs_f64()));
    if !has_tasks(context) {
        sleep(duration).await;
        return result.into();
    }
    start(session, async move |task: TaskContext| {
        tokio::select! {
            () = task.cancelled() => Err(TaskExit::Cancelled),
            () = sleep(duration) => Ok(result),
        }
    })
}

fn failing_job(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    require_tasks(context)?;
    Ok(start(session, async |_| {
        sleep(Duration::from_secs(1)).await;
        Ok(CallToolResult::error(vec![ContentBlock::text("The job failed, as it should")]))
    }))
}

async fn protocol_error_job(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let error = ErrorData::internal_error("The job broke, as it should", None);
    let duration = Duration::from_millis(200);
    if !has_tasks(context) {
        sleep(duration).await;
        return Err(error);
    }
    Ok(start(session, async move |_| {
        sleep(duration).await;
        Err(TaskExit::Error(error))
    }))
}

fn confirm_delete(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> Result<CallToolResponse, ErrorData> {
    require_tasks(context)?;
    let filename = text(arguments, "filename").unwrap_or("a file").to_owned();
    let question = one_field_form(&format!("Delete {filename}?"), "confirm", "boolean")?;
    Ok(start(session, async move |task: TaskContext| {
        let answer = task.request_input("confirm", question).await?;
        let is_confirmed = answer.pointer("/content/confirm") == Some(&Value::Bool(true));
        let outcome = if is_confirmed { "deleted" } else { "kept" };
        Ok(text_result(format!("{filename}: {outcome}")))
    }))
}

fn multi_input(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    require_tasks(context)?;
    let first = one_field_form("The first name?", "name", "string")?;
    let second = one_field_form("The second name?", "name", "string")?;
    Ok(start(session, async move |task: TaskContext| {
        let (first, second) =
            tokio::try_join!(task.request_input("first", first), task.request_input("second", second))?;
        let name = |answer: Value| answer.pointer("/content/name").cloned().unwrap_or_default();
        Ok(text_result(format!("{} and {}", name(first), name(second))))
    }))
}

async fn name_then_task(
    session: &FixtureSession,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    require_tasks(context)?;
    let name = match session.ask(asked(request, Manner::Result), context, user_name).await? {
        RoundOutcome::Done(name) => name,
        RoundOutcome::Ask(question) => return Ok(question.into()),
    };
    Ok(start(session, async move |_| {
        sleep(Duration::from_millis(200)).await;
        Ok(text_result(format!("Hello, {name}, from a task!")))
    }))
}

fn user_name(round: &Round) -> Result<Step<String>, ErrorData> {
    if round.answer("user_name").is_none() {
        let question = one_field_form("What is your name?", "name", "string")?;
        return Ok(ask_one("user_name", question));
    }
    let name = round.text_field("user_name", "name").unwrap_or("friend");
    Ok(Step::Done(name.to_owned()))
}

fn start<W, F>(session: &FixtureSession, work: W) -> CallToolResponse
where
    W: FnOnce(TaskContext) -> F,
    F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
{
    let options = TaskOptions::new().with_poll_interval_ms(POLL_INTERVAL_MS);
    let task = session.fixture.tasks.spawn(options, |task| Box::pin(work(task)));
    CreateTaskResult::new(task).into()
}

fn has_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

fn require_tasks(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if has_tasks(context) {
        return Ok(());
    }
    let required = ClientCapabilities::builder().enable_tasks().build();
    Err(ErrorData::missing_required_client_capability(required))
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}
