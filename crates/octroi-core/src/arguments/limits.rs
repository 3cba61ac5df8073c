//! What a schema may be at most, before it is compiled.

use serde_json::Value;

use super::pattern;

/// A schema of more values is refused.
const VALUES_MAX: usize = 20_000;
/// A schema that is nested deeper is refused.
const DEPTH_MAX: usize = 64;
/// More patterns than this are refused: each of them is compiled.
const PATTERNS_MAX: usize = 200;
/// A longer pattern is refused.
const PATTERN_LENGTH_MAX: usize = 1_000;
/// All patterns together may have this many states.
const PATTERN_SIZE_MAX: u64 = 20_000;
/// All texts of a schema together may have this many bytes.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// What is found while counting.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that was found or not")]
struct Found {
    n_values: usize,
    n_patterns: usize,
    pattern_size: u64,
    n_text_bytes: usize,
    has_foreign_reference: bool,
    has_inner_id: bool,
    has_reference: bool,
    has_alternatives: bool,
}

/// What is known of a schema within its limits.
pub(super) struct SchemaShape {
    /// Whether checking costs as much as the arguments are long, whatever they are.
    pub(super) is_plain: bool,
}

/// Looks at a schema; says why it is refused.
pub(super) fn check(schema: &Value) -> Result<SchemaShape, String> {
    let mut found = Found::default();
    count(schema, 0, &mut found)?;
    if found.has_foreign_reference || found.has_inner_id && found.has_reference {
        return Err("it refers to a schema by `$id`, which cannot be bounded; use `#/$defs/…`".to_owned());
    }
    let is_plain = !found.has_reference && !found.has_alternatives && found.n_patterns == 0;
    Ok(SchemaShape { is_plain })
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
                text(keyword, found)?;
                match (keyword.as_str(), part) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                        found.has_reference = true;
                        found.has_foreign_reference |= !reference.starts_with('#');
                    }
                    // References within such a part are relative to it. `id` is the same in old versions.
                    ("$id" | "id", Value::String(_)) if depth > 0 => found.has_inner_id = true,
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
                        | "dependentRequired"
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
        Value::String(string) => text(string, found)?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn text(text: &str, found: &mut Found) -> Result<(), String> {
    found.n_text_bytes += text.len();
    if found.n_text_bytes > TEXT_BYTES_MAX {
        return Err(format!("its texts have more than {TEXT_BYTES_MAX} bytes"));
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
    found.pattern_size = found.pattern_size.saturating_add(pattern::size(pattern));
    if found.pattern_size > PATTERN_SIZE_MAX {
        return Err("its patterns are too large, with their repetitions written out".to_owned());
    }
    Ok(())
}
