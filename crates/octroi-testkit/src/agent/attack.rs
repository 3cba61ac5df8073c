//! A hostile agent: what its attacks share.

use std::future::Future;
use std::time::Duration;

use super::report::AttackReport;
use super::wire::{HttpAnswer, Line};
use super::{AgentOptions, Behaviour, deep, huge, lying, many, slow};
use crate::peer::guarded::Guarded;

/// After an attempt that the gateway did not even answer.
const PAUSE: Duration = Duration::from_millis(20);

/// The attacks of one agent on one gateway.
pub(crate) struct Attack {
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) foreign_session: String,
    counts: Guarded<AttackReport>,
}

impl Attack {
    pub(crate) fn new(options: &AgentOptions) -> Self {
        Self {
            address: options.gateway.trim_start_matches("http://").to_owned(),
            token: options.token.clone(),
            foreign_session: options.foreign_session.clone(),
            counts: Guarded::default(),
        }
    }

    /// Attacks in this way for ever.
    pub(crate) async fn run(&self, behaviour: Behaviour) {
        match behaviour {
            Behaviour::Honest => {}
            Behaviour::Slow => slow::run(self).await,
            Behaviour::Huge => huge::run(self).await,
            Behaviour::Deep => deep::run(self).await,
            Behaviour::Many => many::run(self).await,
            Behaviour::Lying => lying::run(self).await,
        }
    }

    /// What happened since the last report.
    pub(crate) fn report(&self) -> AttackReport {
        self.counts.with(std::mem::take)
    }

    /// Counts one attempt by how it was answered.
    pub(crate) async fn count(&self, attack: &str, answer: Option<&HttpAnswer>) {
        let outcome = answer.map_or_else(|| "unanswered".to_owned(), |answer| answer.status.to_string());
        self.counts.with(|counts| *counts.entry(format!("{attack} {outcome}")).or_default() += 1);
        if answer.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends these requests one after the other for ever, on `n` connections.
    pub(crate) async fn send_all(&self, attack: &str, n: usize, requests: &[Vec<u8>]) {
        repeat(n, async || {
            let mut line = Line::new(&self.address);
            for request in requests {
                let answer = line.ask(request).await;
                self.count(attack, answer.as_ref()).await;
            }
        })
        .await;
    }
}

/// Does something for ever, `n` times at once.
pub(crate) async fn repeat<F: Future<Output = ()>>(n: usize, once: impl Fn() -> F) {
    let endless = (0..n).map(|_| async {
        loop {
            once().await;
            tokio::task::yield_now().await;
        }
    });
    futures_util::future::join_all(endless).await;
}
