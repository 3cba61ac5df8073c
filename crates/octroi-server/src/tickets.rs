//! Who has signed in to the page about an approval.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use octroi_core::principal::TokenHash;
use parking_lot::Mutex;

/// How long a person may look at a call before they have to sign in again.
const TICKET_LIFE: Duration = Duration::from_mins(10);
/// Nobody looks at more at once; the oldest go first.
const TICKETS_MAX: usize = 1_000;

/// Leave to decide about one approval, for whoever showed a person's token.
#[derive(Default)]
pub(crate) struct Tickets {
    issued: Mutex<HashMap<String, Ticket>>,
}

struct Ticket {
    approval: String,
    /// Of a token, so that one which is taken away takes its tickets with it.
    token: TokenHash,
    issued: Instant,
}

impl Tickets {
    pub(crate) fn issue(&self, approval: &str, token: TokenHash, now: Instant) -> Option<String> {
        let name = random()?;
        let mut issued = self.issued.lock();
        issued.retain(|_, ticket| now.duration_since(ticket.issued) < TICKET_LIFE);
        if issued.len() >= TICKETS_MAX {
            let oldest = issued.iter().min_by_key(|(_, ticket)| ticket.issued).map(|(name, _)| name.clone());
            oldest.and_then(|name| issued.remove(&name));
        }
        issued.insert(name.clone(), Ticket { approval: approval.to_owned(), token, issued: now });
        Some(name)
    }

    /// Uses a ticket up, if it is for this approval.
    pub(crate) fn take(&self, name: &str, approval: &str, now: Instant) -> Option<TokenHash> {
        let mut issued = self.issued.lock();
        issued.get(name).filter(|ticket| ticket.approval == approval)?;
        let ticket = issued.remove(name)?;
        (now.duration_since(ticket.issued) < TICKET_LIFE).then_some(ticket.token)
    }
}

/// A text that nobody can guess.
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
        let ticket = tickets.issue("ap_1", [7; 32], now).unwrap();
        assert_eq!(tickets.take("", "ap_1", now), None);
        assert_eq!(tickets.take(&ticket, "ap_2", now), None);
        assert_eq!(tickets.take(&ticket, "ap_1", now), Some([7; 32]));
        assert_eq!(tickets.take(&ticket, "ap_1", now), None, "once");
        let ticket = tickets.issue("ap_1", [7; 32], now).unwrap();
        assert_eq!(tickets.take(&ticket, "ap_1", now + TICKET_LIFE), None);
        for _ in 0..TICKETS_MAX + 10 {
            tickets.issue("ap_1", [7; 32], now).unwrap();
        }
        assert_eq!(tickets.issued.lock().len(), TICKETS_MAX);
    }
}
