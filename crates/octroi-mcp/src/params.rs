//! The members of a request's parameters that a gateway reads.

use std::borrow::Cow;

use bytes::Bytes;

use crate::code::RpcError;
use crate::json::{self, Span};
use crate::meta;
use crate::resemblance::{OtherNames, known_name};

/// The members of `params` that the gateway reads.
const NAMES: [&str; 13] = [
    "name",
    "uri",
    "taskId",
    "arguments",
    "ref",
    "level",
    "requestState",
    "inputResponses",
    "notifications",
    "requestId",
    "progressToken",
    "cursor",
    "_meta",
];
/// The same for `_meta`.
const META_NAMES: [&str; 6] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::SUBSCRIPTION_ID,
];

/// Positions of the relevant members of `params`. Everything else stays unparsed.
#[derive(Clone, Debug)]
pub struct Params {
    json: Bytes,
    name: Option<Span>,
    uri: Option<Span>,
    task_id: Option<Span>,
    arguments: Option<Span>,
    reference: Option<Span>,
    level: Option<Span>,
    request_state: Option<Span>,
    input_responses: Option<Span>,
    notifications: Option<Span>,
    request_id: Option<Span>,
    progress_token: Option<Span>,
    cursor: Option<Span>,
    meta_span: Option<Span>,
    meta: Meta,
    n_members: usize,
}

/// Positions of the relevant members of `params._meta`.
#[derive(Clone, Debug, Default)]
struct Meta {
    protocol_version: Option<Span>,
    client_info: Option<Span>,
    client_capabilities: Option<Span>,
    log_level: Option<Span>,
    progress_token: Option<Span>,
    subscription_id: Option<Span>,
    /// Whether there are members that the protocol does not define.
    has_others: bool,
}

impl Params {
    /// Locates the members. Fails on duplicates and on names that can be taken for one of them: two parsers
    /// could then see two different calls in one text, and the gateway decides on what it reads.
    pub fn read(json: Bytes) -> Result<Self, RpcError> {
        let mut params = Self {
            json: json.clone(),
            name: None,
            uri: None,
            task_id: None,
            arguments: None,
            reference: None,
            level: None,
            request_state: None,
            input_responses: None,
            notifications: None,
            request_id: None,
            progress_token: None,
            cursor: None,
            meta_span: None,
            meta: Meta::default(),
            n_members: 0,
        };
        let mut others = OtherNames::default();
        for member in json::members(&json, Span { start: 0, end: json.len() }) {
            params.n_members += 1;
            let slot = match &*member.key(&json) {
                b"name" => &mut params.name,
                b"uri" => &mut params.uri,
                b"taskId" => &mut params.task_id,
                b"arguments" => &mut params.arguments,
                b"ref" => &mut params.reference,
                b"level" => &mut params.level,
                b"requestState" => &mut params.request_state,
                b"inputResponses" => &mut params.input_responses,
                b"notifications" => &mut params.notifications,
                b"requestId" => &mut params.request_id,
                b"progressToken" => &mut params.progress_token,
                b"cursor" => &mut params.cursor,
                b"_meta" => &mut params.meta_span,
                _ => {
                    others.add(known_name(&member, &json)?);
                    continue;
                }
            };
            once(slot, &member, &json)?;
        }
        others.check(&NAMES)?;
        if let Some(span) = params.meta_span {
            params.meta = Meta::read(&json, span)?;
        }
        Ok(params)
    }

    /// The parameters as received.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// `name` of a tool or prompt.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.text(self.name)
    }

    /// `uri` of a resource.
    pub fn uri(&self) -> Option<Cow<'_, str>> {
        self.text(self.uri)
    }

    /// `taskId` of a task request.
    pub fn task_id(&self) -> Option<Cow<'_, str>> {
        self.text(self.task_id)
    }

    /// `level` of `logging/setLevel` or of a log message.
    pub fn level(&self) -> Option<Cow<'_, str>> {
        self.text(self.level)
    }

    /// `cursor` of a list request.
    pub fn cursor(&self) -> Option<Cow<'_, str>> {
        self.text(self.cursor)
    }

    /// `arguments` as JSON text.
    pub fn arguments(&self) -> Option<Bytes> {
        self.slice(self.arguments)
    }

    /// `ref` of a completion request, as JSON text.
    pub fn reference(&self) -> Option<Bytes> {
        self.slice(self.reference)
    }

    /// `requestState` of a retried request.
    pub fn request_state(&self) -> Option<Cow<'_, str>> {
        self.text(self.request_state)
    }

    /// `inputResponses` of a retried request, as JSON text.
    pub fn input_responses(&self) -> Option<Bytes> {
        self.slice(self.input_responses)
    }

    /// `notifications` filter of a listen request, as JSON text.
    pub fn notifications(&self) -> Option<Bytes> {
        self.slice(self.notifications)
    }

    /// `requestId` of a cancellation, as JSON text.
    pub fn request_id(&self) -> Option<Bytes> {
        self.slice(self.request_id)
    }

    /// `progressToken` of a progress notification, as JSON text.
    pub fn notified_token(&self) -> Option<Bytes> {
        self.slice(self.progress_token)
    }

    /// Whether there is a `_meta` object.
    pub fn has_meta(&self) -> bool {
        self.meta_span.is_some_and(|span| json::is_object(span.of(&self.json)))
    }

    /// All other members as an object, if there are any: those besides the subject of the request (`name` or `uri`),
    /// `arguments`, and the members that differ from try to try (`_meta`, `requestState`, `inputResponses`).
    pub fn others(&self, subject: &str) -> Option<Bytes> {
        const USUAL: [&str; 4] = ["arguments", "_meta", "requestState", "inputResponses"];
        let usual = [self.arguments, self.meta_span, self.request_state, self.input_responses];
        let n_usual = usual.iter().flatten().count() + usize::from(self.span(subject).is_some());
        if self.n_members <= n_usual {
            return None;
        }
        let is_other = |name: &str| name != subject && !USUAL.contains(&name);
        Some(self.object(Span { start: 0, end: self.json.len() }, is_other))
    }

    /// The members of `_meta` that the protocol does not define, as an object, if there are any.
    pub fn other_meta(&self) -> Option<Bytes> {
        let span = self.meta_span.filter(|_| self.meta.has_others)?;
        Some(self.object(span, |name| !META_NAMES.contains(&name)))
    }

    fn object(&self, of: Span, is_wanted: impl Fn(&str) -> bool) -> Bytes {
        let mut out = vec![b'{'];
        // Those whose names cannot be decoded were refused when this was read.
        let is_wanted = |member: &json::Member| member.name(&self.json).is_some_and(|name| is_wanted(&name));
        for member in json::members(&self.json, of).filter(is_wanted) {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(member.span().of(&self.json));
        }
        out.push(b'}');
        Bytes::from(out)
    }

    /// Spans of `name`, `uri`, `taskId`, `ref`, `_meta`, `inputResponses` and `requestState`.
    pub(crate) fn span(&self, key: &str) -> Option<Span> {
        match key {
            "name" => self.name,
            "uri" => self.uri,
            "taskId" => self.task_id,
            "ref" => self.reference,
            "_meta" => self.meta_span,
            "inputResponses" => self.input_responses,
            "requestState" => self.request_state,
            "arguments" => self.arguments,
            _ => None,
        }
    }

    /// Spans of the members of `_meta` that the protocol defines.
    pub(crate) fn span_in_meta(&self, key: &str) -> Option<Span> {
        match key {
            meta::PROGRESS_TOKEN => self.meta.progress_token,
            meta::PROTOCOL_VERSION => self.meta.protocol_version,
            meta::CLIENT_INFO => self.meta.client_info,
            meta::CLIENT_CAPABILITIES => self.meta.client_capabilities,
            meta::LOG_LEVEL => self.meta.log_level,
            meta::SUBSCRIPTION_ID => self.meta.subscription_id,
            _ => None,
        }
    }

    /// The version a modern request declares.
    pub fn protocol_version(&self) -> Option<Cow<'_, str>> {
        self.text(self.meta.protocol_version)
    }

    /// Whether the version member is present, even if it is not a string.
    pub fn declares_version(&self) -> bool {
        self.meta.protocol_version.is_some()
    }

    /// The client info of a modern request, as JSON text.
    pub fn client_info(&self) -> Option<Bytes> {
        self.slice(self.meta.client_info)
    }

    /// The client capabilities of a modern request, as JSON text; only an object counts.
    pub fn client_capabilities(&self) -> Option<Bytes> {
        self.slice(self.meta.client_capabilities).filter(|json| json::is_object(json))
    }

    /// The minimum level of log messages for a modern request.
    pub fn log_level(&self) -> Option<Cow<'_, str>> {
        self.text(self.meta.log_level)
    }

    /// The token for progress notifications of this request, as JSON text.
    pub fn progress_token(&self) -> Option<Bytes> {
        self.slice(self.meta.progress_token)
    }

    /// The listen request that a notification belongs to, as JSON text.
    pub fn subscription_id(&self) -> Option<Bytes> {
        self.slice(self.meta.subscription_id)
    }

    fn text(&self, span: Option<Span>) -> Option<Cow<'_, str>> {
        json::text(span?.of(&self.json))
    }

    fn slice(&self, span: Option<Span>) -> Option<Bytes> {
        span.map(|span| self.json.slice(span.range()))
    }
}

impl Meta {
    fn read(json: &[u8], span: Span) -> Result<Self, RpcError> {
        let mut found = Self::default();
        let mut others = OtherNames::default();
        for member in json::members(json, span) {
            let key = member.key(json);
            let slot = match key.strip_prefix(meta::PREFIX.as_bytes()) {
                None if *key == *meta::PROGRESS_TOKEN.as_bytes() => &mut found.progress_token,
                Some(b"protocolVersion") => &mut found.protocol_version,
                Some(b"clientInfo") => &mut found.client_info,
                Some(b"clientCapabilities") => &mut found.client_capabilities,
                Some(b"logLevel") => &mut found.log_level,
                Some(b"subscriptionId") => &mut found.subscription_id,
                Some(_) | None => {
                    found.has_others = true;
                    others.add(known_name(&member, json)?);
                    continue;
                }
            };
            once(slot, &member, json)?;
        }
        others.check(&META_NAMES)?;
        Ok(found)
    }
}

fn once(slot: &mut Option<Span>, member: &json::Member, json: &[u8]) -> Result<(), RpcError> {
    if slot.replace(member.value).is_some() {
        return Err(RpcError::invalid_params(format!("`{}` is given twice", known_name(member, json)?)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Params, RpcError> {
        Params::read(Bytes::copy_from_slice(json.as_bytes()))
    }

    #[test]
    fn the_members_of_a_call_are_found() {
        let params = read(
            r#"{"name":"a\u0062c","arguments":{"name":"inner"},"_meta":{"progressToken":5,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
        )
        .unwrap();
        assert_eq!(params.name().as_deref(), Some("abc"));
        assert_eq!(params.arguments().unwrap(), r#"{"name":"inner"}"#);
        assert_eq!(params.progress_token().unwrap(), "5");
        assert_eq!(params.protocol_version().as_deref(), Some("2026-07-28"));
        assert_eq!(params.client_capabilities().unwrap(), "{}");
    }

    #[test]
    fn a_member_given_twice_is_refused() {
        for json in [
            r#"{"name":"safe","name":"dangerous"}"#,
            r#"{"name":"safe","n\u0061me":"dangerous"}"#,
            r#"{"arguments":{},"arguments":{"x":1}}"#,
            r#"{"_meta":{"progressToken":1,"progressToken":2}}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_member_that_can_be_taken_for_another_is_refused() {
        for json in [
            r#"{"name":"safe","Name":"dangerous"}"#,
            r#"{"name":"safe","NAME":"dangerous"}"#,
            r#"{"name":"safe","n\u0041me":"dangerous"}"#,
            r#"{"name":"safe","name\u0000":"dangerous"}"#,
            r#"{"arguments":{},"Argument\u017f":{}}"#,
            r#"{"uri":"a://b","URI":"a://c"}"#,
            r#"{"name":"safe","request_state":"x"}"#,
            r#"{"taskId":"mine","task_id":"yours"}"#,
            r#"{"task_id":"yours"}"#,
            r#"{"name":"safe","meta":{}}"#,
            r#"{"name":"safe","input-responses":{}}"#,
            r#"{"name":"safe","task":{},"Task":{"ttl":1}}"#,
            r#"{"name":"safe","other":1,"other":2}"#,
            r#"{"_meta":{"progress_token":1}}"#,
            r#"{"_meta":{"IO.ModelContextProtocol/protocolVersion":"2026-07-28"}}"#,
            r#"{"_meta":{"a":1,"A":2}}"#,
            r#"{"name":"safe","arguments\ud800":{}}"#,
            r#"{"name":"safe","\ud800arguments":{}}"#,
            r#"{"name":"safe","argum\udfffents":{}}"#,
            r#"{"name":"safe","\ud800":1}"#,
            r#"{"_meta":{"progressToken\ud800":1}}"#,
            r#"{"_meta":{"\udc00\ud800":1}}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        for json in [
            r#"{"name":"safe","argument":{"name":"x","Name":"y"},"context":{},"task":{"ttl":1}}"#,
            r#"{"_meta":{"claudecode/toolUseId":"x","traceparent":"y","progressToken":1}}"#,
        ] {
            assert!(read(json).is_ok(), "{json}");
        }
    }

    #[test]
    fn other_members_are_found_whatever_they_are() {
        for (json, subject, others, meta) in [
            (r#"{"name":"a","arguments":{},"requestState":"x","inputResponses":{}}"#, "name", None, None),
            (r#"{"name":"a","_meta":{"progressToken":1}}"#, "name", None, None),
            (
                r#"{"name":"a","task":{"ttl":1},"uri":"b"}"#,
                "name",
                Some(r#"{"task":{"ttl":1},"uri":"b"}"#),
                None,
            ),
            (r#"{"name":"a","uri":"b"}"#, "uri", Some(r#"{"name":"a"}"#), None),
            (
                r#"{"uri":"b","_meta":{"x/id":"1","progressToken":2,"y" : [3]}}"#,
                "uri",
                None,
                Some(r#"{"x/id":"1","y" : [3]}"#),
            ),
        ] {
            let params = read(json).unwrap();
            assert_eq!(params.others(subject).as_deref(), others.map(str::as_bytes), "{json}");
            assert_eq!(params.other_meta().as_deref(), meta.map(str::as_bytes), "{json}");
        }
    }

    #[test]
    fn members_of_the_wrong_type_are_absent() {
        let params =
            read(r#"{"name":5,"uri":null,"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}}"#)
                .unwrap();
        assert_eq!((params.name(), params.uri(), params.client_capabilities()), (None, None, None));
    }
}
