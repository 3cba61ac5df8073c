import { describe, expect, test } from "vitest";
import { type DiffLine, diffLines, isChanged, withContext } from "./diff";

const SIGN = { same: " ", removed: "-", added: "+" } as const;

function shown(lines: readonly DiffLine[]): string[] {
  return lines.map(
    line =>
      SIGN[line.kind] + line.words.map(word => (word.isChanged ? `[${word.text}]` : word.text)).join(""),
  );
}

describe("diffLines", () => {
  test.each([
    ["nothing changed", "a\nb", "a\nb", [" a", " b"]],
    ["a line added", "a\nc", "a\nb\nc", [" a", "+b", " c"]],
    ["a line removed", "a\nb\nc", "a\nc", [" a", "-b", " c"]],
    ["a word changed", "read the file", "read every file", ["-read [the] file", "+read [every] file"]],
    ["nothing in common", "abc", "xyz", ["-abc", "+xyz"]],
    ["chinese", "读取文件", "写入文件", ["-[读取]文件", "+[写入]文件"]],
    ["a value in JSON", '{\n  "n": 1\n}', '{\n  "n": 12\n}', [" {", '-  "n": [1]', '+  "n": [12]', " }"]],
    ["from nothing", "", "a", ["+a"]],
    ["moved", "a\nb\nc", "b\nc\na", ["-a", " b", " c", "+a"]],
  ])("%s", (_, before, after, expected) => {
    expect(shown(diffLines(before, after))).toEqual(expected);
  });

  test("long texts are compared in time", () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
    const before = lines.join("\n");
    const after = lines.map((line, i) => (i % 2 === 0 ? line : `${line}!`)).join("\n");
    const start = performance.now();
    expect(isChanged(diffLines(before, after))).toBe(true);
    expect(performance.now() - start).toBeLessThan(1_500);
  });
});

test("unchanged lines far from a change are left out", () => {
  const before = Array.from({ length: 20 }, (_, i) => `${i}`).join("\n");
  const after = before.replace("10", "ten");
  const kinds = withContext(diffLines(before, after), 1).map(line =>
    line.kind === "skip" ? `skip ${line.lines}` : line.kind,
  );
  expect(kinds).toEqual(["skip 9", "same", "removed", "added", "same", "skip 8"]);
});
