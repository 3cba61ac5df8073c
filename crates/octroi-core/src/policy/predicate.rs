//! Tests on arguments and facts.
//!
//! A test errs in one of two directions. A rule that denies or asks prefers false positives: one matching
//! element is enough, and a `not` holds for a missing value. A rule that allows prefers false negatives:
//! every element must match, and a missing value never does.

use serde_json::{Number, Value};

use super::number::{self, Written};
use super::pattern::{TEXT_BYTES_MAX, TextPattern};
use crate::call::Evaluation;
use crate::facts::{Facts, INCOMPLETE};
use crate::fold::fold;

/// In which direction a test errs when in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lean {
    /// Towards a match: deny and ask.
    Match,
    /// Towards no match: allow.
    Miss,
}

/// A test on one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    /// A string that matches one of these patterns.
    Patterns(Vec<TextPattern>),
    /// Equal to one of these values.
    Values(Vec<Value>),
    /// A number within inclusive bounds.
    Range { min: Option<i64>, max: Option<i64> },
    /// Present, or absent.
    Present(bool),
    /// One of these tests passes.
    Any(Vec<Test>),
    /// This test fails.
    Not(Box<Test>),
}

/// How values of one call are tested.
#[derive(Clone, Copy)]
pub(super) struct Tester<'c> {
    pub(super) evaluation: &'c Evaluation,
    /// Where relative paths begin.
    pub(super) root: Option<&'c str>,
    pub(super) lean: Lean,
}

/// A test of the argument at a path of member names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArgumentTest {
    pub(super) path: Vec<String>,
    pub(super) test: Test,
}

/// A test of a fact.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FactTest {
    pub(super) fact: FactName,
    pub(super) test: Test,
}

/// The facts that rules can test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactName {
    Paths,
    PathsOutsideProject,
    Hosts,
    SqlVerbs,
    ShellHeads,
    Secrets,
    PayloadBytes,
    IsFirstUse,
    CallsLastMinute,
}

/// The names of facts in rules.
pub(super) const FACT_NAMES: [(&str, FactName); 9] = [
    ("paths", FactName::Paths),
    ("paths_outside_project", FactName::PathsOutsideProject),
    ("hosts", FactName::Hosts),
    ("sql_verbs", FactName::SqlVerbs),
    ("shell_heads", FactName::ShellHeads),
    ("secrets", FactName::Secrets),
    ("payload_bytes", FactName::PayloadBytes),
    ("is_first_use", FactName::IsFirstUse),
    ("calls_last_minute", FactName::CallsLastMinute),
];

impl ArgumentTest {
    pub(super) fn holds(&self, arguments: &Value, tester: Tester<'_>) -> bool {
        tester.at(arguments, &self.path, &self.test)
    }

    /// The argument that must be present for the test to pass, if there is one.
    pub(super) fn needed_argument(&self, lean: Lean) -> Option<&str> {
        let name = self.path.first()?;
        (!missing(&self.test, lean)).then_some(name)
    }
}

impl Tester<'_> {
    fn at(self, value: &Value, path: &[String], test: &Test) -> bool {
        let lean = self.lean;
        match (value, path) {
            (Value::Array(items), _) if !items.is_empty() => {
                let mut each = items.iter().map(|item| self.at(item, path, test));
                match lean {
                    Lean::Match => each.any(|holds| holds),
                    Lean::Miss => each.all(|holds| holds),
                }
            }
            (Value::Object(members), [name, rest @ ..]) => match members.get(name) {
                Some(member) => self.at(member, rest, test),
                None => missing(test, lean),
            },
            (Value::String(written), path) if lean == Lean::Match && may_be_json(written) => {
                let nested =
                    self.evaluation.take_for_readings(written).then(|| serde_json::from_str(written));
                let nested: Option<Value> =
                    nested.and_then(Result::ok).filter(|nested: &Value| !nested.is_string());
                nested.is_some_and(|nested| self.at(&nested, path, test))
                    || if path.is_empty() { self.holds(test, value) } else { missing(test, lean) }
            }
            (_, [_, ..]) => missing(test, lean),
            (value, []) => self.holds(test, value),
        }
    }

    fn holds(self, test: &Test, value: &Value) -> bool {
        // What is answered after the last step does not count: the call is denied.
        if !self.evaluation.take_step() {
            return self.lean == Lean::Match;
        }
        match test {
            Test::Patterns(patterns) => match (value, self.lean) {
                (Value::String(written), _) => self.fits(patterns, written),
                (Value::Number(_) | Value::Bool(_), Lean::Match) => self.fits(patterns, &value.to_string()),
                (_, Lean::Match) => self.any_inside(test, value),
                (_, Lean::Miss) => false,
            },
            Test::Values(values) => {
                values.iter().any(|expected| equals(expected, value, self.lean))
                    || self.lean == Lean::Match && self.any_inside(test, value)
            }
            Test::Range { min, max } => match (value, self.lean) {
                (Value::Number(number), lean) => within(number, *min, *max, lean),
                (Value::String(written), lean) => match number::written(written) {
                    Written::Plain(number) => within(&number, *min, *max, lean),
                    Written::Some => lean == Lean::Match,
                    Written::None => false,
                },
                (Value::Bool(flag), lean @ Lean::Match) => within(&u8::from(*flag).into(), *min, *max, lean),
                (_, Lean::Match) => self.any_inside(test, value),
                (_, Lean::Miss) => false,
            },
            Test::Present(present) => *present,
            Test::Any(tests) => tests.iter().any(|test| self.holds(test, value)),
            Test::Not(inner) => !Self { lean: self.lean.other(), ..self }.holds(inner, value),
        }
    }

    /// Whether one of the patterns matches a text.
    fn fits(self, patterns: &[TextPattern], text: &str) -> bool {
        patterns.iter().any(|pattern| match self.lean {
            Lean::Match => !self.evaluation.take_for_readings(text) || pattern.may_match(text, self.root),
            Lean::Miss => self.evaluation.take_for_readings(text) && pattern.surely_matches(text, self.root),
        })
    }

    /// Whether something inside of a list or an object is what the test looks for, where it expects a single value:
    /// servers may take `{"path": "/etc"}` for a path.
    fn any_inside(self, test: &Test, value: &Value) -> bool {
        let fits = |value: &Value| self.holds(test, value);
        match value {
            Value::Array(items) => items.iter().any(fits),
            Value::Object(members) => {
                members.iter().any(|(name, value)| fits(value) || fits(&Value::from(name.as_str())))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
}

/// Some servers parse texts that are lists or objects in JSON. Long ones are only looked at as texts.
fn may_be_json(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && text.trim_start().starts_with(['[', '{'])
}

fn missing(test: &Test, lean: Lean) -> bool {
    match test {
        Test::Present(present) => !present,
        Test::Not(_) => lean == Lean::Match,
        Test::Any(tests) => tests.iter().any(|test| missing(test, lean)),
        Test::Patterns(_) | Test::Values(_) | Test::Range { .. } => false,
    }
}

/// Whether a value is the expected one. A rule that denies or asks compares by value, however it is written: `12345` is
/// `"12345"`, and what counts as true is true. A rule that allows expects the same type and digits.
pub(super) fn equals(expected: &Value, value: &Value, lean: Lean) -> bool {
    if lean == Lean::Miss {
        return expected == value;
    }
    match (expected, value) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Number(number), Value::String(text)) | (Value::String(text), Value::Number(number)) => {
            number::may_equal(text, number)
        }
        (Value::Number(number), Value::Bool(flag)) | (Value::Bool(flag), Value::Number(number)) => {
            (number.as_f64() != Some(0.0)) == *flag
        }
        (Value::Bool(flag), Value::String(text)) | (Value::String(text), Value::Bool(flag)) => {
            may_be(*flag, text)
        }
        (Value::String(one), Value::String(other)) => one == other || fold(one) == fold(other),
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| equals(one, other, lean))
        }
        (Value::Object(ones), Value::Object(others)) => {
            let is_equal = |(name, one): (&String, &Value)| {
                others.get(name).is_some_and(|other| equals(one, other, lean))
            };
            ones.len() == others.len() && ones.iter().all(is_equal)
        }
        (one, other) => one == other,
    }
}

/// Whether a text may count as true, or as false. To some servers every text is true that is not empty.
fn may_be(flag: bool, text: &str) -> bool {
    let folded = fold(text);
    if flag {
        !folded.is_empty()
    } else {
        matches!(&*folded, "" | "false" | "f" | "no" | "n" | "off" | "0" | "none" | "null" | "undefined")
    }
}

/// Whether a number is within the bounds. A double may stand for digits on either side of it, so a rule that allows
/// accepts doubles only inside the bounds, not on them.
#[expect(clippy::cast_precision_loss, reason = "beyond 2^53 a double is not within the bounds for sure")]
fn within(number: &Number, min: Option<i64>, max: Option<i64>, lean: Lean) -> bool {
    const EXACT_MAX: u64 = 1 << 53;
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    if let Some(integer) = integer {
        return min.is_none_or(|min| integer >= min.into()) && max.is_none_or(|max| integer <= max.into());
    }
    let Some(double) = number.as_f64() else {
        return false;
    };
    match lean {
        Lean::Match => {
            min.is_none_or(|min| double >= min as f64) && max.is_none_or(|max| double <= max as f64)
        }
        Lean::Miss => {
            let is_exact = |bound: i64| bound.unsigned_abs() <= EXACT_MAX;
            min.is_none_or(|min| is_exact(min) && double > min as f64)
                && max.is_none_or(|max| is_exact(max) && double < max as f64)
        }
    }
}

impl Lean {
    fn other(self) -> Self {
        match self {
            Self::Match => Self::Miss,
            Self::Miss => Self::Match,
        }
    }
}

impl FactName {
    /// Whether the fact is a set of strings.
    pub(super) fn is_set(self) -> bool {
        !matches!(self, Self::PayloadBytes | Self::IsFirstUse | Self::CallsLastMinute)
    }
}

impl FactTest {
    pub(super) fn holds(&self, facts: &Facts, tester: Tester<'_>) -> bool {
        // Facts are resolved already.
        let tester = Tester { root: None, ..tester };
        let set = match self.fact {
            FactName::Paths => &facts.paths,
            FactName::PathsOutsideProject => &facts.paths_outside_project,
            FactName::Hosts => &facts.hosts,
            FactName::SqlVerbs => &facts.sql_verbs,
            FactName::ShellHeads => &facts.shell_heads,
            FactName::Secrets => &facts.secrets,
            FactName::PayloadBytes => return tester.holds(&self.test, &facts.payload_bytes.into()),
            FactName::IsFirstUse => return tester.holds(&self.test, &facts.is_first_use.into()),
            FactName::CallsLastMinute => {
                return tester.holds(&self.test, &facts.calls_last_minute.into());
            }
        };
        match &self.test {
            Test::Present(present) => set.is_empty() != *present,
            test => {
                let mut each = set.iter().map(|item| tester.holds(test, &Value::from(item.as_str())));
                match tester.lean {
                    // What is missing in an incomplete set may match.
                    Lean::Match => set.contains(INCOMPLETE) || each.any(|holds| holds),
                    // An empty set does not prove that there is nothing.
                    Lean::Miss => !set.is_empty() && each.all(|holds| holds),
                }
            }
        }
    }
}

impl Test {
    /// Why the test can never pass, if so.
    pub(super) fn impossible(&self) -> Option<&'static str> {
        match self {
            Self::Patterns(patterns) if patterns.is_empty() => Some("the list is empty"),
            Self::Values(values) if values.is_empty() => Some("the list is empty"),
            Self::Range { min: Some(min), max: Some(max) } if min > max => Some("`min` is above `max`"),
            Self::Any(tests) if tests.is_empty() => Some("the list is empty"),
            Self::Any(tests) => tests.iter().find_map(Self::impossible),
            Self::Patterns(_) | Self::Values(_) | Self::Range { .. } | Self::Present(_) | Self::Not(_) => {
                None
            }
        }
    }
}
