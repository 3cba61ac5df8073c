//! Records requests for prompts and resources: twice like a call, and once if they are denied.

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;

use octroi_core::audit::{CallId, Event, Kind, Level, Ruling, SourceType};
use octroi_core::decision::Trace;
use sha2::{Digest as _, Sha256};

use super::violations::DeniedRequest;
use super::{AuditRecorder, CallRecord, Initiator, OtherParams, quote};
use crate::audit::AuditError;

/// A request to a provider, as it is recorded.
pub(crate) struct DescribedRequest<'a> {
    pub(crate) call: CallId,
    pub(crate) initiator: &'a Initiator,
    pub(crate) server: &'a str,
    pub(crate) source: SourceType,
    pub(crate) project: Option<Arc<str>>,
    /// The method.
    pub(crate) method: &'a str,
    /// The subject: `uri` or `name`, and its value.
    pub(crate) subject: (&'static str, &'a str),
    /// The argument that is completed and everything that the server gets, for a completion.
    pub(crate) completed: Option<(&'a str, &'a [u8])>,
    /// The arguments, as JSON text, if there are any.
    pub(crate) arguments: Option<&'a [u8]>,
    /// What else its parameters contain.
    pub(crate) others: OtherParams,
    pub(crate) at_ms: i64,
}

impl AuditRecorder {
    /// Members of an object, each followed by a comma.
    fn about(&self, asked: &DescribedRequest<'_>) -> String {
        let (member, subject) = asked.subject;
        let subject = quote(&self.without_secrets(subject));
        let mut about = format!("\"method\":\"{}\",\"{member}\":{subject},", asked.method);
        if let Some((argument, _)) = asked.completed {
            let _ = write!(about, "\"argument\":{},", quote(&self.without_secrets(argument)));
        }
        about
    }

    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.redactor.load().redact(text).to_string()
    }

    /// Records that a request is about to be forwarded to a provider.
    pub(crate) async fn begin_request(
        self: &Arc<Self>,
        asked: DescribedRequest<'_>,
        trace: &Trace,
    ) -> Result<CallRecord, AuditError> {
        let context = self.request_context(&asked, trace, None);
        let mut record = self.unrecorded(&asked);
        let Some(log) = &self.log else {
            return Ok(record);
        };
        let appending =
            log.append(&record.event(Kind::RequestStart, &context, asked.at_ms), self.plain_durability());
        record.begin(pin!(appending)).await?;
        Ok(record)
    }

    /// A request whose begin and end are not recorded, or not here. What its client answers to questions is.
    pub(crate) fn unrecorded(self: &Arc<Self>, asked: &DescribedRequest<'_>) -> CallRecord {
        CallRecord {
            recorder: Arc::clone(self),
            call: asked.call,
            initiator: asked.initiator.clone(),
            tool: None,
            server: asked.server.into(),
            source: asked.source,
            about: self.about(asked),
            project: asked.project.clone(),
            begun: self.clock.instant(),
            begun_at_ms: asked.at_ms,
            is_open: false,
        }
    }

    /// Records that a request was denied.
    pub(crate) async fn deny_request(
        &self,
        asked: &DescribedRequest<'_>,
        trace: &Trace,
        (gate, reason): (&str, &str),
        ruling: Ruling,
    ) -> Result<(), AuditError> {
        let denied = DeniedRequest {
            initiator: asked.initiator,
            server: asked.server,
            tool: None,
            method: asked.method,
            gate,
            reason: &self.redact(reason),
        };
        self.report_denial(&denied, asked.at_ms);
        let Some(log) = &self.log else {
            return Ok(());
        };
        let context = self.request_context(asked, trace, Some((gate, reason)));
        let at_ms = u64::try_from(asked.at_ms).unwrap_or_default();
        let event = Event {
            level: Level::Warn,
            agent: asked.initiator.agent.as_deref(),
            session: asked.initiator.session.as_deref(),
            server: Some(asked.server),
            source: Some(asked.source),
            project: asked.project.as_deref(),
            call: Some(asked.call),
            ruling: Some(ruling),
            context: &context,
            ..Event::new(at_ms, Kind::PolicyViolation, asked.initiator.actor())
        };
        log.append(&event, self.plain_durability()).await.map(drop)
    }

    fn request_context(
        &self,
        asked: &DescribedRequest<'_>,
        trace: &Trace,
        denied: Option<(&str, &str)>,
    ) -> String {
        let mut text = format!("{{{}", self.about(asked));
        // What a user types is not kept, only what tells whether it was this text.
        if let Some((_, sent)) = asked.completed {
            let (n_bytes, digest) = (sent.len(), hex::encode(Sha256::digest(sent)));
            let _ = write!(text, "\"bytes\":{n_bytes},\"digest\":\"{digest}\",");
        }
        if let Some(arguments) = asked.arguments {
            let _ = write!(text, "\"arguments\":{},", self.preview(arguments));
        }
        asked.others.write(&mut text, self);
        if let Some((gate, reason)) = denied {
            let reason = quote(&self.without_secrets(reason));
            let _ = write!(text, "\"gate\":\"{gate}\",\"reason\":{reason},");
        }
        let _ = write!(text, "\"revision\":{},\"trace\":", trace.revision);
        trace.write_json(&mut text);
        text.push('}');
        text
    }
}
