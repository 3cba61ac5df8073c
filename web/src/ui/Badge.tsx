// Words with a meaning: a small label, and a state with its icon and colour.

import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleDot,
  Clock,
  type LucideIcon,
  TriangleAlert,
} from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./cx";

export type Tone = "ok" | "warn" | "danger" | "info" | "idle" | "accent";

export function Badge({
  tone = "idle",
  children,
  title,
}: {
  tone?: Tone;
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={cx("badge", tone !== "idle" && `badge--${tone}`)} title={title}>
      {children}
    </span>
  );
}

/** A number of things that wait. Nothing if there are none. */
export function Count({ value, label }: { value: number; label: string }) {
  if (value === 0) return null;
  return (
    <span className="badge badge--count">
      <span aria-hidden>{value > 99 ? "99+" : value}</span>
      <span className="visually-hidden">{label}</span>
    </span>
  );
}

const ICONS: Record<Tone, LucideIcon> = {
  ok: CircleCheck,
  warn: TriangleAlert,
  danger: CircleAlert,
  info: CircleDot,
  idle: CircleDashed,
  accent: Clock,
};

/** A state: a word, an icon and a colour, so that none of them is needed alone. */
export function Status({ tone, children, icon }: { tone: Tone; children: ReactNode; icon?: LucideIcon }) {
  const Icon = icon ?? ICONS[tone];
  return (
    <span className={`status status--${tone}`}>
      <Icon size={14} aria-hidden />
      {children}
    </span>
  );
}
