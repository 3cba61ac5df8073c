//! Who may decide about a call, as rules that ask say it.

use super::{Document, Reading};
use crate::approval::Approvers;
use crate::call::Call;
use crate::policy::rule::Word;
use crate::syntax::Map;

impl Document {
    /// What all rules that ask about a call say about who may decide. A rule that is written before another does not
    /// hide it.
    pub fn approvers(&self, call: &Call<'_>) -> Approvers {
        let mut approvers = Approvers::default();
        for place in self.index.positions(call.tool, call.arguments) {
            let asking = self.rules.get(place).filter(|rule| rule.word == Word::Ask);
            if let Some(rule) = asking.filter(|rule| !rule.approvers.is_empty() && rule.matches(call)) {
                approvers.add(&rule.approvers);
            }
        }
        approvers
    }
}

impl Reading {
    pub(super) fn approvers(&mut self, map: &Map) -> Approvers {
        let Some(node) = map.get("approvers") else { return Approvers::default() };
        let words = self.texts(map, "approvers");
        match Approvers::parse(words.iter().map(String::as_str)) {
            Ok(approvers) => approvers,
            Err(error) => {
                self.wrong(&node.origin, format!("`approvers`: {error}"));
                Approvers::default()
            }
        }
    }
}
