//! Which attributes policies look at, so that nothing else is made for a call.

use std::collections::BTreeSet;

use serde_json::Value;

/// Which parts of a record are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// These, or none.
    Only(BTreeSet<String>),
    /// The record as a whole.
    All,
}

impl Wanted {
    pub(crate) fn includes(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => names.contains(name),
            Self::All => true,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, attributes: &[&str]) {
        match (&mut *self, attributes.first()) {
            (Self::All, _) => {}
            (Self::Only(names), Some(name)) => {
                names.insert((*name).to_owned());
            }
            (Self::Only(_), None) => *self = Self::All,
        }
    }
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

/// What a set of policies looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) agent: Wanted,
    pub(crate) tool: Wanted,
    pub(crate) arguments: Wanted,
    pub(crate) facts: Wanted,
    pub(crate) session: Wanted,
}

impl Needs {
    /// Adds what a policy in Cedar's JSON form looks at.
    pub(crate) fn add_policy(&mut self, policy: &Value) {
        for condition in policy["conditions"].as_array().into_iter().flatten() {
            self.add_expression(&condition["body"]);
        }
    }

    /// Everything, for a policy that cannot be looked into.
    pub(crate) fn add_all(&mut self) {
        self.add("principal", &[]);
        self.add("resource", &[]);
        self.add("context", &[]);
    }

    /// An expression is an object with one key, the operator; its operands are a list or have names.
    fn add_expression(&mut self, expression: &Value) {
        if let Some((variable, attributes)) = access(expression) {
            self.add(variable, &attributes);
            return;
        }
        for (operator, operands) in expression.as_object().into_iter().flatten() {
            // Comparing an entity with another does not look at its attributes.
            let is_comparison = matches!(operator.as_str(), "==" | "!=" | "in" | "is");
            let operands: Vec<&Value> = match operands {
                // A literal holds no expression, though it may look like one.
                _ if operator == "Value" => Vec::new(),
                Value::Object(operands) => operands.values().collect(),
                Value::Array(operands) => operands.iter().collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
            };
            for operand in operands {
                if !(is_comparison && is_entity_variable(operand)) {
                    self.add_expression(operand);
                }
            }
        }
    }

    fn add(&mut self, variable: &str, attributes: &[&str]) {
        match (variable, attributes.split_first()) {
            ("principal", _) => self.agent.add(attributes),
            ("resource", _) => self.tool.add(attributes),
            ("context", Some((&"args", rest))) => self.arguments.add(rest),
            ("context", Some((&"facts", rest))) => self.facts.add(rest),
            ("context", Some((&"session", rest))) => self.session.add(rest),
            ("context", _) => {
                self.arguments = Wanted::All;
                self.facts = Wanted::All;
                self.session = Wanted::All;
            }
            // The action has no attributes.
            _ => {}
        }
    }
}

/// A variable and the attributes that are taken of it, one of the other: `context.facts.hosts`.
fn access(expression: &Value) -> Option<(&str, Vec<&str>)> {
    if let Some(variable) = expression.get("Var") {
        return Some((variable.as_str()?, Vec::new()));
    }
    let operands = expression.get(".").or_else(|| expression.get("has"))?;
    let (variable, mut attributes) = access(operands.get("left")?)?;
    match operands.get("attr")? {
        Value::String(name) => attributes.push(name),
        Value::Array(names) => attributes.extend(names.iter().filter_map(Value::as_str)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    }
    Some((variable, attributes))
}

fn is_entity_variable(expression: &Value) -> bool {
    expression.get("Var").is_some_and(|variable| variable == "principal" || variable == "resource")
}

#[cfg(test)]
mod tests;
