import { describe, expect, test } from "vitest";
import { distance, durationParts, toMs } from "./time";

const NOW = Date.UTC(2026, 10, 19, 12);

describe("distance", () => {
  test.each([
    [0, 0, "second"],
    [-59_999, -59, "second"],
    [-60_000, -1, "minute"],
    [90_000, 1, "minute"],
    [-3_600_000, -1, "hour"],
    [26 * 3_600_000, 1, "day"],
    [-30 * 86_400_000, -30, "day"],
    [-40 * 86_400_000, -1, "month"],
    [-800 * 86_400_000, -2, "year"],
  ])("%d ms", (difference, value, unit) => {
    expect(distance(NOW + difference, NOW)).toEqual({ value, unit });
  });
});

describe("durationParts", () => {
  test.each([
    [0, "0ms"],
    [0.256, "0.26ms"],
    [12.4, "12ms"],
    [999.4, "999ms"],
    [999.7, "1s"],
    [1_240, "1.2s"],
    [59_960, "1min"],
    [65_000, "1min 5s"],
    [119_600, "2min"],
    [3_599_900, "1h"],
    [3_600_000, "1h"],
    [5_400_000, "1h 30min"],
    [86_399_000, "1d"],
    [90_000_000, "1d 1h"],
    [-5, "0ms"],
  ])("%d", (ms, expected) => {
    expect(
      durationParts(ms)
        .map(part => `${part.value}${part.unit}`)
        .join(" "),
    ).toBe(expected);
  });
});

test("a moment is a number or a text", () => {
  expect(toMs(5)).toBe(5);
  expect(toMs("2026-11-19T12:00:00Z")).toBe(NOW);
  expect(toMs("never")).toBeNaN();
});
