//! Tools that do something besides answering: they log, report progress, cut the stream, or cause a change
//! that clients may have subscribed to.

use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientCapabilities, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam, Tool,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;
use tokio::time::sleep;

use super::super::asking::Asks;
use super::super::fixture::{FixtureChange, FixtureSession, is_modern_request};
use super::super::resources;
use super::super::stream_cut::StreamCut;
use super::{no_arguments, text_result, tool};

// Long enough that notifications visibly arrive before the result and not together with it.
const PAUSE: Duration = Duration::from_millis(50);

const DESCRIPTIONS: [(&str, &str); 8] = [
    ("test_tool_with_logging", "Logs three messages on the way"),
    ("test_logging_tool", "Logs one message, if the client wants any"),
    ("test_tool_with_progress", "Reports progress three times on the way"),
    ("test_reconnection", "Ends the event stream before it answers"),
    ("test_missing_capability", "Refuses a client without sampling"),
    ("test_trigger_tool_change", "Says that the list of tools has changed"),
    ("test_trigger_prompt_change", "Says that the list of prompts has changed"),
    ("test_trigger_resource_change", "Says that the watched resource has changed"),
];

pub(super) fn tools() -> Vec<Tool> {
    DESCRIPTIONS.into_iter().map(|(name, description)| tool(name, description, no_arguments())).collect()
}

pub(super) async fn call(
    session: &FixtureSession,
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResult, ErrorData>> {
    let result = match name {
        "test_tool_with_logging" => {
            let messages = ["Tool execution started", "Tool processing data", "Tool execution completed"];
            log_all(session, context, &messages).await
        }
        "test_logging_tool" => log_all(session, context, &["Tool called"]).await,
        "test_tool_with_progress" => report_progress(context).await,
        "test_reconnection" => cut_stream(session, context).await,
        "test_missing_capability" => require_sampling(context),
        "test_trigger_tool_change" => announce(session, context, FixtureChange::Tools).await,
        "test_trigger_prompt_change" => announce(session, context, FixtureChange::Prompts).await,
        "test_trigger_resource_change" => announce(session, context, FixtureChange::WatchedResource).await,
        _ => return None,
    };
    Some(result)
}

async fn log_all(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
    messages: &[&str],
) -> Result<CallToolResult, ErrorData> {
    // A modern client sends its log level with each request; without one it gets no messages.
    let threshold = if is_modern_request(context) {
        context.meta.log_level()
    } else {
        Some(session.legacy.lock().await.log_level)
    };
    let is_wanted = threshold.is_some_and(|threshold| LoggingLevel::Info as u8 >= threshold as u8);
    for message in messages {
        if is_wanted {
            let param = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message))
                .with_logger("octroi-conformance-fixture");
            context.peer.notify_logging_message(param).await.map_err(not_sent)?;
        }
        sleep(PAUSE).await;
    }
    Ok(text_result("Messages logged"))
}

async fn report_progress(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    let token = context.meta.get_progress_token();
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let param = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
            context.peer.notify_progress(param).await.map_err(not_sent)?;
        }
        sleep(PAUSE).await;
    }
    Ok(text_result("Progress reported"))
}

async fn cut_stream(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    // Only a legacy session can be resumed: in 2026-07-28 a closed stream ends the request. A tool of the SDK's
    // examples cannot close its stream.
    if !is_modern_request(context)
        && session.fixture.asks == Asks::InEachEra
        && let Some(stream) = StreamCut::of(context)
    {
        // The client needs an event id to reconnect with, which is sent when the stream opens.
        sleep(PAUSE).await;
        stream.cut();
    }
    sleep(20 * PAUSE).await;
    Ok(text_result("Stream taken up again"))
}

fn require_sampling(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    let declared = context.client_capabilities().unwrap_or_default();
    if declared.sampling.is_some() {
        return Ok(text_result("The client has sampling"));
    }
    let required = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(required))
}

async fn announce(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
    change: FixtureChange,
) -> Result<CallToolResult, ErrorData> {
    // An error only means that nobody is subscribed.
    let _ = session.fixture.changes.send(change);
    if !is_modern_request(context) {
        announce_in_session(session, context, change).await.map_err(not_sent)?;
    }
    Ok(text_result("Change announced"))
}

async fn announce_in_session(
    session: &FixtureSession,
    context: &RequestContext<RoleServer>,
    change: FixtureChange,
) -> Result<(), ServiceError> {
    let peer = &context.peer;
    match change {
        FixtureChange::Tools => peer.notify_tool_list_changed().await,
        FixtureChange::Prompts => peer.notify_prompt_list_changed().await,
        FixtureChange::WatchedResource => {
            let is_subscribed = session.legacy.lock().await.subscribed.contains(resources::WATCHED);
            if !is_subscribed {
                return Ok(());
            }
            let param = ResourceUpdatedNotificationParam::new(resources::WATCHED);
            peer.notify_resource_updated(param).await
        }
    }
}

fn not_sent(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
