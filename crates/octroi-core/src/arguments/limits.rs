//! What a schema may be at most, before it is compiled.

use serde_json::Value;

/// A schema of more values is refused.
const VALUES_MAX: usize = 20_000;
/// A schema that is nested deeper is refused.
const DEPTH_MAX: usize = 64;
/// More patterns than this are refused: each of them is compiled.
const PATTERNS_MAX: usize = 200;
/// A longer pattern is refused.
const PATTERN_LENGTH_MAX: usize = 1_000;

/// What is found while counting.
#[derive(Default)]
struct Found {
    n_values: usize,
    n_patterns: usize,
    has_foreign_reference: bool,
    has_reference: bool,
    has_alternatives: bool,
}

/// What is known of a schema within its limits.
pub(super) struct Shape {
    /// Whether checking costs as much as the arguments are long, whatever they are.
    pub(super) is_plain: bool,
}

/// Looks at a schema; says why it is refused.
pub(super) fn check(schema: &Value) -> Result<Shape, String> {
    let mut found = Found::default();
    count(schema, 0, &mut found)?;
    if found.has_foreign_reference {
        return Err("it refers to a schema by `$id`, which cannot be bounded; use `#/$defs/…`".to_owned());
    }
    let is_plain = !found.has_reference && !found.has_alternatives && found.n_patterns == 0;
    Ok(Shape { is_plain })
}

fn count(value: &Value, depth: usize, found: &mut Found) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("it is nested more than {DEPTH_MAX} deep"));
    }
    found.n_values += 1;
    if found.n_values > VALUES_MAX {
        return Err(format!("it has more than {VALUES_MAX} values"));
    }
    match value {
        Value::Object(members) => {
            for (keyword, part) in members {
                match (keyword.as_str(), part) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                        found.has_reference = true;
                        found.has_foreign_reference |= !reference.starts_with('#');
                    }
                    ("pattern", Value::String(pattern)) => one_pattern(pattern, found)?,
                    ("patternProperties", Value::Object(patterns)) => {
                        patterns.keys().try_for_each(|pattern| one_pattern(pattern, found))?;
                    }
                    (
                        "allOf"
                        | "anyOf"
                        | "oneOf"
                        | "not"
                        | "if"
                        | "contains"
                        | "uniqueItems"
                        | "propertyNames"
                        | "dependentSchemas"
                        | "dependencies"
                        | "unevaluatedProperties"
                        | "unevaluatedItems"
                        | "format"
                        | "enum",
                        _,
                    ) => found.has_alternatives = true,
                    _ => {}
                }
                count(part, depth + 1, found)?;
            }
        }
        Value::Array(items) => items.iter().try_for_each(|item| count(item, depth + 1, found))?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn one_pattern(pattern: &str, found: &mut Found) -> Result<(), String> {
    found.n_patterns += 1;
    if found.n_patterns > PATTERNS_MAX {
        return Err(format!("it has more than {PATTERNS_MAX} patterns"));
    }
    if pattern.len() > PATTERN_LENGTH_MAX {
        return Err(format!("a pattern is longer than {PATTERN_LENGTH_MAX} bytes"));
    }
    Ok(())
}
