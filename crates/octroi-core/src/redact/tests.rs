use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "s3cr3t/V\"lue+é";

fn redactor() -> Redactor {
    Redactor::new([SECRET, "another-secret", "short"].into_iter())
}

#[test]
fn known_values_are_found_in_every_encoding() {
    let form_list = forms::of(SECRET);
    for form in &form_list {
        let text = format!("before {form} after");
        assert_eq!(redactor().redact(&text), "before [redacted] after", "{form}");
    }
    for (text, expected) in [
        ("nothing here", "nothing here"),
        ("short is too short", "short is too short"),
        ("ANOTHER-SECRET", "[redacted]"),
        ("another-secretanother-secret", "[redacted][redacted]"),
        // Basic authentication: `user:another-secret`.
        ("dXNlcjphbm90aGVyLXNlY3JldA==", "dXNlcjp[redacted]A=="),
        ("616E6F746865722D736563726574", "[redacted]"),
    ] {
        assert_eq!(redactor().redact(text), expected);
    }
    assert!(matches!(redactor().redact("nothing here"), Cow::Borrowed(_)));
}

#[test]
fn what_overlaps_is_one() {
    let redactor = Redactor::new(["abcdefgh", "efghijkl", "abcdefghijklmnop"].into_iter());
    assert_eq!(redactor.redact("-abcdefghijkl-"), "-[redacted]-");
    assert_eq!(redactor.redact("-abcdefghijklmnop-"), "-[redacted]-");
}

#[test]
fn unknown_secrets_are_known_by_shape_and_name() {
    let redactor = Redactor::new(std::iter::empty());
    for (text, expected) in [
        ("key AKIAIOSFODNN7EXAMPLE!", "key [redacted: aws_key]!"),
        ("password=hunter2hunter2 x", "password=[redacted: password] x"),
        ("postgres://me:s3cret@db/x", "postgres://me:[redacted: url_password]@db/x"),
        (r#"{"password":"x", "a":1}"#, r#"{"password":"[redacted]","a":1}"#),
        (r#"{"a":{"Api-Key":["x"]},"token":null}"#, r#"{"a":{"Api-Key":"[redacted]"},"token":null}"#),
        (r#"{"a": "{\"password\":\"x\"}"}"#, r#"{"a":"{\"password\":\"[redacted]\"}"}"#),
        (r#"{"max_tokens": 5}"#, r#"{"max_tokens": 5}"#),
        (r#"{"pass\u0077ord": 1}"#, r#"{"password":"[redacted]"}"#),
    ] {
        assert_eq!(redactor.redact(text), expected);
    }
}

#[test]
fn nothing_is_shown_of_the_secrets_that_are_known() {
    assert_eq!(format!("{:?}", Redactor::new(["12345678"].into_iter())).matches("1234").count(), 0);
}

#[test]
fn previews() {
    let redactor = redactor();
    for (json, max_bytes, expected) in [
        // Unchanged, including spaces.
        (r#"{"a": [1, 2.50, "x"], "b": null}"#, 100, r#"{"a": [1, 2.50, "x"], "b": null}"#),
        (r#"{"password": "x"}"#, 100, r#"{"password":"[redacted]"}"#),
        (r#"{"a": "another-secret"}"#, 100, r#"{"a":"[redacted]"}"#),
        (r#"{"a": "another-\u0073ecret"}"#, 100, r#"{"a":"[redacted]"}"#),
        (r#"{"another-secret": 1}"#, 100, r#"{"[redacted]":"[redacted]"}"#),
        (r#"{"a":1,"a":2}"#, 100, r#"{"a":1,"a":2}"#),
        ("not json: another-secret", 100, r#""not json: [redacted]""#),
        ("", 100, r#""""#),
    ] {
        assert_eq!(redactor.preview(json.as_bytes(), max_bytes), expected, "{json}");
    }
    let long = json!({"text": "x".repeat(10_000), "n": 1}).to_string();
    let preview = redactor.preview(long.as_bytes(), 400);
    assert_eq!(preview, format!("{{\"text\":\"{}…(+9744 bytes)\",\"n\":1}}", "x".repeat(256)));
    let list = json!(vec![1; 40]).to_string();
    assert_eq!(redactor.preview(list.as_bytes(), 45), r#"[1,1,1,1,1,1,1,1,"…(+32 items)"]"#);
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(
        redactor.preview(deep.as_bytes(), 1_000),
        format!("{}\"[…]\"{}", "[".repeat(32), "]".repeat(32))
    );
    assert_eq!(redactor.preview(&[b'"', 0xff, b'"'], 100), "\"\\\"\u{fffd}\\\"\"");
    assert_eq!(redactor.preview(long.as_bytes(), 3), "\"…(+10017 bytes)\"");
    let number = Redactor::new(["12345678"].into_iter());
    assert_eq!(number.preview(b"[12345678]", 100), r#"["[redacted]"]"#);
}

#[test]
fn a_secret_that_only_the_marks_of_json_complete_is_not_shown() {
    let redactor = Redactor::new(["aaaa\",\"bbbb"].into_iter());
    assert_eq!(redactor.preview(br#"["aaaa","bbbb"]"#, 100), "\"[redacted]\"");
}

/// All encodings of the secret, produced independently of the redactor.
fn survives(output: &str, secret: &str) -> bool {
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
    let hex: String = secret.bytes().flat_map(digits).collect();
    let escaped = serde_json::to_string(secret).unwrap();
    let lower = output.to_lowercase();
    output.contains(secret) || output.contains(&escaped[1..escaped.len() - 1]) || lower.contains(&hex)
}

fn values(secret: &'static str) -> impl Strategy<Value = Value> {
    let encoded: Vec<_> = forms::of(secret);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (any::<String>(), prop::sample::select(encoded), any::<String>())
            .prop_map(|(before, form, after)| Value::from(format!("{before}{form}{after}"))),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(
                prop_oneof![any::<String>(), Just(secret.to_owned()), Just("token".to_owned())],
                inner,
                0..4
            )
            .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_known_secret_survives(value in values(SECRET), max_bytes in 0_usize..400, is_pretty: bool) {
        let json = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let redactor = redactor();
        let preview = redactor.preview(json.as_bytes(), max_bytes);
        prop_assert!(serde_json::from_str::<Value>(&preview).is_ok(), "{}", preview);
        prop_assert!(preview.len() <= max_bytes.max(40), "{}", preview);
        let redacted = redactor.redact(&json);
        for output in [preview.as_str(), &redacted] {
            prop_assert!(!survives(output, SECRET), "{}", output);
            prop_assert!(!redactor.has_known(output), "{}", output);
        }
    }

    #[test]
    fn no_bytes_are_too_strange(bytes: Vec<u8>, text: String, max_bytes in 0_usize..100) {
        let redactor = redactor();
        let preview = redactor.preview(&bytes, max_bytes);
        prop_assert!(serde_json::from_str::<Value>(&preview).is_ok(), "{}", preview);
        prop_assert!(!redactor.has_known(&redactor.redact(&text)));
    }

    #[test]
    fn secrets_of_any_kind_are_found(secret in "\\PC{8,20}", before: String, after: String) {
        let redactor = Redactor::new([secret.as_str()].into_iter());
        let text = format!("{before}{secret}{after}");
        let output = redactor.redact(&text);
        prop_assert!(!output.contains(&secret) || REDACTED.contains(&secret), "{}", output);
    }
}
