//! Requests of the modern era: each one complete, with headers that repeat parts of its body.

use std::collections::HashMap;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Id, Method, Version, code, header as mcp_header};
use parking_lot::Mutex;
use serde_json::Value;

use super::Relay;
use super::link::{Events, Gone, collect, is_stream, put};

/// The tools of which some arguments are also sent as headers. They are few, so they are looked up only when
/// the gateway misses a header.
#[derive(Default)]
pub(super) struct MirroredArguments(Mutex<HashMap<String, ParamHeaders>>);

impl MirroredArguments {
    fn headers(&self, params: &Params) -> Vec<(String, String)> {
        let tools = self.0.lock();
        let declared = params.name().and_then(|name| tools.get(&*name));
        declared.map(|declared| declared.of_arguments(params.arguments().as_ref())).unwrap_or_default()
    }
}

impl Relay {
    pub(super) async fn forward_modern(
        &self,
        request: &Envelope,
        params: &Params,
        id: &Id,
    ) -> Result<(), Gone> {
        let mirrored = self.mirrored.headers(params);
        let headers = headers_of(request, params, &mirrored);
        let response = self.link.post(&headers, request.json().clone()).await?;
        let is_refused = response.status() == StatusCode::BAD_REQUEST;
        if *request.method() != Method::ToolsCall || !is_refused || is_stream(&response) {
            return self.pass_on(response, id).await;
        }
        let body = collect(response.into_body()).await?;
        if is_mismatch(&body) {
            self.learn_mirrored().await?;
            let learnt = self.mirrored.headers(params);
            // A call that was refused for its headers was not executed.
            if learnt != mirrored {
                let headers = headers_of(request, params, &learnt);
                let response = self.link.post(&headers, request.json().clone()).await?;
                return self.pass_on(response, id).await;
            }
        }
        self.pass_answer(StatusCode::BAD_REQUEST, body, id).await;
        Ok(())
    }

    /// Reads from the list of tools which arguments are mirrored.
    async fn learn_mirrored(&self) -> Result<(), Gone> {
        let response = self.link.ask(&Method::ToolsList).await?;
        let body = if is_stream(&response) {
            let mut events = Events::new(response.into_body());
            let mut last = Bytes::new();
            while let Some(message) = events.next().await {
                last = message;
            }
            last
        } else {
            collect(response.into_body()).await?
        };
        let list: Value = serde_json::from_slice(&body).unwrap_or_default();
        let tools = list["result"]["tools"].as_array().into_iter().flatten();
        let found = tools.filter_map(|tool| {
            let declared = ParamHeaders::from_schema(&tool["inputSchema"]).ok()?;
            (!declared.is_empty()).then_some((tool["name"].as_str()?.to_owned(), declared))
        });
        let found = found.collect();
        *self.mirrored.0.lock() = found;
        Ok(())
    }
}

fn headers_of(request: &Envelope, params: &Params, mirrored: &[(String, String)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let version = params.protocol_version();
    let version = version.as_deref().unwrap_or(Version::LATEST_MODERN.as_str());
    put(&mut headers, mcp_header::PROTOCOL_VERSION, version);
    put(&mut headers, mcp_header::METHOD, request.method().as_str());
    if let Some(name) = mcp_header::name_in_body(request.method(), params) {
        put(&mut headers, mcp_header::NAME, &name);
    }
    for (name, value) in mirrored {
        // These are encoded already.
        if let (Ok(name), Ok(value)) = (name.parse::<hyper::header::HeaderName>(), value.parse()) {
            headers.insert(name, value);
        }
    }
    headers
}

fn is_mismatch(body: &Bytes) -> bool {
    let error = Envelope::parse(body.clone()).ok().and_then(|answer| answer.error());
    error.is_some_and(|error| error.code == code::HEADER_MISMATCH)
}
