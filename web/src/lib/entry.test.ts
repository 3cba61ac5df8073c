import { describe, expect, test } from "vitest";
import { fromCommand, fromJson, fromTemplate, nameFrom, resolved, words } from "./entry";

describe("words", () => {
  test.each([
    ["npx -y server /tmp", ["npx", "-y", "server", "/tmp"]],
    ["  a   b  ", ["a", "b"]],
    [`a 'b c' "d e"`, ["a", "b c", "d e"]],
    [`a\\ b ''`, ["a b", ""]],
    [`"a \\"b\\" $HOME"`, [`a "b" $HOME`]],
    [`a 'b`, null],
    ["", []],
  ])("%s", (line, expected) => {
    expect(words(line)).toEqual(expected);
  });
});

test("a command line has variables, a command and arguments", () => {
  expect(fromCommand("TOKEN=x npx -y server --root=/tmp")).toEqual({
    command: "npx",
    args: ["-y", "server", "--root=/tmp"],
    env: { TOKEN: "x" },
  });
  expect(fromCommand("A=1")).toBeNull();
});

describe("fromJson", () => {
  const entry = { command: "npx", args: ["x"] };
  test.each([
    ["of most clients", { mcpServers: { a: entry } }, [{ name: "a", entry }]],
    ["of VS Code", { servers: { a: { type: "stdio", ...entry } } }, [{ name: "a", entry }]],
    ["by name", { a: entry, b: 1 }, [{ name: "a", entry }]],
    [
      "one alone",
      { name: "a", url: "https://x.example/mcp" },
      [{ name: "a", entry: { url: "https://x.example/mcp" } }],
    ],
    [
      "of Windsurf",
      { mcpServers: { a: { serverUrl: "https://x.example" } } },
      [{ name: "a", entry: { url: "https://x.example" } }],
    ],
    ["no object", [1], []],
    ["nothing", null, []],
  ])("%s", (_, value, expected) => {
    expect(fromJson(value)).toEqual(expected);
  });
});

describe("fromTemplate", () => {
  const field = (name: string, rest: object) => ({
    name,
    secret: false,
    binding: "env",
    binds_to: name.toUpperCase(),
    default: null,
    required: false,
    kind: "text",
    ...rest,
  });

  test("a secret is stored, and referred to", () => {
    const template = {
      id: "github",
      default_config: { url: "https://x.example/mcp" },
      fields: [field("token", { secret: true, binding: "header", binds_to: "Authorization" })],
    };
    expect(fromTemplate(template, "gh", { token: "s3cret$1" })).toEqual({
      entry: {
        url: "https://x.example/mcp",
        template_id: "github",
        headers: { Authorization: "Bearer ${secret:gh_token}" },
      },
      secrets: [{ name: "gh_token", value: "s3cret$1" }],
    });
  });

  test("paths are arguments, a dollar sign is no reference, a default counts", () => {
    const template = {
      id: "files",
      default_config: { command: "npx", args: ["-y", "files"] },
      fields: [
        field("roots", { kind: "paths", binding: "argument", binds_to: null }),
        field("mode", { default: "fast" }),
        field("region", { binding: "argument", binds_to: "--region" }),
        field("unused", {}),
      ],
    };
    const { entry } = fromTemplate(template, "files", { roots: "/a\n\n /b$c ", region: "eu" });
    expect(entry).toEqual({
      command: "npx",
      args: ["-y", "files", "/a", "/b$$c", "--region", "eu"],
      env: { MODE: "fast" },
      template_id: "files",
    });
  });

  test("a value in an address is encoded", () => {
    const template = {
      id: "t",
      default_config: { url: "https://x.example/{org}/mcp" },
      fields: [field("org", { binding: "url" })],
    };
    expect(fromTemplate(template, "t", { org: "a/b?c" }).entry.url).toBe("https://x.example/a%2Fb%3Fc/mcp");
  });
});

test("a name from anything", () => {
  expect(nameFrom("My GitHub (work)!")).toBe("my-github-work");
});

test("what an entry starts", () => {
  expect(resolved({ command: "npx", args: ["-y", "x"] })).toBe("npx -y x");
  expect(resolved({ url: "https://x.example" })).toBe("https://x.example");
});
