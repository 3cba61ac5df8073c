import { describe, expect, test } from "vitest";
import { countValues, losesNumbers, membersOf, parse, pointerOf, toSortedText } from "./json";

test("members have names", () => {
  expect(membersOf(["a", 1])).toEqual([
    ["0", "a"],
    ["1", 1],
  ]);
  expect(membersOf({ a: 1 })).toEqual([["a", 1]]);
  expect(membersOf("text")).toEqual([]);
  expect(membersOf(null)).toEqual([]);
});

test("pointers escape", () => {
  expect(pointerOf("/a", "b/c~d")).toBe("/a/b~1c~0d");
});

test("sorted text is the same for the same members", () => {
  expect(toSortedText({ b: 1, a: { d: [2, { f: 1, e: 0 }], c: null } })).toBe(
    toSortedText({ a: { c: null, d: [2, { e: 0, f: 1 }] }, b: 1 }),
  );
  expect(toSortedText(JSON.parse('{"__proto__": 1}'))).toBe('{\n  "__proto__": 1\n}');
});

describe("losesNumbers", () => {
  test.each([
    ['{"n": 1}', false],
    ['{"n": 9007199254740993}', true],
    ['{"n": 9007199254740992}', false],
    ['{"n": "9007199254740993"}', false],
    ['{"n": 0.1}', false],
    ['{"n": 0.12345678901234567890}', true],
    ['{"n": 1e3}', false],
    ['{"a\\"": -0}', false],
    [`{"n": 1${"0".repeat(400)}}`, true],
  ])("%s", (text, expected) => {
    expect(losesNumbers(text)).toBe(expected);
  });
});

test("what is no JSON says why", () => {
  expect(parse('{"a": 1}')).toEqual({ ok: true, value: { a: 1 } });
  expect(parse("{").ok).toBe(false);
});

test("counting ends", () => {
  expect(countValues({ a: [1, 2, 3] })).toBe(5);
  expect(
    countValues(
      Array.from({ length: 100_000 }, () => 0),
      50,
    ),
  ).toBe(50);
});
