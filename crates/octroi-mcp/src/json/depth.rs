//! How deep a message is nested.

use super::walk::skip_string;

/// Whether arrays and objects are nested deeper than this. The text must be valid JSON.
pub fn is_deeper_than(json: &[u8], limit: usize) -> bool {
    // Nearly every message has fewer brackets than that, and counting them is much cheaper than finding strings.
    let n_brackets = json.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if n_brackets <= limit {
        return false;
    }
    let (mut depth, mut position) = (0_usize, 0);
    while let Some(byte) = json.get(position) {
        match byte {
            b'"' => match skip_string(json, position) {
                Some(end) => {
                    position = end;
                    continue;
                }
                None => return false,
            },
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        position += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_where_they_nest() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        for (json, expected) in [
            (nested(64), false),
            (nested(65), true),
            (format!("[{}]", vec!["{}"; 500].join(",")), false),
            (format!(r#"{{"a":"{}"}}"#, "[{".repeat(200)), false),
            (format!(r#"{{"a":"\"{}","b":{}}}"#, "[".repeat(200), nested(64)), true),
            (format!(r#"{{"a\\":{}}}"#, nested(64)), true),
            (format!(r#"{{"a":{}}}"#, nested(63)), false),
        ] {
            assert_eq!(is_deeper_than(json.as_bytes(), 64), expected, "{json:.60}");
        }
    }
}
