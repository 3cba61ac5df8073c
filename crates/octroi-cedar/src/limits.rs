//! What a text of policies may be at most, before it is parsed.
//!
//! Cedar's parser descends once for every bracket and operator, and its trees are as deep as that. A few kilobytes of
//! brackets would overflow the stack of whoever parses them, which no caller can catch.

/// A longer text is refused.
const BYTES_MAX: usize = 256 * 1024;
/// Brackets and prefix operators may be nested this deep.
const DEPTH_MAX: usize = 32;
/// One policy may have this many operators, dots and brackets.
const OPERATORS_MAX: usize = 400;
/// More policies than this are refused.
const POLICIES_MAX: usize = 5_000;
/// A text may have this many commas: each item of a set takes two kilobytes once it is parsed.
const COMMAS_MAX: usize = 15_000;

/// Where a text goes beyond its limits, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BeyondLimits {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// Looks at a text, once, without understanding it.
pub(crate) fn check(text: &str) -> Result<(), BeyondLimits> {
    let beyond = |offset: usize, message: String| Err(BeyondLimits { offset, message });
    if text.len() > BYTES_MAX {
        return beyond(0, format!("the text is longer than {BYTES_MAX} bytes"));
    }
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut n_prefixes, mut n_operators, mut n_policies) = (0, 0_usize, 0, 0, 0);
    let mut n_commas = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'/' if next == Some(b'/') => {
                at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                n_operators += 1;
            }
            b',' => n_commas += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'!' | b'-' => {
                n_prefixes += 1;
                n_operators += 1;
            }
            b'&' | b'|' | b'+' | b'*' | b'.' | b'=' | b'<' | b'>' => n_operators += 1,
            // `if … then if …` nests without brackets.
            b'i' if text.get(at..at + 3).is_some_and(|word| word == "if " || word == "if(") => {
                n_prefixes += 1
            }
            b';' => {
                n_policies += 1;
                (n_prefixes, n_operators) = (0, 0);
            }
            _ => {}
        }
        if depth > DEPTH_MAX || n_prefixes > DEPTH_MAX * 2 {
            return beyond(at, format!("expressions are nested more than {DEPTH_MAX} deep"));
        }
        if n_operators > OPERATORS_MAX {
            let message = format!(
                "one policy has more than {OPERATORS_MAX} operators; write it as several, or use a set"
            );
            return beyond(at, message);
        }
        if n_commas > COMMAS_MAX {
            return beyond(at, format!("the text has more than {COMMAS_MAX} commas; use smaller sets"));
        }
        if n_policies > POLICIES_MAX {
            return beyond(at, format!("the text has more than {POLICIES_MAX} policies"));
        }
        at += 1;
    }
    Ok(())
}

/// The closing quote of the string that begins here, or the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_and_length_are_limited() {
        let policy =
            |condition: &str| format!("permit (principal, action, resource) when {{ {condition} }};");
        let deep =
            |open: &str, close: &str, n: usize| policy(&format!("{}true{}", open.repeat(n), close.repeat(n)));
        for (text, is_refused) in [
            (policy("true"), false),
            (deep("(", ")", 20), false),
            (deep("(", ")", 3_000), true),
            (deep("[", "]", 3_000), true),
            (deep("!", "", 3_000), true),
            (deep("-", "", 3_000), true),
            (deep("{a: ", "}", 3_000), true),
            (deep("if true then ", " else false", 3_000), true),
            (policy(&vec!["true"; 3_000].join(" && ")), true),
            (policy(&vec!["true"; 3_000].join("||")), true),
            (policy(&format!("context{}", ".a".repeat(3_000))), true),
            (policy(&format!("context{}", "[\"a\"]".repeat(3_000))), true),
            (policy(&format!("1{}", " + 1".repeat(3_000))), true),
            (policy(&vec!["context.a == 1"; 30].join(" || ")), false),
            (policy(&format!("\"{}\" == \"x\"", "(".repeat(3_000))), false),
            (format!("// {}\n{}", "(".repeat(3_000), policy("true")), false),
            (policy("true").repeat(6_000), true),
            (policy(&format!("[{}].contains(1)", vec!["1"; 10_000].join(","))), false),
            (policy(&format!("[{}].contains(1)", vec!["1"; 30_000].join(","))), true),
            (" ".repeat(300_000), true),
        ] {
            assert_eq!(check(&text).is_err(), is_refused, "{}", &text[..text.len().min(120)]);
        }
    }
}
