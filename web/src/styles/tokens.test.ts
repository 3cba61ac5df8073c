// @vitest-environment node
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const css = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");

/** The variables of the block that begins with a selector. */
function tokens(selector: string): Map<string, string> {
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf("}", start));
  return new Map(
    [...block.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name = "", value = ""]) => [name, value.trim()]),
  );
}

const light = tokens(":root");
const dark = tokens(':root:not([data-theme="light"])');

test("the dark scheme is the same by the system and by choice", () => {
  expect(dark.size).toBeGreaterThan(20);
  expect([...tokens(':root[data-theme="dark"]')]).toEqual([...dark]);
});

test("every colour has a dark form", () => {
  const colours = [...light].filter(([, value]) => /^#|^rgb/.test(value)).map(([name]) => name);
  expect(colours.filter(name => !dark.has(name))).toEqual([]);
});

function luminance(hex: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

describe.each([
  ["light", light],
  ["dark", new Map([...light, ...dark])],
])("texts can be read, %s", (_, scheme) => {
  const grounds = ["bg", "bg-side", "bg-raised", "bg-sunken", "bg-hover"];
  test.each([
    ...["text", "text-muted", "text-faint", "accent-text"].flatMap(text =>
      grounds.map(ground => [text, ground]),
    ),
    ...["ok", "warn", "danger", "info", "accent"].map(tone => [`${tone}-text`, `${tone}-soft`]),
    ["text", "accent-soft"],
    ["text-muted", "accent-soft"],
    ["text-muted", "bg-active"],
    ["on-accent", "accent"],
    ["warn-text", "danger-soft"],
    ["warn-text", "ok-soft"],
  ])("%s on %s", (text = "", ground = "") => {
    expect(contrast(scheme.get(text) ?? "", scheme.get(ground) ?? "")).toBeGreaterThanOrEqual(4.5);
  });
});
