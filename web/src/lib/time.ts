// Moments and durations, as people read them. The language does the words; this decides on the unit.

/** A moment as the gateway gives it: milliseconds since 1970, or a timestamp as text. */
export type Moment = number | string;

/** Milliseconds since 1970; not a number if the moment cannot be read. */
export function toMs(moment: Moment): number {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/** A unit that Intl knows. */
export type Unit = "second" | "minute" | "hour" | "day" | "month" | "year";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How far a moment lies from now, in the largest unit of which there is at least one. Negative is the past. */
export function distance(ms: number, now: number): { value: number; unit: Unit } {
  const difference = ms - now;
  const size = Math.abs(difference);
  const sign = Math.sign(difference);
  const of = (length: number, unit: Unit) => ({ value: sign * Math.floor(size / length) + 0, unit });
  if (size < MINUTE) return of(SECOND, "second");
  if (size < HOUR) return of(MINUTE, "minute");
  if (size < DAY) return of(HOUR, "hour");
  if (size < 31 * DAY) return of(DAY, "day");
  if (size < 365 * DAY) return of(30.44 * DAY, "month");
  return of(365.25 * DAY, "year");
}

/** After how many milliseconds the distance reads differently. */
export function nextChange(ms: number, now: number): number {
  const size = Math.abs(ms - now);
  if (size < MINUTE) return SECOND;
  if (size < HOUR) return 15 * SECOND;
  return MINUTE;
}

/** A duration in its two largest units, or with a fraction if it is short: `840 ms`, `1.2 s`, `3 min 5 s`. */
export type DurationPart = { readonly value: number; readonly unit: "ms" | "s" | "min" | "h" | "d" };

/** The parts of a duration. */
export function durationParts(ms: number): DurationPart[] {
  const size = Math.max(0, ms);
  if (size < 1) return [{ value: Math.round(size * 100) / 100, unit: "ms" }];
  if (size < 999.5) return [{ value: Math.round(size), unit: "ms" }];
  if (size < 59.95 * SECOND) return [{ value: Math.round(size / 100) / 10, unit: "s" }];
  const two = (
    large: DurationPart["unit"],
    length: number,
    small: DurationPart["unit"],
    part: number,
  ): DurationPart[] => {
    const total = Math.round(size / part);
    const value = Math.floor((total * part) / length);
    const rest = total - (value * length) / part;
    return rest > 0
      ? [
          { value, unit: large },
          { value: rest, unit: small },
        ]
      : [{ value, unit: large }];
  };
  if (size < HOUR - SECOND / 2) return two("min", MINUTE, "s", SECOND);
  if (size < DAY - MINUTE / 2) return two("h", HOUR, "min", MINUTE);
  return two("d", DAY, "h", HOUR);
}
