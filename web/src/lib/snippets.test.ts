import { describe, expect, test } from "vitest";
import { callLine, quote, toolName } from "./snippets";

describe("quote", () => {
  test.each([
    ["plain", "plain"],
    ["/tmp/a-b_c.txt", "/tmp/a-b_c.txt"],
    ["", "''"],
    ["two words", "'two words'"],
    ["it's", "'it'\\''s'"],
    ["$(rm -rf /)", "'$(rm -rf /)'"],
    ["`id`", "'`id`'"],
    ["a\nb", "$'a\\nb'"],
    ["a\n'b\\", "$'a\\n\\'b\\\\'"],
    ["a\u202eb", "$'a\\u202eb'"],
    ["\u001b[31m", "$'\\x1b[31m'"],
    ["读取", "'读取'"],
    ["~root", "'~root'"],
    ["*", "'*'"],
  ])("%j", (word, expected) => {
    expect(quote(word)).toBe(expected);
  });
});

test("the name of a tool", () => {
  expect(toolName("mcp:files:read_file")).toBe("files.read_file");
  expect(toolName("files.read_file")).toBe("files.read_file");
});

describe("callLine", () => {
  test.each([
    ["text", { path: "/tmp/x", deep: true, n: 3 }, null, "octroi call files.read path=/tmp/x deep=true n=3"],
    ["an agent", {}, "claude", "octroi call files.read --agent claude"],
    [
      "text that looks like a number",
      { id: "007" },
      null,
      `octroi call files.read --json-args '{"id":"007"}'`,
    ],
    ["nested", { a: { b: 1 } }, null, `octroi call files.read --json-args '{"a":{"b":1}}'`],
    ["an option as a name", { "--agent": "x" }, null, `octroi call files.read --json-args '{"--agent":"x"}'`],
    ["several words", { text: "it's late" }, null, "octroi call files.read 'text=it'\\''s late'"],
    ["nothing", undefined, null, "octroi call files.read"],
  ])("%s", (_, args, agent, expected) => {
    expect(callLine("mcp:files:read", args, agent)).toBe(expected);
  });
});
