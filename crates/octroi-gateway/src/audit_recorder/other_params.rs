//! What a request sends to a server beside its subject and its arguments: as it is recorded, and as a person is
//! shown it.

use std::fmt::Write as _;

use bytes::Bytes;
use octroi_mcp::params::Params;

use super::{AuditRecorder, declared};
use crate::caller::Caller;

/// What a request sends to a server beside its subject and its arguments. Most send nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherParams {
    /// Other members of `params`.
    pub(crate) params: Option<Bytes>,
    /// Members of `_meta` that the protocol does not define.
    meta: Option<Bytes>,
    /// Answers to questions of a server.
    input_responses: Option<Bytes>,
    /// What the client says about itself, if it is unusual.
    client: Option<Bytes>,
}

impl OtherParams {
    /// Finds them beside the subject, `name` or `uri`.
    pub(crate) fn of(params: &Params, subject: &str, caller: &Caller) -> Self {
        Self {
            params: params.others(subject),
            meta: params.other_meta(),
            input_responses: params.input_responses(),
            client: declared::unusual(caller),
        }
    }

    /// Everything that the person who decides has to see, as an object: without answers to questions, which no server
    /// gets before the call is approved.
    pub(crate) fn to_approve(&self) -> Option<String> {
        self.object(|json| String::from_utf8_lossy(json).into_owned())
    }

    /// The same, redacted and shortened.
    pub(crate) fn preview(&self, recorder: &AuditRecorder) -> Option<String> {
        self.object(|json| recorder.preview(json))
    }

    fn object(&self, text: impl Fn(&[u8]) -> String) -> Option<String> {
        let members = [("params", &self.params), ("_meta", &self.meta), ("client", &self.client)];
        let members = members.iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("\"{name}\":{}", text(value)))
        });
        let members: Vec<String> = members.collect();
        (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
    }

    /// Appends members of an object, each followed by a comma.
    pub(super) fn write(&self, text: &mut String, recorder: &AuditRecorder) {
        let members = [
            ("params", &self.params),
            ("_meta", &self.meta),
            ("client", &self.client),
            ("input_responses", &self.input_responses),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                let _ = write!(text, "\"{name}\":{},", recorder.preview(value));
            }
        }
    }
}
