//! Adding, changing and removing users.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::principal::{BUILT_IN_ADMIN, UserName};
use octroi_core::{Principal, UserRole};
use octroi_store::UserRecord;
use serde_json::{Value, json};

use super::Identity;
use super::snapshot::{KnownUser, UserOrigin};
use crate::change::PlannedChange;
use crate::operator_error::OperatorError;

/// A change of a user; fields that are `None` stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// What the user may do.
    pub role: Option<UserRole>,
    /// Whether the user, and everything the user owns, is locked out.
    pub is_disabled: Option<bool>,
}

impl Identity {
    /// Adds a user.
    pub async fn add_user(
        self: &Arc<Self>,
        name: &str,
        role: UserRole,
        by: &Principal,
    ) -> Result<PlannedChange<KnownUser, OperatorError>, OperatorError> {
        let name = UserName::parse(name).map_err(|error| OperatorError::User(error.to_string()))?;
        let changing = Arc::clone(&self.changing).lock_owned().await;
        if self.user(name.as_str()).is_some() {
            return Err(OperatorError::UserExists(name.to_string()));
        }
        let record = UserRecord {
            name: name.to_string(),
            role,
            is_disabled: false,
            created_at_ms: self.clock.now_ms(),
            created_by: by.id().to_string(),
        };
        let subject = json!({"change": "user_added", "user": record.name});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, Value::Null, described(&record), async move {
            let _changing = changing;
            identity.save_user(record).await
        }))
    }

    /// Changes what a user may do, or locks a user out.
    pub async fn change_user(
        self: &Arc<Self>,
        name: &str,
        change: UserChange,
        by: &Principal,
    ) -> Result<PlannedChange<KnownUser, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let known = self.changeable_user(name)?;
        if known.origin == UserOrigin::Configuration && change.role.is_some() {
            return Err(OperatorError::UserInFile(known.name));
        }
        let created = match &known.origin {
            UserOrigin::Added { at_ms, by } => (*at_ms, by.clone()),
            UserOrigin::BuiltIn | UserOrigin::Configuration => (self.clock.now_ms(), by.id().to_string()),
        };
        let before = UserRecord {
            name: known.name,
            role: known.role,
            is_disabled: known.is_disabled,
            created_at_ms: created.0,
            created_by: created.1,
        };
        let after = UserRecord {
            role: change.role.unwrap_or(before.role),
            is_disabled: change.is_disabled.unwrap_or(before.is_disabled),
            ..before.clone()
        };
        let subject = json!({"change": "user_changed", "user": before.name});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, described(&before), described(&after), async move {
            let _changing = changing;
            identity.save_user(after).await
        }))
    }

    /// Removes a user with the user's tokens and agents. The ids of the agents stay reserved.
    pub async fn remove_user(
        self: &Arc<Self>,
        name: &str,
        by: &Principal,
    ) -> Result<PlannedChange<KnownUser, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let known = self.changeable_user(name)?;
        if self.sources.lock().is_configured(name) {
            return Err(OperatorError::UserInFile(known.name));
        }
        let agents = self.sources.lock().agents_of(name);
        let before = json!({"role": known.role.as_str(), "disabled": known.is_disabled, "agents": agents});
        let subject = json!({"change": "user_removed", "user": known.name});
        let (identity, by) = (Arc::clone(self), by.id().to_string());
        Ok(PlannedChange::new(subject, before, Value::Null, async move {
            let _changing = changing;
            identity.store()?.remove_user(&known.name, &by, identity.clock.now_ms()).await?;
            identity.users_changed().await?;
            Ok(known)
        }))
    }

    fn changeable_user(&self, name: &str) -> Result<KnownUser, OperatorError> {
        let known = self.user(name).ok_or_else(|| OperatorError::UnknownUser(name.to_owned()))?;
        if known.name == BUILT_IN_ADMIN {
            return Err(OperatorError::User(format!(
                "`{BUILT_IN_ADMIN}` always exists and stays an administrator"
            )));
        }
        Ok(known)
    }

    async fn save_user(&self, record: UserRecord) -> Result<KnownUser, OperatorError> {
        self.store()?.save_user(&record).await?;
        self.users_changed().await?;
        self.user(&record.name).ok_or(OperatorError::UnknownUser(record.name))
    }

    pub(super) async fn users_changed(&self) -> Result<(), OperatorError> {
        self.reread().await?;
        self.subscriptions.announce(&ResourceChange::Users);
        Ok(())
    }
}

/// A user in a record of a change.
fn described(record: &UserRecord) -> Value {
    json!({"role": record.role.as_str(), "disabled": record.is_disabled})
}
