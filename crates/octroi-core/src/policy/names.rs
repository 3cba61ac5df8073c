//! Names of arguments that a lenient server takes for those that rules test.

use serde_json::Value;

use super::Document;
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
        self.names.complaint(arguments, &|name, known| {
            let positions = self.rules_by_argument.get(known).into_iter().flatten();
            let mut rules = positions.filter_map(|position| self.rules.get(*position));
            !is_of_schema(name) && rules.any(|rule| rule.concerns(tool))
        })
    }
}
