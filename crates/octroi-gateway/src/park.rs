//! Calls of legacy servers that wait for a modern client to come back with an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_upstream::{Connection, Hold, LiveCall, Question};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a person may think. After that the server is told that nobody answers.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);
/// More parked calls than this are refused: each holds a call open at its server.
const PARKED_MAX: usize = 1_000;

/// A call that is waiting, and the question it waits for.
pub(crate) struct Parked {
    pub(crate) call: LiveCall,
    pub(crate) connection: Arc<Connection>,
    pub(crate) questions: Vec<(String, Question)>,
    /// The server is not to be ended meanwhile.
    pub(crate) _hold: Hold,
}

/// All parked calls.
#[derive(Default)]
pub(crate) struct Parking {
    places: Mutex<HashMap<u64, (Instant, Parked)>>,
}

impl Parking {
    /// Parks a call under a number that cannot be guessed; gives it back when there is no room.
    pub(crate) fn park(&self, parked: Parked) -> Result<u64, Box<Parked>> {
        let mut number = [0_u8; 8];
        if getrandom::fill(&mut number).is_err() {
            return Err(Box::new(parked));
        }
        let number = u64::from_le_bytes(number);
        let mut places = self.places.lock();
        if places.len() >= PARKED_MAX {
            return Err(Box::new(parked));
        }
        places.insert(number, (Instant::now(), parked));
        Ok(number)
    }

    /// Takes a call out; `None` if it is gone.
    pub(crate) fn take(&self, number: u64) -> Option<Parked> {
        self.places.lock().remove(&number).map(|(_, parked)| parked)
    }

    /// Drops what has waited too long, which refuses the question and cancels the call.
    pub(crate) fn sweep(&self) {
        let expired: Vec<Parked> = {
            let mut places = self.places.lock();
            let late: Vec<u64> = places
                .iter()
                .filter(|(_, (since, _))| since.elapsed() > PATIENCE)
                .map(|(number, _)| *number)
                .collect();
            late.iter().filter_map(|number| places.remove(number)).map(|(_, parked)| parked).collect()
        };
        // Outside the lock: dropping sends messages.
        drop(expired);
    }
}
