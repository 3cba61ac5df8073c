// biome-ignore-all lint/a11y/useSemanticElements: rows of a table element cannot be positioned one by one
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus for its rows
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid takes the keys for its rows

// A dense table. Rows are reached with the arrow keys or j and k, and opened with Enter; only those in view are
// rendered, so that ten thousand of them are as quick as ten.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from "react";
import { useText } from "../messages";
import { cx } from "./cx";

export interface Column<T> {
  key: string;
  label: string;
  /** A track of a grid: `minmax(120px, 1fr)`, `90px`. */
  width: string;
  isEnd?: boolean;
  /** Only for those who cannot see the column. */
  isLabelHidden?: boolean;
  /** What it is sorted by; a column without cannot be. */
  sort?(row: T): string | number;
  cell(row: T): ReactNode;
}

export interface Sort {
  key: string;
  isDescending: boolean;
}

interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf(row: T): string;
  selected?: string | null;
  onOpen?(row: T): void;
  /** Further keys on a row, as `x` to mark it. */
  onKey?(key: string, row: T): void;
  sort?: Sort | null;
  onSort?(sort: Sort): void;
  empty?: ReactNode;
  rowHeight?: number;
  foot?: ReactNode;
  /** The columns share the room there is, instead of scrolling sideways. */
  isFit?: boolean;
}

/** From here on only the rows in view are rendered. */
const VIRTUAL_FROM = 60;

export function Table<T>(props: TableProps<T>) {
  const { label, columns, rows, keyOf, sort, empty, foot, rowHeight = 36 } = props;
  const box = useRef<HTMLDivElement>(null);
  const sorted = useMemo(() => sortRows(rows, columns, sort ?? null), [rows, columns, sort]);
  const [focused, setFocused] = useState<string | null>(null);
  const isVirtual = sorted.length > VIRTUAL_FROM;
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollPaddingStart: 32,
    enabled: isVirtual,
  });
  const at = focused === null ? -1 : sorted.findIndex(row => keyOf(row) === focused);

  const move = (to: number) => {
    const next = sorted[Math.max(0, Math.min(sorted.length - 1, to))];
    if (next === undefined) return;
    setFocused(keyOf(next));
    const index = sorted.indexOf(next);
    if (isVirtual) virtual.scrollToIndex(index);
    else box.current?.querySelector(`[data-index="${index}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key, sorted.length);
    const isOwn = event.target === box.current;
    if (event.metaKey || event.ctrlKey || event.altKey || !isOwn) return;
    const row = sorted[at];
    if (step !== null) move(step === "first" ? 0 : step === "last" ? sorted.length - 1 : at + step);
    else if (event.key === "Enter" && row !== undefined) props.onOpen?.(row);
    else if (row !== undefined && props.onKey && event.key.length === 1) props.onKey(event.key, row);
    else return;
    event.preventDefault();
  };

  const template = columns.map(column => column.width).join(" ");
  const indexes = isVirtual ? virtual.getVirtualItems().map(item => item.index) : sorted.map((_, i) => i);
  return (
    <div className="table-box">
      <div
        ref={box}
        className={cx("table", props.isFit && "table--fit")}
        role="grid"
        aria-label={label}
        aria-rowcount={sorted.length + 1}
        aria-activedescendant={at >= 0 ? `${label}-${at}` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocus={event => {
          if (event.target === box.current && at < 0 && sorted.length > 0)
            move(
              Math.max(
                0,
                sorted.findIndex(row => keyOf(row) === props.selected),
              ),
            );
        }}
      >
        <div style={{ minWidth: props.isFit ? 0 : leastWidth(columns) }}>
          <Head columns={columns} template={template} sort={sort ?? null} onSort={props.onSort} />
          <div
            role="rowgroup"
            className={cx("table-body", isVirtual && "table-body--virtual")}
            style={isVirtual ? { height: virtual.getTotalSize() } : undefined}
          >
            {indexes.map(index => {
              const row = sorted[index];
              if (row === undefined) return null;
              const key = keyOf(row);
              return (
                <Row
                  key={key}
                  {...props}
                  row={row}
                  index={index}
                  template={template}
                  height={rowHeight}
                  isFocused={key === focused}
                  isVirtual={isVirtual}
                  onPoint={() => setFocused(key)}
                />
              );
            })}
          </div>
        </div>
      </div>
      {sorted.length === 0 && empty}
      {foot != null && <div className="table-foot">{foot}</div>}
    </div>
  );
}

/** The room that the columns need at least; below it the table scrolls sideways. */
function leastWidth<T>(columns: readonly Column<T>[]): number {
  const least = columns.map(column => Number(/(\d+)px/.exec(column.width)?.[1] ?? 60));
  return least.reduce((sum, width) => sum + width, 12 * (columns.length - 1) + 32);
}

function stepOf(key: string, n: number): number | "first" | "last" | null {
  if (n === 0) return null;
  switch (key) {
    case "j":
    case "ArrowDown":
      return 1;
    case "k":
    case "ArrowUp":
      return -1;
    case "PageDown":
      return 15;
    case "PageUp":
      return -15;
    case "Home":
      return "first";
    case "End":
      return "last";
    default:
      return null;
  }
}

function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | null): readonly T[] {
  const by = sort && columns.find(column => column.key === sort.key)?.sort;
  if (!by) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const keyed = rows.map(row => ({ row, key: by(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return sign * order;
  });
  return keyed.map(({ row }) => row);
}

interface HeadProps<T> {
  columns: readonly Column<T>[];
  template: string;
  sort: Sort | null;
  onSort: ((sort: Sort) => void) | undefined;
}

function Head<T>({ columns, template, sort, onSort }: HeadProps<T>) {
  const t = useText();
  return (
    <div className="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
      {columns.map(column => {
        const isSorted = sort?.key === column.key;
        const direction = !isSorted ? undefined : sort.isDescending ? "descending" : "ascending";
        return (
          <div
            key={column.key}
            role="columnheader"
            aria-sort={direction}
            className={cx("table-cell", column.isEnd && "table-cell--end")}
          >
            {column.sort && onSort ? (
              <button
                type="button"
                className="table-sort"
                title={t("common.sort_by", { name: column.label })}
                onClick={() =>
                  onSort({ key: column.key, isDescending: isSorted ? !sort.isDescending : false })
                }
              >
                {column.label}
                {isSorted &&
                  (sort.isDescending ? (
                    <ArrowDown size={12} aria-hidden />
                  ) : (
                    <ArrowUp size={12} aria-hidden />
                  ))}
              </button>
            ) : (
              <span className={cx(column.isLabelHidden && "visually-hidden")}>{column.label}</span>
            )}
          </div>
        );
      })}
    </div>
  );
}

type RowProps<T> = TableProps<T> & {
  row: T;
  index: number;
  template: string;
  height: number;
  isFocused: boolean;
  isVirtual: boolean;
  onPoint(): void;
};

function Row<T>(props: RowProps<T>) {
  const { row, index, columns, label, template, height, isFocused, isVirtual } = props;
  const isSelected =
    props.selected !== undefined && props.selected !== null && props.keyOf(row) === props.selected;
  return (
    <div
      id={`${label}-${index}`}
      className="table-row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={props.onOpen ? isSelected : undefined}
      data-index={index}
      data-focused={isFocused || undefined}
      data-clickable={props.onOpen ? true : undefined}
      style={{
        gridTemplateColumns: template,
        height,
        ...(isVirtual && { transform: `translateY(${index * height}px)` }),
      }}
      onClick={event => {
        // A button or link in the row does its own thing, and so does selecting text.
        if (
          (event.target as Element).closest("a, button, input, label, select") ||
          window.getSelection()?.toString()
        )
          return;
        props.onPoint();
        props.onOpen?.(row);
      }}
    >
      {columns.map(column => (
        <div key={column.key} role="gridcell" className={cx("table-cell", column.isEnd && "table-cell--end")}>
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
}
