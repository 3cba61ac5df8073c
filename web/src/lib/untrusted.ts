// Text from servers and agents, made visible. Such text may hold characters that change how a reader sees it: control
// characters, marks that reverse the writing direction, characters without width, spaces that look like others. They
// become escapes; nothing is left out, and nothing is interpreted.

/** A piece of text: as it is, or an escape that stands for one character. */
export type Piece = { readonly text: string; readonly isEscape: boolean };

const NAMES: ReadonlyMap<number, string> = new Map([
  [0x00, "NUL"],
  [0x07, "BEL"],
  [0x08, "BS"],
  [0x1b, "ESC"],
  [0x7f, "DEL"],
  [0xa0, "NBSP"],
  [0xad, "SHY"],
  [0x200b, "ZWSP"],
  [0x200c, "ZWNJ"],
  [0x200d, "ZWJ"],
  [0x200e, "LRM"],
  [0x200f, "RLM"],
  [0x202a, "LRE"],
  [0x202b, "RLE"],
  [0x202c, "PDF"],
  [0x202d, "LRO"],
  [0x202e, "RLO"],
  [0x2060, "WJ"],
  [0x2066, "LRI"],
  [0x2067, "RLI"],
  [0x2068, "FSI"],
  [0x2069, "PDI"],
  [0xfeff, "BOM"],
]);

/** Letters that show as nothing, though Unicode counts them as letters or marks. */
const BLANK: ReadonlySet<number> = new Set([0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0]);

const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}]/u;

/** A joiner between two pictographs makes one emoji of them, and a selector after one chooses its colours. */
const PICTOGRAPH = /\p{Extended_Pictographic}/u;

/** More marks than this on one letter pile up over the lines around it. */
const MARKS_MAX = 4;
const MARK = /\p{M}/u;

function isHidden(char: string, previous: string, next: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  if (code === 0x20 || code === 0x0a || code === 0x09) return false;
  if (code === 0xfe0f) return !PICTOGRAPH.test(previous);
  if (code === 0x200d)
    return !(
      /[\p{Extended_Pictographic}\p{Variation_Selector}\p{EMod}]/u.test(previous) && PICTOGRAPH.test(next)
    );
  return BLANK.has(code) || HIDDEN.test(char);
}

/** The escape of one character: its short name where it has one, else its number. */
export function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code === 0x0d) return "\\r";
  const name = NAMES.get(code);
  return name === undefined ? `\\u{${code.toString(16)}}` : `\\${name}`;
}

/** Divides text into what can be shown as it is and what needs an escape. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  const chars = Array.from(text);
  let plain = "";
  let marks = 0;
  const flush = (): void => {
    if (plain !== "") found.push({ text: plain, isEscape: false });
    plain = "";
  };
  for (let i = 0; i < chars.length; i += 1) {
    const char = chars[i] ?? "";
    // A carriage return before a newline is only another way to end a line.
    if (char === "\r" && chars[i + 1] === "\n") continue;
    marks = MARK.test(char) ? marks + 1 : 0;
    if (marks > MARKS_MAX || isHidden(char, chars[i - 1] ?? "", chars[i + 1] ?? "")) {
      flush();
      found.push({ text: escapeOf(char), isEscape: true });
    } else {
      plain += char;
    }
  }
  flush();
  return found;
}

/** The text with its escapes, for places that take only text: titles, labels, notifications. */
export function visible(text: string): string {
  return pieces(text)
    .map(piece => piece.text)
    .join("");
}

/** The text on one line, at most `max` characters long, with nothing made visible yet. */
export function lineOf(text: string, max = 300): string {
  const line = safeSlice(text, max + 1).replace(/[\r\n\t]+/g, " ");
  return text.length > max ? `${safeSlice(line, max - 1)}…` : line;
}

/** The same with escapes, for places that take only text. */
export function oneLine(text: string, max = 200): string {
  const line = visible(text.length > max * 4 ? text.slice(0, max * 4) : text).replace(/[\n\t]+/g, " ");
  return line.length > max ? `${safeSlice(line, max - 1)}…` : line;
}

/** The beginning of a text that does not end within a surrogate pair. */
export function safeSlice(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** How much of a long text is shown before somebody asks for all of it. */
export type Folded = { readonly head: string; readonly rest: number };

/** Folds a text that has more than `lines` lines or `length` characters. */
export function fold(
  text: string,
  { length = 600, lines = 12 }: { length?: number; lines?: number } = {},
): Folded {
  let end = Math.min(text.length, length);
  let line = 0;
  for (let i = 0; i < end; i += 1) {
    if (text.charCodeAt(i) === 0x0a) {
      line += 1;
      if (line === lines) {
        end = i;
        break;
      }
    }
  }
  // A few characters more are not worth a button.
  if (text.length - end <= 40 && line < lines) return { head: text, rest: 0 };
  const head = safeSlice(text, end);
  return { head, rest: text.length - head.length };
}
