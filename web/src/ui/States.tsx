// What is shown instead of content: nothing there, not yet there, went wrong.

import { CircleAlert, Info, type LucideIcon, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useText } from "../messages";
import { Button } from "./Button";
import { Command } from "./Code";
import { Untrusted } from "./Untrusted";

interface EmptyStateProps {
  icon?: LucideIcon;
  title: string;
  text?: ReactNode;
  /** The command that would change it. */
  command?: string;
  children?: ReactNode;
}

export function EmptyState({ icon: Icon, title, text, command, children }: EmptyStateProps) {
  return (
    <div className="empty">
      {Icon && <Icon size={24} aria-hidden />}
      <p className="empty-title">{title}</p>
      {text != null && <p className="empty-text">{text}</p>}
      {command !== undefined && <Command line={command} />}
      {children}
    </div>
  );
}

/** Stands for content that is on its way. What comes within 200 ms never shows it. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  const t = useText();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return null;
  return (
    <div className="skeleton" role="status" aria-label={t("common.loading")}>
      {Array.from({ length: lines }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <div key={i} className="skeleton-line" />
      ))}
    </div>
  );
}

/** A failure, as far as a person needs it. */
export interface Failure {
  message: string;
  code?: string;
  hint?: string;
}

/** Reads a failure from whatever was thrown; the gateway's errors carry theirs. */
export function failureFrom(error: unknown): Failure {
  const failure = (error as { failure?: Failure } | null)?.failure;
  if (failure && typeof failure.message === "string") return failure;
  return { message: error instanceof Error ? error.message : String(error) };
}

export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText();
  const { message, code, hint } = failureFrom(error);
  return (
    <Notice tone="danger" role="alert">
      <strong>
        <Untrusted text={message} />
      </strong>
      {hint !== undefined && <Untrusted text={hint} />}
      {code !== undefined && <code>{t("common.error_code", { code })}</code>}
      {onRetry && (
        <span>
          <Button isSmall onClick={onRetry}>
            {t("common.retry")}
          </Button>
        </span>
      )}
    </Notice>
  );
}

const NOTICE_ICONS = { danger: CircleAlert, warn: TriangleAlert, info: Info, ok: Info } as const;

interface NoticeProps {
  tone: "danger" | "warn" | "info" | "ok";
  role?: "alert" | "status";
  children: ReactNode;
}

export function Notice({ tone, role, children }: NoticeProps) {
  const Icon = NOTICE_ICONS[tone];
  return (
    <div className={`notice notice--${tone}`} role={role}>
      <Icon size={16} aria-hidden />
      <div className="notice-body">{children}</div>
    </div>
  );
}

/** What every screen does with something that is read: waits, fails, or shows it. */
export function Loaded<T>({
  query,
  children,
}: {
  query: { data: T | undefined; error: unknown; refetch?: () => unknown };
  children: (data: T) => ReactNode;
}) {
  // Old content stays readable while a new read fails: the bar at the top says that the connection is lost.
  if (query.data !== undefined) return children(query.data);
  if (query.error) {
    return (
      <div className="page-body">
        <ErrorBox error={query.error} {...(query.refetch && { onRetry: () => void query.refetch?.() })} />
      </div>
    );
  }
  return <Skeleton />;
}
