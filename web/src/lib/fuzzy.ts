// Ranks what the command palette offers: how well a name fits what somebody typed.

/** How well `text` fits `query`: 0 not at all, higher is better, 1 is the same. */
export function score(text: string, query: string): number {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return 0.5;
  const words = wanted.split(/\s+/);
  const scores = words.map(word => scoreWord(text, word));
  // Each word must be found somewhere.
  return scores.includes(0) ? 0 : scores.reduce((sum, one) => sum + one, 0) / scores.length;
}

function scoreWord(text: string, word: string): number {
  const lower = text.toLowerCase();
  if (lower === word) return 1;
  const length = word.length / Math.max(word.length, text.length);
  const at = lower.indexOf(word);
  if (at === 0) return 0.9 + 0.05 * length;
  if (at > 0) return (boundaries(text).has(at) ? 0.75 : 0.55) + 0.05 * length;
  return scoreLetters(text, lower, word);
}

/** The letters in their order, but not together. Those at the beginning of words count most. */
function scoreLetters(text: string, lower: string, word: string): number {
  const starts = boundaries(text);
  let points = 0;
  let position = -1;
  for (const letter of word) {
    const next = nextStart(lower, starts, letter, position + 1) ?? lower.indexOf(letter, position + 1);
    if (next < 0) return 0;
    if (starts.has(next)) points += 1;
    else if (next === position + 1) points += 0.6;
    position = next;
  }
  // Fewer than every third letter at a good place is chance.
  const share = points / word.length;
  return share < 0.34 ? 0 : 0.1 + 0.35 * share;
}

function nextStart(lower: string, starts: ReadonlySet<number>, letter: string, from: number): number | null {
  if (lower[from] === letter) return from;
  for (let i = from; i < lower.length; i += 1) if (starts.has(i) && lower[i] === letter) return i;
  return null;
}

/** Where words begin: after a separator, and at a capital after a small letter. */
function boundaries(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (let i = 0; i < text.length; i += 1) {
    const [previous, current] = [text[i - 1] ?? " ", text[i] ?? ""];
    if (/[\s._\-/:@]/.test(previous) || (/[a-z]/.test(previous) && /[A-Z]/.test(current))) found.add(i);
  }
  return found;
}

/** The items that fit, best first, those of the same rank in their order. */
export function rank<T>(items: readonly T[], query: string, textOf: (item: T) => string, limit = 50): T[] {
  const found: { item: T; points: number; at: number }[] = [];
  items.forEach((item, at) => {
    const points = score(textOf(item), query);
    if (points > 0) found.push({ item, points, at });
  });
  found.sort((a, b) => b.points - a.points || a.at - b.at);
  return found.slice(0, limit).map(({ item }) => item);
}
