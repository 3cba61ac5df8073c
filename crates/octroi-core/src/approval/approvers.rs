//! Who may decide about a call, where the rules that ask say it.

use std::collections::BTreeSet;

use crate::principal::{Principal, UserName};

/// Stands for the administrators in a rule.
const ADMINS: &str = "admin";
/// Stands for everybody but the owner of the agent in a rule.
const NOT_OWNER: &str = "not_owner";
/// Between the words of one rule, as it is stored. No name of a user has it.
const SEPARATOR: char = ',';

/// What the rules that ask say about who may decide; all of them have to be met. Without any, the owner of the agent
/// and administrators may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Approvers(BTreeSet<OneOf>);

/// What one rule says.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct OneOf {
    /// Whether administrators may.
    admins: bool,
    /// The users who may. Without any, and without `admins`: whoever may decide without a rule.
    users: BTreeSet<String>,
    /// Whether the owner of the agent may not, also as one of the others.
    not_owner: bool,
}

impl Approvers {
    /// What a rule says: `admin`, `not_owner`, or names of users.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut one = OneOf::default();
        for word in words {
            match word {
                ADMINS => one.admins = true,
                NOT_OWNER => one.not_owner = true,
                name => {
                    let name = UserName::parse(name).map_err(|error| error.to_string())?;
                    one.users.insert(name.to_string());
                }
            }
        }
        if one == OneOf::default() {
            return Err(format!("name somebody: `{ADMINS}`, users, or `{NOT_OWNER}`"));
        }
        Ok(Self(BTreeSet::from([one])))
    }

    /// Whether no rule says anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Also demands what others demand.
    pub fn add(&mut self, others: &Self) {
        self.0.extend(others.0.iter().cloned());
    }

    /// Whether they demand everything that others demand.
    pub fn include(&self, others: &Self) -> bool {
        others.0.is_subset(&self.0)
    }

    /// Whether a person may decide about a call of an agent with this owner.
    pub fn permit(&self, person: &Principal, owner: &str) -> bool {
        let is_owner = **person.user() == *owner;
        let may = |one: &OneOf| {
            let is_meant = match (one.admins, one.users.is_empty()) {
                (false, true) => is_owner || person.is_admin(),
                (admins, _) => (admins && person.is_admin()) || one.users.contains(&**person.user()),
            };
            is_meant && !(one.not_owner && is_owner)
        };
        person.is_person()
            && if self.is_empty() { is_owner || person.is_admin() } else { self.0.iter().all(may) }
    }

    /// Whether the owner of the agent may not decide, so that two people see the call.
    pub fn need_another_person(&self) -> bool {
        self.0.iter().any(|one| one.not_owner)
    }

    /// Whether a rule names this user.
    pub fn name(&self, user: &str) -> bool {
        self.0.iter().any(|one| one.users.contains(user))
    }

    /// The users that rules name.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|one| &one.users).map(String::as_str)
    }

    /// Each rule as one text, to be stored.
    pub fn to_words(&self) -> Vec<String> {
        self.0.iter().map(OneOf::words).collect()
    }

    /// Reads what was stored.
    pub fn of_words(words: &[String]) -> Option<Self> {
        let mut all = Self::default();
        for one in words {
            all.add(&Self::parse(one.split(SEPARATOR)).ok()?);
        }
        Some(all)
    }

    /// Who may decide, as the subject of a sentence; `None` without a rule.
    pub fn describe(&self) -> Option<String> {
        let all: Vec<String> = self.0.iter().map(OneOf::describe).collect();
        (!all.is_empty()).then(|| all.join(", if they are also "))
    }
}

impl OneOf {
    fn words(&self) -> String {
        let mut words: Vec<&str> = self.users.iter().map(String::as_str).collect();
        words.extend(self.admins.then_some(ADMINS));
        words.extend(self.not_owner.then_some(NOT_OWNER));
        words.join(&SEPARATOR.to_string())
    }

    fn describe(&self) -> String {
        let mut some: Vec<String> = self.users.iter().map(|user| format!("`{user}`")).collect();
        if self.admins || some.is_empty() {
            some.push("an administrator".to_owned());
        }
        let some = some.join(" or ");
        if self.not_owner { format!("{some} who does not own the agent") } else { some }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{TokenName, UserRole};

    fn approvers(rules: &[&str]) -> Approvers {
        let words: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        Approvers::of_words(&words).unwrap()
    }

    #[test]
    fn all_rules_have_to_be_met() {
        let person = |name, role| Principal::person(name, role, TokenName::labelled("t"));
        let people = [
            person("ana", UserRole::Member),
            person("bob", UserRole::Member),
            person("root", UserRole::Admin),
            person("boss", UserRole::Admin),
        ];
        // The agent is ana's first, and then root's.
        for (rules, of_ana, of_root) in [
            (&[][..], "ana root boss", "root boss"),
            (&["admin"], "root boss", "root boss"),
            (&["not_owner"], "root boss", "boss"),
            (&["bob"], "bob", "bob"),
            (&["ana"], "ana", "ana"),
            (&["ana,not_owner"], "", "ana"),
            (&["ana,bob,admin"], "ana bob root boss", "ana bob root boss"),
            (&["admin", "not_owner"], "root boss", "boss"),
            (&["bob", "admin"], "", ""),
            (&["bob", "ana,bob"], "bob", "bob"),
        ] {
            for (owner, expected) in [("ana", of_ana), ("root", of_root)] {
                let may = people.iter().filter(|person| approvers(rules).permit(person, owner));
                let names: Vec<&str> = may.map(|person| &**person.user()).collect();
                assert_eq!(names.join(" "), expected, "{rules:?} {owner}");
            }
            let agent = Principal::agent("coder", "ana", TokenName::labelled("t"));
            assert!(!approvers(rules).permit(&agent, "ana"), "no agent decides");
        }
    }

    #[test]
    fn what_is_stored_is_read_again() {
        for rules in [&[][..], &["admin"], &["not_owner"], &["ana,bob,admin,not_owner"], &["ana", "admin"]] {
            assert_eq!(approvers(rules).to_words(), rules);
        }
        for wrong in ["", "Ana", "ana,", "a b"] {
            assert_eq!(Approvers::of_words(&[wrong.to_owned()]), None, "{wrong}");
        }
    }

    #[test]
    fn they_are_named() {
        for (rules, expected) in [
            (&[][..], None),
            (&["admin"], Some("an administrator")),
            (&["not_owner"], Some("an administrator who does not own the agent")),
            (&["ana,bob"], Some("`ana` or `bob`")),
            (&["ana,admin,not_owner"], Some("`ana` or an administrator who does not own the agent")),
            (&["admin", "bob"], Some("`bob`, if they are also an administrator")),
        ] {
            assert_eq!(approvers(rules).describe().as_deref(), expected, "{rules:?}");
        }
    }

    #[test]
    fn stricter_ones_include_others() {
        assert!(approvers(&["admin", "ana"]).include(&approvers(&["ana"])));
        assert!(approvers(&["ana"]).include(&approvers(&[])));
        assert!(!approvers(&[]).include(&approvers(&["ana"])));
        assert!(!approvers(&["ana,bob"]).include(&approvers(&["ana"])));
    }
}
