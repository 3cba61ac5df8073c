// A policy as text, with its line numbers, and what is wrong at which line. Going to a problem puts the cursor there.

import { useRef } from "react";
import type { Complaint } from "@/api/types";
import { useText } from "@/messages";
import { Button, Status, Untrusted } from "@/ui";

interface EditorProps {
  text: string;
  isReadOnly: boolean;
  complaints: readonly Complaint[];
  onChange(text: string): void;
}

export function Editor({ text, isReadOnly, complaints, onChange }: EditorProps) {
  const t = useText();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const lines = text.split("\n");
  const wrong = new Set(complaints.map(one => one.line));
  const goTo = (line: number) => {
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    area.current?.focus();
    area.current?.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  };
  return (
    <div className="section">
      <div className="editor">
        <pre ref={gutter} className="editor-gutter" aria-hidden>
          {lines.map((_, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <span key={i} className={wrong.has(i + 1) ? "editor-wrong" : undefined}>
              {i + 1}
              {"\n"}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          className="editor-text"
          aria-label={t("policies.source")}
          aria-invalid={complaints.length > 0 || undefined}
          spellCheck={false}
          wrap="off"
          readOnly={isReadOnly}
          value={text}
          onChange={event => onChange(event.target.value)}
          onScroll={event => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {complaints.map((one, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same problem may be there twice
        <div key={i} className="button-row">
          <Button isSmall onClick={() => goTo(one.line)}>
            {t("policies.line", { number: one.line })}
          </Button>
          <Status tone="danger">
            <Untrusted text={one.message} />
          </Status>
        </div>
      ))}
    </div>
  );
}
