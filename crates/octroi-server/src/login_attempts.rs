//! Limits wrong tokens, by the address they come from and by the token they are meant for.
//!
//! An address that sent too many is refused whatever it sends, because otherwise it could go on guessing. A limit that
//! several addresses reached together, for the id of one token, refuses only those that took part: nobody can lock the
//! owner of a token out from elsewhere. Programs on this machine share one address; there a right token is
//! accepted nevertheless.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use octroi_core::Clock;
use octroi_core::config::WrongTokenLimits;
use octroi_core::network::counted_as;
use parking_lot::Mutex;

/// Addresses and tokens that are counted at the same time. Beyond, only the slowdown of all refusals is left.
const COUNTED_MAX: usize = 10_000;
/// Addresses that are remembered for one token.
const ADDRESSES_MAX: usize = 1_000;
/// A longer text is no id of a token.
const ID_BYTES_MAX: usize = 64;

/// Counts wrong tokens.
#[derive(Debug)]
pub(crate) struct LoginAttempts {
    limits: WrongTokenLimits,
    clock: Clock,
    /// Whether a limit may be reached. Everybody else looks no further.
    is_alert: AtomicBool,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    addresses: HashMap<IpAddr, Count>,
    tokens: HashMap<Box<str>, (Count, HashSet<IpAddr>)>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    since: Instant,
    n_wrong: usize,
}

/// What a limit is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitOf {
    /// An address, or the network that counts as one.
    Address(IpAddr),
    /// The token of this id.
    Token(Box<str>),
}

/// What follows from a wrong token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WrongToken {
    /// Nothing yet: it is refused like any other.
    Counted,
    /// It reached a limit, for the first time in this window.
    Reached(LimitOf, Duration),
    /// A limit was reached before; when the window ends.
    Beyond(Duration),
}

impl LoginAttempts {
    pub(crate) fn new(limits: WrongTokenLimits, clock: Clock) -> Self {
        Self { limits, clock, is_alert: AtomicBool::new(false), counted: Mutex::default() }
    }

    /// How long requests with this token from this address are refused, if they are.
    pub(crate) fn refuses(&self, address: IpAddr, token: &str) -> Option<Duration> {
        if !self.is_alert.load(Ordering::Relaxed) {
            return None;
        }
        let (now, address) = (self.clock.instant(), counted_as(address));
        let counted = self.counted.lock();
        let by_address = counted.addresses.get(&address).copied();
        let by_token = token_id(token).and_then(|id| counted.tokens.get(id));
        let by_token =
            by_token.filter(|(_, addresses)| addresses.contains(&address)).map(|(count, _)| *count);
        drop(counted);
        let refused = [(by_address, self.limits.per_address), (by_token, self.limits.per_token)];
        let rest = |(count, limit): (Option<Count>, usize)| {
            count.filter(|count| count.n_wrong >= limit).and_then(|count| self.rest(count, now))
        };
        refused.into_iter().filter_map(rest).max()
    }

    /// Counts a wrong token.
    pub(crate) fn wrong(&self, address: IpAddr, token: &str) -> WrongToken {
        let (now, address) = (self.clock.instant(), counted_as(address));
        let mut counted = self.counted.lock();
        let Counted { addresses, tokens } = &mut *counted;
        make_room(addresses, |count| self.rest(*count, now).is_some());
        make_room(tokens, |(count, _)| self.rest(*count, now).is_some());
        if addresses.is_empty() && tokens.is_empty() {
            self.is_alert.store(false, Ordering::Relaxed);
        }
        let mut reached = None;
        let mut beyond = None;
        let mut settle = |(n_wrong, rest): (usize, Duration), limit: usize, of: LimitOf| {
            if n_wrong == limit {
                reached = Some((of, rest));
            } else if n_wrong > limit {
                beyond = beyond.max(Some(rest));
            }
        };
        if let Some(id) = token_id(token)
            && (tokens.len() < COUNTED_MAX || tokens.contains_key(id))
        {
            let fresh = || (Count { since: now, n_wrong: 0 }, HashSet::new());
            let (count, from) = tokens.entry(id.into()).or_insert_with(fresh);
            if self.rest(*count, now).is_none() {
                (*count, *from) = fresh();
            }
            if from.len() < ADDRESSES_MAX {
                from.insert(address);
            }
            settle(self.add(count, now), self.limits.per_token, LimitOf::Token(id.into()));
        }
        if addresses.len() < COUNTED_MAX || addresses.contains_key(&address) {
            let count = addresses.entry(address).or_insert(Count { since: now, n_wrong: 0 });
            settle(self.add(count, now), self.limits.per_address, LimitOf::Address(address));
        }
        drop(counted);
        match (reached, beyond) {
            (None, None) => WrongToken::Counted,
            (Some((of, rest)), _) => {
                self.is_alert.store(true, Ordering::Relaxed);
                WrongToken::Reached(of, rest)
            }
            (None, Some(rest)) => WrongToken::Beyond(rest),
        }
    }

    /// Counts one more; how many there are, and when the window ends.
    fn add(&self, count: &mut Count, now: Instant) -> (usize, Duration) {
        if self.rest(*count, now).is_none() {
            *count = Count { since: now, n_wrong: 0 };
        }
        count.n_wrong = count.n_wrong.saturating_add(1);
        (count.n_wrong, self.rest(*count, now).unwrap_or(self.limits.window))
    }

    /// How long a count still counts.
    fn rest(&self, count: Count, now: Instant) -> Option<Duration> {
        let rest = self.limits.window.saturating_sub(now.saturating_duration_since(count.since));
        (!rest.is_zero()).then_some(rest)
    }
}

/// Forgets counts that do not count any more, once there are many.
fn make_room<K: Eq + Hash, V>(counts: &mut HashMap<K, V>, counts_still: impl Fn(&V) -> bool) {
    if counts.len() >= COUNTED_MAX {
        counts.retain(|_, count| counts_still(count));
    }
}

/// The id of a token of the form `oct_KIND_ID_SECRET`. Of any other form only the address is counted.
pub(crate) fn token_id(token: &str) -> Option<&str> {
    let (kind, rest) = token.strip_prefix("oct_")?.split_once('_')?;
    let (id, secret) = rest.split_once('_')?;
    let is_id =
        !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && !kind.is_empty() && !secret.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octroi_core::clock::TimeSource;

    use super::*;

    const WINDOW: Duration = Duration::from_mins(1);

    #[derive(Clone)]
    struct Movable(Arc<Mutex<Instant>>);

    impl TimeSource for Movable {
        fn wall_ms(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Instant {
            *self.0.lock()
        }
    }

    fn attempts() -> (LoginAttempts, Movable) {
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let time = Movable(Arc::new(Mutex::new(Instant::now())));
        let limits = WrongTokenLimits { per_address: 3, per_token: 5, window: WINDOW };
        (LoginAttempts::new(limits, Clock::new(time.clone())), time)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_refused_after_too_many_wrong_tokens_and_others_are_not() {
        let (attempts, time) = attempts();
        let (bad, good) = (ip("192.0.2.1"), ip("192.0.2.2"));
        assert_eq!(attempts.wrong(bad, "a"), WrongToken::Counted);
        *time.0.lock() += Duration::from_secs(20);
        assert_eq!(attempts.wrong(bad, "b"), WrongToken::Counted);
        assert_eq!(attempts.refuses(bad, "right"), None);
        let rest = Duration::from_secs(40);
        assert_eq!(attempts.wrong(bad, "c"), WrongToken::Reached(LimitOf::Address(bad), rest));
        assert_eq!(attempts.wrong(bad, "d"), WrongToken::Beyond(rest), "said once");
        assert_eq!(attempts.refuses(bad, "right"), Some(rest));
        assert_eq!(attempts.refuses(good, "right"), None);
        assert_eq!(attempts.wrong(good, "a"), WrongToken::Counted);
        *time.0.lock() += rest;
        assert_eq!(attempts.refuses(bad, "right"), None, "the window is over");
        assert_eq!(attempts.wrong(bad, "a"), WrongToken::Counted);
    }

    #[test]
    fn the_limit_of_a_token_refuses_only_those_who_guessed() {
        let (attempts, _) = attempts();
        let wrong = "oct_usr_k7_wrong";
        for n in 1..=4 {
            assert_eq!(attempts.wrong(ip(&format!("192.0.2.{n}")), wrong), WrongToken::Counted);
        }
        let reached = WrongToken::Reached(LimitOf::Token("k7".into()), WINDOW);
        assert_eq!(attempts.wrong(ip("192.0.2.5"), wrong), reached);
        assert_eq!(attempts.wrong(ip("192.0.2.6"), wrong), WrongToken::Beyond(WINDOW));
        assert_eq!(attempts.refuses(ip("192.0.2.1"), "oct_usr_k7_right"), Some(WINDOW));
        assert_eq!(attempts.refuses(ip("192.0.2.1"), "oct_usr_other_right"), None, "another token");
        assert_eq!(attempts.refuses(ip("192.0.2.9"), "oct_usr_k7_right"), None, "its owner elsewhere");
    }

    #[test]
    fn the_addresses_of_one_machine_are_counted_as_one() {
        let (attempts, _) = attempts();
        for n in 1..=3 {
            let _ = attempts.wrong(ip(&format!("2001:db8::{n}")), "x");
        }
        assert!(attempts.refuses(ip("2001:db8::9"), "x").is_some());
        assert!(attempts.refuses(ip("2001:db8:0:1::9"), "x").is_none());
    }

    #[test]
    fn a_flood_from_everywhere_is_counted_within_bounds() {
        let (attempts, time) = attempts();
        for (n, address) in (0x0a00_0000_u32..).take(COUNTED_MAX + 100).enumerate() {
            let _ = attempts.wrong(IpAddr::V4(address.into()), &format!("oct_usr_t{n}_x"));
        }
        let n_counted = |attempts: &LoginAttempts| {
            let counted = attempts.counted.lock();
            (counted.addresses.len(), counted.tokens.len())
        };
        assert_eq!(n_counted(&attempts), (COUNTED_MAX, COUNTED_MAX));
        *time.0.lock() += WINDOW;
        let _ = attempts.wrong(ip("192.0.2.1"), "x");
        assert_eq!(n_counted(&attempts), (1, 0));
    }

    #[test]
    fn only_a_token_of_octroi_has_an_id() {
        for (token, id) in [
            ("oct_usr_k7_secret", Some("k7")),
            ("oct_agt_k7_se_cret", Some("k7")),
            ("oct_agt_test", None),
            ("oct_agt__secret", None),
            ("oct__k7_secret", None),
            ("oct_usr_k7_", None),
            ("oct_usr_k.7_secret", None),
            ("other_usr_k7_secret", None),
            ("", None),
        ] {
            assert_eq!(token_id(token), id, "{token}");
        }
    }
}
