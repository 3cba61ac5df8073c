//! What the rules of a policy share while they look at one call: the readings of its texts, and a limit on the work.
//!
//! Rules multiply with arguments: a thousand rules about paths and a thousand paths are a million tests. So each text
//! is read once for all rules, and a call that would take too many steps is denied.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::spelling::{self, Reading};

/// All rules together may take this many steps, and some more for each byte of the arguments. A step is a tenth of a
/// microsecond or less.
const STEPS_MAX: u64 = 200_000;
const STEPS_FOR_BYTE: u64 = 8;
/// One step looks at this many bytes of a text.
const TEXT_BYTES: usize = 128;
/// A text that may be a path has about this many readings.
const READINGS: u64 = 4;
/// Finding the readings of a text takes this many steps, and one for so many bytes.
const READING_STEPS: u64 = 20;
const READING_BYTES: usize = 16;
/// Readings are kept of texts up to this length altogether.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// The place and the length of a text, and whether relative paths have a root.
type TextPlace = (usize, usize, bool);

/// The state of looking at one call.
#[derive(Default)]
pub(crate) struct Evaluation {
    steps_left: Cell<u64>,
    is_over: Cell<bool>,
    readings: RefCell<HashMap<TextPlace, Rc<[Reading]>>>,
    kept_bytes: Cell<usize>,
}

impl Evaluation {
    /// For a call with these arguments.
    pub(crate) fn of(arguments: &Value) -> Self {
        let steps = STEPS_MAX.saturating_add(length(arguments).saturating_mul(STEPS_FOR_BYTE));
        Self { steps_left: Cell::new(steps), ..Self::default() }
    }

    /// Whether the tests would have taken too many steps. Then no result of them means anything.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Takes steps for a test of a text as it is; `false` if there are none left.
    pub(super) fn take(&self, text: &str) -> bool {
        self.take_steps(1 + (text.len() / TEXT_BYTES) as u64)
    }

    /// The same for a test of all its readings.
    pub(super) fn take_for_readings(&self, text: &str) -> bool {
        self.take_steps(READINGS + READINGS * (text.len() / TEXT_BYTES) as u64)
    }

    fn take_steps(&self, n: u64) -> bool {
        match self.steps_left.get().checked_sub(n) {
            Some(left) => self.steps_left.set(left),
            None => self.is_over.set(true),
        }
        !self.is_over.get()
    }

    /// The readings of a text that exists for as long as the call.
    pub(super) fn readings(&self, text: &str, root: Option<&str>) -> Rc<[Reading]> {
        let key = (text.as_ptr() as usize, text.len(), root.is_some());
        if let Some(known) = self.readings.borrow().get(&key) {
            return Rc::clone(known);
        }
        if !self.take_steps(READING_STEPS + (text.len() / READING_BYTES) as u64) {
            return Rc::new([]);
        }
        let found: Rc<[Reading]> = spelling::readings(text, root).into();
        let kept_bytes = self.kept_bytes.get().saturating_add(text.len());
        if kept_bytes <= KEPT_BYTES_MAX {
            self.kept_bytes.set(kept_bytes);
            self.readings.borrow_mut().insert(key, Rc::clone(&found));
        }
        found
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
