//! Sign-ins to the approval page.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use octroi_core::principal::TokenHash;
use parking_lot::Mutex;

/// How long a sign-in lasts.
const TICKET_LIFE: Duration = Duration::from_mins(10);
/// More than people need at once. When it is reached, the oldest ticket is dropped.
const TICKETS_MAX: usize = 1_000;

/// One-time rights to decide one approval each, for people who presented a token.
#[derive(Default)]
pub(crate) struct Tickets {
    issued: Mutex<HashMap<String, Ticket>>,
}

struct Ticket {
    approval: String,
    /// The token it was issued for. Checked again on use, so that revoking a token revokes its tickets.
    token: TokenHash,
    /// The masked values that were revealed to this person. Kept here, so that a form cannot claim more.
    revealed: Vec<String>,
    issued: Instant,
}

/// What a ticket was issued for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Redeemed {
    pub(crate) token: TokenHash,
    pub(crate) revealed: Vec<String>,
}

impl Tickets {
    pub(crate) fn issue(&self, approval: &str, person: Redeemed, now: Instant) -> Option<String> {
        let name = random()?;
        let mut issued = self.issued.lock();
        issued.retain(|_, ticket| now.duration_since(ticket.issued) < TICKET_LIFE);
        if issued.len() >= TICKETS_MAX {
            let oldest = issued.iter().min_by_key(|(_, ticket)| ticket.issued).map(|(name, _)| name.clone());
            oldest.and_then(|name| issued.remove(&name));
        }
        let Redeemed { token, revealed } = person;
        issued.insert(name.clone(), Ticket { approval: approval.to_owned(), token, revealed, issued: now });
        Some(name)
    }

    /// Uses up a ticket, if it is for this approval.
    pub(crate) fn redeem(&self, name: &str, approval: &str, now: Instant) -> Option<Redeemed> {
        let mut issued = self.issued.lock();
        issued.get(name).filter(|ticket| ticket.approval == approval)?;
        let ticket = issued.remove(name)?;
        (now.duration_since(ticket.issued) < TICKET_LIFE)
            .then_some(Redeemed { token: ticket.token, revealed: ticket.revealed })
    }
}

/// A random text that cannot be guessed.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_for_one_decision_about_one_approval_and_does_not_last() {
        let tickets = Tickets::default();
        let now = octroi_gateway::system_clock().instant();
        let person = || Redeemed { token: [7; 32], revealed: vec!["/a".to_owned()] };
        let ticket = tickets.issue("ap_1", person(), now).unwrap();
        assert_eq!(tickets.redeem("", "ap_1", now), None);
        assert_eq!(tickets.redeem(&ticket, "ap_2", now), None);
        assert_eq!(tickets.redeem(&ticket, "ap_1", now), Some(person()));
        assert_eq!(tickets.redeem(&ticket, "ap_1", now), None, "once");
        let ticket = tickets.issue("ap_1", person(), now).unwrap();
        assert_eq!(tickets.redeem(&ticket, "ap_1", now + TICKET_LIFE), None);
        for _ in 0..TICKETS_MAX + 10 {
            tickets.issue("ap_1", person(), now).unwrap();
        }
        assert_eq!(tickets.issued.lock().len(), TICKETS_MAX);
    }
}
