//! Splits the context of a record into the members that differ from call to call and those that repeat.
//!
//! The first part is always the beginning, so that the two joined again are the original text.

use crate::audit::words::Kind;

/// Members that differ between calls of the same tool by the same agent. A context is cut after the last of them.
const DIFFERING: [&str; 20] = [
    "arguments",
    "params",
    "_meta",
    "client",
    "input_responses",
    "approval",
    "path",
    "uri",
    "name",
    "argument",
    "bytes",
    "digest",
    "requests",
    "answer",
    "error",
    "outcome",
    "duration_ms",
    "result_bytes",
    "result",
    "left_out",
];

/// Whether nothing in the contexts of these events repeats often enough to look for it.
pub fn differs_wholly(kind: Kind) -> bool {
    matches!(kind, Kind::ToolInvocationEnd | Kind::RequestEnd)
}

/// The members that a context, the text of an object, has before those of `repeated`, the text of another object;
/// `None` if the context does not end with them. A text that ends so is cut between two members: inside a string or an
/// inner object, the rest would not have as many quotes and braces as it has.
pub fn members_before<'a>(context: &'a str, repeated: &str) -> Option<&'a str> {
    if context == repeated {
        return Some("");
    }
    let before = context.strip_suffix(repeated.strip_prefix('{')?)?;
    before.strip_prefix('{')?.strip_suffix(',')
}

/// Splits the text of an object into the members up to the last one that differs, and those after it, both without
/// braces. `None` stands for no members.
pub fn split(context: &str) -> (Option<&str>, Option<&str>) {
    match end_of_differing(context) {
        None => (None, members_of(context)),
        Some(end) => (context.get(1..end), context.get(end + 1..context.len() - 1)),
    }
}

/// The text between the braces of an object.
pub fn members_of(object: &str) -> Option<&str> {
    object.strip_prefix('{')?.strip_suffix('}')
}

/// The place after the last member that differs: that of a comma or of the last brace.
fn end_of_differing(context: &str) -> Option<usize> {
    let bytes = context.as_bytes();
    let (mut depth, mut is_name, mut differs) = (0_u32, false, false);
    let (mut place, mut end) = (0, None);
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => {
                let start = place + 1;
                place = end_of_string(bytes, start);
                if depth == 1 && is_name {
                    differs = context.get(start..place).is_some_and(|name| DIFFERING.contains(&name));
                    is_name = false;
                }
            }
            b'{' | b'[' => {
                depth += 1;
                is_name = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && differs {
                    end = Some(place);
                }
            }
            b',' if depth == 1 => {
                if differs {
                    end = Some(place);
                }
                is_name = true;
            }
            _ => {}
        }
        place += 1;
    }
    end
}

/// The place of the quote that ends a string.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut place = start;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'"' => return place,
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_cut_after_the_last_member_that_differs() {
        for (context, expected) in [
            ("{}", (None, Some(""))),
            (r#"{"risk":"low"}"#, (None, Some(r#""risk":"low""#))),
            (r#"{"arguments":{}}"#, (Some(r#""arguments":{}"#), None)),
            (
                r#"{"outcome":"completed","duration_ms":1}"#,
                (Some(r#""outcome":"completed","duration_ms":1"#), None),
            ),
            (
                r#"{"arguments":{"risk":1},"risk":"low"}"#,
                (Some(r#""arguments":{"risk":1}"#), Some(r#""risk":"low""#)),
            ),
            (
                r#"{"method":"x","uri":"a,\"b\\","trace":["uri"],"more":{"uri":1}}"#,
                (Some(r#""method":"x","uri":"a,\"b\\""#), Some(r#""trace":["uri"],"more":{"uri":1}"#)),
            ),
            (r#"{ "uri" : 1 , "a" : [2] }"#, (Some(r#" "uri" : 1 "#), Some(r#" "a" : [2] "#))),
            (r#"{"a":"uri","b":["uri",{"uri":1}]}"#, (None, Some(r#""a":"uri","b":["uri",{"uri":1}]"#))),
        ] {
            assert_eq!(split(context), expected, "{context}");
        }
    }

    #[test]
    fn a_known_end_is_found_only_between_members() {
        for (context, repeated, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2}"#, Some(r#""a":1"#)),
            (r#"{"b":2}"#, r#"{"b":2}"#, Some("")),
            (r#"{"a":{"c":1,"b":2}}"#, r#"{"b":2}"#, None),
            (r#"{"a":{"c":1,"b":2},"b":2}"#, r#"{"b":2}"#, Some(r#""a":{"c":1,"b":2}"#)),
            (r#"{"a":1}"#, "{}", None),
            (r#"{"a":1, "b":2}"#, r#"{"b":2}"#, None),
            (r#"{"ab":2}"#, r#"{"b":2}"#, None),
            (r#"{"a":",","b":2}"#, r#"{"b":2}"#, Some(r#""a":",""#)),
        ] {
            assert_eq!(members_before(context, repeated), expected, "{context} {repeated}");
        }
    }
}
