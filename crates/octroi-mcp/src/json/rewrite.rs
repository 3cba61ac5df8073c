//! Edits members of an object and copies everything else unchanged.

use super::walk::{Span, is_object, members};

/// An edit of one member of an object.
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    /// Sets the member to this JSON text; adds it if missing.
    Set(&'a str, &'a [u8]),
    /// Removes the member.
    Drop(&'a str),
    /// Edits inside the member, an object; creates it if missing or not an object.
    Within(&'a str, &'a [Edit<'a>]),
}

impl<'a> Edit<'a> {
    fn key(&self) -> &'a str {
        match self {
            Self::Set(key, _) | Self::Drop(key) | Self::Within(key, _) => key,
        }
    }
}

/// The text with each of these spans replaced. They must not overlap; their order does not matter.
pub fn splice(json: &[u8], replacements: &mut [(Span, &[u8])]) -> Vec<u8> {
    replacements.sort_unstable_by_key(|(span, _)| span.start);
    let added: usize = replacements.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(json.len() + added);
    let mut copied = 0;
    for (span, text) in replacements {
        out.extend_from_slice(json.get(copied..span.start).unwrap_or_default());
        out.extend_from_slice(text);
        copied = span.end;
    }
    out.extend_from_slice(json.get(copied..).unwrap_or_default());
    out
}

/// The object in `json` with the edits applied.
pub fn rewrite(json: &[u8], edits: &[Edit<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + 64 * edits.len());
    rewrite_into(&mut out, json, Span { start: 0, end: json.len() }, edits);
    out
}

/// Appends the object at `span` of `json` with the edits applied. Without edits this is a plain copy.
pub fn rewrite_into(out: &mut Vec<u8>, json: &[u8], span: Span, edits: &[Edit<'_>]) {
    if edits.is_empty() {
        out.extend_from_slice(span.of(json));
        return;
    }
    out.push(b'{');
    let mut separator = Separator::default();
    // Tracks the applied edits: an edit without a matching member is appended at the end.
    let mut met = 0_u64;
    for member in members(json, span) {
        let edit = edits.iter().enumerate().find(|(_, edit)| member.is(json, edit.key()));
        match edit {
            None => {
                separator.write(out);
                out.extend_from_slice(member.span().of(json));
            }
            Some((index, edit)) => {
                met |= 1 << index;
                let key = Span { start: member.span().start, end: member.value.start };
                match edit {
                    Edit::Drop(_) => {}
                    Edit::Set(_, value) => {
                        separator.write(out);
                        out.extend_from_slice(key.of(json));
                        out.extend_from_slice(value);
                    }
                    Edit::Within(_, inner) => {
                        separator.write(out);
                        out.extend_from_slice(key.of(json));
                        if is_object(member.value.of(json)) {
                            rewrite_into(out, json, member.value, inner);
                        } else {
                            create(out, inner);
                        }
                    }
                }
            }
        }
    }
    for (index, edit) in edits.iter().enumerate() {
        if met & (1 << index) == 0 {
            append(out, &mut separator, edit);
        }
    }
    out.push(b'}');
}

fn create(out: &mut Vec<u8>, edits: &[Edit<'_>]) {
    out.push(b'{');
    let mut separator = Separator::default();
    for edit in edits {
        append(out, &mut separator, edit);
    }
    out.push(b'}');
}

fn append(out: &mut Vec<u8>, separator: &mut Separator, edit: &Edit<'_>) {
    let (key, value) = match edit {
        Edit::Drop(_) => return,
        // Edits that only remove members of an absent object leave it absent.
        Edit::Within(_, inner) if inner.iter().all(|edit| matches!(edit, Edit::Drop(_))) => return,
        Edit::Within(key, _) => (key, None),
        Edit::Set(key, value) => (key, Some(value)),
    };
    separator.write(out);
    out.extend_from_slice(super::quote(key).as_bytes());
    out.push(b':');
    match (value, edit) {
        (Some(value), _) => out.extend_from_slice(value),
        (None, Edit::Within(_, inner)) => create(out, inner),
        (None, Edit::Set(..) | Edit::Drop(_)) => {}
    }
}

#[derive(Default)]
struct Separator {
    due: bool,
}

impl Separator {
    fn write(&mut self, out: &mut Vec<u8>) {
        if self.due {
            out.push(b',');
        }
        self.due = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, edits: &[Edit<'_>], expected: &str) {
        let found = String::from_utf8(rewrite(json.as_bytes(), edits)).unwrap_or_default();
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn spans_are_replaced_in_any_order() {
        let json = br#"{"id":1,"params":{"name":"a"}}"#;
        let (id, name) = (Span { start: 6, end: 7 }, Span { start: 25, end: 28 });
        let spliced = splice(json, &mut [(name, br#""long name""#), (id, b"22")]);
        assert_eq!(spliced, br#"{"id":22,"params":{"name":"long name"}}"#);
        assert_eq!(splice(json, &mut []), json);
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        check(
            r#" {"a" :1,  "b":12345678901234567890123 } "#,
            &[],
            r#" {"a" :1,  "b":12345678901234567890123 } "#,
        );
    }

    #[test]
    fn members_are_set_dropped_and_added() {
        check(r#"{"a":1,"b":2}"#, &[Edit::Set("a", b"9")], r#"{"a":9,"b":2}"#);
        check(r#"{"a":1,"b":2}"#, &[Edit::Drop("a")], r#"{"b":2}"#);
        check(r#"{"a":1,"b":2}"#, &[Edit::Drop("b"), Edit::Drop("a")], "{}");
        check("{}", &[Edit::Set("x", b"true"), Edit::Drop("y")], r#"{"x":true}"#);
        check(r#"{"n\u0061me":"old"}"#, &[Edit::Set("name", br#""new""#)], r#"{"n\u0061me":"new"}"#);
    }

    #[test]
    fn edits_reach_inside_and_make_what_is_missing() {
        let inner = [Edit::Set("k", b"1"), Edit::Drop("gone")];
        check(
            r#"{"_meta":{"gone":0,"keep":"x"}}"#,
            &[Edit::Within("_meta", &inner)],
            r#"{"_meta":{"keep":"x","k":1}}"#,
        );
        check(r#"{"a":1}"#, &[Edit::Within("_meta", &inner)], r#"{"a":1,"_meta":{"k":1}}"#);
        check(r#"{"_meta":null}"#, &[Edit::Within("_meta", &inner)], r#"{"_meta":{"k":1}}"#);
        check(r#"{"a":1}"#, &[Edit::Within("_meta", &[Edit::Drop("gone")])], r#"{"a":1}"#);
    }
}
