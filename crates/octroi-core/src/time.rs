//! Points in time as text: RFC 3339, in milliseconds since 1970.
//!
//! Uses only the civil part of jiff: it needs no clock and no time zones, and it reaches to the end of the
//! year 9999, where the type for instants ends a day earlier.

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const DAY_MS: i64 = 86_400_000;

/// Parses `2027-01-31`, which is its first moment in UTC, or `2027-01-31T12:00:00Z`, also with fractions of
/// seconds and an offset.
pub fn parse_time(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let (time, offset_ms) = match (pieces.time(), pieces.to_numeric_offset()) {
        (None, None) if text.len() == "2027-01-31".len() => (Time::midnight(), 0),
        (Some(time), Some(offset)) if has_rfc3339_form(text) => (time, i64::from(offset.seconds()) * 1000),
        _ => return None,
    };
    let since_epoch = pieces.date().to_datetime(time).duration_since(EPOCH);
    // Rounded down to milliseconds, also before 1970.
    let local_ms = i64::try_from(since_epoch.as_nanos().div_euclid(1_000_000)).ok()?;
    (offset_ms.abs() < DAY_MS).then(|| local_ms - offset_ms)
}

/// Formats a time as `2027-01-31T12:00:00.000Z`. Times outside the years -9999 to 9999 become their first or
/// last moment.
pub fn show_time(at_ms: i64) -> String {
    let at = EPOCH.saturating_add(SignedDuration::from_millis(at_ms));
    format!("{at:.3}Z")
}

/// Formats a length of time for people, rounded to the nearest: `90 s`, `12 min`, `5 h`, `3 d`. Each unit is used
/// up to twice the next one, so that the number is never off by more than a quarter.
pub fn show_span(milliseconds: i64) -> String {
    let in_units = |unit_ms: i64| (milliseconds.max(0).saturating_add(unit_ms / 2)) / unit_ms;
    for (unit_ms, name, limit) in [(1_000, "s", 120), (60_000, "min", 120), (3_600_000, "h", 48)] {
        // Rounded before it is compared: 119.9 s are 2 min, not 120 s.
        if in_units(unit_ms) < limit {
            return format!("{} {name}", in_units(unit_ms));
        }
    }
    format!("{} d", in_units(DAY_MS))
}

/// jiff also reads other forms of ISO 8601, such as `20270131T1200+01[Europe/Paris]`. Here only RFC 3339 is
/// accepted.
fn has_rfc3339_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let separators = [bytes.get(4), bytes.get(7), bytes.get(13)];
    let has_offset = matches!(bytes, [.., b'Z' | b'z'] | [.., b'+' | b'-', _, _, b':', _, _]);
    separators == [Some(&b'-'), Some(&b'-'), Some(&b':')] && has_offset && !text.contains(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_to_the_nearest() {
        for (milliseconds, expected) in [
            (-5_000, "0 s"),
            (0, "0 s"),
            (499, "0 s"),
            (500, "1 s"),
            (59_900, "60 s"),
            (60_000, "60 s"),
            (90_000, "90 s"),
            (119_499, "119 s"),
            // Two minutes rather than 120 seconds.
            (119_500, "2 min"),
            (149_999, "2 min"),
            (150_000, "3 min"),
            (3_599_900, "60 min"),
            (5_400_000, "90 min"),
            (7_199_900, "2 h"),
            (47 * 3_600_000, "47 h"),
            (47 * 3_600_000 + 1_800_000, "2 d"),
            (60 * 3_600_000, "3 d"),
            (90 * DAY_MS, "90 d"),
            (i64::MAX, "106751991168 d"),
        ] {
            assert_eq!(show_span(milliseconds), expected, "{milliseconds}");
        }
    }

    #[test]
    fn times_are_read_and_written() {
        for (text, at_ms) in [
            ("1970-01-01", Some(0)),
            ("1970-01-02T00:00:00Z", Some(DAY_MS)),
            ("2000-02-29T12:30:15.25Z", Some(951_827_415_250)),
            ("2026-11-16T04:00:00+02:00", Some(1_794_794_400_000)),
            ("2026-11-16T04:00Z", Some(1_794_801_600_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("1969-12-31T23:59:59.9999Z", Some(-1)),
            ("9999-12-31", Some(253_402_214_400_000)),
            ("9999-12-31T23:59:59.999-23:59", Some(253_402_387_139_999)),
            ("2026-11-16 04:00:00z", Some(1_794_801_600_000)),
            // A leap second is parsed as the second before it.
            ("2016-12-31T23:59:60Z", Some(1_483_228_799_000)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("2026-11-16T04:00:00", None),
            ("2026-11-16T24:00:00Z", None),
            ("2026-11-16x", None),
            ("20261116", None),
            ("20261116T040000Z", None),
            ("+002026-11-16T04:00:00Z", None),
            ("2026-11-16T04Z", None),
            ("2026-11-16T04:00:00,5Z", None),
            ("2026-11-16T04:00:00+02", None),
            ("2026-11-16T04:00:00+0200", None),
            ("2026-11-16T04:00:00+02:00:30", None),
            ("2026-11-16T04:00:00+24:00", None),
            ("2026-11-16T04:00:00Z[UTC]", None),
            ("2026-11-16[UTC]", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(parse_time(text), at_ms, "{text}");
        }
        for at_ms in [0, -1, 951_827_415_250, 1_794_801_600_000, 4_102_444_800_000] {
            assert_eq!(parse_time(&show_time(at_ms)), Some(at_ms));
        }
        for (at_ms, text) in [
            (951_827_415_250, "2000-02-29T12:30:15.250Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
            (i64::MIN, "-009999-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(show_time(at_ms), text);
        }
    }
}
