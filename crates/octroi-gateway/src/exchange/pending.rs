//! Calls of legacy servers that wait for a modern client to come back with an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use octroi_core::Clock;
use octroi_upstream::{Connection, Hold, LiveCall, ServerQuestion};
use parking_lot::Mutex;

use crate::request_state::PATIENCE;

/// The maximum number of pending calls: each holds a call open at its server.
const PENDING_MAX: usize = 1_000;
/// The maximum for one principal, so that none takes the place of others.
const PENDING_MAX_EACH: usize = 100;

/// A pending call, and the questions it waits for.
pub(crate) struct PendingExchange {
    pub(crate) principal: Arc<str>,
    /// The agent that calls, if it is one.
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) call: LiveCall,
    pub(crate) connection: Arc<Connection>,
    pub(crate) questions: Vec<(String, ServerQuestion)>,
    /// Keeps the server from being stopped meanwhile.
    pub(crate) _hold: Hold,
}

/// All pending calls.
#[derive(Default)]
pub(crate) struct PendingExchanges {
    calls: Mutex<HashMap<u64, (Instant, PendingExchange)>>,
}

impl PendingExchanges {
    /// Stores a call under a number that cannot be guessed; returns it if there are too many.
    pub(crate) fn keep(&self, pending: PendingExchange, clock: &Clock) -> Result<u64, Box<PendingExchange>> {
        let mut number = [0_u8; 8];
        if getrandom::fill(&mut number).is_err() {
            return Err(Box::new(pending));
        }
        let number = u64::from_le_bytes(number);
        let mut calls = self.calls.lock();
        let n_own = calls.values().filter(|(_, kept)| kept.principal == pending.principal).count();
        if calls.len() >= PENDING_MAX || n_own >= PENDING_MAX_EACH {
            return Err(Box::new(pending));
        }
        calls.insert(number, (clock.instant(), pending));
        Ok(number)
    }

    /// Removes a call; `None` if it is gone.
    pub(crate) fn take(&self, number: u64) -> Option<PendingExchange> {
        self.calls.lock().remove(&number).map(|(_, pending)| pending)
    }

    /// Removes the calls of an agent.
    pub(crate) fn take_of(&self, agent: &str) -> Vec<PendingExchange> {
        let mut calls = self.calls.lock();
        let is_its = |pending: &PendingExchange| pending.agent.as_deref() == Some(agent);
        let own = calls.extract_if(|_, (_, pending)| is_its(pending));
        own.map(|(_, (_, pending))| pending).collect()
    }

    /// The number of calls of an agent.
    pub(crate) fn count_of(&self, agent: &str) -> usize {
        let calls = self.calls.lock();
        calls.values().filter(|(_, pending)| pending.agent.as_deref() == Some(agent)).count()
    }

    /// Drops calls that waited too long, which refuses their questions and cancels them.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut expired: Vec<PendingExchange> = {
            let mut calls = self.calls.lock();
            let late: Vec<u64> = calls
                .iter()
                .filter(|(_, (since, _))| now.saturating_duration_since(*since) > PATIENCE)
                .map(|(number, _)| *number)
                .collect();
            late.iter().filter_map(|number| calls.remove(number)).map(|(_, pending)| pending).collect()
        };
        // Outside the lock: dropping sends messages.
        for pending in &mut expired {
            pending.call.time_out();
        }
        drop(expired);
    }
}
