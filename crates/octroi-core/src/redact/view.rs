//! A call's arguments for the person who approves it: whole, with secrets masked one by one.
//!
//! Nothing is cut. What is masked says where it is, of which kind and how long, and can be revealed.

use super::mask::{self, Masking};
use super::{REDACTED, Redactor, preview};
use crate::json::{Doubles, JsonError, Node};

/// A value that a view does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedValue {
    /// Where it is, as a JSON pointer; a member that cannot be named is given by its position, as `#3`.
    pub path: String,
    /// The kind of secret it holds.
    pub kind: &'static str,
    /// The length of the whole value, in bytes.
    pub length: usize,
}

/// JSON as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The whole JSON text, in which masked values are replaced.
    pub text: String,
    /// The masked values, in the order of the text.
    pub masked: Vec<MaskedValue>,
}

/// A value that a person asked to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// The name of the member, if it is one of an object.
    pub name: Option<String>,
    /// The value as JSON text.
    pub value: String,
}

impl Redactor {
    /// The whole text with secrets masked, except those at the paths that were revealed.
    ///
    /// Fails if the text cannot be shown as JSON.
    pub fn view(&self, json: &[u8], revealed: &[String]) -> Result<View, JsonError> {
        let node = Node::parse(json, Doubles::Kept)?;
        let length = json.len();
        let mut masking = Masking::with_places(self, revealed);
        let text = preview::whole(&masking.node(node));
        let places = masking.into_places();
        let hidden = |kind| {
            let masked = vec![MaskedValue { path: String::new(), kind, length }];
            View { text: format!("\"{REDACTED}\""), masked }
        };
        if places.are_too_many() {
            return Ok(hidden("many_secrets"));
        }
        // A known secret that only the marks of JSON complete has no place of its own.
        if revealed.is_empty() && self.has_known(&text) {
            return Ok(hidden("known_secret"));
        }
        Ok(View { text, masked: places.masked })
    }

    /// The value at a path that the view masks.
    pub fn reveal(&self, json: &[u8], path: &str) -> Option<Revealed> {
        let view = self.view(json, &[]).ok()?;
        view.masked.iter().find(|masked| masked.path == path)?;
        let node = Node::parse(json, Doubles::Kept).ok()?;
        let (name, value) = mask::find(&node, path)?;
        Some(Revealed { name: name.map(str::to_owned), value: preview::whole(value) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(view: &View) -> Vec<(&str, &str, usize)> {
        view.masked.iter().map(|one| (one.path.as_str(), one.kind, one.length)).collect()
    }

    #[test]
    fn nothing_is_missing_from_a_view() {
        let redactor = Redactor::new(["another-secret"].into_iter());
        let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
        let long = json!({"text": "x".repeat(100_000), "list": vec![1; 1_000]}).to_string();
        for whole in [r#"{"a":1.50,"b":"2e400"}"#, r#"{"n":123456789012345678901234567890}"#, &deep, &long] {
            let view = redactor.view(whole.as_bytes(), &[]).unwrap();
            assert_eq!((view.text.as_str(), view.masked.len()), (whole, 0));
        }
    }

    #[test]
    fn what_is_masked_says_where_and_can_be_revealed() {
        let redactor = Redactor::new(["another-secret"].into_iter());
        let script = "-----BEGIN PRIVATE KEY-----\nrm -rf /\n-----END PRIVATE KEY-----";
        let arguments = json!({
            "token": {"cmd": "rm"},
            "script": script,
            "args": ["mysql", "-p", "hunter2x"],
            "env": [{"name": "DB_PASSWORD", "value": "x"}],
            "a/b~c": "another-secret",
            "another-secret": 1,
            "#7": "another-secret",
        });
        let json = arguments.to_string();
        let view = redactor.view(json.as_bytes(), &[]).unwrap();
        let position = |name: &str| {
            let names: Vec<&String> = arguments.as_object().unwrap().keys().collect();
            format!("/#{}", names.iter().position(|other| *other == name).unwrap())
        };
        let mut expected = vec![
            ("/token".to_owned(), "credential", 12, Some("token"), r#"{"cmd":"rm"}"#.to_owned()),
            ("/script".to_owned(), "private_key", script.len(), Some("script"), json!(script).to_string()),
            ("/args/2".to_owned(), "password", 8, None, r#""hunter2x""#.to_owned()),
            ("/env/0/value".to_owned(), "password", 1, Some("value"), r#""x""#.to_owned()),
            ("/a~1b~0c".to_owned(), "known_secret", 14, Some("a/b~c"), r#""another-secret""#.to_owned()),
            (position("another-secret"), "credential", 1, Some("another-secret"), "1".to_owned()),
            (position("#7"), "known_secret", 14, Some("#7"), r#""another-secret""#.to_owned()),
        ];
        let mut found = masked(&view);
        found.sort_unstable();
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        let paths: Vec<_> =
            expected.iter().map(|(path, kind, length, ..)| (path.as_str(), *kind, *length)).collect();
        assert_eq!(found, paths);
        for (path, _, _, name, value) in &expected {
            let revealed = redactor.reveal(json.as_bytes(), path).unwrap();
            assert_eq!((revealed.name.as_deref(), &revealed.value), (*name, value), "{path}");
        }
        for hidden in ["rm", "hunter2x", "another-secret"] {
            assert!(!view.text.contains(hidden), "{hidden}: {}", view.text);
        }
        // Everything revealed, the text is what was sent.
        let all: Vec<String> = expected.iter().map(|(path, ..)| path.clone()).collect();
        assert_eq!(redactor.view(json.as_bytes(), &all).unwrap().text, json);
        // Only what is masked can be revealed, so that each look is recorded as what it is.
        for path in ["", "/args/0", "/nothing", "/args/9", "/#99", "token"] {
            assert_eq!(redactor.reveal(json.as_bytes(), path), None, "{path}");
        }
    }

    #[test]
    fn too_many_secrets_are_masked_as_one() {
        let redactor = Redactor::new(std::iter::empty());
        let long = "a".repeat(100_000);
        let json = json!({&long: vec!["--password=hunter2x"; 5_000]}).to_string();
        let view = redactor.view(json.as_bytes(), &[]).unwrap();
        assert_eq!(
            (view.text.as_str(), masked(&view)),
            ("\"[redacted]\"", vec![("", "many_secrets", json.len())])
        );
        assert_eq!(redactor.view(json.as_bytes(), &[String::new()]).unwrap().text, json);
        assert!(redactor.reveal(json.as_bytes(), "").is_some());
        assert!(redactor.preview(json.as_bytes(), 1_000).len() <= 1_000);
    }

    #[test]
    fn json_in_json_in_json_ends_somewhere() {
        let redactor = Redactor::new(std::iter::empty());
        let mut text = "1".to_owned();
        for _ in 0..14 {
            text = format!("{}{}{}", "[".repeat(100), json!(text), "]".repeat(100));
        }
        let view = redactor.view(text.as_bytes(), &[]).unwrap();
        assert!(view.text.contains("[redacted: nested_json]"), "{:.300}", view.text);
        let shallow = json!({"a": json!({"b": json!({"password": "hunter2x"}).to_string()}).to_string()});
        let view = redactor.view(shallow.to_string().as_bytes(), &[]).unwrap();
        assert!(!view.text.contains("hunter2x") && view.text.contains("password"), "{}", view.text);
    }

    #[test]
    fn what_is_no_json_has_no_view() {
        let redactor = Redactor::new(std::iter::empty());
        for json in [&b"{"[..], b"\"\\ud800\"", &[b'"', 0xff, b'"']] {
            assert!(redactor.view(json, &[]).is_err());
        }
    }

    #[test]
    fn a_secret_between_two_values_hides_all_until_it_is_revealed() {
        let redactor = Redactor::new(["aaaa\",\"bbbb"].into_iter());
        let view = redactor.view(br#"["aaaa","bbbb"]"#, &[]).unwrap();
        assert_eq!((view.text.as_str(), masked(&view)), ("\"[redacted]\"", vec![("", "known_secret", 15)]));
        let all = [String::new()];
        assert_eq!(redactor.view(br#"["aaaa","bbbb"]"#, &all).unwrap().text, r#"["aaaa","bbbb"]"#);
        assert!(redactor.reveal(br#"["aaaa","bbbb"]"#, "").is_some());
    }
}
