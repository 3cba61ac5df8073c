// A person who looks elsewhere hears of a waiting call: a number in the tab's title, and a notification if allowed.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Approval } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { oneLine } from "@/lib/untrusted";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useLocation } from "@/ui";

/** Keeps the title, and notifies of calls that were not there before. */
export function useAnnounceApprovals(pending: readonly Approval[] | undefined): void {
  const t = useText();
  const { navigate } = useLocation();
  const known = useRef<ReadonlySet<string> | null>(null);
  const n = pending?.length ?? 0;
  useEffect(() => {
    const name = t("app.name");
    document.title = n > 0 ? `(${n}) ${name}` : name;
  }, [n, t]);
  useEffect(() => {
    if (!pending) return;
    const before = known.current;
    known.current = new Set(pending.map(one => one.id));
    const isUnseen = document.visibilityState === "hidden" || !document.hasFocus();
    if (before === null || !isUnseen || !("Notification" in window) || Notification.permission !== "granted")
      return;
    const fresh = pending.filter(one => !before.has(one.id));
    const first = fresh[0];
    if (!first) return;
    // What an agent sends is not shown here: a notification can be read over a shoulder, and cannot mark hidden text.
    const body = oneLine(`${first.agent_id ?? first.principal} · ${toolName(first.tool)}`, 120);
    const notification = new Notification(t("approvals.notification", { count: fresh.length }), {
      body,
      // Several tabs say it once.
      tag: `octroi-${first.id}`,
    });
    notification.onclick = () => {
      window.focus();
      navigate(fresh.length === 1 ? urls.approval(first.id) : urls.approvals());
      notification.close();
    };
  }, [pending, t, navigate]);
}

/** Asks for permission; nothing once the person has decided. */
export function useNotifyPermission(): (() => void) | null {
  const [permission, setPermission] = useState(() =>
    "Notification" in window ? Notification.permission : ("denied" as const),
  );
  const ask = useCallback(() => {
    void Notification.requestPermission().then(setPermission);
  }, []);
  return permission === "default" ? ask : null;
}
