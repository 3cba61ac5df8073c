//! Writing down prompts and resources that are asked for: twice like a call, and once if they are denied.

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use octroi_core::audit::{CallId, Event, Kind, Level, Ruling, SourceType};
use octroi_core::decision::{Decision, Trace};
use octroi_mcp::Method;
use octroi_mcp::params::Params;

use super::{Doer, Ledger, Record, quote};
use crate::answer::Answer;
use crate::audit::AuditError;
use crate::caller::Caller;
use crate::denial;
use crate::gateway::Gateway;
use crate::pipeline::Target;
use crate::time::now_ms;

/// What is asked of a server, as it is written down.
struct Asked<'a> {
    call: CallId,
    doer: &'a Doer,
    server: &'a str,
    project: Option<Arc<str>>,
    /// Method and what it is about: members of an object, each followed by a comma.
    about: String,
    /// As JSON text, if there are any.
    arguments: Option<&'a [u8]>,
    at_ms: i64,
}

impl Gateway {
    /// Writes down what is about to be asked or denied, before the server sees a byte. `Err` is the answer if
    /// that fails: then it must not be asked.
    ///
    /// Not everything is worth a record. Completions come with every letter that somebody types and give away
    /// no more than names, and questions about a task belong to the call that began it, which has its records.
    pub(crate) async fn note_request(
        &self,
        caller: &Caller,
        target: &Target,
        method: &Method,
        params: &Params,
        decision: &Decision,
    ) -> Result<Option<Record>, Answer> {
        let (member, what) = match method {
            Method::ResourcesRead => ("uri", target.subject.uri.as_deref()),
            Method::PromptsGet => ("name", target.subject.name.as_deref()),
            _ => return Ok(None),
        };
        let at_ms = now_ms();
        let (doer, arguments) = (Doer::of(&caller.principal), params.arguments());
        let what = self.ledger.without_secrets(what.unwrap_or_default());
        let asked = Asked {
            call: self.ledger.call_id(at_ms),
            doer: &doer,
            server: target.upstream.spec().name.as_str(),
            project: self.governor.context(&caller.principal).project.clone(),
            about: format!("\"method\":\"{method}\",\"{member}\":{},", quote(&what)),
            arguments: arguments.as_deref(),
            at_ms,
        };
        match decision {
            Decision::Allow(permit) => match self.ledger.begin_request(asked, permit.trace()).await {
                Ok(record) => Ok(Some(record)),
                Err(error) => Err(denial::unrecorded(&error)),
            },
            Decision::Ask(_) => Ok(None),
            Decision::Deny(denied) => {
                let said = (denied.gate.as_str(), denied.reason.as_str());
                let ruling = if denied.is_abort { Ruling::DenyAbort } else { Ruling::DenyContinue };
                if let Err(error) = self.ledger.deny_request(&asked, denied.trace(), said, ruling).await {
                    tracing::error!(%error, hint = error.hint(), "a denial was not recorded");
                }
                Ok(None)
            }
        }
    }
}

impl Ledger {
    fn without_secrets(&self, text: &str) -> String {
        self.redactor.load().redact(text).to_string()
    }

    async fn begin_request(self: &Arc<Self>, asked: Asked<'_>, trace: &Trace) -> Result<Record, AuditError> {
        let context = self.request_context(&asked, trace, None);
        let mut record = Record {
            ledger: Arc::clone(self),
            call: asked.call,
            doer: asked.doer.clone(),
            tool: None,
            server: asked.server.into(),
            source: SourceType::Mcp,
            about: asked.about,
            project: asked.project,
            begun: Instant::now(),
            begun_at_ms: asked.at_ms,
            is_open: false,
        };
        let Some(log) = &self.log else {
            return Ok(record);
        };
        let appending =
            log.append(&record.event(Kind::RequestStart, &context, asked.at_ms), self.plain_durability());
        record.begin(pin!(appending)).await?;
        Ok(record)
    }

    async fn deny_request(
        &self,
        asked: &Asked<'_>,
        trace: &Trace,
        said: (&str, &str),
        ruling: Ruling,
    ) -> Result<(), AuditError> {
        let Some(log) = &self.log else {
            return Ok(());
        };
        let context = self.request_context(asked, trace, Some(said));
        let at_ms = u64::try_from(asked.at_ms).unwrap_or_default();
        let event = Event {
            level: Level::Warn,
            agent: asked.doer.agent.as_deref(),
            session: asked.doer.session.as_deref(),
            server: Some(asked.server),
            source: Some(SourceType::Mcp),
            project: asked.project.as_deref(),
            call: Some(asked.call),
            ruling: Some(ruling),
            context: &context,
            ..Event::new(at_ms, Kind::PolicyViolation, asked.doer.actor())
        };
        log.append(&event, self.plain_durability()).await.map(drop)
    }

    fn request_context(&self, asked: &Asked<'_>, trace: &Trace, denied: Option<(&str, &str)>) -> String {
        let mut text = format!("{{{}", asked.about);
        if let Some(arguments) = asked.arguments {
            let _ = write!(text, "\"arguments\":{},", self.preview(arguments));
        }
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
