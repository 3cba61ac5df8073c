//! Which form of an answer a client would rather have, by its `Accept` header.

use std::cmp::Ordering;

use axum::http::{HeaderMap, header};

/// Whether a client names event streams before JSON, or with a higher weight. HTTP gives the order no meaning, but
/// a client that names them first can be expected to read them well; the server is free to choose either.
pub(crate) fn prefers_stream(headers: &HeaderMap) -> bool {
    let mut stream: Option<(f32, usize)> = None;
    let mut json = None;
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for (position, range) in values.flat_map(|value| value.split(',')).enumerate() {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let weight = parts.find_map(weight_of).unwrap_or(1.0);
        let found = if media_type.eq_ignore_ascii_case("text/event-stream") {
            &mut stream
        } else if media_type.eq_ignore_ascii_case("application/json") {
            &mut json
        } else {
            continue;
        };
        found.get_or_insert((weight, position));
    }
    match (stream, json) {
        (Some((weight, _)), _) if weight <= 0.0 => false,
        (Some((stream, first)), Some((json, second))) => match stream.total_cmp(&json) {
            Ordering::Greater => true,
            Ordering::Equal => first < second,
            Ordering::Less => false,
        },
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn weight_of(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    let weight: f32 = name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().ok()).flatten()?;
    (0.0..=1.0).contains(&weight).then_some(weight)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn what_comes_first_or_weighs_more_is_preferred() {
        for (accept, expected) in [
            (&[][..], false),
            (&["application/json, text/event-stream"], false),
            (&["text/event-stream, application/json"], true),
            (&["text/event-stream", "application/json"], true),
            (&["application/json", "text/event-stream"], false),
            (&["TEXT/Event-Stream,application/json"], true),
            (&["application/json;q=0.5, text/event-stream"], true),
            (&["text/event-stream;q=0.5, application/json"], false),
            (&["text/event-stream; charset=utf-8; Q=0.5, application/json; q=0.5"], true),
            (&["text/event-stream;q=0, application/json"], false),
            (&["text/event-stream;q=0"], false),
            (&["text/event-stream;q=nan, application/json"], true),
            (&["text/event-stream"], true),
            (&["text/event-stream, */*"], true),
            (&["*/*, text/event-stream"], true),
            (&["*/*"], false),
            (&["text/*, application/json"], false),
        ] {
            let mut headers = HeaderMap::new();
            for &value in accept {
                headers.append(header::ACCEPT, HeaderValue::from_static(value));
            }
            assert_eq!(prefers_stream(&headers), expected, "{accept:?}");
        }
    }
}
