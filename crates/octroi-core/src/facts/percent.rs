//! Percent-encoded text, read as servers read it.

/// The decoded text, up to twice; `None` if nothing in it is encoded.
pub(super) fn decoded(text: &str) -> Option<String> {
    let once = decode(text)?;
    Some(decode(&once).unwrap_or(once))
}

fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match pair(bytes, at) {
            Some(value) if *byte == b'%' => {
                out.push(value);
                at += 3;
            }
            Some(_) | None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    (out.len() < bytes.len()).then(|| String::from_utf8_lossy(&out).into_owned())
}

fn pair(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
    u8::try_from(digit(1)? * 16 + digit(2)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded() {
        for (text, expected) in [
            ("plain", None),
            ("100 % sure", None),
            ("%zz%4", None),
            ("%2e%2E/", Some("../")),
            ("a%252fb", Some("a/b")),
            ("%C3%A9", Some("é")),
            ("%ff", Some("\u{fffd}")),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
