import { describe, expect, test } from "vitest";
import { rank, score } from "./fuzzy";

const TOOLS = [
  "github.create_issue",
  "github.list_issues",
  "files.read_file",
  "files.write_file",
  "jira.createIssue",
  "Settings",
];

describe("rank", () => {
  test.each([
    ["create", ["github.create_issue", "jira.createIssue"]],
    ["ghci", ["github.create_issue"]],
    ["rf", ["files.read_file", "files.write_file"]],
    ["issue github", ["github.list_issues", "github.create_issue"]],
    ["set", ["Settings"]],
    ["zzz", []],
  ])("%s", (query, expected) => {
    expect(rank(TOOLS, query, tool => tool).sort()).toEqual([...expected].sort());
  });

  test("the beginning comes before the middle", () => {
    expect(rank(["my-files", "files"], "files", name => name)).toEqual(["files", "my-files"]);
  });

  test("nothing typed keeps the order", () => {
    expect(rank(TOOLS, " ", tool => tool)).toEqual(TOOLS);
  });

  test("ten thousand names are ranked in a moment", () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `server-${i % 100}.tool_number_${i}`);
    const start = performance.now();
    rank(names, "tool 77", name => name);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

test("the same is best", () => {
  expect(score("tools", "tools")).toBe(1);
  expect(score("tools", "tool")).toBeLessThan(1);
});
