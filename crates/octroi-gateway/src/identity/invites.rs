//! Invitations: links that people exchange for their first token.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::principal::{NewToken, TokenHash, TokenKind, TokenName, UserName};
use octroi_core::time::show_time;
use octroi_core::{Principal, UserRole};
use octroi_store::{InviteRecord, UserRecord};
use serde_json::{Value, json};

use super::tokens::{described, milliseconds, new_token};
use super::{CreatedToken, Identity, KnownUser, TokenRequest, TokenSubject};
use crate::change::PlannedChange;
use crate::operator_error::OperatorError;

/// A new invitation. Its code is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Whom it is for.
    pub user: KnownUser,
    /// The code in the link.
    pub code: NewToken,
    /// When it ends.
    pub expires_at_ms: i64,
}

impl Identity {
    /// Invites a user, who is added unless there is one of this name. Earlier invitations of the user end.
    pub async fn invite_user(
        self: &Arc<Self>,
        name: &str,
        role: Option<UserRole>,
        expires_in: Duration,
        by: &Principal,
    ) -> Result<PlannedChange<Invitation, OperatorError>, OperatorError> {
        let name = UserName::parse(name).map_err(|error| OperatorError::User(error.to_string()))?;
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let known = self.user(name.as_str());
        match &known {
            Some(user) if user.is_disabled => {
                return Err(OperatorError::User(format!("`{name}` is locked out")));
            }
            Some(user) if role.is_some_and(|role| role != user.role) => {
                let role = user.role.as_str();
                return Err(OperatorError::User(format!(
                    "there is a user `{name}` already, with the role {role}"
                )));
            }
            Some(_) | None => {}
        }
        let (now_ms, by) = (self.clock.now_ms(), by.id().to_string());
        let new_user = known.is_none().then(|| UserRecord {
            name: name.to_string(),
            role: role.unwrap_or(UserRole::Member),
            is_disabled: false,
            created_at_ms: now_ms,
            created_by: by.clone(),
        });
        let code = NewToken::invitation(getrandom::fill).map_err(|_| OperatorError::NoRandom)?;
        let invite = InviteRecord {
            id: code.id.clone(),
            hash: code.hash(),
            user: name.to_string(),
            created_at_ms: now_ms,
            created_by: by,
            expires_at_ms: now_ms.saturating_add(milliseconds(expires_in)),
            used_at_ms: None,
        };
        let subject = json!({"change": "user_invited", "user": invite.user, "invite": invite.id});
        let before = known.as_ref().map_or(Value::Null, |user| json!({"role": user.role.as_str()}));
        let role = known.map_or(role.unwrap_or(UserRole::Member), |user| user.role);
        let after = json!({"role": role.as_str(), "expires": show_time(invite.expires_at_ms)});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            if let Some(user) = &new_user {
                identity.store()?.save_user(user).await?;
            }
            identity.store()?.save_invite(&invite).await?;
            identity.users_changed().await?;
            let user = identity.user(&invite.user).ok_or(OperatorError::UnknownUser(invite.user))?;
            Ok(Invitation { user, code, expires_at_ms: invite.expires_at_ms })
        }))
    }

    /// Exchanges the code of an invitation for a token; returns who exchanges it, too. An unknown, used and expired
    /// code, and one of a user who is locked out, all look the same.
    pub async fn accept_invite(
        self: &Arc<Self>,
        code: &TokenHash,
    ) -> Result<(Principal, PlannedChange<CreatedToken, OperatorError>), OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let now_ms = self.clock.now_ms();
        let invite = self.store()?.invite(code).await?;
        let invite = invite.filter(|invite| invite.used_at_ms.is_none() && now_ms < invite.expires_at_ms);
        let invite = invite.ok_or(OperatorError::UnknownInvite)?;
        let user = self.user(&invite.user).filter(|user| !user.is_disabled);
        let user = user.ok_or(OperatorError::UnknownInvite)?;
        let token = new_token(TokenKind::Human)?;
        let subject = TokenSubject::Person(user.name.clone());
        let request = TokenRequest { subject, label: None, expires_in: None };
        let record = self.record_of(&token, request, &user.name)?;
        let name = TokenName { id: invite.id.as_str().into(), label: "invitation".into() };
        let by = Principal::person(&user.name, user.role, name);
        let subject = json!({
            "change": "invitation_accepted", "user": user.name, "invite": invite.id, "token": record.id,
            "invited_by": invite.created_by,
        });
        let created = CreatedToken { token, record: record.clone() };
        let identity = Arc::clone(self);
        let change = PlannedChange::new(subject, Value::Null, described(&record), async move {
            let _changing = changing;
            if !identity.store()?.use_invite(&invite.id, &record, now_ms).await? {
                return Err(OperatorError::UnknownInvite);
            }
            identity.tokens_changed().await?;
            Ok(created)
        });
        Ok((by, change))
    }
}
