// JSON for people: text in a fixed form, the paths of its values, and what hides in text that is JSON.

/** A value as JSON text holds it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The members of a list or an object, each with its name; nothing of anything else. */
export function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.map((item, i) => [String(i), item] as const);
  if (typeof value === "object" && value !== null) return Object.entries(value);
  return [];
}

/** Whether a value holds others. */
export function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The JSON pointer of a member. */
export function pointerOf(parent: string, name: string): string {
  return `${parent}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** A value as indented text. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

/** Indented text whose objects are sorted by name, so that the order of members is no difference. */
export function toSortedText(value: unknown): string {
  return toText(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isContainer(value)) return value;
  // A member of this name would set the prototype of an ordinary object instead.
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    copy[name] = sorted(member);
  }
  return copy;
}

/** What text holds, or why it is no JSON. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** Reads JSON text. */
export function parse(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether reading the text and writing it again would change a number, as with one that is too large. */
export function losesNumbers(text: string): boolean {
  // Only what is outside of strings counts.
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  return (outside.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? []).some(number => {
    if (/^-?\d+$/.test(number)) return number !== "-0" && BigInt(number) !== toBigInt(Number(number));
    const digits = number
      .replace(/[eE].*$/, "")
      .replace(/[-.]/g, "")
      .replace(/^0+/, "");
    return digits.length > 15;
  });
}

function toBigInt(value: number): bigint | null {
  return Number.isFinite(value) ? BigInt(value) : null;
}

/** How many values are inside, up to a limit; decides what is folded at first. */
export function countValues(value: unknown, limit = 1_000): number {
  let n = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && n < limit) {
    const next = rest.pop();
    n += 1;
    if (isContainer(next)) for (const [, member] of membersOf(next)) rest.push(member);
  }
  return n;
}
