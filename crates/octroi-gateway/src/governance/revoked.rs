//! Tokens that were taken away while calls of theirs may still wait.

use std::collections::HashMap;
use std::sync::Arc;

use octroi_core::{Principal, Tokens};
use parking_lot::Mutex;

/// When tokens were last taken away, by the id of their principal and their label.
#[derive(Debug, Default)]
pub(super) struct Revoked {
    at_ms: Mutex<HashMap<TokenName, i64>>,
}

/// The id of a principal, and the label of a token.
type TokenName = (Arc<str>, Arc<str>);

impl Revoked {
    /// Notes the tokens that the new set does not contain any more.
    pub(super) fn note(&self, before: &Tokens, after: &Tokens, now_ms: i64) {
        let mut at_ms = self.at_ms.lock();
        for Principal { id, token, .. } in before.owners_of_missing(after) {
            at_ms.insert((Arc::clone(id), Arc::clone(token)), now_ms);
        }
    }

    /// Whether a token with this label was taken away from the principal then or later.
    pub(super) fn is_since(&self, principal: &Principal, since_ms: i64) -> bool {
        let key = (Arc::clone(&principal.id), Arc::clone(&principal.token));
        self.at_ms.lock().get(&key).is_some_and(|at_ms| *at_ms >= since_ms)
    }
}

#[cfg(test)]
mod tests {
    use octroi_core::principal::hash_token;

    use super::*;

    #[test]
    fn a_call_that_waited_for_a_token_ends_with_it() {
        let of = |words: &[&str]| {
            let mut tokens = Tokens::default();
            for word in words {
                tokens.insert(hash_token(word), Principal::local());
            }
            tokens
        };
        let (local, other) = (Principal::local(), Principal::default_agent());
        let revoked = Revoked::default();
        revoked.note(&of(&[]), &of(&["old"]), 10);
        revoked.note(&of(&["old"]), &of(&["old"]), 20);
        assert!(!revoked.is_since(&local, 5));
        // Another token in its place makes the old one no better.
        revoked.note(&of(&["old"]), &of(&["new"]), 30);
        assert!(revoked.is_since(&local, 5) && revoked.is_since(&local, 30));
        assert!(!revoked.is_since(&local, 31) && !revoked.is_since(&other, 5));
    }
}
