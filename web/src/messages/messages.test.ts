// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { describe, expect, test } from "vitest";
import { en } from "./en";
import { type Catalogue, translator } from "./index";
import { zh } from "./zh";

const root = join(import.meta.dirname, "..");

/** The sources that may hold messages, by path. */
const sources = new Map(
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter(path => /\.tsx?$/.test(path) && !/\.test\.|^messages|^api|^gallery/.test(path))
    .map(path => [path, readFileSync(join(root, path), "utf8")] as const),
);

const catalogues: Record<string, Catalogue> = { en, zh };

function textsOf(message: Catalogue[keyof Catalogue]): string[] {
  return typeof message === "string" ? [message] : Object.values(message).filter(text => text !== undefined);
}

function namesOf(message: Catalogue[keyof Catalogue]): string[] {
  return [...new Set(textsOf(message).flatMap(text => text.match(/\{\w+\}/g) ?? []))].sort();
}

test("both languages have the same keys and values", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  for (const [key, message] of Object.entries(en)) {
    expect([key, namesOf(zh[key as keyof typeof en])]).toEqual([key, namesOf(message)]);
  }
});

test("no message is empty, and every Chinese one is Chinese", () => {
  // Names that are the same everywhere.
  const same = new Set(["app.name"]);
  for (const catalogue of Object.values(catalogues)) {
    for (const [key, message] of Object.entries(catalogue)) {
      for (const text of textsOf(message)) expect([key, text.trim()]).not.toEqual([key, ""]);
    }
  }
  for (const [key, message] of Object.entries(zh)) {
    const isSame =
      same.has(key) ||
      textsOf(message).every(
        text => /^[A-Za-z0-9 ./{}%_-]*$/.test(text) && en[key as keyof typeof en] === text,
      );
    if (!isSame)
      expect([key, textsOf(message).join("")]).toEqual([key, expect.stringMatching(/\p{Script=Han}/u)]);
  }
});

test("every message is used", () => {
  const text = [...sources.values()].join("\n");
  const whole = new Set([...text.matchAll(/["'`]([a-z][\w.]*)["'`]/g)].map(found => found[1]));
  const heads = [...text.matchAll(/`([a-z][\w]*\.[\w.]*)\$\{/g)].map(found => found[1] ?? "");
  const unused = Object.keys(en).filter(key => !whole.has(key) && !heads.some(head => key.startsWith(head)));
  expect(unused).toEqual([]);
});

/** Attributes that people read. */
const READ = new Set([
  "aria-label",
  "title",
  "placeholder",
  "alt",
  "label",
  "text",
  "description",
  "summary",
]);

interface Node {
  type: string;
  [name: string]: unknown;
}

function literalsOf(path: string, source: string): string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== "object" || value === null || !("type" in value)) return;
    const node = value as Node;
    if (node.type === "JSXText" && /\p{L}{2}/u.test(String(node.value)))
      found.push(String(node.value).trim());
    if (node.type === "JSXAttribute") {
      const name = (node.name as Node).name as string;
      const given = node.value as Node | null;
      if (READ.has(name) && given?.type === "Literal" && /\p{L}{2}/u.test(String(given.value)))
        found.push(`${name}=${given.value}`);
    }
    for (const child of Object.values(node)) if (typeof child === "object") visit(child);
  };
  visit(parseSync(path, source).program);
  return found;
}

describe("no text is outside of the catalogue", () => {
  const tsx = [...sources].filter(([path]) => path.endsWith(".tsx"));
  test.each(tsx)("%s", (path, source) => {
    expect(literalsOf(path, source)).toEqual([]);
  });

  test("a text would be found", () => {
    expect(literalsOf("x.tsx", 'const x = <p title="Two words">Some text {1}</p>;')).toEqual([
      "title=Two words",
      "Some text",
    ]);
  });
});

test("numbers choose the form", () => {
  expect(translator("en")("json.items", { count: 1 })).toBe("1 item");
  expect(translator("en")("json.items", { count: 1200 })).toBe("1,200 items");
  expect(translator("zh")("json.items", { count: 1 })).toBe("1 项");
});

test("a value is put in as it is", () => {
  expect(translator("en")("shell.user", { name: "$& {name}" })).toBe("Account of $& {name}");
});
