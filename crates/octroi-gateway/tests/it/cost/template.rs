//! Texts in which parts repeat, so that a few bytes describe a large input.
//!
//! `<<300:text>>` repeats a text, which may contain further repetitions; `<<#>>` is the number of the innermost one.

use std::cell::Cell;

/// No input is larger than this while the targets search: larger inputs only make fuzzing slow.
pub(crate) const BYTES_MAX: usize = 256 * 1024;

thread_local! {
    /// How many times larger inputs are than they are written.
    static SCALE: Cell<usize> = const { Cell::new(1) };
}

/// Does something with inputs this many times larger, where they have repetitions: what grows faster than an input
/// shows in large ones.
pub(crate) fn at_scale<T>(scale: usize, work: impl FnOnce() -> T) -> T {
    SCALE.set(scale);
    let done = work();
    SCALE.set(1);
    done
}

fn bytes_max() -> usize {
    BYTES_MAX * SCALE.get()
}

/// The text with all repetitions written out, as far as it is not too long.
pub(crate) fn expand(template: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write(template, 0, 0, &mut out);
    out
}

/// The parts of an input, between lines of `===`.
pub(crate) fn parts(input: &[u8]) -> Vec<Vec<u8>> {
    let text = input.strip_prefix(b"T\n").unwrap_or(input);
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(5).position(|window| window == b"\n===\n") {
        parts.push(expand(&rest[..at]));
        rest = &rest[at + 5..];
    }
    parts.push(expand(rest));
    parts
}

fn write(mut rest: &[u8], number: usize, depth: usize, out: &mut Vec<u8>) {
    while let Some((first, after)) = rest.split_first() {
        if out.len() >= bytes_max() {
            return;
        }
        if let Some(after) = rest.strip_prefix(b"<<#>>") {
            out.extend_from_slice(number.to_string().as_bytes());
            rest = after;
            continue;
        }
        match repetition(rest).filter(|_| depth < 4) {
            Some((count, inner, after)) => {
                // What repeats inside of a repetition is larger already.
                let count = if depth == 0 { count.saturating_mul(SCALE.get()) } else { count };
                for number in 0..count {
                    if out.len() >= bytes_max() {
                        return;
                    }
                    write(inner, number, depth + 1, out);
                    // A repetition of nothing would not reach the limit of bytes.
                    if inner.is_empty() {
                        break;
                    }
                }
                rest = after;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
}

/// The count, the repeated text and what follows, if a repetition begins here.
fn repetition(text: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let after = text.strip_prefix(b"<<")?;
    let colon = after.iter().take(8).position(|byte| *byte == b':')?;
    let count: usize = std::str::from_utf8(&after[..colon]).ok()?.parse().ok()?;
    let body = &after[colon + 1..];
    let (mut depth, mut at) = (0_usize, 0);
    while at + 1 < body.len() {
        match &body[at..at + 2] {
            b"<<" => {
                depth += 1;
                at += 2;
            }
            b">>" if depth == 0 => return Some((count, &body[..at], &body[at + 2..])),
            b">>" => {
                depth -= 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        for (template, expected) in [
            ("plain << >> <<x:y>>", "plain << >> <<x:y>>"),
            ("a<<3:b>>c", "abbbc"),
            ("<<3:<<#>>,>>", "0,1,2,"),
            ("<<2:[<<2:<<#>>>>]>>", "[01][01]"),
            ("<<0:x>><<9:>>", ""),
            ("<<2:x", "<<2:x"),
        ] {
            assert_eq!(String::from_utf8(expand(template.as_bytes())).unwrap(), expected, "{template}");
        }
        assert!(expand(b"<<99999:<<99999:aaaaaaaa>>>>").len() < BYTES_MAX + 16);
        assert_eq!(parts(b"T\na\n===\n<<2:b>>"), [b"a".to_vec(), b"bb".to_vec()]);
        assert_eq!(at_scale(3, || expand(b"<<2:a<<2:b>>>>")), b"abbabbabbabbabbabb");
        assert_eq!(expand(b"<<2:a>>"), b"aa");
    }
}
