// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard

// What differs between two texts, or two JSON values.

import { useMemo } from "react";
import { diffLines, isChanged, withContext } from "../lib/diff";
import { toSortedText } from "../lib/json";
import { oneLine, safeSlice } from "../lib/untrusted";
import { useText } from "../messages";
import { cx } from "./cx";
import { Pieces } from "./Untrusted";

const SIGN = { same: " ", removed: "−", added: "+" } as const;

/** One line is not shown further than this. */
const LINE_MAX = 2_000;

export function Diff({ before, after, label }: { before: unknown; after: unknown; label?: string }) {
  const t = useText();
  const lines = useMemo(() => diffLines(toSortedText(before), toSortedText(after)), [before, after]);
  if (!isChanged(lines)) return <p className="muted">{t("diff.same")}</p>;
  return (
    <section
      className="diff"
      aria-label={label === undefined ? t("diff.label") : oneLine(label)}
      tabIndex={0}
    >
      {withContext(lines).map((line, i) =>
        line.kind === "skip" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one difference never change places
          <div key={i} className="diff-skip">
            {t("diff.skipped", { count: line.lines })}
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one difference never change places
          <div key={i} className={cx("diff-line", line.kind !== "same" && `diff-line--${line.kind}`)}>
            <span className="diff-sign">{SIGN[line.kind]}</span>
            <bdi className="untrusted">
              {line.words.map((word, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: nor do the words of a line
                <span key={j} className={cx(word.isChanged && "diff-word")}>
                  <Pieces
                    text={word.text.length > LINE_MAX ? `${safeSlice(word.text, LINE_MAX)}…` : word.text}
                  />
                </span>
              ))}
            </bdi>
          </div>
        ),
      )}
    </section>
  );
}
