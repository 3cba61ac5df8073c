//! Counts calls within the last minute.

const MINUTE_MS: i64 = 60_000;

/// Calls of this minute and the previous one. The count of the last sixty seconds is estimated as if the
/// previous minute's calls had been evenly distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    minute: i64,
    current: u32,
    previous: u32,
}

impl Window {
    /// The number of calls within the last minute.
    pub fn count(&self, now_ms: i64) -> u32 {
        let (current, previous) = self.at(now_ms.div_euclid(MINUTE_MS));
        let left_ms = MINUTE_MS - now_ms.rem_euclid(MINUTE_MS);
        let shared = i64::from(previous) * left_ms / MINUTE_MS;
        current.saturating_add(u32::try_from(shared).unwrap_or(u32::MAX))
    }

    /// Counts one call.
    pub fn add(&mut self, now_ms: i64) {
        let minute = now_ms.div_euclid(MINUTE_MS);
        // If the clock is set back, counting continues in the latest minute.
        let minute = minute.max(self.minute);
        let (current, previous) = self.at(minute);
        *self = Self { minute, current: current.saturating_add(1), previous };
    }

    /// Removes a call that was counted but not made.
    pub fn remove(&mut self) {
        self.current = self.current.saturating_sub(1);
    }

    fn at(&self, minute: i64) -> (u32, u32) {
        match minute - self.minute {
            ..=0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_moves_on() {
        let mut window = Window::default();
        let start = 1_000 * MINUTE_MS;
        for _ in 0..100 {
            window.add(start);
        }
        for (after_ms, expected) in
            [(0, 100), (59_999, 100), (60_000, 100), (90_000, 50), (119_999, 0), (120_000, 0), (900_000, 0)]
        {
            assert_eq!(window.count(start + after_ms), expected, "{after_ms}");
        }
        window.add(start + 90_000);
        assert_eq!(window.count(start + 90_000), 51);
        window.remove();
        assert_eq!(window.count(start + 90_000), 50);
        window.add(start - 600_000);
        assert_eq!(window.count(start + 90_000), 51, "a clock that is set back lets nobody off");
    }
}
