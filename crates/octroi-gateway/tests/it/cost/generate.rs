//! Schemas, arguments and policies from choices: always well formed, and full of what multiplies.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::choices::Choices;

const NAMES: [&str; 8] = ["a", "b", "c", "path", "command", "args", "query", "url"];
const DEPTH_MAX: usize = 8;

/// Patterns that engines dislike, and usual ones.
const PATTERNS: [&str; 14] = [
    "^a+$",
    "(a|aa)+$",
    "^(?=(a+)+$)(a|aa)+$",
    "(?=.*b)(?=.*c)a*",
    "[01]*1[01]{200}$",
    "(a{0,30}){0,30}",
    "^(\\w+\\s?)*$",
    "(a*)*b",
    "(.*)(.*)(.*)(.*)x",
    "(\\w+)\\1+$",
    "\\p{L}{50}",
    "^[a-z]{1,100}$",
    "(?<!a)b(?!c)",
    "(((((a?){9}){9}){9}){3})",
];

/// Texts with meaning to the finders of facts and secrets.
const TEXTS: [&str; 24] = [
    "a",
    "aa01",
    " ",
    "/etc/../x",
    "~/.ssh/",
    "%2e%252f",
    "\\..\\",
    "https://u:p4ssw0rd@h/",
    "http:",
    "//h.x",
    "@",
    "$(",
    "`",
    "'",
    "\"",
    " -p secret1x",
    "--password=hunter2x ",
    "eyJhbGciOi.",
    "-----BEGIN PRIVATE KEY-----",
    "SELECT a FROM ",
    "$$",
    "/*",
    " sudo ",
    "{\"a\":\"[",
];

/// A schema with definitions that refer to each other.
pub(crate) fn schema(choices: &mut Choices<'_>) -> Value {
    let mut root = match schema_at(choices, 0) {
        Value::Object(members) => members,
        other => Map::from_iter([("not".to_owned(), other)]),
    };
    let mut defs = Map::new();
    for index in 0..4 {
        defs.insert(format!("d{index}"), schema_at(choices, 1));
    }
    root.insert("$defs".to_owned(), Value::Object(defs));
    Value::Object(root)
}

fn schema_at(choices: &mut Choices<'_>, depth: usize) -> Value {
    choices.part();
    if choices.is_over() || depth > DEPTH_MAX {
        return json!({});
    }
    let mut members = Map::new();
    for _ in 0..=choices.byte() % 4 {
        keyword(choices, depth, &mut members);
    }
    Value::Object(members)
}

fn schemas(choices: &mut Choices<'_>, depth: usize) -> Value {
    let child = schema_at(choices, depth + 1);
    let n_copies = choices.copies(300, size(&child));
    let mut all = vec![child; n_copies];
    all.push(schema_at(choices, depth + 1));
    Value::Array(all)
}

fn named(choices: &mut Choices<'_>, depth: usize, names: &[&str]) -> Value {
    let mut members = Map::new();
    for _ in 0..=choices.byte() % 3 {
        members.insert(choices.of(names).to_owned(), schema_at(choices, depth + 1));
    }
    let child = schema_at(choices, depth + 1);
    for index in 0..choices.copies(200, size(&child)) {
        members.insert(format!("m{index}"), child.clone());
    }
    Value::Object(members)
}

fn keyword(choices: &mut Choices<'_>, depth: usize, members: &mut Map<String, Value>) {
    let mut set = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    match choices.byte() % 32 {
        0 => set("type", json!(choices.of(&["object", "array", "string", "number", "null"]))),
        1 | 2 => set("properties", named(choices, depth, &NAMES)),
        3 => set("items", schema_at(choices, depth + 1)),
        4 => set("allOf", schemas(choices, depth)),
        5 => set("anyOf", schemas(choices, depth)),
        6 => set("oneOf", schemas(choices, depth)),
        7 => set("not", schema_at(choices, depth + 1)),
        8 => {
            set("if", schema_at(choices, depth + 1));
            set("then", schema_at(choices, depth + 1));
            set("else", schema_at(choices, depth + 1));
        }
        9..=12 => {
            let targets =
                ["#", "#/$defs/d0", "#/$defs/d1", "#/$defs/d2", "#/$defs/d3", "#x", "#/properties/a"];
            set("$ref", json!(choices.of(&targets)));
        }
        13 => set("$dynamicRef", json!("#x")),
        14 => set("$anchor", json!("x")),
        15 => set("patternProperties", named(choices, depth, &PATTERNS)),
        16 => set("pattern", json!(choices.of(&PATTERNS))),
        17 => set("propertyNames", schema_at(choices, depth + 1)),
        18 => set("additionalProperties", schema_at(choices, depth + 1)),
        19 => set("unevaluatedProperties", schema_at(choices, depth + 1)),
        20 => set("unevaluatedItems", schema_at(choices, depth + 1)),
        21 => set("uniqueItems", json!(true)),
        22 => set("enum", json!((0..choices.count(3_000)).collect::<Vec<_>>())),
        23 => set("const", value_at(choices, depth)),
        24 => set("contains", schema_at(choices, depth + 1)),
        25 => set("prefixItems", schemas(choices, depth)),
        26 => set("dependentSchemas", named(choices, depth, &NAMES)),
        27 => {
            let all = choices.count(1_000);
            set("dependentRequired", (0..all).map(|n| (format!("m{n}"), json!([]))).collect());
        }
        28 => set("required", json!([choices.of(&NAMES)])),
        29 => set("format", json!(choices.of(&["email", "uri", "date-time", "ipv6", "regex", "hostname"]))),
        30 => {
            for index in 0..choices.count(1_000) {
                set(&format!("x-{index}"), json!(1));
            }
        }
        _ => {
            // The same keyword many times inside itself.
            let wrap = choices.of(&["not", "items", "allOf", "anyOf", "unevaluatedProperties", "contains"]);
            let mut inner = schema_at(choices, depth + 1);
            for _ in 0..choices.count(30) {
                let part = if matches!(wrap, "allOf" | "anyOf") { json!([inner]) } else { inner };
                inner = json!({wrap: part, "unevaluatedProperties": false});
            }
            set(wrap, if matches!(wrap, "allOf" | "anyOf") { json!([inner]) } else { inner });
        }
    }
}

/// The arguments of a call.
pub(crate) fn object(choices: &mut Choices<'_>) -> Value {
    let mut members = Map::new();
    for _ in 0..=choices.byte() % 4 {
        members.insert(choices.of(&NAMES).to_owned(), value_at(choices, 0));
    }
    Value::Object(members)
}

fn value_at(choices: &mut Choices<'_>, depth: usize) -> Value {
    choices.part();
    if choices.is_over() || depth > DEPTH_MAX {
        return json!(1);
    }
    match choices.byte() % 14 {
        0 => json!(choices.byte()),
        1 => json!(0.5),
        2 => json!(i64::MAX - i64::from(choices.byte())),
        3 => Value::Null,
        4 | 5 => Value::String(text(choices)),
        6 | 7 => {
            let child = value_at(choices, depth + 1);
            let n_copies = choices.copies(20_000, size(&child));
            Value::Array(vec![child; n_copies])
        }
        8 => (0..choices.count(20_000)).map(Value::from).collect(),
        9 => {
            let first = value_at(choices, depth + 1);
            json!([first, value_at(choices, depth + 1), value_at(choices, depth + 1)])
        }
        10 => object_at(choices, depth),
        11 => {
            let child = value_at(choices, depth + 1);
            let n_copies = choices.copies(5_000, size(&child));
            (0..n_copies).map(|index| (format!("m{index}"), child.clone())).collect()
        }
        12 => {
            let child = value_at(choices, depth + 1);
            let n_copies = choices.copies(2_000, size(&child));
            (0..n_copies).map(|index| (format!("{index}args"), child.clone())).collect()
        }
        _ => {
            let name = choices.of(&NAMES);
            let inner = value_at(choices, depth + 1);
            (0..choices.count(40)).fold(inner, |inner, _| json!({name: inner}))
        }
    }
}

fn object_at(choices: &mut Choices<'_>, depth: usize) -> Value {
    let mut members = Map::new();
    for _ in 0..=choices.byte() % 4 {
        let name =
            if choices.byte().is_multiple_of(4) { text(choices) } else { choices.of(&NAMES).to_owned() };
        members.insert(name, value_at(choices, depth + 1));
    }
    Value::Object(members)
}

fn text(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    for _ in 0..=choices.byte() % 3 {
        let piece = [choices.of(&TEXTS), choices.of(&TEXTS)].concat();
        for _ in 0..choices.copies(5_000, 1 + piece.len() / 8) {
            text.push_str(&piece);
        }
        text.push_str(&piece);
    }
    text
}

/// How many parts a value has; eight bytes of a text are one.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 8,
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, value)| 1 + name.len() / 8 + size(value)).sum::<usize>()
        }
    }
}

/// A policy of rules.
pub(crate) fn policy(choices: &mut Choices<'_>) -> String {
    let mut out = String::new();
    for _ in 0..=choices.byte() % 6 {
        let word = choices.of(&["deny", "ask", "allow"]);
        let test = test(choices, 0);
        let n_rules = choices.copies(300, 4 + test.len() / 8).max(1);
        for _ in 0..n_rules {
            let _ = writeln!(out, "[[{word}]]\ntool = \"{}\"", choices.of(&["*", "files.*", "files.read_*"]));
            let place = choices.of(&["args", "facts"]);
            let key = match place {
                "args" => choices.of(&["a", "path", "a.b.c", "command", "url"]),
                _ => choices.of(&["paths", "hosts", "shell_heads", "secrets", "sql_verbs"]),
            };
            let _ = writeln!(out, "{place} = {{ \"{key}\" = {test} }}");
        }
    }
    out
}

fn test(choices: &mut Choices<'_>, depth: usize) -> String {
    choices.part();
    if depth > DEPTH_MAX {
        return "1".to_owned();
    }
    match choices.byte() % 7 {
        0 | 1 => {
            let piece = choices.of(&["*a", "*", "a*b*", "*/../*", "/etc/*", "*.x", "~/*"]);
            format!("\"{}\"", piece.repeat(choices.count(500).max(1)))
        }
        2 => format!("{{ min = {} }}", choices.byte()),
        3 => "{ present = true }".to_owned(),
        4 => format!("{{ not = {} }}", test(choices, depth + 1)),
        5 => {
            let one = test(choices, depth + 1);
            let n_copies = choices.copies(300, 1 + one.len() / 8).max(1);
            format!("[{}]", vec![one; n_copies].join(", "))
        }
        _ => {
            let piece = choices.of(&["*a", "x*/"]);
            let all: Vec<String> =
                (0..choices.count(1_000).max(1)).map(|n| format!("\"{piece}{n}\"")).collect();
            format!("[{}]", all.join(", "))
        }
    }
}

/// Cedar policies.
pub(crate) fn cedar(choices: &mut Choices<'_>) -> String {
    let mut out = String::new();
    for _ in 0..=choices.byte() % 3 {
        let word = choices.of(&["permit", "forbid"]);
        let scope = choices.of(&[
            "principal, action, resource",
            "principal, action == Action::\"files.tool0\", resource",
            "principal, action in Action::\"files.*\", resource",
        ]);
        let condition = expression(choices, 0);
        for _ in 0..choices.copies(3_000, 4 + condition.len() / 8).max(1) {
            let _ = writeln!(out, "{word} ({scope}) when {{ {condition} }};");
        }
    }
    out
}

fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    choices.part();
    if choices.is_over() || depth > DEPTH_MAX {
        return "true".to_owned();
    }
    match choices.byte() % 14 {
        0 => "context.args.n < 5".to_owned(),
        1 => {
            let pattern = choices.of(&["*a", "*", "a*b*", "*/*.*"]).repeat(choices.count(400).max(1));
            format!("context.args.s like \"{pattern}\"")
        }
        2 => format!("context.args.t.containsAll([{}])", texts(choices)),
        3 => format!("context.args.t.containsAny([{}])", texts(choices)),
        4 => "context.args.t == context.args.t".to_owned(),
        5 => "context.facts.paths.contains(context.args.s)".to_owned(),
        6 => "context.args has o && context.args.o has s && context.args.o.s like \"*x\"".to_owned(),
        7 | 8 => {
            let operator = choices.of(&[" && ", " || "]);
            let one = expression(choices, depth + 1);
            let n_copies = choices.copies(150, 1 + one.len() / 8).max(2);
            format!("({})", vec![one; n_copies].join(operator))
        }
        9 => format!("!({})", expression(choices, depth + 1)),
        10 => format!(
            "(if {} then {} else {})",
            expression(choices, depth + 1),
            expression(choices, depth + 1),
            expression(choices, depth + 1)
        ),
        11 => format!("[{}].contains(context.args.n)", vec!["1"; choices.count(5_000).max(1)].join(",")),
        12 => format!("{{a: {}}}.a", expression(choices, depth + 1)),
        _ => {
            let n = choices.count(30);
            format!("{}{}{}", "(".repeat(n), expression(choices, depth + 1), ")".repeat(n))
        }
    }
}

fn texts(choices: &mut Choices<'_>) -> String {
    (0..choices.count(5_000).max(1)).map(|number| format!("\"{number}\"")).collect::<Vec<_>>().join(",")
}
