use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::super::canonical::canonical;
use super::*;

fn check(old: &str, new: &str, expected: Expect) {
    let changes = difference(old.as_bytes(), new.as_bytes());
    expected.assert_eq(&changes.iter().map(ToString::to_string).collect::<String>());
}

/// The classes of the changes between two input schemas.
fn classes(old: &str, new: &str) -> Vec<(String, &'static str)> {
    let wrap = |schema: &str| format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let changes = difference(wrap(old).as_bytes(), wrap(new).as_bytes());
    let path = |change: &DefinitionChange| {
        change.path.trim_start_matches("inputSchema").trim_start_matches('.').to_owned()
    };
    changes.iter().map(|change| (path(change), change.class.as_str())).collect()
}

const WIDER: &str = "schema widened";
const NARROWER: &str = "schema narrowed";
const CHANGED: &str = "schema changed";

/// Two schemas, where they differ, and the class of the change in both directions.
const DIRECTIONS: &[(&str, &str, &str, &str, &str)] = &[
    (r#"{"properties":{}}"#, r#"{"properties":{"a":{}}}"#, "properties.a", WIDER, NARROWER),
    (r"{}", r#"{"properties":{"a":{}}}"#, "properties.a", WIDER, NARROWER),
    (r#"{"required":["a"]}"#, r#"{"required":[]}"#, "required", WIDER, NARROWER),
    (r#"{"required":["a"]}"#, r"{}", "required", WIDER, NARROWER),
    (r#"{"required":["a","b"]}"#, r#"{"required":["b","a"]}"#, "required", CHANGED, CHANGED),
    (r#"{"enum":["a"]}"#, r#"{"enum":["a","b"]}"#, "enum", WIDER, NARROWER),
    (r#"{"enum":["a"]}"#, r"{}", "enum", WIDER, NARROWER),
    (r#"{"enum":[1]}"#, r#"{"enum":[1,{"x":[2]}]}"#, "enum", WIDER, NARROWER),
    (r#"{"const":1}"#, r"{}", "const", WIDER, NARROWER),
    (r#"{"const":1}"#, r#"{"const":2}"#, "const", CHANGED, CHANGED),
    (r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#, "type", WIDER, NARROWER),
    (r#"{"type":"integer"}"#, r#"{"type":"number"}"#, "type", WIDER, NARROWER),
    (r#"{"type":"string"}"#, r#"{"type":"object"}"#, "type", CHANGED, CHANGED),
    (r#"{"type":"string"}"#, r#"{"type":["string"]}"#, "type", CHANGED, CHANGED),
    (r#"{"type":"string"}"#, r"{}", "type", WIDER, NARROWER),
    (r#"{"additionalProperties":false}"#, r"{}", "additionalProperties", WIDER, NARROWER),
    (
        r#"{"additionalProperties":false}"#,
        r#"{"additionalProperties":true}"#,
        "additionalProperties",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"additionalProperties":false}"#,
        r#"{"additionalProperties":{"type":"string"}}"#,
        "additionalProperties",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"additionalProperties":{"type":"string"}}"#,
        r#"{"additionalProperties":true}"#,
        "additionalProperties",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"items":{"type":"string"}}"#,
        r#"{"items":{"type":["null","string"]}}"#,
        "items.type",
        WIDER,
        NARROWER,
    ),
    (r#"{"minimum":5}"#, r#"{"minimum":4.5}"#, "minimum", WIDER, NARROWER),
    (r#"{"maximum":9007199254740992}"#, r#"{"maximum":9007199254740993}"#, "maximum", WIDER, NARROWER),
    (r#"{"maxLength":10}"#, r"{}", "maxLength", WIDER, NARROWER),
    (r#"{"exclusiveMinimum":true}"#, r#"{"exclusiveMinimum":3}"#, "exclusiveMinimum", CHANGED, CHANGED),
    (r#"{"pattern":"a"}"#, r"{}", "pattern", WIDER, NARROWER),
    (r#"{"pattern":"a"}"#, r#"{"pattern":"b"}"#, "pattern", CHANGED, CHANGED),
    (r#"{"uniqueItems":true}"#, r#"{"uniqueItems":false}"#, "uniqueItems", WIDER, NARROWER),
    (
        r#"{"anyOf":[{"type":"string"}]}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
        "anyOf",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"allOf":[{"type":"string"},{"minLength":1}]}"#,
        r#"{"allOf":[{"type":"string"}]}"#,
        "allOf",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"anyOf":[{"maxLength":1}]}"#,
        r#"{"anyOf":[{"maxLength":2}]}"#,
        "anyOf[0].maxLength",
        WIDER,
        NARROWER,
    ),
    (
        r#"{"oneOf":[{"maxLength":1}]}"#,
        r#"{"oneOf":[{"maxLength":2}]}"#,
        "oneOf[0].maxLength",
        CHANGED,
        CHANGED,
    ),
    (r#"{"not":{"maxLength":1}}"#, r#"{"not":{"maxLength":2}}"#, "not.maxLength", CHANGED, CHANGED),
    (r##"{"$ref":"#/$defs/a"}"##, r##"{"$ref":"#/$defs/b"}"##, "$ref", CHANGED, CHANGED),
    (
        r#"{"$defs":{"a":{"maxLength":1}}}"#,
        r#"{"$defs":{"a":{"maxLength":2}}}"#,
        "$defs.a.maxLength",
        CHANGED,
        CHANGED,
    ),
    (r#"{"default":"a"}"#, r#"{"default":"b"}"#, "default", CHANGED, CHANGED),
    (r#"{"description":"a"}"#, r#"{"description":"b"}"#, "description", "text", "text"),
    (r#"{"not":{"description":"a"}}"#, r#"{"not":{"description":"b"}}"#, "not.description", "text", "text"),
    (
        r#"{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}"#,
        r#"{"properties":{"a":{"properties":{"b":{}}}}}"#,
        "properties.a.properties.b.type",
        WIDER,
        NARROWER,
    ),
    // A parameter that is named like a keyword.
    (
        r#"{"properties":{"description":{"type":"string"}}}"#,
        r#"{"properties":{"description":{}}}"#,
        "properties.description.type",
        WIDER,
        NARROWER,
    ),
    (r"true", r"{}", "", CHANGED, CHANGED),
    (r"false", r"{}", "", WIDER, NARROWER),
];

#[test]
fn schema_changes_have_a_direction() {
    for (old, new, path, there, back) in DIRECTIONS {
        assert_eq!(classes(old, new), [((*path).to_owned(), *there)], "{old} -> {new}");
        assert_eq!(classes(new, old), [((*path).to_owned(), *back)], "{new} -> {old}");
    }
}

#[test]
fn spacing_order_and_spelling_are_no_change() {
    check(r#"{"a":1.0,"b":"\u0041"}"#, r#" {"b":"A", "a":1} "#, expect![""]);
    check("not json", "not json", expect![""]);
}

#[test]
fn a_person_sees_what_changed() {
    check(
        r#"{"name":"read","description":"Reads a file.\nFast.\nSafe.","annotations":{"readOnlyHint":true,"title":"Read"},"_meta":{"v":1}}"#,
        "{\"name\":\"read\",\"description\":\"Reads a file.\\nSends it\u{200b} on.\\nSafe.\",\"annotations\":{\"readOnlyHint\":false,\"title\":\"Write\"},\"icons\":[]}",
        expect![[r#"
            description (text)
                Reads a file.
              - Fast.
              + Sends it\u{200b} on.
                Safe.
            annotations.readOnlyHint (annotation)
              - true
              + false
            annotations.title (text)
              - Read
              + Write
            icons (other)
              + []
            _meta (other)
              - {"v":1}
        "#]],
    );
    check(
        r#"{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}"#,
        r#"{"name":"p","arguments":[{"name":"c","required":true},{"name":"a","description":"x\ry"}]}"#,
        expect![[r#"
            arguments.c (schema changed)
              + {"name":"c","required":true}
            arguments.a.description (text)
              + x\ry
            arguments.a.required (schema widened)
              - true
            arguments.b (schema narrowed)
              - {"name":"b"}
        "#]],
    );
    check(
        r#"{"arguments":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"arguments":[{"name":"b"},{"name":"a"}]}"#,
        expect![[r#"
            arguments (other)
              - [{"name":"a"},{"name":"b"}]
              + [{"name":"b"},{"name":"a"}]
        "#]],
    );
    check(
        r#"{"a.b":{"c":[1,2]}}"#,
        r#"{"a.b":{"c":[1,3,4]}}"#,
        expect![[r#"
        ["a.b"].c[1] (other)
          - 2
          + 3
        ["a.b"].c[2] (other)
          + 4
    "#]],
    );
    check(
        "[1]",
        "nothing",
        expect![[r"
        (the whole definition) (other)
          - [1]
          + nothing
    "]],
    );
}

#[test]
fn large_definitions_are_compared_in_time_that_grows_with_their_length() {
    let members: Vec<_> = (0..50_000).map(|index| format!("\"a{index}\":{{}}")).collect();
    let large = format!("{{\"inputSchema\":{{\"properties\":{{{}}}}}}}", members.join(","));
    let nested = format!("{{\"{}\":{large}}}", "k".repeat(100_000));
    assert_eq!(difference(b"{}", large.as_bytes()).len(), 1);
    assert_eq!(difference(large.as_bytes(), large.as_bytes()).len(), 0);
    let changes = difference(nested.replace("{}", "[]").as_bytes(), nested.as_bytes());
    // So many that nobody reads them one by one.
    assert_eq!(changes.len(), 1);
    let few = format!("{{\"{}\":{{\"inputSchema\":{{\"a0\":{{}}}}}}}}", "k".repeat(100_000));
    let changes = difference(few.replace("{}", "[]").as_bytes(), few.as_bytes());
    assert_eq!(changes[0].path, format!("[\"{}…\"].inputSchema.a0", "k".repeat(80)));
}

/// Definitions with the members and values that are relevant here.
fn definitions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1".to_owned()),
        Just("[]".to_owned()),
        Just("1.0".to_owned()),
        Just("\"string\"".to_owned()),
        Just("\"\\u200b\"".to_owned()),
        Just("[\"a\"]".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let names = prop_oneof![
            Just("inputSchema"),
            Just("properties"),
            Just("required"),
            Just("enum"),
            Just("type"),
            Just("anyOf"),
            Just("not"),
            Just("arguments"),
            Just("name"),
            Just("description"),
            Just("items"),
            Just("$defs"),
            Just("minimum"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(names, inner, 0..5).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn there_is_a_change_exactly_if_the_canonical_form_differs(old in definitions(), new in definitions()) {
        let is_same = canonical(old.as_bytes()).unwrap() == canonical(new.as_bytes()).unwrap();
        let changes = difference(old.as_bytes(), new.as_bytes());
        prop_assert_eq!(changes.is_empty(), is_same, "{} {}", old, new);
        prop_assert!(difference(old.as_bytes(), old.as_bytes()).is_empty());
        for change in changes {
            prop_assert!(change.to_string().ends_with('\n'));
        }
    }

    #[test]
    fn no_bytes_are_too_strange(old: Vec<u8>, new: Vec<u8>) {
        prop_assert_eq!(difference(&old, &new).is_empty(), old == new);
        let _ = canonical(&old);
    }

    #[test]
    fn display_never_holds_hidden_characters(text: String) {
        let mut quoted = String::from("{\"description\":");
        crate::json::push_string(&mut quoted, &text);
        quoted.push('}');
        for change in difference(b"{}", quoted.as_bytes()) {
            prop_assert!(change.to_string().chars().all(|character| super::super::characters::hidden(character).is_none()));
        }
    }
}

#[test]
fn a_definition_that_changes_everywhere_is_shown_as_a_whole() {
    let definition = |item: usize| {
        let mut inner = serde_json::json!(vec![item; 5_000]);
        for level in 0..100 {
            inner = serde_json::json!({format!("{level:0>80}"): inner});
        }
        serde_json::json!({"name": "x", "other": inner}).to_string()
    };
    let (old, new) = (definition(1), definition(2));
    let changes = difference(old.as_bytes(), new.as_bytes());
    assert_eq!((changes.len(), changes[0].path.as_str()), (1, ""));
    assert_eq!(difference(old.as_bytes(), old.as_bytes()), []);
}
