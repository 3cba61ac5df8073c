//! Quotas by token, agent, server and tool.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::config::QuotaSpec;
use octroi_core::quota::Window;
use octroi_core::tool::ToolDescriptor;
use parking_lot::Mutex;

use super::Governance;

/// Beyond this number, unused counters are removed: clients come and go.
const COUNTERS_MAX: usize = 10_000;
const MINUTE_MS: i64 = 60_000;

/// All quotas.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    quotas: ArcSwap<Vec<Arc<Quota>>>,
}

#[derive(Debug)]
struct Quota {
    spec: QuotaSpec,
    counters: Mutex<HashMap<String, Counter>>,
}

#[derive(Debug, Default)]
struct Counter {
    window: Window,
    in_flight: usize,
    warned_at_ms: i64,
}

/// The caller and the tool of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuotaSubject<'a> {
    /// The name of the token in quotas.
    pub(crate) token: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) tool: &'a ToolDescriptor,
}

/// Whether a request counts as a call, or continues one that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// A new call.
    Call,
    /// An answer to a question of a call in progress.
    Continuation,
}

/// The quotas that a call holds. Released when dropped.
#[derive(Debug, Default)]
pub(crate) struct QuotaReservation {
    held: Vec<HeldQuota>,
    /// The maximum duration of the call.
    pub(crate) max_runtime: Option<Duration>,
    /// Warnings about quotas that are nearly used up.
    pub(crate) warnings: Vec<String>,
    is_made: bool,
}

#[derive(Debug)]
struct HeldQuota {
    quota: Arc<Quota>,
    key: String,
    counting: Counting,
}

impl Quotas {
    /// Replaces the quotas; unchanged ones keep their counts.
    pub(super) fn set(&self, specs: &[QuotaSpec]) {
        let old = self.quotas.load();
        let quotas = specs
            .iter()
            .map(|spec| match old.iter().find(|quota| quota.spec == *spec) {
                Some(quota) => Arc::clone(quota),
                None => Arc::new(Quota { spec: spec.clone(), counters: Mutex::default() }),
            })
            .collect();
        self.quotas.store(Arc::new(quotas));
    }

    /// Reserves the quotas of a call, or returns the one that is used up.
    pub(super) fn reserve(
        &self,
        subject: QuotaSubject<'_>,
        counting: Counting,
        now_ms: i64,
    ) -> Result<QuotaReservation, String> {
        let mut reservation = QuotaReservation::default();
        for quota in self.quotas.load().iter().filter(|quota| quota.concerns(subject)) {
            let key = quota.key(subject);
            if let Some(warning) = quota.reserve(&key, counting, now_ms)? {
                reservation.warnings.push(warning);
            }
            reservation.held.push(HeldQuota { quota: Arc::clone(quota), key, counting });
            reservation.max_runtime = match (reservation.max_runtime, quota.spec.max_runtime) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        Ok(reservation)
    }

    /// The quota that is used up for a call, if any. Nothing is reserved.
    pub(super) fn exceeded(
        &self,
        subject: QuotaSubject<'_>,
        counting: Counting,
        now_ms: i64,
    ) -> Option<String> {
        let quotas = self.quotas.load();
        let mut concerned = quotas.iter().filter(|quota| quota.concerns(subject));
        concerned.find_map(|quota| {
            let counters = quota.counters.lock();
            quota.objection(counters.get(&quota.key(subject))?, counting, now_ms)
        })
    }
}

/// So many counters of one quota are shown.
const SHOWN_MAX: usize = 100;

/// A quota and how much of it is used.
#[derive(Clone, Debug)]
pub struct QuotaUse {
    /// The quota.
    pub spec: QuotaSpec,
    /// The calls it is about, as the configuration writes them.
    pub of: Vec<String>,
    /// What is counted, the calls within the last minute, and those under way; the fullest first.
    pub counters: Vec<(Vec<String>, u32, usize)>,
}

impl Quota {
    fn used(&self, now_ms: i64) -> QuotaUse {
        let QuotaSpec { token, agent, server, tool, .. } = &self.spec;
        let globs = [("token", token), ("agent", agent), ("server", server)];
        let globs =
            globs.into_iter().filter_map(|(name, glob)| Some((name, glob.as_ref()?.as_str().to_owned())));
        let tool = tool.as_ref().map(|tool| ("tool", tool.to_string()));
        let of = globs.chain(tool).map(|(name, pattern)| format!("{name} = \"{pattern}\""));
        let counters = self.counters.lock();
        let counters = counters
            .iter()
            .map(|(key, counter)| (values_of(key), counter.window.count(now_ms), counter.in_flight));
        let mut counters: Vec<_> =
            counters.filter(|(_, lately, running)| *lately > 0 || *running > 0).collect();
        counters.sort_by(|one, other| (other.1, other.2, &one.0).cmp(&(one.1, one.2, &other.0)));
        counters.truncate(SHOWN_MAX);
        QuotaUse { spec: self.spec.clone(), of: of.collect(), counters }
    }
}

/// The values that a key was made of: each after its length.
fn values_of(mut key: &str) -> Vec<String> {
    let mut values = Vec::new();
    while let Some((length, rest)) = key.split_once(':') {
        let Some(value) = length.parse().ok().and_then(|length: usize| rest.get(..length)) else { break };
        values.push(value.to_owned());
        key = rest.get(value.len() + 1..).unwrap_or_default();
    }
    values
}

impl Governance {
    /// All quotas and how much of each is used.
    pub fn quota_uses(&self) -> Vec<QuotaUse> {
        let now_ms = self.now_ms();
        self.quotas.quotas.load().iter().map(|quota| quota.used(now_ms)).collect()
    }

    /// The quota that a call would exceed, if any. Nothing is reserved.
    pub(crate) fn exceeded_quota(&self, subject: QuotaSubject<'_>, now_ms: i64) -> Option<String> {
        self.quotas.exceeded(subject, Counting::Call, now_ms)
    }
}

impl Quota {
    fn concerns(&self, subject: QuotaSubject<'_>) -> bool {
        let QuotaSpec { token, agent, server, tool, .. } = &self.spec;
        token.as_ref().is_none_or(|glob| glob.matches(subject.token))
            && agent.as_ref().is_none_or(|glob| glob.matches(subject.agent))
            && server.as_ref().is_none_or(|glob| glob.matches(&subject.tool.source_id))
            && tool
                .as_ref()
                .is_none_or(|pattern| pattern.matches(&subject.tool.source_id, &subject.tool.name))
    }

    /// The key of the counter that a call belongs to.
    fn key(&self, subject: QuotaSubject<'_>) -> String {
        let mut key = String::new();
        if !self.spec.each {
            return key;
        }
        for (is_named, value) in [
            (self.spec.token.is_some(), subject.token),
            (self.spec.agent.is_some(), subject.agent),
            (self.spec.server.is_some(), &*subject.tool.source_id),
            (self.spec.tool.is_some(), subject.tool.id.as_str()),
        ] {
            if is_named {
                let _ = write!(key, "{}:{value} ", value.len());
            }
        }
        key
    }

    /// Counts a call; `Err` if there are too many, a warning once a minute from 80 % on.
    fn reserve(&self, key: &str, counting: Counting, now_ms: i64) -> Result<Option<String>, String> {
        let mut counters = self.counters.lock();
        if counters.len() > COUNTERS_MAX {
            counters.retain(|_, counter| counter.in_flight > 0 || counter.window.count(now_ms) > 0);
        }
        let counter = counters.entry(key.to_owned()).or_default();
        if let Some(objection) = self.objection(counter, counting, now_ms) {
            return Err(objection);
        }
        let name = &self.spec.name;
        let (n_lately, n_running) = (counter.window.count(now_ms) as usize, counter.in_flight);
        if counting == Counting::Call {
            counter.window.add(now_ms);
        }
        counter.in_flight += 1;
        let is_nearly_full = |max: Option<usize>, used: usize| max.is_some_and(|max| used * 5 >= max * 4);
        let is_near = is_nearly_full(self.spec.calls_per_minute, n_lately + 1)
            || is_nearly_full(self.spec.max_in_flight, n_running + 1);
        if !is_near || now_ms - counter.warned_at_ms < MINUTE_MS {
            return Ok(None);
        }
        counter.warned_at_ms = now_ms;
        Ok(Some(format!("{name}: 80 % are used")))
    }

    /// Why one more call is not possible, if so.
    fn objection(&self, counter: &Counter, counting: Counting, now_ms: i64) -> Option<String> {
        let name = &self.spec.name;
        let (n_lately, n_running) = (counter.window.count(now_ms) as usize, counter.in_flight);
        let per_minute = self.spec.calls_per_minute.filter(|_| counting == Counting::Call);
        if let Some(max) = per_minute.filter(|max| n_lately >= *max) {
            return Some(match max {
                1 => format!("quota `{name}` allows 1 call per minute, which is used up"),
                max => format!("quota `{name}` allows {max} calls per minute, which are used up"),
            });
        }
        let max = self.spec.max_in_flight.filter(|max| n_running >= *max)?;
        Some(match max {
            1 => format!("quota `{name}` allows 1 call at a time, and it is running"),
            max => format!("quota `{name}` allows {max} calls at a time, and they are running"),
        })
    }

    fn give_back(&self, held: &HeldQuota, is_made: bool) {
        if let Some(counter) = self.counters.lock().get_mut(&held.key) {
            counter.in_flight = counter.in_flight.saturating_sub(1);
            if !is_made && held.counting == Counting::Call {
                counter.window.remove();
            }
        }
    }
}

impl QuotaReservation {
    /// Marks the call as made: it stays counted after it is over.
    pub(crate) fn make(&mut self) {
        self.is_made = true;
    }
}

impl Drop for QuotaReservation {
    fn drop(&mut self) {
        for held in &self.held {
            held.quota.give_back(held, self.is_made);
        }
    }
}

#[cfg(test)]
mod tests;
