// Text in a fixed width, to read or to copy. It may come from anywhere, so it is shown as untrusted text is.

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useText } from "../messages";
import { Button } from "./Button";
import { cx } from "./cx";
import { Pieces, Untrusted } from "./Untrusted";

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useText();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const icon = isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />;
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return (
    <Button
      look="quiet"
      isSmall
      className={cx(label === undefined && "button--icon")}
      aria-label={label === undefined ? t(isCopied ? "common.copied" : "common.copy") : undefined}
      icon={icon}
      onClick={copy}
    >
      {label}
    </Button>
  );
}

/** A block of code with a button to copy it. */
export function Code({
  text,
  label,
  isWrapped = true,
}: {
  text: string;
  label: string;
  isWrapped?: boolean;
}) {
  return (
    <div className={cx("code", isWrapped && "code--wrap")}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>
            <Untrusted text={text} length={8_000} lines={200} />
          </code>
        </pre>
      </section>
      <span className="copy">
        <CopyButton text={text} />
      </span>
    </div>
  );
}

/** A command line to copy. */
export function Command({ line }: { line: string }) {
  return (
    <span className="command">
      <code>
        <Pieces text={line} />
      </code>
      <CopyButton text={line} />
    </span>
  );
}
