//! Names of arguments that can be taken for those that rules test.

use serde_json::Value;

use super::document::Document;
use super::rule::Rule;
use crate::tool::ToolDescriptor;

impl Document {
    /// What is wrong with the names of arguments, if one can be taken for another that a rule for this tool tests.
    /// Names of the tool's own schema are what they are.
    pub(super) fn name_complaint(
        &self,
        tool: &ToolDescriptor,
        arguments: &Value,
        is_of_schema: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        if self.names.is_empty() {
            return None;
        }
        let tests = |rule: &Rule, known: &str| rule.argument_names().any(|name| name == known);
        self.names.complaint(arguments, &|name, known| {
            !is_of_schema(name) && self.rules.iter().any(|rule| tests(rule, known) && rule.concerns(tool))
        })
    }
}
