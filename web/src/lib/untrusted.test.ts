import { describe, expect, test } from "vitest";
import { fold, oneLine, pieces, visible } from "./untrusted";

describe("visible", () => {
  test.each([
    ["plain text stays", "list files\n\tin /tmp", "list files\n\tin /tmp"],
    ["chinese stays", "读取文件，然后写入。", "读取文件，然后写入。"],
    ["accents stay", "Über naïve café", "Über naïve café"],
    ["markup is only text", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["the direction is not reversed", "safe\u202etxt.exe", "safe\\RLOtxt.exe"],
    ["isolates", "a\u2066b\u2069", "a\\LRIb\\PDI"],
    ["without width", "pass\u200bword", "pass\\ZWSPword"],
    ["control", "a\u0000b\u001b[31m", "a\\NULb\\ESC[31m"],
    ["a single carriage return", "good\rbad", "good\\rbad"],
    ["the end of a line of another system", "a\r\nb", "a\nb"],
    ["a space that is none", "rm\u00a0-rf\u2003/", "rm\\NBSP-rf\\u{2003}/"],
    ["the ideographic space", "\u3000", "\\u{3000}"],
    ["a letter without a shape", "a\u3164b", "a\\u{3164}b"],
    ["a byte order mark", "\ufeffx", "\\BOMx"],
    ["tags", "x\u{e0041}", "x\\u{e0041}"],
    ["half of a pair", "x\ud83d", "x\\u{d83d}"],
    ["a line separator", "a\u2028b", "a\\u{2028}b"],
    ["private use", "\ue000", "\\u{e000}"],
    ["an emoji of two", "👩‍💻", "👩‍💻"],
    ["a heart with its colour", "❤️", "❤️"],
    ["a selector after a letter", "a\ufe0f", "a\\u{fe0f}"],
    ["a joiner between letters", "a\u200db", "a\\ZWJb"],
    ["some marks stay, a pile does not", `e${"\u0301".repeat(6)}`, `e${"\u0301".repeat(4)}\\u{301}\\u{301}`],
  ])("%s", (_, text, expected) => {
    expect(visible(text)).toBe(expected);
  });
});

test("pieces say which of them are escapes", () => {
  expect(pieces("a\u200bb")).toEqual([
    { text: "a", isEscape: false },
    { text: "\\ZWSP", isEscape: true },
    { text: "b", isEscape: false },
  ]);
});

test("one line holds no newline and is short", () => {
  expect(oneLine("a\nb\tc")).toBe("a b c");
  expect(oneLine("x".repeat(1_000_000), 10)).toBe("xxxxxxxxx…");
});

describe("fold", () => {
  test.each([
    ["short text", "abc", "abc", 0],
    ["slightly too long", "x".repeat(620), "x".repeat(620), 0],
    ["too long", "x".repeat(2000), "x".repeat(600), 1400],
    ["too many lines", "a\n".repeat(30), `${"a\n".repeat(11)}a`, 37],
    ["not within a pair", "😀".repeat(1000), "😀".repeat(300), 1400],
  ])("%s", (_, text, head, rest) => {
    expect(fold(text)).toEqual({ head, rest });
  });
});
