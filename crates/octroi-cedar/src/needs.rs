//! Which attributes policies use, so that nothing else is built for a call.

use std::collections::BTreeSet;

use serde_json::Value;

/// Which parts of a record are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsedParts {
    /// Only these, possibly none.
    Only(BTreeSet<String>),
    /// The record as a whole.
    All,
}

impl UsedParts {
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

impl Default for UsedParts {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

/// The attributes that a set of policies uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) agent: UsedParts,
    pub(crate) tool: UsedParts,
    pub(crate) arguments: UsedParts,
    pub(crate) facts: UsedParts,
    pub(crate) session: UsedParts,
}

impl Needs {
    /// Adds the attributes that a policy in Cedar's JSON form uses.
    pub(crate) fn add_policy(&mut self, policy: &Value) {
        for condition in policy["conditions"].as_array().into_iter().flatten() {
            self.add_expression(&condition["body"]);
        }
    }

    /// Adds everything, for a policy that cannot be analysed.
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
            // Comparing an entity with another does not read its attributes.
            let is_comparison = matches!(operator.as_str(), "==" | "!=" | "in" | "is");
            let operands: Vec<&Value> = match operands {
                // A literal contains no expression, though it may look like one.
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
                self.arguments = UsedParts::All;
                self.facts = UsedParts::All;
                self.session = UsedParts::All;
            }
            // The action has no attributes.
            _ => {}
        }
    }
}

/// A variable and the attribute path read from it: `context.facts.hosts`.
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
