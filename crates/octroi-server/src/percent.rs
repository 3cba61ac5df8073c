//! Percent-encoded text in forms, queries and paths.

/// A name or a value of a form or a query, where a plus stands for a blank. `None` if it is not text.
pub(crate) fn of_form(text: &[u8]) -> Option<String> {
    decode(text, b' ')
}

/// A segment of a path.
pub(crate) fn of_path(text: &str) -> Option<String> {
    decode(text.as_bytes(), b'+')
}

/// The parameters of a query, in their order.
pub(crate) fn of_query(query: &str) -> Option<Vec<(String, String)>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some((of_form(name.as_bytes())?, of_form(value.as_bytes())?))
    });
    pairs.collect()
}

fn decode(text: &[u8], plus: u8) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'+' => out.push(plus),
            b'%' => {
                let (digits, after) = after.split_first_chunk::<2>()?;
                out.extend(hex::decode(digits).ok()?);
                rest = after;
            }
            byte => out.push(*byte),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_not_read() {
        for (text, expected) in [
            ("a%2Fb", Some("a/b")),
            ("a+b", Some("a+b")),
            ("%C3%A4", Some("ä")),
            ("%", None),
            ("%f", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(of_path(text).as_deref(), expected, "{text}");
        }
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of_query("a=1&b&&a=x+y%26"), Some(vec![pair("a", "1"), pair("b", ""), pair("a", "x y&")]));
        assert_eq!(of_query("a=%ff"), None);
    }
}
