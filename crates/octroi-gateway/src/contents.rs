//! The contents of resources, with the URIs of the merged list.

use bytes::Bytes;
use octroi_core::{ServerName, uri};
use octroi_mcp::json::{self, Edit, Span};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct ReadResult<'a> {
    #[serde(borrow)]
    contents: Vec<&'a RawValue>,
}

/// The result of `resources/read` with published URIs, so that a client recognizes the resource and can
/// read it again: several servers may have a resource with the same URI.
pub(crate) fn publish(server: &ServerName, result: Bytes) -> Bytes {
    let Ok(read) = serde_json::from_slice::<ReadResult<'_>>(&result) else {
        return result;
    };
    let mut contents = vec![b'['];
    for (index, item) in read.contents.iter().enumerate() {
        if index > 0 {
            contents.push(b',');
        }
        let item = item.get().as_bytes();
        let span = Span { start: 0, end: item.len() };
        let uri = json::members(item, span).find(|member| member.is(item, "uri"));
        let own = uri.and_then(|member| json::text(member.value.of(item)));
        let published = own.map(|own| json::quote(&uri::publish(server, &own)));
        let edit = published.as_ref().map(|published| Edit::Set("uri", published.as_bytes()));
        json::rewrite_into(&mut contents, item, span, edit.as_slice());
    }
    contents.push(b']');
    Bytes::from(json::rewrite(&result, &[Edit::Set("contents", &contents)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_uris_of_contents_change() {
        let server = ServerName::parse("fs").unwrap();
        for (own, published) in [
            (
                r#"{"contents":[{"uri":"file:///a","text":"file:///a","n":1.0},{"blob":"","uri":"urn:b"}],"x":1}"#,
                r#"{"contents":[{"uri":"file://fs//a","text":"file:///a","n":1.0},{"blob":"","uri":"octroi-uri://fs/urn:b"}],"x":1}"#,
            ),
            (r#"{"contents":[{"text":"no uri"}]}"#, r#"{"contents":[{"text":"no uri"}]}"#),
            (r#"{"contents":[]}"#, r#"{"contents":[]}"#),
            (r#"{"contents":"wrong"}"#, r#"{"contents":"wrong"}"#),
            (r#"{"other":[]}"#, r#"{"other":[]}"#),
        ] {
            assert_eq!(publish(&server, Bytes::from_static(own.as_bytes())), published);
        }
    }
}
