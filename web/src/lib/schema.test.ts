import { describe, expect, test } from "vitest";
import { fieldsOf, make } from "./schema";

const schema = {
  type: "object",
  required: ["path"],
  properties: {
    limit: { type: "integer", default: 10 },
    path: { type: "string", description: "Where" },
    mode: { enum: ["fast", 2, null] },
    deep: { type: ["boolean", "null"] },
    filter: { $ref: "#/$defs/filter", description: "Which" },
    loop: { $ref: "#/$defs/loop" },
  },
  $defs: { filter: { type: "array" }, loop: { $ref: "#/$defs/loop" } },
};

test("fields have kinds, those that are required come first", () => {
  expect(fieldsOf(schema)?.map(field => [field.name, field.kind, field.hint])).toEqual([
    ["path", "text", ""],
    ["limit", "number", "10"],
    ["mode", "choice", ""],
    ["deep", "boolean", ""],
    ["filter", "json", "[]"],
    ["loop", "json", "{}"],
  ]);
});

test("what describes no object has no form", () => {
  expect(fieldsOf({ type: "string" })).toBeNull();
  expect(fieldsOf(null)).toBeNull();
  expect(fieldsOf({ type: "object" })).toEqual([]);
  expect(fieldsOf({ properties: { a: true } })?.[0]?.kind).toBe("json");
});

describe("make", () => {
  const fields = fieldsOf(schema) ?? [];
  test.each([
    [
      { path: "/a", limit: "3", deep: "true", mode: "1", filter: "[1]" },
      { path: "/a", limit: 3, deep: true, mode: 2, filter: [1] },
      {},
    ],
    [{}, {}, { path: "required" }],
    [{ path: " ", limit: "1.5" }, { path: " " }, { limit: "not_a_number" }],
    [{ path: "x", limit: "1e999" }, { path: "x" }, { limit: "not_a_number" }],
    [{ path: "x", filter: "[" }, { path: "x" }, { filter: "not_json" }],
  ])("%j", (typed, value, errors) => {
    const made = make(fields, typed as Record<string, string>);
    expect(made.value).toEqual(value);
    expect({ ...made.errors }).toEqual(errors);
  });
});
