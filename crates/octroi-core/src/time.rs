//! Points in time as people write them: RFC 3339, in milliseconds since 1970.

const DAY_MS: i64 = 86_400_000;

/// Reads `2027-01-31`, which is its first moment in UTC, or `2027-01-31T12:00:00Z`, also with fractions
/// of seconds and an offset.
pub fn parse_time(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_dated = parts.next().is_none() && year.len() == 4 && month.len() == 2 && day.len() == 2;
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let is_real = is_dated && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    let start = days_before(year, month, day).checked_mul(DAY_MS).filter(|_| is_real)?;
    if rest.is_empty() {
        return Some(start);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(index) => rest.split_at(index),
        None => return None,
    };
    Some(start + clock_ms(clock)? - offset_ms(offset)?)
}

/// Writes a time as `2027-01-31T12:00:00.000Z`.
pub fn show_time(at_ms: i64) -> String {
    let (days, rest) = (at_ms.div_euclid(DAY_MS), at_ms.rem_euclid(DAY_MS));
    let (year, month, day) = date_of(days);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    let fraction = rest % 1000;
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{fraction:03}Z")
}

fn number(text: &str) -> Option<i64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn clock_ms(clock: &str) -> Option<i64> {
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) =
        (number(parts.next()?)?, number(parts.next()?)?, number(parts.next().unwrap_or("0"))?);
    let is_real = parts.next().is_none() && hours < 24 && minutes < 60 && seconds <= 60;
    number(fraction)?;
    let milliseconds = number(&format!("{fraction:0<3}")[..3])?;
    is_real.then_some(((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds)
}

fn offset_ms(offset: &str) -> Option<i64> {
    let sign = match offset.as_bytes() {
        [b'Z' | b'z'] => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to a date. Years begin in March here, so that the odd day comes last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, at_ms) in [
            ("1970-01-01", Some(0)),
            ("1970-01-02T00:00:00Z", Some(DAY_MS)),
            ("2000-02-29T12:30:15.25Z", Some(951_827_415_250)),
            ("2026-11-16T04:00:00+02:00", Some(1_794_794_400_000)),
            ("2026-11-16T04:00Z", Some(1_794_801_600_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("2026-11-16T04:00:00", None),
            ("2026-11-16T24:00:00Z", None),
            ("2026-11-16x", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(parse_time(text), at_ms, "{text}");
        }
        for at_ms in [0, -1, 951_827_415_250, 1_794_801_600_000, 4_102_444_800_000] {
            assert_eq!(parse_time(&show_time(at_ms)), Some(at_ms));
        }
        assert_eq!(show_time(951_827_415_250), "2000-02-29T12:30:15.250Z");
    }
}
