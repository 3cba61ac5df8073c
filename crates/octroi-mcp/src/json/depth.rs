//! How deep a message is nested, and how many values it has.

use super::walk::skip_string;

/// Whether arrays and objects are nested deeper than this. The text must be valid JSON.
pub fn is_deeper_than(json: &[u8], limit: usize) -> bool {
    // Nearly every message has fewer brackets than that, and counting them is much cheaper than finding strings.
    if n_opening_brackets(json) <= limit {
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

/// How many bytes are opening brackets, also within strings. Counted in parts whose number fits into a byte: only
/// then the compiler compares many bytes at once.
fn n_opening_brackets(json: &[u8]) -> usize {
    const PART: usize = u8::MAX as usize;
    // The two differ in one bit.
    let is_opening = |byte: &u8| u8::from(*byte | 0x20 == b'{');
    json.chunks(PART).map(|part| usize::from(part.iter().map(is_opening).sum::<u8>())).sum()
}

/// Whether there are more values than this. Arrays and objects count twice. The text must be valid JSON.
pub fn has_more_values_than(json: &[u8], limit: usize) -> bool {
    // A value has at least one byte, and a comma or a bracket before it.
    let is_before_value = |byte: &u8| matches!(byte, b',' | b'{' | b'[');
    if json.len() <= limit || json.iter().filter(|byte| is_before_value(byte)).count() <= limit {
        return false;
    }
    let (mut n_values, mut position) = (0_usize, 0);
    while let Some(byte) = json.get(position) {
        match byte {
            b'"' => match skip_string(json, position) {
                Some(end) => position = end,
                None => return false,
            },
            _ => {
                n_values += usize::from(is_before_value(byte));
                position += 1;
            }
        }
    }
    n_values > limit
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

    #[test]
    fn brackets_are_counted_however_many_there_are() {
        for n in [0, 1, 254, 255, 256, 1_000] {
            assert_eq!(n_opening_brackets("[]".repeat(n).as_bytes()), n);
            assert_eq!(n_opening_brackets("{".repeat(n).as_bytes()), n);
        }
        let others: Vec<u8> = (0..=u8::MAX).filter(|byte| !matches!(byte, b'[' | b'{')).collect();
        assert_eq!(n_opening_brackets(&others), 0);
    }

    #[test]
    fn values_count_outside_of_strings() {
        let zeros = |n: usize| format!("[{}]", vec!["0"; n].join(","));
        for (json, expected) in [
            (zeros(100), false),
            (zeros(101), true),
            (format!(r#"{{"a":"{}"}}"#, ",[{".repeat(200)), false),
            (format!(r#"{{"a":"\"{}","b":{}}}"#, ",".repeat(200), zeros(99)), true),
            (format!(r#"{{"a":"\"{}","b":{}}}"#, ",".repeat(200), zeros(98)), false),
            (format!("[{}]", vec!["{}"; 50].join(",")), false),
            (format!("[{}]", vec!["{}"; 51].join(",")), true),
            (format!("{{{}}}", vec![r#""a":1"#; 101].join(",")), true),
        ] {
            assert_eq!(has_more_values_than(json.as_bytes(), 100), expected, "{json:.60}");
        }
    }
}
