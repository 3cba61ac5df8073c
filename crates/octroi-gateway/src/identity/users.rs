//! Adding, changing, inviting and removing users.

use std::sync::Arc;
use std::time::Duration;

use octroi_api::ResourceChange;
use octroi_core::principal::{BUILT_IN_ADMIN, TokenHash, TokenKind, UserName, hash_token};
use octroi_core::time::show_time;
use octroi_core::{Principal, UserRole};
use octroi_store::{Invitation, UserRecord};
use serde_json::{Value, json};

use super::snapshot::{KnownUser, UserOrigin};
use super::tokens::{CreatedToken, TokenRequest, TokenSubject, described as described_token, milliseconds, new_token};
use super::Identity;
use crate::change::PlannedChange;
use crate::operator_error::OperatorError;

/// How many random bytes the code of an invitation has.
const CODE_BYTES: usize = 24;

/// A change of a user; fields that are `None` stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// What the user may do.
    pub role: Option<UserRole>,
    /// Whether the user, and everything the user owns, is locked out.
    pub is_disabled: Option<bool>,
}

/// A new invitation. Its code is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedInvitation {
    /// The code, for the link.
    pub code: String,
    /// The user.
    pub user: String,
    /// When it ends.
    pub expires_at_ms: i64,
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

    /// Removes a user with the user's tokens and agents.
    pub async fn remove_user(
        self: &Arc<Self>,
        name: &str,
    ) -> Result<PlannedChange<KnownUser, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let known = self.changeable_user(name)?;
        if self.sources.lock().is_configured(name) {
            return Err(OperatorError::UserInFile(known.name));
        }
        let agents = self.sources.lock().agents_of(name);
        let before = json!({"role": known.role.as_str(), "disabled": known.is_disabled, "agents": agents});
        let subject = json!({"change": "user_removed", "user": known.name});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, before, Value::Null, async move {
            let _changing = changing;
            identity.store()?.remove_user(&known.name).await?;
            identity.users_changed().await?;
            Ok(known)
        }))
    }

    /// Makes an invitation: whoever opens its link first gets the first token of the user.
    pub async fn invite(
        self: &Arc<Self>,
        name: &str,
        expires_in: Duration,
        by: &Principal,
    ) -> Result<PlannedChange<CreatedInvitation, OperatorError>, OperatorError> {
        let known = self.user(name).ok_or_else(|| OperatorError::UnknownUser(name.to_owned()))?;
        if known.is_disabled {
            return Err(OperatorError::User(format!("`{name}` is disabled")));
        }
        let mut bytes = [0_u8; CODE_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| OperatorError::NoRandom)?;
        let code = hex::encode(bytes);
        let now_ms = self.clock.now_ms();
        let invitation = Invitation {
            hash: hash_token(&code),
            user: known.name.clone(),
            created_at_ms: now_ms,
            created_by: by.id().to_string(),
            expires_at_ms: now_ms.saturating_add(milliseconds(expires_in)),
        };
        let after = json!({"expires": show_time(invitation.expires_at_ms)});
        let subject = json!({"change": "user_invited", "user": known.name});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, Value::Null, after, async move {
            identity.store()?.add_invitation(&invitation).await?;
            let Invitation { user, expires_at_ms, .. } = invitation;
            Ok(CreatedInvitation { code, user, expires_at_ms })
        }))
    }

    /// The user whom the code of an invitation is for, if it is valid.
    pub async fn invited(&self, code: &str) -> Result<Option<String>, OperatorError> {
        let found = self.store()?.invitation(&hash_token(code), self.clock.now_ms()).await?;
        let user = found.map(|invitation| invitation.user);
        Ok(user.filter(|user| self.user(user).is_some_and(|user| !user.is_disabled)))
    }

    /// Uses up an invitation: makes a token for its user. Of several attempts one succeeds.
    pub async fn accept_invitation(
        self: &Arc<Self>,
        code: &str,
    ) -> Result<PlannedChange<CreatedToken, OperatorError>, OperatorError> {
        let user = self.invited(code).await?.ok_or(OperatorError::NoInvitation)?;
        let token = new_token(TokenKind::Human)?;
        let request =
            TokenRequest { subject: TokenSubject::Person(user.clone()), label: None, expires_in: None };
        let record = self.record_of(&token, request, &user)?;
        let hash: TokenHash = hash_token(code);
        let subject = json!({"change": "invitation_accepted", "user": user, "token": record.id});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, Value::Null, described_token(&record), async move {
            if !identity.store()?.accept_invitation(&hash, &record).await? {
                return Err(OperatorError::NoInvitation);
            }
            identity.tokens_changed().await?;
            Ok(CreatedToken { token, record })
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

    async fn users_changed(&self) -> Result<(), OperatorError> {
        self.reread().await?;
        self.subscriptions.announce(&ResourceChange::Users);
        Ok(())
    }
}

/// A user in a record of a change.
fn described(record: &UserRecord) -> Value {
    json!({"role": record.role.as_str(), "disabled": record.is_disabled})
}
