// Command lines to copy, quoted so that a shell takes them as they are.

/** A word for a POSIX shell. */
export function quote(word: string): string {
  if (word !== "" && /^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  // Control characters and half pairs do not survive a paste; ANSI-C quoting writes them as escapes.
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(word)) return `$'${Array.from(word, escaped).join("")}'`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function escaped(char: string): string {
  if (char === "\\" || char === "'") return `\\${char}`;
  if (char === "\n") return "\\n";
  if (char === "\t") return "\\t";
  if (char === "\r") return "\\r";
  const code = char.codePointAt(0) ?? 0;
  if (!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(char)) return char;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** `mcp:files:read_file` as the command line writes it: `files.read_file`. */
export function toolName(toolId: string): string {
  const parts = /^mcp:([^:]+):(.+)$/s.exec(toolId);
  return parts === null ? toolId : `${parts[1]}.${parts[2]}`;
}

/** The line that makes a call again: `octroi call files.read_file path=/tmp/x`. */
export function callLine(tool: string, args: unknown, agent?: string | null): string {
  const words = ["octroi", "call", quote(toolName(tool))];
  if (agent !== undefined && agent !== null) words.push("--agent", quote(agent));
  const members =
    typeof args === "object" && args !== null && !Array.isArray(args) ? Object.entries(args) : null;
  if (members?.every(([name, value]) => isPlain(name, value))) {
    for (const [name, value] of members) words.push(quote(`${name}=${value}`));
  } else if (args !== undefined && args !== null) {
    words.push("--json-args", quote(typeof args === "string" ? args : JSON.stringify(args)));
  }
  return words.join(" ");
}

/** Whether `name=value` is read back as the same value: text that looks like JSON would not be. */
function isPlain(name: string, value: unknown): boolean {
  if (!/^[A-Za-z0-9_-]+$/.test(name) || name.startsWith("-")) return false;
  if (typeof value === "boolean" || typeof value === "number") return true;
  return (
    typeof value === "string" &&
    !/^\s*(?:[[{"]|-?\d|true\s*$|false\s*$|null\s*$)/.test(value) &&
    !value.startsWith("@")
  );
}
