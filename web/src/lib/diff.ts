// What differs between two texts: line by line, and word by word within changed lines.

/** One line of a difference. Of a changed line the words that differ are marked. */
export type DiffLine = {
  readonly kind: "same" | "removed" | "added";
  readonly words: readonly DiffWord[];
};

/** A part of a line, and whether it differs from the other text. */
export type DiffWord = { readonly text: string; readonly isChanged: boolean };

/** Lines that are the same on both sides and left out. */
export type DiffSkip = { readonly kind: "skip"; readonly lines: number };

type Step<T> = { readonly kind: "same" | "removed" | "added"; readonly item: T };

/** Above this product of lengths the longest common sequence would take too long. */
const CELLS_MAX = 1_000_000;

function compare<T>(before: readonly T[], after: readonly T[]): Step<T>[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end += 1;
  }
  const same = (items: readonly T[]): Step<T>[] => items.map(item => ({ kind: "same", item }));
  return [
    ...same(before.slice(0, start)),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

function middle<T>(before: readonly T[], after: readonly T[]): Step<T>[] {
  const steps: Step<T>[] = [];
  const [rows, columns] = [before.length, after.length];
  if (rows === 0 || columns === 0 || rows * columns > CELLS_MAX) {
    for (const item of before) steps.push({ kind: "removed", item });
    for (const item of after) steps.push({ kind: "added", item });
    return steps;
  }
  // The length of the longest common sequence of what is left from each pair of positions.
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    if (i < rows && j < columns && before[i] === after[j]) {
      steps.push({ kind: "same", item: before[i] as T });
      i += 1;
      j += 1;
    } else if (i < rows && (j >= columns || at(i + 1, j) >= at(i, j + 1))) {
      steps.push({ kind: "removed", item: before[i] as T });
      i += 1;
    } else {
      steps.push({ kind: "added", item: after[j] as T });
      j += 1;
    }
  }
  return steps;
}

/** Words, runs of spaces, and single other characters. Chinese has no spaces: each of its letters is a word. */
function wordsOf(line: string): string[] {
  return line.match(/\p{Script=Han}|[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function merged(steps: readonly Step<string>[], side: "removed" | "added"): DiffWord[] {
  const words: DiffWord[] = [];
  for (const { kind, item } of steps) {
    if (kind !== "same" && kind !== side) continue;
    const isChanged = kind === side;
    const last = words.at(-1);
    if (last?.isChanged === isChanged) words[words.length - 1] = { text: last.text + item, isChanged };
    else words.push({ text: item, isChanged });
  }
  return words;
}

function whole(text: string): readonly DiffWord[] {
  return [{ text, isChanged: false }];
}

/** Lines that replace others are compared word by word, if they have something in common. */
function pair(removed: readonly string[], added: readonly string[]): DiffLine[] {
  const lines: { before: DiffLine[]; after: DiffLine[] } = { before: [], after: [] };
  const n = Math.max(removed.length, added.length);
  for (let i = 0; i < n; i += 1) {
    const [old, now] = [removed[i], added[i]];
    if (old !== undefined && now !== undefined && old.length + now.length < 4_000) {
      const steps = compare(wordsOf(old), wordsOf(now));
      const hasCommon = steps.some(step => step.kind === "same" && step.item.trim() !== "");
      lines.before.push({ kind: "removed", words: hasCommon ? merged(steps, "removed") : whole(old) });
      lines.after.push({ kind: "added", words: hasCommon ? merged(steps, "added") : whole(now) });
    } else {
      if (old !== undefined) lines.before.push({ kind: "removed", words: whole(old) });
      if (now !== undefined) lines.after.push({ kind: "added", words: whole(now) });
    }
  }
  return [...lines.before, ...lines.after];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

/** The difference of two texts. */
export function diffLines(before: string, after: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = (): void => {
    lines.push(...pair(removed, added));
    removed = [];
    added = [];
  };
  for (const { kind, item } of compare(linesOf(before), linesOf(after))) {
    if (kind === "removed") removed.push(item);
    else if (kind === "added") added.push(item);
    else {
      flush();
      lines.push({ kind: "same", words: whole(item) });
    }
  }
  flush();
  return lines;
}

/** Leaves out lines that are the same and further than `around` from a change. */
export function withContext(lines: readonly DiffLine[], around = 3): (DiffLine | DiffSkip)[] {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.kind === "same") return;
    keep.fill(1, Math.max(0, i - around), Math.min(lines.length, i + around + 1));
  });
  const shown: (DiffLine | DiffSkip)[] = [];
  let skipped = 0;
  lines.forEach((line, i) => {
    if (keep[i] === 1) {
      if (skipped > 0) shown.push({ kind: "skip", lines: skipped });
      skipped = 0;
      shown.push(line);
    } else {
      skipped += 1;
    }
  });
  if (skipped > 0) shown.push({ kind: "skip", lines: skipped });
  return shown;
}

/** Whether two texts differ at all. */
export function isChanged(lines: readonly DiffLine[]): boolean {
  return lines.some(line => line.kind !== "same");
}
