use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// One property in short: its type, `?` if it may be missing, `~` if it may be null.
#[track_caller]
fn check(property: Value, expected: Expect) {
    let arguments = arguments(&json!({
        "type": "object",
        "properties": {"x": property},
        "required": ["x"],
        "$defs": {
            "Name": {"type": "string"},
            "Loop": {"$ref": "#/$defs/Loop"},
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "integer"}}},
        },
    }));
    let described = match arguments.record.fields.get("x") {
        Some(field) => show(field),
        None => arguments.left_out.iter().map(|left_out| left_out.why).collect::<Vec<_>>().join(", "),
    };
    expected.assert_eq(&described);
}

fn show(field: &Field) -> String {
    let of = match &field.of {
        Type::Scalar(scalar) => format!("{scalar:?}"),
        Type::Set(scalar) => format!("Set<{scalar:?}>"),
        Type::Record(record) => {
            let fields = record.fields.iter().map(|(name, field)| format!("{name}: {}", show(field)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    };
    let mark = if field.is_required { "" } else { "?" };
    format!("{of}{mark}{}", if field.is_nullable { "~" } else { "" })
}

#[test]
fn what_cedar_has_a_type_for_is_taken() {
    check(json!({"type": "string"}), expect!["Text"]);
    check(json!({"type": "boolean"}), expect!["Bool"]);
    check(json!({"type": "integer", "minimum": 0}), expect!["Long"]);
    check(json!({"enum": ["a", "b"]}), expect!["Text"]);
    check(json!({"const": "a"}), expect!["Text"]);
    check(json!({"enum": [1, 2]}), expect!["Long"]);
    check(json!({"enum": ["a", null]}), expect!["Text?~"]);
    check(json!({"type": "array", "items": {"type": "string"}}), expect!["Set<Text>"]);
    check(json!({"type": "array", "items": {"enum": [true]}}), expect!["Set<Bool>"]);
    check(json!({"$ref": "#/$defs/Name"}), expect!["Text"]);
    check(json!({"allOf": [{"$ref": "#/$defs/Name"}]}), expect!["Text"]);
    check(
        json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "c"]}),
        expect!["{a: Text}"],
    );
}

#[test]
fn null_is_the_same_as_missing() {
    check(json!({"type": ["string", "null"]}), expect!["Text?~"]);
    check(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), expect!["Long?~"]);
    check(json!({"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Name"}]}), expect!["Text?~"]);
    check(
        json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"const": null}]}),
        expect!["Set<Text>?~"],
    );
}

#[test]
fn what_cedar_has_no_type_for_is_left_out() {
    check(json!({"type": "number"}), expect!["numbers with a fraction"]);
    check(json!({"type": ["string", "integer"]}), expect!["values of several types"]);
    check(json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), expect!["values of several types"]);
    check(json!({"enum": ["a", 1]}), expect!["no type"]);
    check(json!({"enum": [null]}), expect!["no type"]);
    check(json!({"type": "null"}), expect!["always null"]);
    check(
        json!({"type": "array"}),
        expect!["a list whose items are not all texts, all booleans or all integers"],
    );
    check(
        json!({"type": "array", "items": {"type": ["string", "null"]}}),
        expect!["a list whose items are not all texts, all booleans or all integers"],
    );
    check(
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
        expect!["a list whose items are not all texts, all booleans or all integers"],
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}}),
        expect!["a list whose items are not all texts, all booleans or all integers"],
    );
    check(json!({"type": "object"}), expect!["an object whose members are not listed"]);
    check(
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        expect!["an object whose members are not listed"],
    );
    check(
        json!({"$ref": "https://example.com/x.json"}),
        expect!["a reference that leads out of the definition"],
    );
    check(json!({"$ref": "#/$defs/Missing"}), expect!["a reference that leads out of the definition"]);
    check(json!({"$ref": "#"}), expect!["a reference that leads out of the definition"]);
    check(json!({"$ref": "#/$defs/Loop"}), expect!["a reference to a reference, too often"]);
    check(json!({"type": "float"}), expect!["an unknown type"]);
    check(json!({}), expect!["no type"]);
    check(json!(true), expect!["no type"]);
    check(json!(7), expect!["no type"]);
}

#[test]
fn definitions_that_contain_themselves_end() {
    check(
        json!({"$ref": "#/$defs/Node"}),
        expect!["{next: {next: {next: {next: {v: Long?}?, v: Long?}?, v: Long?}?, v: Long?}?, v: Long?}"],
    );
}

#[test]
fn what_is_too_large_is_read_less_deep() {
    // Each level contains the next one ten times.
    let mut definitions = serde_json::Map::new();
    for level in 0..6 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        let properties: serde_json::Map<String, Value> =
            (0..10).map(|n| (format!("p{n}"), next.clone())).collect();
        definitions.insert(format!("L{level}"), json!({"type": "object", "properties": properties}));
    }
    definitions.insert("L6".to_owned(), json!({"type": "string"}));
    let wide = json!({
        "properties": {"first": {"$ref": "#/$defs/L0"}, "plain": {"type": "string"}},
        "$defs": definitions,
    });
    let read = arguments(&wide);
    assert!(read.record.fields.contains_key("plain"), "{read:?}");
    assert!(read.left_out.len() <= FIELDS_MAX);

    let properties: serde_json::Map<String, Value> =
        (0..=FIELDS_MAX).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let read = arguments(&json!({"properties": properties}));
    assert!(read.record.fields.is_empty());
    assert_eq!(read.left_out[0].why, "more arguments than a policy could name");
}

#[test]
fn a_schema_that_is_none_has_no_arguments() {
    for schema in [json!(null), json!(true), json!([]), json!("x"), json!({}), json!({"type": "object"})] {
        assert_eq!(arguments(&schema), Arguments::default(), "{schema}");
    }
    for schema in
        [json!({"type": "string", "properties": {}}), json!({"$ref": "#/x"}), json!({"properties": 1})]
    {
        let read = arguments(&schema);
        assert!(read.record.fields.is_empty(), "{schema}");
    }
}
