// Numbers, moments and durations in the language in use.

import { useMemo } from "react";
import { distance, durationParts, type Moment, toMs } from "../lib/time";
import { useLanguage } from "./index";

export interface Format {
  /** A number with its separators. */
  number(value: number): string;
  /** A short form of a large number: 12K. */
  compact(value: number): string;
  /** A share of 1. */
  percent(share: number): string;
  /** The exact moment, with seconds and zone. */
  exact(moment: Moment): string;
  /** The time of day, with seconds. */
  clock(moment: Moment): string;
  /** How long ago, or in how long. */
  relative(moment: Moment, now: number): string;
  /** A length of time. */
  duration(ms: number): string;
  bytes(value: number): string;
  /** Things in a row: a, b and c. */
  list(items: readonly string[]): string;
}

const UNITS = { ms: "millisecond", s: "second", min: "minute", h: "hour", d: "day" } as const;
const BYTES = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

function createFormat(locale: string): Format {
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 });
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  const list = new Intl.ListFormat(locale, { type: "conjunction" });
  const units = new Map<string, Intl.NumberFormat>();
  const unit = (name: string, value: number, digits = 2): string => {
    let format = units.get(name);
    if (!format) {
      format = new Intl.NumberFormat(locale, {
        style: "unit",
        unit: name,
        unitDisplay: "short",
        maximumFractionDigits: digits,
      });
      units.set(name, format);
    }
    return format.format(value);
  };
  return {
    number: value => number.format(value),
    compact: value => compact.format(value),
    percent: share => percent.format(share),
    exact: moment => (Number.isNaN(toMs(moment)) ? String(moment) : exact.format(toMs(moment))),
    clock: moment => (Number.isNaN(toMs(moment)) ? String(moment) : clock.format(toMs(moment))),
    relative(moment, now) {
      const ms = toMs(moment);
      if (Number.isNaN(ms)) return String(moment);
      const { value, unit } = distance(ms, now);
      return relative.format(value, unit);
    },
    duration: ms =>
      durationParts(ms)
        .map(part => unit(UNITS[part.unit], part.value))
        .join(" "),
    bytes(value) {
      const power = Math.min(BYTES.length - 1, value < 1 ? 0 : Math.floor(Math.log(value) / Math.log(1000)));
      return unit(BYTES[power] ?? "byte", value / 1000 ** power, 1);
    },
    list: items => list.format(items),
  };
}

/** Numbers and moments in the language in use. */
export function useFormat(): Format {
  const { locale } = useLanguage();
  return useMemo(() => createFormat(locale), [locale]);
}
