//! A limit on the work of all rules that look at one call.
//!
//! Rules multiply with arguments: a thousand rules about paths and a thousand paths are a million tests. So tests take
//! steps, and a call that would take too many is denied.

use std::cell::Cell;

use serde_json::Value;

/// All rules together may take this many steps, and some more for each byte of the arguments. A step is a tenth of a
/// microsecond or less.
const STEPS_MAX: u64 = 200_000;
const STEPS_FOR_BYTE: u64 = 8;
/// One step looks at this many bytes of a text with one reading.
const PLAIN_BYTES: usize = 32;
/// A text with several readings takes this many steps, and one for so many bytes.
const READING_STEPS: u64 = 50;
const READING_BYTES: usize = 2;

/// The state of looking at one call.
#[derive(Default)]
pub(crate) struct Evaluation {
    steps_left: Cell<u64>,
    is_over: Cell<bool>,
}

impl Evaluation {
    /// For a call with these arguments.
    pub(crate) fn of(arguments: &Value) -> Self {
        let steps = STEPS_MAX.saturating_add(length(arguments).saturating_mul(STEPS_FOR_BYTE));
        Self { steps_left: Cell::new(steps), is_over: Cell::new(false) }
    }

    /// Whether the tests would have taken too many steps. Then no result of them means anything.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Takes a step; `false` if there are none left.
    pub(crate) fn take_step(&self) -> bool {
        self.take_steps(1)
    }

    /// Takes the steps of a test of a text in all its readings.
    pub(crate) fn take_for_readings(&self, text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"%\\'\"`".contains(&byte);
        let n_steps = if text.bytes().all(is_plain) {
            4 + (text.len() / PLAIN_BYTES) as u64
        } else {
            READING_STEPS + (text.len() / READING_BYTES) as u64
        };
        self.take_steps(n_steps)
    }

    fn take_steps(&self, n: u64) -> bool {
        match self.steps_left.get().checked_sub(n) {
            Some(left) => self.steps_left.set(left),
            None => self.is_over.set(true),
        }
        !self.is_over.get()
    }
}

/// The length of a value as JSON, approximately.
fn length(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => 3 + text.len() as u64,
        Value::Array(items) => 2 + items.iter().map(length).sum::<u64>(),
        Value::Object(members) => {
            2 + members.iter().map(|(name, value)| 4 + name.len() as u64 + length(value)).sum::<u64>()
        }
    }
}
