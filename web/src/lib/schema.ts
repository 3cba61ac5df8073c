// A form from a JSON Schema, as far as forms go: what is not a plain value is typed as JSON. The gateway validates; this
// only makes a value of what was typed.

export interface FormField {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "json";
  isInteger: boolean;
  isRequired: boolean;
  description: string | null;
  choices: readonly unknown[];
  /** What stands in an empty field. */
  hint: string;
}

type Schema = Record<string, unknown>;

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of an object's schema, those that are required first; nothing if it describes no object. */
export function fieldsOf(schema: unknown): FormField[] | null {
  if (!isObject(schema) || !isObject(schema.properties))
    return isObject(schema) && schema.type === "object" ? [] : null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(schema.properties).map(([name, property]) =>
    fieldOf(name, property, required.has(name), schema),
  );
  return fields.sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function fieldOf(name: string, property: unknown, isRequired: boolean, root: Schema): FormField {
  const schema = resolve(property, root);
  // `type: ["string", "null"]` and the like: an optional value of the other type.
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter(type => type !== "null");
  const type = types.length === 1 ? types[0] : null;
  const choices = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : [];
  const kind = choices.length > 0 ? "choice" : kindOf(type);
  return {
    name,
    kind,
    isInteger: type === "integer",
    isRequired,
    description: typeof schema.description === "string" ? schema.description : null,
    choices,
    hint: hintOf(schema, kind),
  };
}

function kindOf(type: unknown): FormField["kind"] {
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "json";
}

function hintOf(schema: Schema, kind: FormField["kind"]): string {
  const example = schema.default ?? (Array.isArray(schema.examples) ? schema.examples[0] : undefined);
  if (example !== undefined) return typeof example === "string" ? example : JSON.stringify(example);
  if (kind === "json") return schema.type === "array" ? "[]" : "{}";
  return "";
}

/** Follows a reference within the schema, a few steps at most; a cycle ends as JSON. */
function resolve(property: unknown, root: Schema): Schema {
  let schema = isObject(property) ? property : {};
  for (let step = 0; step < 5 && typeof schema.$ref === "string"; step += 1) {
    const path = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema.$ref);
    const defs = path?.[1] === undefined ? undefined : root[path[1]];
    const found = isObject(defs) && path?.[2] !== undefined ? defs[path[2]] : undefined;
    if (!isObject(found)) return {};
    schema = { ...found, ...(typeof schema.description === "string" && { description: schema.description }) };
  }
  return typeof schema.$ref === "string" ? {} : schema;
}

/** What is wrong with a field. */
export type FieldError = "required" | "not_a_number" | "not_json";

export interface Made {
  value: Record<string, unknown>;
  errors: Record<string, FieldError>;
}

/** The arguments that were typed. An empty field is not set. */
export function make(fields: readonly FormField[], typed: Readonly<Record<string, string>>): Made {
  const value: Record<string, unknown> = Object.create(null);
  const errors: Made["errors"] = Object.create(null);
  for (const field of fields) {
    const text = typed[field.name] ?? "";
    if (text === "") {
      if (field.isRequired) errors[field.name] = "required";
      continue;
    }
    const read = readField(field, text);
    if ("error" in read) errors[field.name] = read.error;
    else value[field.name] = read.value;
  }
  return { value: { ...value }, errors };
}

function readField(field: FormField, text: string): { value: unknown } | { error: FieldError } {
  switch (field.kind) {
    case "text":
      return { value: text };
    case "boolean":
      return { value: text === "true" };
    case "choice": {
      const index = Number(text);
      return { value: field.choices[index] };
    }
    case "number": {
      const number = Number(text);
      const isFine =
        text.trim() !== "" && Number.isFinite(number) && (!field.isInteger || Number.isInteger(number));
      return isFine ? { value: number } : { error: "not_a_number" };
    }
    case "json":
      try {
        return { value: JSON.parse(text) };
      } catch {
        return { error: "not_json" };
      }
  }
}
