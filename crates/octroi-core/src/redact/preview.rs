//! JSON shortened for display.

use super::mask;
use crate::facts::keys;
use crate::json::{Node, push_string};

/// Deeper JSON is cut even if it is short.
const DEPTH_MAX: usize = 32;

/// How much of each part is displayed.
#[derive(Clone, Copy, Debug)]
struct Limits {
    text: usize,
    items: usize,
    depth: usize,
}

/// From generous to strict: the first that fits is used.
const LIMITS: [Limits; 8] = [
    Limits { text: usize::MAX, items: usize::MAX, depth: DEPTH_MAX },
    Limits { text: 1_024, items: 128, depth: 16 },
    Limits { text: 256, items: 64, depth: 10 },
    Limits { text: 128, items: 32, depth: 8 },
    Limits { text: 64, items: 16, depth: 6 },
    Limits { text: 32, items: 8, depth: 4 },
    Limits { text: 16, items: 4, depth: 3 },
    Limits { text: 8, items: 2, depth: 2 },
];

/// Whether the text is valid JSON that can be displayed unchanged: no escapes, no deep nesting, and no member
/// with the name of a secret.
pub(super) fn is_plain(text: &str) -> bool {
    if text.contains('\\') {
        return false;
    }
    let mut depth = 0_usize;
    let mut rest = text;
    let mut is_variable = false;
    while let Some(at) = rest.find(['"', '[', '{', ']', '}']) {
        let (mark, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = match mark {
            b'"' => {
                let Some(end) = after.find('"') else { return false };
                let is_name = after[end + 1..].trim_start().starts_with(':');
                // Of `{"name": "DB_PASSWORD", "value": "x"}` the value is secret.
                if (is_name || is_variable) && keys::is_secret(&after[..end]) {
                    return false;
                }
                is_variable = is_name && mask::is_name_of_variable(&after[..end]);
                // JSON inside a string has its own members.
                if after[..end].trim_start().starts_with(['{', '[']) {
                    return false;
                }
                &after[end + 1..]
            }
            b'[' | b'{' => {
                depth += 1;
                after
            }
            _ => {
                depth = depth.saturating_sub(1);
                after
            }
        };
        if depth > DEPTH_MAX {
            return false;
        }
    }
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The value as JSON, uncut.
pub(super) fn whole(node: &Node) -> String {
    let limits = Limits { text: usize::MAX, items: usize::MAX, depth: usize::MAX };
    let mut writer = Writer { out: String::new(), limits, max_bytes: usize::MAX };
    writer.node(node, 0);
    writer.out
}

/// The value as JSON of at most this length, or only a note of its full length.
pub(super) fn fitted(node: &Node, full_length: usize, max_bytes: usize) -> String {
    for limits in LIMITS {
        let mut writer = Writer { out: String::new(), limits, max_bytes };
        writer.node(node, 0);
        if writer.out.len() <= max_bytes {
            return writer.out;
        }
    }
    format!("\"…(+{full_length} bytes)\"")
}

struct Writer {
    out: String,
    limits: Limits,
    max_bytes: usize,
}

impl Writer {
    /// Beyond the limit nothing more is written, since the result is discarded.
    fn is_full(&self) -> bool {
        self.out.len() > self.max_bytes
    }

    fn node(&mut self, node: &Node, depth: usize) {
        match node {
            Node::Null => self.out.push_str("null"),
            Node::Bool(true) => self.out.push_str("true"),
            Node::Bool(false) => self.out.push_str("false"),
            Node::Number(text) if text.len() <= self.limits.text.max(32) => self.out.push_str(text),
            Node::Number(text) | Node::Text(text) => self.text(text),
            Node::List(items) if depth >= self.limits.depth && !items.is_empty() => {
                self.out.push_str("\"[…]\"")
            }
            Node::Map(members) if depth >= self.limits.depth && !members.is_empty() => {
                self.out.push_str("\"{…}\"");
            }
            Node::List(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate().take(self.limits.items) {
                    self.comma(index);
                    if self.is_full() {
                        break;
                    }
                    self.node(item, depth + 1);
                }
                if let Some(n_left) = items.len().checked_sub(self.limits.items).filter(|n_left| *n_left > 0)
                {
                    self.comma(self.limits.items);
                    self.text_uncut(&format!("…(+{n_left} items)"));
                }
                self.out.push(']');
            }
            Node::Map(members) => {
                self.out.push('{');
                for (index, (name, value)) in members.iter().enumerate().take(self.limits.items) {
                    self.comma(index);
                    if self.is_full() {
                        break;
                    }
                    self.text(name);
                    self.out.push(':');
                    self.node(value, depth + 1);
                }
                if let Some(n_left) =
                    members.len().checked_sub(self.limits.items).filter(|n_left| *n_left > 0)
                {
                    self.comma(self.limits.items);
                    self.text_uncut("…");
                    self.out.push(':');
                    self.text_uncut(&format!("(+{n_left} members)"));
                }
                self.out.push('}');
            }
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }

    fn text(&mut self, text: &str) {
        let end = text.floor_char_boundary(self.limits.text);
        let n_left = text.len() - end;
        // A note must not be longer than what it replaces.
        if n_left <= 16 {
            return self.text_uncut(text);
        }
        self.text_uncut(&format!("{}…(+{n_left} bytes)", &text[..end]));
    }

    fn text_uncut(&mut self, text: &str) {
        if text.len() > self.max_bytes {
            // It cannot fit: just exceed the limit.
            self.out.extend(std::iter::repeat_n(' ', self.max_bytes.saturating_add(1)));
        } else {
            push_string(&mut self.out, text);
        }
    }
}
