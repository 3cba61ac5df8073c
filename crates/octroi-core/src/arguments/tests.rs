use std::fmt::Write as _;

use serde_json::json;

use super::*;

#[test]
fn arguments_are_read_in_one_way_only() {
    for (text, expected) in [
        ("{}", Ok(json!({}))),
        (r#"{"a":[1,-2,0.5,true,null,"x",{}]}"#, Ok(json!({"a": [1, -2, 0.5, true, null, "x", {}]}))),
        (r#"{"a":1,"a":2}"#, Err("`a` is given twice")),
        (r#"{"x":[{"a":1,"\u0061":2}]}"#, Err("`a` is given twice")),
        ("[]", Err("arguments must be an object")),
        ("{} {}", Err("arguments cannot be read")),
        (r#"{"a":1e999}"#, Err("arguments cannot be read")),
        ("", Err("arguments cannot be read")),
    ] {
        match (read(text.as_bytes()), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{text}: {error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }
}

#[test]
fn arguments_are_checked_as_the_schema_says() {
    let schema = ArgumentSchema::new(&json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "count": {"type": "integer", "maximum": 5}},
        "required": ["path"],
    }))
    .unwrap();
    assert_eq!(schema.complaint(&json!({"path": "x"}), 100, Strictness::Schema), None);
    assert_eq!(
        schema.complaint(&json!({"path": "x", "other": 1}), 100, Strictness::Schema),
        None,
        "only what the schema forbids"
    );
    assert_eq!(
        schema.complaint(&json!({"path": "x", "count": null}), 100, Strictness::Schema),
        None,
        "as if it were left out"
    );
    assert!(
        schema.complaint(&json!({"path": null}), 100, Strictness::Schema).is_some(),
        "what is required cannot be left out"
    );
    let missing = schema.complaint(&json!({"count": 1}), 100, Strictness::Schema).unwrap();
    assert!(missing.contains("path") && missing.contains("required"), "{missing}");
    let secret = schema.complaint(&json!({"path": 5, "count": "hunter2"}), 100, Strictness::Schema).unwrap();
    assert!(secret.contains("`/count`") && !secret.contains("hunter2"), "{secret}");
}

#[test]
fn a_schema_that_cannot_be_used_says_why() {
    for schema in [
        json!({"type": "nonsense"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"properties": {"a": {"pattern": "("}}}),
        json!([]),
    ] {
        assert!(ArgumentSchema::new(&schema).is_err(), "{schema}");
    }
    assert!(ArgumentSchema::new(&json!({})).is_ok());
    assert!(ArgumentSchema::new(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).is_ok());
}

#[test]
fn a_pattern_that_backtracks_for_ever_refuses_instead() {
    let schema = json!({"properties": {"a": {"pattern": "^(?=(a+)+$)(a|aa)+$"}}});
    let schema = ArgumentSchema::new(&schema).unwrap();
    let hard = format!("{}b", "a".repeat(50));
    assert!(schema.complaint(&json!({"a": hard}), 100, Strictness::Schema).is_some());
}

/// Schemas and arguments that would take for ever. Each must be answered, whatever the answer.
fn hostile() -> Vec<(&'static str, Value, Value)> {
    let wrapped =
        |depth: usize, leaf: Value, wrap: fn(Value) -> Value| (0..depth).fold(leaf, |value, _| wrap(value));
    // Each definition applies the next one twice, in place.
    let laughs = |keyword: &str| {
        let mut defs = Map::new();
        for index in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
            defs.insert(format!("d{index}"), json!({keyword: [next.clone(), next]}));
        }
        defs.insert("d60".to_owned(), json!({"type": "string"}));
        json!({"$defs": defs, "properties": {"a": {"$ref": "#/$defs/d0"}}})
    };
    let tree = |keyword: &str| {
        let child = json!({"properties": {"c": {"$ref": "#/$defs/t"}}});
        let branches = vec![child; 6];
        json!({"$defs": {"t": {keyword: branches}}, "properties": {"a": {"$ref": "#/$defs/t"}}})
    };
    let deep = wrapped(60, json!(1), |value| json!({"c": value}));
    vec![
        ("laughs allOf", laughs("allOf"), json!({"a": "x"})),
        ("laughs anyOf", laughs("anyOf"), json!({"a": 5})),
        ("laughs oneOf", laughs("oneOf"), json!({"a": "x"})),
        ("tree anyOf", tree("anyOf"), json!({"a": deep})),
        ("tree oneOf", tree("oneOf"), json!({"a": deep})),
        ("tree allOf", tree("allOf"), json!({"a": deep})),
        (
            "loop in place",
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "properties": {"a": {"$ref": "#/$defs/a"}}}),
            json!({"a": 1}),
        ),
        (
            "self",
            json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
            json!({"a": wrapped(60, json!({}), |value| json!({"a": value}))}),
        ),
        (
            "unique",
            json!({"properties": {"a": {"uniqueItems": true}}}),
            json!({"a": (0..20_000).map(|n| json!([n])).collect::<Vec<_>>()}),
        ),
        (
            "pattern",
            json!({"properties": {"a": {"pattern": "^(?=(a+)+$)(a|aa)+$"}}}),
            json!({"a": "a".repeat(5_000)}),
        ),
        (
            "many patterns",
            json!({"patternProperties": (0..150).map(|n| (format!("^(?=.*{n})(a|aa)+$"), json!({}))).collect::<Map<_, _>>()}),
            Value::Object((0..200).map(|n| ("a".repeat(100) + &n.to_string(), json!(1))).collect()),
        ),
        (
            "enum",
            json!({"properties": {"a": {"items": {"enum": (0..5_000).collect::<Vec<_>>()}}}}),
            json!({"a": vec![-1; 5_000]}),
        ),
        (
            "unevaluated",
            json!({"$defs": {"t": {"anyOf": [{"properties": {"c": {"$ref": "#/$defs/t"}}}, {"properties": {"c": {"$ref": "#/$defs/t"}}}], "unevaluatedProperties": false}}, "properties": {"a": {"$ref": "#/$defs/t"}}}),
            json!({"a": deep}),
        ),
        (
            "if",
            json!({"$defs": {"t": {"if": {"properties": {"c": {"$ref": "#/$defs/t"}}}, "then": {"properties": {"c": {"$ref": "#/$defs/t"}}}, "else": false}}, "properties": {"a": {"$ref": "#/$defs/t"}}}),
            json!({"a": deep}),
        ),
        (
            "not",
            json!({"$defs": {"t": {"not": {"properties": {"c": {"$ref": "#/$defs/t"}}}}}, "properties": {"a": {"$ref": "#/$defs/t"}}}),
            json!({"a": deep}),
        ),
        (
            "many alternatives",
            json!({"properties": {"a": {"items": {"anyOf": (0..300).map(|n| json!({"const": n})).collect::<Vec<_>>()}}}}),
            json!({"a": vec![-1; 3_000]}),
        ),
    ]
}

#[test]
fn what_would_take_for_ever_is_refused_and_the_rest_is_checked() {
    let mut table = String::new();
    for (name, schema, arguments) in hostile() {
        let schema = ArgumentSchema::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        let n_bytes = arguments.to_string().len() as u64;
        let outcome = match schema.complaint(&arguments, n_bytes, Strictness::Schema) {
            None => "valid",
            Some(complaint) if complaint.contains("would take more than") => "refused",
            Some(_) => "invalid",
        };
        let _ = writeln!(table, "{name}: {outcome}");
    }
    expect_test::expect![["
        laughs allOf: refused
        laughs anyOf: refused
        laughs oneOf: refused
        tree anyOf: valid
        tree oneOf: invalid
        tree allOf: valid
        loop in place: valid
        self: valid
        unique: valid
        pattern: valid
        many patterns: refused
        enum: refused
        unevaluated: valid
        if: valid
        not: invalid
        many alternatives: refused
    "]]
    .assert_eq(&table);
}

#[test]
fn schemas_beyond_their_limits_are_refused() {
    let deep = (0..100).fold(json!({}), |schema, _| json!({"not": schema}));
    let large: Vec<Value> = (0..30_000).map(|number| json!(number)).collect();
    for (schema, reason) in [
        (deep, "nested more than 64 deep"),
        (json!({"enum": large}), "more than 20000 values"),
        (json!({"pattern": "a".repeat(2_000)}), "a pattern is longer than 1000 bytes"),
        (json!({"properties": {"a": {"$ref": "other#/x"}}}), "refers to a schema by `$id`"),
        (json!({"pattern": "(((a{100}){100}){100}){100}"}), ""),
    ] {
        let error = ArgumentSchema::new(&schema).map(drop).expect_err("refused");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn names_that_can_be_taken_for_others_are_refused() {
    let schema = ArgumentSchema::new(
        &json!({"properties": {"path": {}, "userId": {}, "o": {"properties": {"key": {}}}}}),
    )
    .unwrap();
    for (arguments, is_refused) in [
        (json!({"path": 1, "userId": 2, "other": 3}), false),
        (json!({"PATH": 1}), true),
        (json!({"userid": 1}), true),
        (json!({"path\0": 1}), true),
        (json!({"pa\u{200b}th": 1}), true),
        (json!({"o": {"Key": 1}}), true),
        (json!({"list": [{"KEY": 1}]}), true),
        (json!({"user_id": 1}), false),
    ] {
        let complaint = schema.complaint(&arguments, 100, Strictness::Schema);
        assert_eq!(complaint.is_some(), is_refused, "{arguments}: {complaint:?}");
    }
    for (text, is_refused) in [
        (r#"{"a":1,"A":2}"#, true),
        (r#"{"x":{"k":1,"\u212a":2}}"#, true),
        (r#"{"a":1,"a\u0000":2}"#, true),
        (r#"{"a":1,"b":2,"C":3}"#, false),
    ] {
        assert_eq!(read(text.as_bytes()).is_err(), is_refused, "{text}");
    }
}

#[test]
fn strict_arguments_are_those_that_the_schema_names() {
    let schema = ArgumentSchema::new(&json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/c"}], "$defs": {"c": {"properties": {"c": {}}}}})).unwrap();
    assert_eq!(schema.complaint(&json!({"a": 1, "b": 2, "c": 3}), 100, Strictness::Strict), None);
    assert_eq!(schema.complaint(&json!({"a": 1, "d": 2}), 100, Strictness::Schema), None);
    let complaint = schema.complaint(&json!({"a": 1, "d": 2}), 100, Strictness::Strict).expect("refused");
    assert!(complaint.contains("`d`"), "{complaint}");
}
