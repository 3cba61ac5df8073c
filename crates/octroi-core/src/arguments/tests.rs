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

/// Each definition applies the next one twice, in place; the first is applied by this keyword.
fn laughs_of(keyword: &str, by: &str) -> Value {
    let mut defs = Map::new();
    for index in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
        defs.insert(format!("d{index}"), json!({keyword: [next.clone(), next]}));
    }
    defs.insert("d60".to_owned(), json!({"type": "string"}));
    json!({"$defs": defs, by: {"$ref": "#/$defs/d0"}})
}

/// A list of lists of lists, another one for each number: the validator has one hash for all of them.
fn tree_of_lists(number: usize) -> Value {
    let mut tree = json!([]);
    for bit in 0..12 {
        tree = if number >> bit & 1 == 1 { json!([tree, []]) } else { json!([[], tree]) };
    }
    tree
}

/// The same for keywords that compare or count.
fn hostile_values() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("laughs of names", laughs_of("allOf", "propertyNames"), json!({"a": 1})),
        (
            "unique trees",
            json!({"properties": {"a": {"uniqueItems": true}}}),
            json!({"a": (0..4_000).map(tree_of_lists).collect::<Vec<_>>()}),
        ),
        (
            "long texts",
            json!({"properties": {"a": {"anyOf": vec![json!({"maxLength": 1}); 2_000]}}}),
            json!({"a": "a".repeat(100_000)}),
        ),
        (
            "repetition",
            json!({"properties": {"a": {"pattern": "[01]*1[01]{900}$"}}}),
            json!({"a": "0110".repeat(20_000)}),
        ),
        (
            "members",
            json!({"anyOf": (0..2_000).map(|n| json!({"properties": {format!("p{n}"): {}}, "required": ["z"]})).collect::<Vec<_>>()}),
            Value::Object((0..5_000).map(|n| (format!("n{n}"), json!(1))).collect()),
        ),
        (
            "dependencies",
            json!({"properties": {"a": {"items": {"dependentRequired": (0..4_000).map(|n| (format!("p{n}"), json!([]))).collect::<Map<_, _>>()}}}}),
            json!({"a": vec![json!({}); 20_000]}),
        ),
    ]
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
    for (name, schema, arguments) in hostile().into_iter().chain(hostile_values()) {
        let schema = match ArgumentSchema::new(&schema) {
            Ok(schema) => schema,
            Err(reason) => {
                let _ = writeln!(table, "{name}: {reason}");
                continue;
            }
        };
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
        loop in place: a reference leads back to itself without going into the value
        self: valid
        unique: valid
        pattern: valid
        many patterns: refused
        enum: refused
        unevaluated: valid
        if: valid
        not: invalid
        many alternatives: refused
        laughs of names: refused
        unique trees: refused
        long texts: refused
        repetition: refused
        members: invalid
        dependencies: refused
    "]]
    .assert_eq(&table);
}

#[test]
fn schemas_beyond_their_limits_are_refused() {
    let deep = (0..100).fold(json!({}), |schema, _| json!({"not": schema}));
    let large: Vec<Value> = (0..30_000).map(|number| json!(number)).collect();
    let mut unevaluated = laughs_of("allOf", "not");
    unevaluated["$ref"] = json!("#/$defs/d0");
    unevaluated["unevaluatedProperties"] = json!(false);
    let inside = (0..25).fold(json!({}), |schema, _| json!({"unevaluatedProperties": schema}));
    for (schema, reason) in [
        (unevaluated, "refer to too many schemas"),
        (inside, "refer to too many schemas"),
        (
            json!({"patternProperties": {"a": {"anyOf": vec![json!({"unevaluatedProperties": {"$ref": "#"}, "$ref": "#/$defs/d"}); 60]}}, "$defs": {"d": {}}}),
            "refer to too many schemas",
        ),
        (deep, "nested more than 64 deep"),
        (json!({"enum": large}), "more than 20000 values"),
        (json!({"pattern": "a".repeat(2_000)}), "a pattern is longer than 1000 bytes"),
        (json!({"properties": {"a": {"$ref": "other#/x"}}}), "refers to a schema by `$id`"),
        (json!({"pattern": "(((a{100}){100}){100}){100}"}), "patterns are too large"),
        (json!({"allOf": vec![json!({"pattern": "\\w{50}x"}); 150]}), "patterns are too large"),
        (json!({"description": "a".repeat(2_000_000)}), "more than 1048576 bytes"),
        (json!({"$ref": "#/$defs/x"}), "leads nowhere"),
        (json!({"$defs": {"a": [{}]}, "$ref": "#/$defs/a/00"}), "leads nowhere"),
        (json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}), "is there twice"),
        (
            json!({"$defs": {"a": {"$id": "http://x/y", "$ref": "#/$defs/b"}, "b": {}}}),
            "refers to a schema by `$id`",
        ),
        (json!({"allOf": [{"$ref": "#"}]}), "leads back to itself"),
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
fn explaining_is_short_whatever_is_wrong() {
    let schema = json!({"additionalProperties": {"type": "object"}, "required": ["zzz"]});
    let schema = ArgumentSchema::new(&schema).unwrap();
    let inner: Map<String, Value> = (0..20_000).map(|n| (n.to_string(), json!(1))).collect();
    let arguments = json!({"a".repeat(200_000): inner, "b": 1});
    let complaint = schema.complaint(&arguments, 500_000, Strictness::Schema).unwrap();
    assert!(complaint.len() < 1_000 && complaint.contains("zzz"), "{complaint:.2000}");
}

#[test]
fn strict_arguments_are_those_that_the_schema_names() {
    let schema = ArgumentSchema::new(&json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/c"}], "$defs": {"c": {"properties": {"c": {}}}}})).unwrap();
    assert_eq!(schema.complaint(&json!({"a": 1, "b": 2, "c": 3}), 100, Strictness::Strict), None);
    assert_eq!(schema.complaint(&json!({"a": 1, "d": 2}), 100, Strictness::Schema), None);
    let complaint = schema.complaint(&json!({"a": 1, "d": 2}), 100, Strictness::Strict).expect("refused");
    assert!(complaint.contains("`d`"), "{complaint}");
}

#[test]
fn strict_arguments_are_named_at_every_level() {
    let schema = json!({
        "properties": {
            "user": {"properties": {"name": {}, "address": {"$ref": "#/$defs/address"}}},
            "list": {"items": {"anyOf": [{"properties": {"id": {}}}, {"properties": {"key": {}}}]}},
            "pair": {"prefixItems": [{"properties": {"x": {}}}]},
            "free": {"type": "object"},
            "map": {"additionalProperties": {"properties": {"n": {}}}},
            "patterns": {"properties": {"a": {}}, "patternProperties": {"^x-": {}}},
            "when": {"properties": {"kind": {}}, "if": {}, "then": {"properties": {"more": {}}}},
        },
        "$defs": {"address": {"properties": {"city": {}, "next": {"$ref": "#/$defs/address"}}}},
    });
    let schema = ArgumentSchema::new(&schema).unwrap();
    for (arguments, refused) in [
        (json!({"user": {"name": 1, "address": {"city": 1, "next": {"city": 2}}}}), None),
        (
            json!({"user": {"name": 1, "admin": true}}),
            Some("user: the tool's input schema does not name `admin`"),
        ),
        (
            json!({"user": {"address": {"next": {"town": 1}}}}),
            Some("next: the tool's input schema does not name `town`"),
        ),
        (json!({"list": [{"id": 1}, {"key": 2}]}), None),
        (json!({"list": [{"id": 1}, {"kex": 2}]}), Some("list: the tool's input schema does not name `kex`")),
        (json!({"pair": [{"x": 1, "y": 2}]}), Some("`y`")),
        (json!({"free": {"anything": {"at": "all"}}}), None),
        (json!({"map": {"any": {"n": 1}}}), None),
        (json!({"map": {"any": {"m": 1}}}), Some("`m`")),
        (json!({"patterns": {"a": 1, "x-y": 2}}), None),
        (json!({"when": {"kind": 1, "more": 2}}), None),
        (json!({"when": {"kind": 1, "less": 2}}), Some("`less`")),
    ] {
        let complaint = schema.complaint(&arguments, 200, Strictness::Strict);
        match refused {
            None => assert_eq!(complaint, None, "{arguments}"),
            Some(expected) => assert!(complaint.is_some_and(|text| text.contains(expected)), "{arguments}"),
        }
        assert_eq!(schema.complaint(&arguments, 200, Strictness::Schema), None);
    }
}

#[test]
fn naming_arguments_is_limited_in_steps() {
    let alternatives: Vec<Value> = (0..2_000).map(|n| json!({"properties": {n.to_string(): {}}})).collect();
    let schema = json!({"properties": {"a": {"items": {"anyOf": alternatives}}}});
    let schema = ArgumentSchema::new(&schema).unwrap();
    let items: Vec<Value> = (0..200).map(|_| json!({})).collect();
    let complaint = schema.complaint(&json!({"a": items}), 600, Strictness::Strict).unwrap();
    assert!(complaint.contains("steps"), "{complaint}");
}
