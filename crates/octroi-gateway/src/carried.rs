//! The keys of what clients carry for the gateway: the state of calls, the ids of sessions.
//!
//! They come from the key file of the data directory, so that what clients carry is still valid after a restart.
//! Without a usable key file they live as long as the process.

use octroi_store::{Cipher, MasterKey};

use crate::persistence::Persistence;

/// Where the keys of what clients carry come from.
pub(crate) struct CarriedKeys {
    /// Used without a data directory, and without a usable key in it.
    own: MasterKey,
    run: u64,
}

impl CarriedKeys {
    /// `None` if the system gives no random numbers.
    pub(crate) fn new() -> Option<Self> {
        let mut run = [0_u8; 8];
        getrandom::fill(&mut run).ok()?;
        Some(Self { own: MasterKey::random()?, run: u64::from_le_bytes(run) })
    }

    /// What encrypts values for one purpose.
    pub(crate) fn cipher(&self, persistence: Option<&Persistence>, purpose: &str) -> Cipher {
        let kept = persistence.and_then(|persistence| persistence.store().cipher(purpose));
        kept.unwrap_or_else(|| self.own.cipher(purpose))
    }

    /// A random number of this process, to recognise what an earlier one issued.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }
}
