//! Stored secrets: setting, listing and removing them. Nothing here returns a value to anybody but the configuration and
//! the redactor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use octroi_core::config::{SecretUse, is_secret_name};
use octroi_core::redact::LENGTH_MIN;
use octroi_core::{Clock, Principal, Scope, Secret};
use octroi_store::{SecretRecord, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::change::PlannedChange;
use crate::operator_error::OperatorError;
use crate::persistence::{Persistence, SystemSecrets};

/// The longest value of the gateway's, in bytes: the environment of a process takes little more.
const VALUE_MAX: usize = 64 << 10;
/// The longest value of a user's. The redactor searches for all of them, and members must not make it slow.
const USER_VALUE_MAX: usize = 4 << 10;
/// How many secrets a user has at most.
const USER_SECRETS_MAX: usize = 20;

/// The values of all secrets, by owner and name; `None` if one is encrypted with another key.
pub(crate) type SecretValues = Arc<BTreeMap<Scope, BTreeMap<String, Option<Secret>>>>;

/// A stored secret and who refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSecret {
    /// What is stored of it besides its value.
    pub record: SecretRecord,
    /// Where it is referred to.
    pub uses: Vec<SecretUse>,
}

/// The stored secrets of the gateway and its users.
pub struct Secrets {
    persistence: Option<Arc<Persistence>>,
    clock: Clock,
    uses: Mutex<Vec<SecretUse>>,
    /// The same of servers that were added at run time.
    stored_uses: Mutex<Vec<(Scope, SecretUse)>>,
    /// As they were read last.
    values: Mutex<SecretValues>,
    /// Every value of the gateway's since the start: what a server wrote with an old one is redacted as well.
    seen: Mutex<BTreeSet<Secret>>,
    /// The values of users.
    of_users: Mutex<Vec<Secret>>,
    /// Held while a change is under way, so that the next is planned with what it led to.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Secrets {
    pub(crate) fn new(clock: Clock, persistence: Option<Arc<Persistence>>) -> Self {
        Self {
            persistence,
            clock,
            uses: Mutex::default(),
            stored_uses: Mutex::default(),
            values: Mutex::default(),
            seen: Mutex::default(),
            of_users: Mutex::default(),
            changing: Arc::default(),
        }
    }

    /// Remembers who refers to which secret.
    pub fn set_uses(&self, uses: Vec<SecretUse>) {
        *self.uses.lock() = uses;
    }

    /// Remembers which servers that were added at run time refer to which secret of their owner.
    pub(crate) fn set_stored_uses(&self, uses: Vec<(Scope, SecretUse)>) {
        *self.stored_uses.lock() = uses;
    }

    /// The values as they were read last.
    pub(crate) fn values(&self) -> SecretValues {
        Arc::clone(&self.values.lock())
    }

    /// All secrets without their values.
    pub async fn list(&self) -> Result<Vec<ListedSecret>, OperatorError> {
        let records = self.store()?.secrets().await?;
        Ok(records.into_iter().map(|record| self.listed(record)).collect())
    }

    /// What the configuration refers to. The values are redacted from then on.
    pub async fn for_configuration(&self) -> Result<SystemSecrets, OperatorError> {
        let stored = match &self.persistence {
            Some(persistence) => persistence.store().secret_values().await?,
            None => Vec::new(),
        };
        let values = |is_system: bool| {
            let of_kind = stored.iter().filter(move |one| (one.scope == Scope::System) == is_system);
            of_kind.filter_map(|one| one.value.clone())
        };
        self.seen.lock().extend(values(true));
        *self.of_users.lock() = values(false).collect();
        let mut by_scope: BTreeMap<Scope, BTreeMap<String, Option<Secret>>> = BTreeMap::new();
        for one in &stored {
            by_scope.entry(one.scope.clone()).or_default().insert(one.name.clone(), one.value.clone());
        }
        *self.values.lock() = Arc::new(by_scope);
        Ok(SystemSecrets::of(stored))
    }

    /// Every value, for the redactor.
    pub fn redacted(&self) -> Vec<String> {
        let (seen, of_users) = (self.seen.lock(), self.of_users.lock());
        seen.iter().chain(&*of_users).map(|secret| secret.expose().trim().to_owned()).collect()
    }

    /// Sets a secret.
    pub async fn set(
        self: &Arc<Self>,
        scope: Scope,
        name: &str,
        value: Secret,
        by: &Principal,
    ) -> Result<PlannedChange<ListedSecret, OperatorError>, OperatorError> {
        check_name(name)?;
        check_value(&scope, value.expose())?;
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let before = self.find(&scope, name).await?;
        if before.is_none() {
            self.check_count(&scope).await?;
        }
        let subject = json!({"change": "secret_set", "secret": name, "scope": scope.to_string()});
        let revision = before.as_ref().map_or(0, |before| before.revision);
        let after = json!({"revision": revision + 1});
        let (secrets, name, by) = (Arc::clone(self), name.to_owned(), by.id().to_string());
        let before = before.map_or(Value::Null, |before| described(&before));
        Ok(PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            // Before anything can use it.
            match &scope {
                Scope::System => drop(secrets.seen.lock().insert(value.clone())),
                Scope::User(_) => secrets.of_users.lock().push(value.clone()),
            }
            let now_ms = secrets.clock.now_ms();
            let record = secrets.store()?.save_secret(&scope, &name, &value, &by, now_ms).await?;
            Ok(secrets.listed(record))
        }))
    }

    /// Removes a secret. What refers to it keeps it, unless only servers do and they may be left without it.
    pub async fn remove(
        self: &Arc<Self>,
        scope: Scope,
        name: &str,
        is_forced: bool,
    ) -> Result<PlannedChange<ListedSecret, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let unknown = || OperatorError::UnknownSecret(name.to_owned());
        let record = self.find(&scope, name).await?.ok_or_else(unknown)?;
        let before = described(&record);
        let listed = self.listed(record);
        let servers: Vec<String> = listed.uses.iter().filter_map(|one| one.server.clone()).collect();
        if servers.len() < listed.uses.len() || (!servers.is_empty() && !is_forced) {
            let is_elsewhere = servers.len() < listed.uses.len();
            return Err(OperatorError::SecretInUse { name: name.to_owned(), servers, is_elsewhere });
        }
        let subject = json!({"change": "secret_removed", "secret": name, "scope": scope.to_string()});
        let secrets = Arc::clone(self);
        Ok(PlannedChange::new(subject, before, Value::Null, async move {
            let _changing = changing;
            secrets.store()?.remove_secret(&scope, &listed.record.name).await?;
            Ok(listed)
        }))
    }

    async fn check_count(&self, scope: &Scope) -> Result<(), OperatorError> {
        let all = self.store()?.secrets().await?;
        let n_secrets = all.iter().filter(|record| record.scope == *scope).count();
        match scope {
            Scope::User(_) if n_secrets >= USER_SECRETS_MAX => {
                Err(OperatorError::Secret(format!("a user has at most {USER_SECRETS_MAX} secrets")))
            }
            Scope::User(_) | Scope::System => Ok(()),
        }
    }

    async fn find(&self, scope: &Scope, name: &str) -> Result<Option<SecretRecord>, OperatorError> {
        let all = self.store()?.secrets().await?;
        Ok(all.into_iter().find(|record| record.scope == *scope && record.name == name))
    }

    fn listed(&self, record: SecretRecord) -> ListedSecret {
        let is_system = record.scope == Scope::System;
        let refers = |one: &&SecretUse| is_system && one.secret == record.name;
        let stored = self.stored_uses.lock();
        let of_stored =
            stored.iter().filter(|(scope, one)| *scope == record.scope && one.secret == record.name);
        let uses = self.uses.lock();
        let uses = uses.iter().filter(refers).chain(of_stored.map(|(_, one)| one)).cloned().collect();
        ListedSecret { record, uses }
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        self.persistence.as_ref().map(|persistence| &**persistence.store()).ok_or(OperatorError::NoStore)
    }
}

/// A secret in a record.
fn described(record: &SecretRecord) -> Value {
    json!({"revision": record.revision, "updated_by": record.updated_by})
}

fn check_name(name: &str) -> Result<(), OperatorError> {
    if is_secret_name(name) {
        return Ok(());
    }
    // Somebody may have swapped name and value, so what was given is not repeated.
    let rules = "the name of a secret has up to 64 letters, digits, `.`, `_` and `-`, and begins with a letter or a \
                 digit";
    Err(OperatorError::Secret(rules.to_owned()))
}

fn check_value(scope: &Scope, value: &str) -> Result<(), OperatorError> {
    let max = match scope {
        Scope::System => VALUE_MAX,
        Scope::User(_) => USER_VALUE_MAX,
    };
    let problem = if value.trim().chars().count() < LENGTH_MIN {
        format!(
            "a secret has at least {LENGTH_MIN} characters: a shorter one could not be told from other text in logs"
        )
    } else if value.len() > max {
        format!("this secret has at most {} KiB", max >> 10)
    } else if value.contains('\0') {
        "a secret cannot contain a NUL character".to_owned()
    } else {
        return Ok(());
    };
    Err(OperatorError::Secret(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_kept_secret_are_refused_without_being_repeated() {
        let (long, longest) = ("x".repeat(VALUE_MAX + 1), "x".repeat(VALUE_MAX));
        for (value, is_fine) in [
            ("long enough", true),
            (longest.as_str(), true),
            ("-----BEGIN KEY-----\nabc\n", true),
            ("seven77", false),
            ("  seven77  \n", false),
            ("", false),
            ("with a NUL\0", false),
            (long.as_str(), false),
        ] {
            let checked = check_value(&Scope::System, value);
            assert_eq!(checked.is_ok(), is_fine, "{checked:?}");
            let message = checked.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(value.is_empty() || !message.contains(value), "{message}");
        }
        assert!(check_value(&Scope::User("ana".into()), &"x".repeat(USER_VALUE_MAX + 1)).is_err());
        let swapped = check_name("ghp_A1b2 C3d4").unwrap_err().to_string();
        assert!(!swapped.contains("ghp"), "{swapped}");
    }
}
