//! Requests that Octroi answers itself: its own tools and resources for agents.

use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Permit;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Era, RpcError, translate};
use serde_json::Value;

use super::{Pipeline, Request};
use crate::answer::Answer;
use crate::outcome::RecordedOutcome;
use crate::provider::BuiltinProvider;
use crate::servers::Target;

impl Pipeline {
    /// Serves a call of Octroi's own tools, or reads one of its resources.
    pub(super) async fn serve(
        &self,
        request: Request<'_>,
        target: &Target,
        builtin: &Arc<dyn BuiltinProvider>,
        permit: &Permit,
    ) -> (Answer, RecordedOutcome) {
        let Request { caller, envelope, params, .. } = request;
        let served = match (&target.subject.name, &target.subject.uri) {
            (Some(tool), _) => {
                let arguments = params.arguments().and_then(|json| serde_json::from_slice(&json).ok());
                let arguments = arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                builtin.call(permit, caller, tool, arguments).await
            }
            (None, Some(uri)) => builtin.read(permit, caller, uri).await,
            (None, None) => Err(RpcError::method_not_found(envelope.method().as_str())),
        };
        match served {
            Err(error) => (error.into(), RecordedOutcome::Failed),
            Ok(result) => {
                let outcome = if result["isError"] == true {
                    RecordedOutcome::ToolError
                } else {
                    RecordedOutcome::Completed
                };
                let result = Bytes::from(result.to_string());
                let view = ResultView::read(&result);
                let result = translate::result(&view, Era::Legacy, caller.era, envelope.method(), None, None);
                (Answer::Result(result), outcome)
            }
        }
    }
}
