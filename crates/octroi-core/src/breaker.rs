//! When to stop calling a failing server, and when to try again.

use std::time::Duration;

/// This many failures in a row open the circuit.
const FAILURES_MAX: u32 = 5;
/// How long calls are refused. It does not grow: only one call finds out whether the server recovered, and nobody who
/// calls should wait longer for that.
const PAUSE: Duration = Duration::from_secs(5);

/// A circuit breaker. Time is passed in as the span since some fixed moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    /// Set while the circuit is open.
    open: Option<Open>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    until: Duration,
    is_probing: bool,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The circuit is closed.
    Free,
    /// The call may be made, as the one probe that finds out whether the server recovered.
    Probe,
    /// The circuit is open; retry after this time.
    Closed(Duration),
}

impl Breaker {
    /// Asks whether a call may be made now.
    pub fn pass(&mut self, now: Duration) -> Passage {
        match &mut self.open {
            None => Passage::Free,
            Some(open) if open.is_probing || now < open.until => {
                Passage::Closed(open.until.saturating_sub(now))
            }
            Some(open) => {
                open.is_probing = true;
                Passage::Probe
            }
        }
    }

    /// A call was answered, even with an error: the server is reachable.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// A call was not answered.
    pub fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        match &self.open {
            // Calls that were in flight when it opened.
            Some(open) if !open.is_probing => return,
            None if self.failures < FAILURES_MAX => return,
            Some(_) | None => {}
        }
        self.open = Some(Open { until: now + PAUSE, is_probing: false });
    }

    /// The probe was abandoned without a result.
    pub fn abandoned(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probing = false;
        }
    }

    /// Whether calls are refused.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            breaker.failed(at(0));
        }
        breaker
    }

    #[test]
    fn a_few_failures_do_not_open_it() {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX - 1 {
            breaker.failed(at(0));
        }
        assert_eq!(breaker.pass(at(0)), Passage::Free);
        breaker.succeeded();
        breaker.failed(at(0));
        assert!(!breaker.is_open());
    }

    #[test]
    fn an_open_circuit_lets_one_call_find_out() {
        let mut breaker = opened();
        assert_eq!(breaker.pass(at(1)), Passage::Closed(at(4)));
        assert_eq!(breaker.pass(at(5)), Passage::Probe);
        assert_eq!(breaker.pass(at(6)), Passage::Closed(at(0)));
        breaker.succeeded();
        assert_eq!(breaker.pass(at(6)), Passage::Free);
    }

    #[test]
    fn a_failed_probe_begins_the_pause_again() {
        let mut breaker = opened();
        let mut now = at(0);
        for _ in 0..6 {
            assert_eq!(breaker.pass(now), Passage::Closed(PAUSE));
            now += PAUSE;
            assert_eq!(breaker.pass(now), Passage::Probe);
            breaker.failed(now);
        }
    }

    #[test]
    fn late_failures_change_nothing_and_a_lost_probe_is_not_missed() {
        let mut breaker = opened();
        breaker.failed(at(3));
        assert_eq!(breaker.pass(at(3)), Passage::Closed(at(2)));
        assert_eq!(breaker.pass(at(5)), Passage::Probe);
        breaker.abandoned();
        assert_eq!(breaker.pass(at(5)), Passage::Probe);
    }
}
