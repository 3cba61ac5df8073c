//! Requests of Octroi's own client in the modern era: the body, and the headers that must match it.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::envelope::{self, Id};
use crate::header;
use crate::meta;
use crate::method::Method;
use crate::params::Params;
use crate::version::Version;

/// The identity of the client.
#[derive(Clone, Copy, Debug)]
pub struct ClientInfo {
    /// The name of the program.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// A request for HTTP.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// Names and values of the protocol headers; the values need no encoding.
    pub headers: Vec<(&'static str, String)>,
    /// The message.
    pub body: Bytes,
}

/// Builds a request. It declares the latest version, the client and no capabilities, and replaces any `_meta`
/// in `params`.
pub fn request(method: &Method, mut params: Map<String, Value>, client: ClientInfo) -> ClientRequest {
    let version = Version::LATEST_MODERN.as_str();
    let declared = json!({
        meta::PROTOCOL_VERSION: version,
        meta::CLIENT_INFO: {"name": client.name, "version": client.version},
        meta::CLIENT_CAPABILITIES: {},
    });
    params.insert("_meta".to_owned(), declared);
    let params = Bytes::from(Value::Object(params).to_string());
    // Over HTTP each request has its own connection, so any id is unique.
    let body = envelope::request(&Id::number(1), method, &params);
    let mut headers = vec![
        (header::PROTOCOL_VERSION, version.to_owned()),
        (header::METHOD, header::encode(method.as_str())),
    ];
    // A map has no duplicate members, the only possible parse error.
    if let Ok(params) = Params::read(params)
        && let Some(name) = header::name_in_body(method, &params)
    {
        headers.push((header::NAME, header::encode(&name)));
    }
    ClientRequest { headers, body }
}

/// Builds a tool call.
pub fn tool_call(name: &str, arguments: Value, client: ClientInfo) -> ClientRequest {
    let params = Map::from_iter([("name".to_owned(), json!(name)), ("arguments".to_owned(), arguments)]);
    request(&Method::ToolsCall, params, client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;

    const CLIENT: ClientInfo = ClientInfo { name: "test", version: "1" };

    fn read(request: &ClientRequest) -> (Envelope, Params) {
        let envelope = Envelope::parse(request.body.clone()).unwrap();
        let params = Params::read(envelope.params()).unwrap();
        (envelope, params)
    }

    #[test]
    fn a_call_says_in_its_headers_what_its_body_says() {
        for (name, arguments) in
            [("servers_list", json!({})), ("größer\n", json!({"a": [1, null], "_meta": 2}))]
        {
            let request = tool_call(name, arguments.clone(), CLIENT);
            let (envelope, params) = read(&request);
            assert_eq!((envelope.method(), params.name().as_deref()), (&Method::ToolsCall, Some(name)));
            assert_eq!(params.arguments().unwrap(), arguments.to_string());
            assert_eq!(params.protocol_version().as_deref(), Some(Version::LATEST_MODERN.as_str()));
            assert_eq!(params.client_info().unwrap(), r#"{"name":"test","version":"1"}"#);
            assert_eq!(params.client_capabilities().unwrap(), "{}");
            let expected = [
                (header::PROTOCOL_VERSION, Version::LATEST_MODERN.as_str()),
                (header::METHOD, "tools/call"),
                (header::NAME, name),
            ];
            assert_eq!(request.headers.len(), expected.len());
            for ((header, value), (expected, text)) in request.headers.iter().zip(expected) {
                assert_eq!(*header, expected);
                header::check(header, Some(value.as_bytes()), text).unwrap();
            }
        }
    }

    #[test]
    fn only_what_has_a_name_is_named() {
        let params = |value: Value| value.as_object().cloned().unwrap();
        for (method, given, expected) in [
            (Method::Discover, json!({}), None),
            (Method::ToolsList, json!({"name": "x"}), None),
            (Method::ResourcesRead, json!({"uri": "resource://a", "_meta": {"x": 1}}), Some("resource://a")),
        ] {
            let request = request(&method, params(given), CLIENT);
            let named = request.headers.iter().find(|(name, _)| *name == header::NAME);
            assert_eq!(named.map(|(_, value)| value.as_str()), expected, "{method}");
            // The caller's `_meta` is not sent as well.
            assert_eq!(read(&request).0.params().windows(7).filter(|text| text == b"\"_meta\"").count(), 1);
        }
    }
}
