//! A rule as one plain sentence, for people who do not read TOML.

use std::fmt::{Display, Write as _};

use serde_json::Value;

use super::predicate::{ArgumentTest, FACT_NAMES, FactTest, Test};
use super::rule::{Rule, Word};
use crate::time::show_time;
use crate::tool::Risk;

impl Rule {
    /// The effect of the rule, the calls it matches, and its reason.
    pub fn sentence(&self) -> String {
        let word = match self.word {
            Word::Allow => "allow",
            Word::Ask => "require approval for",
            Word::Deny => "deny",
            Word::Abort => "deny, and stop the agent for,",
        };
        let mut text = format!("{}: {word} {}", self.name, self.calls());
        let mut conditions: Vec<String> = self.arguments.iter().map(of_argument).collect();
        conditions.extend(self.facts.iter().map(of_fact));
        if !conditions.is_empty() {
            let _ = write!(text, ", if {}", conditions.join(" and "));
        }
        if let Some(until) = self.until_ms {
            let _ = write!(text, ", until {}", show_time(until));
        }
        if let Some(reason) = &self.reason {
            let _ = write!(text, " ({reason})");
        }
        text
    }

    /// The calls it matches, by caller and by properties of the tool.
    fn calls(&self) -> String {
        let is_every = self.tools.iter().any(|tool| tool.server.is_anything() && tool.tool.is_anything());
        let mut text = if is_every {
            "every tool".to_owned()
        } else {
            let names: Vec<String> = self.tools.iter().map(|tool| format!("`{tool}`")).collect();
            names.join(" or ")
        };
        match (self.min_risk, self.max_risk) {
            (Risk::Low, Risk::Critical) => {}
            (min, max) if min == max => {
                let _ = write!(text, " of {min} risk");
            }
            (Risk::Low, max) => {
                let _ = write!(text, " of {max} risk or less");
            }
            (min, Risk::Critical) => {
                let _ = write!(text, " of {min} risk or more");
            }
            (min, max) => {
                let _ = write!(text, " of {min} to {max} risk");
            }
        }
        if !self.side_effects.is_empty() {
            let only = if self.word == Word::Allow { "no side effects but" } else { "the side effect" };
            let _ = write!(text, " with {only} {}", globs(&self.side_effects));
        }
        if !self.agents.is_empty() {
            let _ = write!(text, " called by {}", globs(&self.agents));
        }
        text
    }
}

fn of_argument(test: &ArgumentTest) -> String {
    format!("argument `{}` {}", test.path.join("."), of(&test.test))
}

fn of_fact(test: &FactTest) -> String {
    let name = FACT_NAMES.iter().find(|(_, fact)| *fact == test.fact).map_or("", |(name, _)| name);
    match &test.test {
        Test::Present(true) if test.fact.is_set() => format!("fact `{name}` holds anything"),
        Test::Present(false) if test.fact.is_set() => format!("fact `{name}` holds nothing"),
        test => format!("fact `{name}` {}", of(test)),
    }
}

fn of(test: &Test) -> String {
    match test {
        Test::Patterns(patterns) => {
            format!("is like {}", globs(patterns))
        }
        Test::Values(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            format!("is {}", values.join(" or "))
        }
        Test::Range { min: Some(min), max: Some(max) } => format!("is from {min} to {max}"),
        Test::Range { min: Some(min), max: None } => format!("is {min} or more"),
        Test::Range { min: None, max: Some(max) } => format!("is {max} or less"),
        Test::Range { min: None, max: None } => "is a number".to_owned(),
        Test::Present(true) => "is there".to_owned(),
        Test::Present(false) => "is not there".to_owned(),
        Test::Any(tests) => tests.iter().map(of).collect::<Vec<_>>().join(" or "),
        Test::Not(inner) => format!("does not fit ({})", of(inner)),
    }
}

fn globs<T: Display>(globs: &[T]) -> String {
    globs.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::super::Document;

    fn sentences(source: &str) -> String {
        let document = Document::parse(source).expect("a policy");
        document.rules.iter().map(|rule| rule.sentence() + "\n").collect()
    }

    #[test]
    fn rules_as_sentences() {
        let source = r#"
            [[deny]]
            tool = "*"
            facts = { secrets = true }

            [[deny]]
            id = "no-etc"
            tool = ["files.write_*", "files.move"]
            abort = true
            args = { path = "/etc/*", "options.force" = { not = false } }
            reason = "the system stays as it is"

            [[ask]]
            tool = "db.*"
            agent = "ci-*"
            min_risk = "high"
            side_effects = ["db.write", "db.delete"]
            args = { rows = { min = 10, max = 100 }, table = ["users", "keys"] }

            [[ask]]
            tool = "db.query"
            min_risk = "medium"
            max_risk = "high"
            facts = { calls_last_minute = { min = 30 }, hosts = false }

            [[allow]]
            tool = "files.*"
            max_risk = "low"
            side_effects = "fs.read"
            until = 2027-01-31
        "#;
        expect_test::expect![[r"
            deny[1]: deny every tool, if fact `secrets` holds anything
            no-etc: deny, and stop the agent for, `files.write_*` or `files.move`, if argument `options.force` does not fit (is false) and argument `path` is like `/etc/*` (the system stays as it is)
            ask[1]: require approval for `db.*` of high risk or more with the side effect `db.write` or `db.delete` called by `ci-*`, if argument `rows` is from 10 to 100 and argument `table` is like `users` or is like `keys`
            ask[2]: require approval for `db.query` of medium to high risk, if fact `calls_last_minute` is 30 or more and fact `hosts` holds nothing
            allow[1]: allow `files.*` of low risk with no side effects but `fs.read`, until 2027-01-31T00:00:00.000Z
        "]]
        .assert_eq(&sentences(source));
    }

    #[test]
    fn the_servers_that_a_policy_names() {
        let source = "[[deny]]\ntool = [\"files.*\", \"db.query\", \"*.delete\"]\n[[allow]]\ntool = \"*\"";
        let document = Document::parse(source).expect("a policy");
        assert_eq!(document.servers().into_iter().collect::<Vec<_>>(), ["db", "files"]);
    }
}
