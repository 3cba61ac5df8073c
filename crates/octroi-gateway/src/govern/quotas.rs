//! How much may be called: by token, agent, server and tool.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::config::QuotaSpec;
use octroi_core::quota::Window;
use octroi_core::tool::ToolDescriptor;
use parking_lot::Mutex;

/// Counters beyond so many are swept: clients come and go.
const COUNTERS_MAX: usize = 10_000;
const MINUTE_MS: i64 = 60_000;

/// All quotas.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
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

/// Who calls what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// What quotas call the token.
    pub(crate) token: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) tool: &'a ToolDescriptor,
}

/// What a call holds while it is made. Given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    held: Vec<(Arc<Quota>, String)>,
    /// How long it may take.
    pub(crate) max_runtime: Option<Duration>,
    /// Quotas that are nearly used up.
    pub(crate) warnings: Vec<String>,
    is_made: bool,
    is_resting: bool,
}

impl Quotas {
    /// Other quotas from now on; what is the same goes on counting.
    pub(crate) fn set(&self, specs: &[QuotaSpec]) {
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

    /// Takes a place for a call, or says which quota has none left.
    pub(crate) fn take(&self, asker: Asker<'_>, now_ms: i64) -> Result<Taken, String> {
        let mut taken = Taken::default();
        for quota in self.quotas.load().iter().filter(|quota| quota.concerns(asker)) {
            let key = quota.key(asker);
            if let Some(warning) = quota.take(&key, now_ms)? {
                taken.warnings.push(warning);
            }
            taken.held.push((Arc::clone(quota), key));
            taken.max_runtime = match (taken.max_runtime, quota.spec.max_runtime) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        Ok(taken)
    }
}

impl Quotas {
    /// The quota that has no place left for a call, if there is one. Nothing is taken.
    pub(crate) fn exceeded(&self, asker: Asker<'_>, now_ms: i64) -> Option<String> {
        let quotas = self.quotas.load();
        let mut concerned = quotas.iter().filter(|quota| quota.concerns(asker));
        concerned.find_map(|quota| {
            let counters = quota.counters.lock();
            quota.objection(counters.get(&quota.key(asker))?, now_ms)
        })
    }
}

impl Quota {
    fn concerns(&self, asker: Asker<'_>) -> bool {
        let QuotaSpec { token, agent, server, tool, .. } = &self.spec;
        token.as_ref().is_none_or(|glob| glob.matches(asker.token))
            && agent.as_ref().is_none_or(|glob| glob.matches(asker.agent))
            && server.as_ref().is_none_or(|glob| glob.matches(&asker.tool.source_id))
            && tool.as_ref().is_none_or(|pattern| pattern.matches(&asker.tool.source_id, &asker.tool.name))
    }

    /// What counts together.
    fn key(&self, asker: Asker<'_>) -> String {
        let mut key = String::new();
        if !self.spec.each {
            return key;
        }
        for (is_named, value) in [
            (self.spec.token.is_some(), asker.token),
            (self.spec.agent.is_some(), asker.agent),
            (self.spec.server.is_some(), &*asker.tool.source_id),
            (self.spec.tool.is_some(), asker.tool.id.as_str()),
        ] {
            if is_named {
                let _ = write!(key, "{}:{value} ", value.len());
            }
        }
        key
    }

    /// Counts a call; `Err` if there are too many, a warning once a minute from 80 % on.
    fn take(&self, key: &str, now_ms: i64) -> Result<Option<String>, String> {
        let mut counters = self.counters.lock();
        if counters.len() > COUNTERS_MAX {
            counters.retain(|_, counter| counter.in_flight > 0 || counter.window.count(now_ms) > 0);
        }
        let counter = counters.entry(key.to_owned()).or_default();
        if let Some(objection) = self.objection(counter, now_ms) {
            return Err(objection);
        }
        let name = &self.spec.name;
        let (n_lately, n_running) = (counter.window.count(now_ms) as usize, counter.in_flight);
        counter.window.add(now_ms);
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

    /// What speaks against one more call.
    fn objection(&self, counter: &Counter, now_ms: i64) -> Option<String> {
        let name = &self.spec.name;
        let (n_lately, n_running) = (counter.window.count(now_ms) as usize, counter.in_flight);
        if let Some(max) = self.spec.calls_per_minute.filter(|max| n_lately >= *max) {
            return Some(format!("{name}: {max} calls per minute are used up"));
        }
        let max = self.spec.max_in_flight.filter(|max| n_running >= *max)?;
        Some(format!("{name}: {max} calls are being made already"))
    }

    fn give_back(&self, key: &str, is_made: bool) {
        if let Some(counter) = self.counters.lock().get_mut(key) {
            counter.in_flight = counter.in_flight.saturating_sub(1);
            if !is_made {
                counter.window.remove();
            }
        }
    }
}

impl Taken {
    /// From now on it counts, also when it is over.
    pub(crate) fn make(&mut self) {
        self.is_made = true;
    }

    /// While a person thinks, the call is not being made.
    pub(crate) fn rest(&mut self) {
        self.set_resting(true);
    }

    /// The person has spoken.
    pub(crate) fn resume(&mut self) {
        self.set_resting(false);
    }

    fn set_resting(&mut self, is_resting: bool) {
        if std::mem::replace(&mut self.is_resting, is_resting) == is_resting {
            return;
        }
        for (quota, key) in &self.held {
            if let Some(counter) = quota.counters.lock().get_mut(key) {
                let in_flight = counter.in_flight;
                counter.in_flight = if is_resting { in_flight.saturating_sub(1) } else { in_flight + 1 };
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.resume();
        for (quota, key) in &self.held {
            quota.give_back(key, self.is_made);
        }
    }
}

#[cfg(test)]
mod tests;
