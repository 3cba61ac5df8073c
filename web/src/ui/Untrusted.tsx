// Text from servers and agents. It is shown as text only, with whatever could deceive a reader made visible.

import { memo, useMemo, useState } from "react";
import { fold, lineOf, pieces } from "../lib/untrusted";
import { useText } from "../messages";
import { cx } from "./cx";

interface UntrustedProps {
  text: string;
  /** On one line and cut at the end of its room, as in tables. */
  isLine?: boolean;
  /** How much is shown before somebody asks for the rest. */
  length?: number;
  lines?: number;
  className?: string;
}

export const Untrusted = memo(function Untrusted({ text, isLine, length, lines, className }: UntrustedProps) {
  return isLine ? (
    <bdi className={cx("untrusted untrusted--line", className)}>
      <Pieces text={lineOf(text, length ?? 300)} />
    </bdi>
  ) : (
    <Block
      text={text}
      className={className}
      {...(length !== undefined && { length })}
      {...(lines !== undefined && { lines })}
    />
  );
});

function Block({
  text,
  length,
  lines,
  className,
}: {
  text: string;
  length?: number;
  lines?: number;
  className?: string | undefined;
}) {
  const t = useText();
  const [isOpen, setOpen] = useState(false);
  const { head, rest } = useMemo(
    () => fold(text, { ...(length !== undefined && { length }), ...(lines !== undefined && { lines }) }),
    [text, length, lines],
  );
  return (
    <bdi className={cx("untrusted", className)}>
      <Pieces text={isOpen ? text : head} />
      {rest > 0 && (
        <>
          {!isOpen && "…"}{" "}
          <button
            type="button"
            className="untrusted-more"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? t("common.show_less") : t("common.show_all", { count: rest })}
          </button>
        </>
      )}
    </bdi>
  );
}

/** The text with its escapes marked. */
export function Pieces({ text }: { text: string }) {
  const found = useMemo(() => pieces(text), [text]);
  if (found.length === 1 && found[0]?.isEscape === false) return found[0].text;
  return found.map((piece, i) =>
    piece.isEscape ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never change places
      <span key={i} className="untrusted-escape">
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}
