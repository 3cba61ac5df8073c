//! Records what clients of the legacy era answer to the questions of servers. In the modern era an answer comes with a
//! request, whose record has it.

use octroi_core::audit::Kind;
use octroi_mcp::{Method, RpcError, code};
use tracing::error;

use super::{CallRecord, quote};
use crate::audit::Durability;

impl CallRecord {
    /// Records an answer before the server gets it. `Err` is what the server gets instead if that fails.
    pub(crate) async fn answered(
        &self,
        method: &Method,
        answer: Result<&[u8], &RpcError>,
    ) -> Result<(), RpcError> {
        let Some(log) = &self.recorder.log else {
            return Ok(());
        };
        let method = quote(&self.recorder.redact(method.as_str()));
        let (member, text) = match answer {
            Ok(result) => ("answer", self.recorder.preview(result)),
            // A client writes its errors itself, so they are an answer too.
            Err(error) => ("error", self.recorder.preview(&error.to_json())),
        };
        let context = format!("{{\"method\":{method},\"{member}\":{text}}}");
        let mut event = self.event(Kind::QuestionAnswered, &context, self.recorder.clock.now_ms());
        event.ruling = None;
        log.append(&event, Durability::Disk).await.map(drop).map_err(|error| {
            error!(call = %self.call, %error, hint = error.hint(), "the answer to a question was not recorded");
            RpcError::new(code::INTERNAL_ERROR, "the answer cannot be recorded, so it is not passed on")
        })
    }
}
