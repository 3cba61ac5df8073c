//! Users and tokens in a snapshot. Of a token there is only its hash, so that nobody gets in by reading the log.

use octroi_core::UserRole;
use octroi_core::principal::TokenKind;
use octroi_store::{BrowserRecord, TokenRecord, UserRecord};

use super::SnapshotItem;

/// A user to remember.
pub(super) fn user_item(user: UserRecord) -> SnapshotItem {
    let UserRecord { name, role, is_disabled, created_at_ms: at_ms, created_by: by } = user;
    SnapshotItem::User { name, role: role.as_str().to_owned(), disabled: is_disabled, at_ms, by }
}

/// The user of an item; `None` for other items, and if it cannot be read.
pub(super) fn user_record(item: SnapshotItem) -> Option<UserRecord> {
    let SnapshotItem::User { name, role, disabled, at_ms, by } = item else { return None };
    let role = UserRole::parse(&role)?;
    Some(UserRecord { name, role, is_disabled: disabled, created_at_ms: at_ms, created_by: by })
}

/// A token to remember. One that was revoked and would have expired is not: nobody accepts it as a token of the data
/// directory, and one that is not known is refused as well.
pub(super) fn token_item(token: TokenRecord) -> Option<SnapshotItem> {
    let TokenRecord {
        id,
        hash,
        kind,
        user,
        agent,
        session,
        label,
        created_at_ms: at_ms,
        created_by: by,
        expires_at_ms,
        // It would make another snapshot every minute.
        last_used_at_ms: _,
        revoked,
        replaced_by,
        browser,
    } = token;
    if revoked.is_some() && expires_at_ms.is_some() {
        return None;
    }
    let (revoked_at_ms, revoked_by) = revoked.unzip();
    let browser = browser.map(|browser| (hex::encode(browser.key), browser.signed_in_with));
    let (browser_key, signed_in_with) = browser.unzip();
    Some(SnapshotItem::Token {
        id,
        hash: hex::encode(hash),
        kind: kind.as_str().to_owned(),
        user,
        agent,
        session,
        label,
        at_ms,
        by,
        expires_at_ms,
        revoked_at_ms,
        revoked_by,
        replaced_by,
        browser_key,
        signed_in_with,
    })
}

/// The token of an item; `None` for other items, and if it cannot be read.
pub(super) fn token_record(item: SnapshotItem) -> Option<TokenRecord> {
    let SnapshotItem::Token {
        id,
        hash: digits,
        kind,
        user,
        agent,
        session,
        label,
        at_ms,
        by,
        expires_at_ms,
        revoked_at_ms,
        revoked_by,
        replaced_by,
        browser_key,
        signed_in_with,
    } = item
    else {
        return None;
    };
    let mut hash = [0; 32];
    hex::decode_to_slice(digits, &mut hash).ok()?;
    let browser = match browser_key.zip(signed_in_with) {
        Some((digits, signed_in_with)) => {
            let mut key = [0; 32];
            hex::decode_to_slice(digits, &mut key).ok()?;
            Some(BrowserRecord { key, signed_in_with })
        }
        None => None,
    };
    Some(TokenRecord {
        id,
        hash,
        kind: TokenKind::parse(&kind)?,
        user,
        agent,
        session,
        label,
        created_at_ms: at_ms,
        created_by: by,
        expires_at_ms,
        last_used_at_ms: None,
        revoked: revoked_at_ms.map(|at_ms| (at_ms, revoked_by.unwrap_or_default())),
        replaced_by,
        browser,
    })
}
