// How a screen is laid out: a head, filters, a list with the chosen one beside it.

import { X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { oneLine } from "../lib/untrusted";
import { useText } from "../messages";
import { Button } from "./Button";
import { CloseButton, Drawer } from "./Dialog";

/** A key that does something. On its button it is decoration: the button has `aria-keyshortcuts`. */
export function KeyHint({ keys, isDecoration }: { keys: string; isDecoration?: boolean }) {
  return (
    <kbd className="key" aria-hidden={isDecoration}>
      {keys}
    </kbd>
  );
}

interface PageHeaderProps {
  title: ReactNode;
  text?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, text, actions }: PageHeaderProps) {
  return (
    <header className="page-header">
      <h1>{title}</h1>
      {text != null && <div className="page-header-text">{text}</div>}
      {actions != null && <div className="page-header-actions">{actions}</div>}
    </header>
  );
}

export function Section({
  title,
  actions,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="section">
      <div className="section-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** Names and values. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [label: string, value: ReactNode] | null | false)[];
}) {
  return (
    <dl className="facts">
      {rows.map(row => row && [<dt key={`${row[0]}-name`}>{row[0]}</dt>, <dd key={row[0]}>{row[1]}</dd>])}
    </dl>
  );
}

export interface FilterChip {
  key: string;
  name: string;
  value: string;
}

interface FilterBarProps {
  chips: readonly FilterChip[];
  onRemove(key: string): void;
  onClear(): void;
  /** What sets filters: selects, a search box. */
  children?: ReactNode;
}

export function FilterBar({ chips, onRemove, onClear, children }: FilterBarProps) {
  const t = useText();
  return (
    <search className="filter-bar" aria-label={t("common.filter")}>
      {children}
      {chips.map(chip => (
        <span key={chip.key} className="chip">
          <span className="chip-text">
            {chip.name}: {oneLine(chip.value, 80)}
          </span>
          <button
            type="button"
            className="chip-remove"
            aria-label={t("common.filter_remove", { name: chip.name })}
            onClick={() => onRemove(chip.key)}
          >
            <X size={12} aria-hidden />
          </button>
        </span>
      ))}
      {chips.length > 0 && (
        <Button look="quiet" isSmall onClick={onClear}>
          {t("common.filter_clear")}
        </Button>
      )}
    </search>
  );
}

/** Whether the window is too narrow for two columns, or for another width. */
export function useIsNarrow(below = 900): boolean {
  const rule = `(max-width: ${below - 1}px)`;
  return useSyncExternalStore(
    listener => {
      const query = window.matchMedia(rule);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => window.matchMedia(rule).matches,
    () => false,
  );
}

interface SplitViewProps {
  list: ReactNode;
  /** What was chosen; nothing if nothing is. */
  detail: ReactNode | null;
  label: string;
  onClose(): void;
}

/** A list with the chosen one beside it; on a narrow window the chosen one lies above it. */
export function SplitView({ list, detail, label, onClose }: SplitViewProps) {
  const isNarrow = useIsNarrow();
  return (
    <div className="split" data-detail={(detail !== null && !isNarrow) || undefined}>
      <div className="split-list">{list}</div>
      {detail !== null && !isNarrow && (
        <section className="split-detail" aria-label={label}>
          {detail}
        </section>
      )}
      {isNarrow && (
        <Drawer isOpen={detail !== null} onClose={onClose} label={label}>
          <div className="dialog-head drawer-head">
            <span />
            <CloseButton />
          </div>
          <div className="screen-scroll">{detail}</div>
        </Drawer>
      )}
    </div>
  );
}
