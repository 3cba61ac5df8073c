// Entries of servers from what a person filled in, typed or pasted. Values that are secrets never stand in an entry: they
// are stored by name, and the entry refers to them.

/** A field of a template, as far as an entry needs it. */
export interface FieldShape {
  name: string;
  secret: boolean;
  binding: string;
  binds_to: string | null;
  default: string | null;
  required: boolean;
  kind: string;
  /** The text of a header around the value, with `{}` for it. */
  text?: string;
}

export type Entry = Record<string, unknown>;

/** An entry, and the secrets that have to be stored before. */
export interface Built {
  entry: Entry;
  secrets: { name: string; value: string }[];
}

/** A dollar sign begins a reference; two are one. */
const literal = (value: string): string => value.replaceAll("$", "$$$$");

/** The entry of a server that is made from a template. */
export function fromTemplate(
  template: { id: string; default_config: Entry; fields: readonly FieldShape[] },
  server: string,
  values: Readonly<Record<string, string>>,
): Built {
  const entry: Entry = { ...template.default_config, template_id: template.id };
  const args = Array.isArray(entry.args) ? [...(entry.args as string[])] : [];
  const env = { ...(entry.env as Record<string, string> | undefined) };
  const headers = { ...(entry.headers as Record<string, string> | undefined) };
  const secrets: Built["secrets"] = [];
  for (const field of template.fields) {
    const given = values[field.name]?.trim() || field.default || "";
    if (given === "") continue;
    const lines =
      field.kind === "paths"
        ? given
            .split("\n")
            .map(line => line.trim())
            .filter(Boolean)
        : [given];
    for (const value of lines) {
      let text = literal(value);
      if (field.secret) {
        const name = `${server}_${field.name}`;
        secrets.push({ name, value });
        text = `\${secret:${name}}`;
      }
      if (field.binding === "env" && field.binds_to) env[field.binds_to] = text;
      else if (field.binding === "header" && field.binds_to) {
        const around = field.text ?? (field.binds_to.toLowerCase() === "authorization" ? "Bearer {}" : "{}");
        headers[field.binds_to] = around.replace("{}", () => text);
      } else if (field.binding === "url") {
        entry.url = String(entry.url ?? "").replaceAll(`{${field.name}}`, encodeURIComponent(value));
      } else if (field.binding === "argument") {
        if (field.binds_to) args.push(field.binds_to);
        args.push(text);
      }
    }
  }
  if (args.length > 0) entry.args = args;
  if (Object.keys(env).length > 0) entry.env = env;
  if (Object.keys(headers).length > 0) entry.headers = headers;
  return { entry, secrets };
}

/** The words of a command line, quoted as in a shell. Nothing is expanded. */
export function words(line: string): string[] | null {
  const found: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let i = 0; i < line.length; i += 1) {
    const char = line[i] ?? "";
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (char === "\\" && quote === '"' && /["\\$`]/.test(line[i + 1] ?? "")) word += line[++i] ?? "";
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (char === "\\") {
      word = (word ?? "") + (line[++i] ?? "");
    } else if (/\s/.test(char)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote !== null) return null;
  if (word !== null) found.push(word);
  return found;
}

/** The entry of a command line, with `NAME=value` before it as variables. */
export function fromCommand(line: string): Entry | null {
  const all = words(line);
  if (!all) return null;
  const env: Record<string, string> = {};
  while (all.length > 0) {
    const variable = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(all[0] ?? "");
    if (!variable) break;
    env[variable[1] ?? ""] = variable[2] ?? "";
    all.shift();
  }
  const [command, ...args] = all;
  if (command === undefined) return null;
  return { command, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) };
}

/** Servers in pasted JSON, as clients keep them: `mcpServers`, `servers`, entries by name, or one entry alone. */
export function fromJson(value: unknown): { name: string | null; entry: Entry }[] {
  if (!isObject(value)) return [];
  for (const key of ["mcpServers", "mcp_servers", "servers", "context_servers"]) {
    if (isObject(value[key])) return named(value[key]);
  }
  if ("command" in value || "url" in value || "serverUrl" in value) {
    const name = typeof value.name === "string" ? value.name : null;
    return [{ name, entry: clean(value) }];
  }
  return named(value);
}

function named(entries: Entry): { name: string | null; entry: Entry }[] {
  return Object.entries(entries).flatMap(([name, entry]) =>
    isObject(entry) ? [{ name, entry: clean(entry) }] : [],
  );
}

/** Clients have names of their own for the same keys, and keys that say nothing to a gateway. */
function clean(entry: Entry): Entry {
  const { name: _name, serverUrl, type, ...rest } = entry;
  if (serverUrl !== undefined && rest.url === undefined) rest.url = serverUrl;
  if (type === "sse") rest.transport = "sse";
  return rest;
}

function isObject(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A name from what somebody wrote: lower case, without what a name cannot have. */
export function nameFrom(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 32);
}

/** What an entry starts or reaches, as one line. */
export function resolved(entry: Entry): string {
  if (typeof entry.url === "string") return entry.url;
  const args = Array.isArray(entry.args) ? entry.args : [];
  return [entry.command, ...args].filter(word => typeof word === "string").join(" ");
}
